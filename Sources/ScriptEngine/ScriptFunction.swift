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

  /// The engine's class of native functions, which is made once, never changes, and may be used from any thread.
  nonisolated(unsafe) static let definition: JSClassRef? = {
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
  }()
}

extension ScriptContext {
  /// Makes a function that takes its arguments as references.
  package func makeFunction(
    named name: String, _ body: @escaping (ScriptContext, [ScriptReference]) throws -> ScriptReference
  ) -> ScriptReference {
    makeFunction { context, arguments in
      let result = try body(context, arguments.map(\.reference))
      // The engine sees the values on the stack.
      return withExtendedLifetime(result) { $0.raw }
    }
  }

  /// Makes a function that reads its arguments as it needs them and keeps none.
  package func makeFunction(
    named name: String, reading body: @escaping ([ScriptArgument]) throws -> ScriptValue
  ) -> ScriptReference {
    makeFunction { context, arguments in context.write(try body(arguments)) }
  }

  private func makeFunction(_ body: @escaping FunctionBox.Body) -> ScriptReference {
    let box = Unmanaged.passRetained(FunctionBox(self, body))
    guard let object = JSObjectMake(raw, FunctionBox.definition, box.toOpaque()) else {
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
      var index = 0
      let result = try body(repeat try arguments.next(&index, (each Argument).self))
      return context.reference(to: result.scriptValue)
    }
  }
}

extension [ScriptReference] {
  /// Reads the next argument of a call.
  func next<Value: ScriptConvertible>(_ index: inout Int, _ type: Value.Type) throws -> Value {
    defer { index += 1 }
    return try (index < count ? self[index].value() : .undefined).converted(toArgument: index)
  }
}

extension ScriptValue {
  /// - Throws: ``ScriptError/wrongArgument(index:expected:found:)``.
  package func converted<Value: ScriptConvertible>(toArgument index: Int) throws -> Value {
    guard let converted = Value(scriptValue: self) else {
      throw ScriptError.wrongArgument(index: index, expected: Value.nameInErrors, found: kind)
    }
    return converted
  }
}

/// An argument of a native function, valid until the function returns. Only for the group's thread.
package struct ScriptArgument {
  let raw: JSValueRef
  let context: ScriptContext

  /// The argument as a reference, which may be kept after the call.
  package var reference: ScriptReference { ScriptReference(raw, in: context) }

  /// Returns the argument as plain data, as ``ScriptReference/value()`` does.
  ///
  /// - Throws: ``ScriptError/notPlainData(_:)``; ``ScriptError/exception(_:)`` if a getter throws.
  package func value() throws -> ScriptValue { try context.read(raw) }
}

/// A type whose values go to scripts and come from them as plain data, as arguments and results of module methods.
///
///     struct Price: ScriptConvertible {
///       let cents: Int
///
///       init?(scriptValue: ScriptValue) {
///         guard let cents = scriptValue["cents"].int else { return nil }
///         self.cents = cents
///       }
///
///       var scriptValue: ScriptValue { ["cents": .number(Double(cents))] }
///     }
public protocol ScriptConvertible: SendableMetatype {
  /// Returns `nil` if the value is not of this type.
  init?(scriptValue: ScriptValue)
  /// The value for scripts.
  var scriptValue: ScriptValue { get }
}

extension ScriptConvertible {
  /// The type's name in errors, such as `a number`; of an app's own type it is the type's name.
  fileprivate static var nameInErrors: String { (self as? any NamedInErrors.Type)?.scriptDescription ?? "a \(self)" }
}

/// A type with a name of its own in errors.
private protocol NamedInErrors {
  static var scriptDescription: String { get }
}

extension ScriptValue: ScriptConvertible, NamedInErrors {
  /// Takes any value.
  public init?(scriptValue: ScriptValue) { self = scriptValue }
  /// The value itself.
  public var scriptValue: ScriptValue { self }
  fileprivate static var scriptDescription: String { "a value" }

  /// The kind of the value in errors, such as `a number`.
  package var kind: String {
    switch self {
    case .undefined: "undefined"
    case .null: "null"
    case .bool: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    case .data: "binary data"
    }
  }
}

extension String: ScriptConvertible, NamedInErrors {
  /// Takes a string.
  public init?(scriptValue: ScriptValue) {
    guard let text = scriptValue.string else { return nil }
    self = text
  }
  /// The text as a string.
  public var scriptValue: ScriptValue { .string(self) }
  fileprivate static var scriptDescription: String { "a string" }
}

extension Bool: ScriptConvertible, NamedInErrors {
  /// Takes a boolean.
  public init?(scriptValue: ScriptValue) {
    guard let value = scriptValue.bool else { return nil }
    self = value
  }
  /// The value as a boolean.
  public var scriptValue: ScriptValue { .bool(self) }
  fileprivate static var scriptDescription: String { "a boolean" }
}

extension Double: ScriptConvertible, NamedInErrors {
  /// Takes a number.
  public init?(scriptValue: ScriptValue) {
    guard let number = scriptValue.number else { return nil }
    self = number
  }
  /// The value as a number.
  public var scriptValue: ScriptValue { .number(self) }
  fileprivate static var scriptDescription: String { "a number" }
}

extension Int: ScriptConvertible, NamedInErrors {
  /// Takes a whole number in the range of `Int`.
  public init?(scriptValue: ScriptValue) {
    guard let number = scriptValue.int else { return nil }
    self = number
  }
  /// The value as a number.
  public var scriptValue: ScriptValue { .number(Double(self)) }
  fileprivate static var scriptDescription: String { "a whole number" }
}

extension Optional: ScriptConvertible, NamedInErrors where Wrapped: ScriptConvertible {
  /// Takes `undefined` and `null` as `nil`, and values of the wrapped type.
  public init?(scriptValue: ScriptValue) {
    if scriptValue.isNothing {
      self = .none
    } else {
      guard let wrapped = Wrapped(scriptValue: scriptValue) else { return nil }
      self = .some(wrapped)
    }
  }
  /// The wrapped value; `null` for `nil`.
  public var scriptValue: ScriptValue { map(\.scriptValue) ?? .null }
  fileprivate static var scriptDescription: String { "\(Wrapped.nameInErrors), or nothing" }
}

extension Array: ScriptConvertible, NamedInErrors where Element: ScriptConvertible {
  /// Takes an array in which every element is of the element type.
  public init?(scriptValue: ScriptValue) {
    guard let elements = scriptValue.array else { return nil }
    var converted: [Element] = []
    for element in elements {
      guard let value = Element(scriptValue: element) else { return nil }
      converted.append(value)
    }
    self = converted
  }
  /// The elements as an array.
  public var scriptValue: ScriptValue { .array(map(\.scriptValue)) }
  fileprivate static var scriptDescription: String { "an array in which each is \(Element.nameInErrors)" }
}

extension Dictionary: ScriptConvertible, NamedInErrors where Key == String, Value: ScriptConvertible {
  /// Takes an object in which every member is of the value type.
  public init?(scriptValue: ScriptValue) {
    guard let members = scriptValue.object else { return nil }
    var converted: [String: Value] = [:]
    for (name, member) in members {
      guard let value = Value(scriptValue: member) else { return nil }
      converted[name] = value
    }
    self = converted
  }
  /// The members as an object.
  public var scriptValue: ScriptValue { .object(mapValues(\.scriptValue)) }
  fileprivate static var scriptDescription: String { "an object in which each is \(Value.nameInErrors)" }
}
