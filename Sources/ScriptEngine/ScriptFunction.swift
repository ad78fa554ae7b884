import CJavaScriptCore

/// A Swift function that scripts can call, and its context.
final class FunctionBox {
  typealias Body = (ScriptContext, [ScriptArgument]) throws -> JSValueRef

  let body: Body
  private(set) weak var context: ScriptContext?

  init(_ context: ScriptContext, _ body: @escaping Body) {
    self.context = context
    self.body = body
  }

  /// The engine's class of native functions.
  static let definition = SharedClass(
    {
      var definition = JSClassDefinition()
      definition.callAsFunction = { rawContext, function, _, count, arguments, thrown in
        guard let function, let pointer = JSObjectGetPrivate(function) else { return nil }
        let box = Unmanaged<FunctionBox>.fromOpaque(pointer).takeUnretainedValue()
        guard let context = box.context else { return rawContext.map { JSValueMakeUndefined($0) } ?? nil }
        let values = (0..<count).compactMap { index in
          arguments?[index].map { ScriptArgument(raw: $0, context: context) }
        }
        do {
          try context.limiter.checkStopped()
          let result = try box.body(context, values)
          try context.limiter.checkStopped()
          return result
        } catch ScriptError.exception(let exception) {
          thrown?.pointee = context.makeError(exception.message)
        } catch {
          thrown?.pointee = context.makeError("\(error)")
        }
        try? context.limiter.checkStopped()
        return JSValueMakeUndefined(context.raw)
      }
      definition.finalize = { object in
        guard let object, let pointer = JSObjectGetPrivate(object) else { return }
        Unmanaged<FunctionBox>.fromOpaque(pointer).release()
      }
      return JSClassCreate(&definition)
    }())

  /// `@unchecked`, since the engine's classes are made once, never change, and may be used from any thread.
  struct SharedClass: @unchecked Sendable {
    let raw: JSClassRef?

    init(_ raw: JSClassRef?) { self.raw = raw }
  }
}

extension ScriptContext {
  /// Makes a function that takes its arguments as references.
  package func makeFunction(
    named name: String, _ body: @escaping (ScriptContext, [ScriptReference]) throws -> ScriptReference
  ) -> ScriptReference {
    makeFunction { context, arguments in
      let result = try body(context, arguments.map(\.reference))
      // The engine sees what is on the stack.
      return withExtendedLifetime(result) { $0.raw }
    }
  }

  /// Makes a function that reads its arguments as it needs them and keeps none.
  package func makeFunction(
    named name: String, reading body: @escaping ([ScriptArgument]) throws -> ScriptValue
  ) -> ScriptReference {
    makeFunction { context, arguments in ValueWriter(context).write(try body(arguments)) }
  }

  private func makeFunction(_ body: @escaping FunctionBox.Body) -> ScriptReference {
    let box = Unmanaged.passRetained(FunctionBox(self, body))
    guard let object = JSObjectMake(raw, FunctionBox.definition.raw, box.toOpaque()) else {
      box.release()
      return undefined
    }
    // The object can be called like a function, but has not the methods of one by itself.
    let reference = ScriptReference(object, in: self)
    if let functionPrototype { JSObjectSetPrototype(raw, object, functionPrototype) }
    return reference
  }

  /// Makes a function with typed arguments; missing ones are `undefined`.
  package func makeFunction<each Argument: ScriptConvertible, Result: ScriptConvertible>(
    named name: String, _ body: @escaping (repeat each Argument) throws -> Result
  ) -> ScriptReference {
    makeFunction(named: name) { context, arguments in
      var reader = ArgumentReader(arguments)
      let result = try body(repeat try reader.next((each Argument).self))
      return context.reference(to: result.scriptValue)
    }
  }
}

/// Reads the arguments of a call one after the other.
struct ArgumentReader {
  private let arguments: [ScriptReference]
  private var index = 0

  init(_ arguments: [ScriptReference]) { self.arguments = arguments }

  mutating func next<Value: ScriptConvertible>(_ type: Value.Type) throws -> Value {
    defer { index += 1 }
    let value = index < arguments.count ? try arguments[index].value() : .undefined
    guard let converted = Value(scriptValue: value) else {
      throw ScriptError.wrongArgument(index: index, expected: Value.scriptDescription, found: value.kind)
    }
    return converted
  }
}
