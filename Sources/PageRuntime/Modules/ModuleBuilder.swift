import ScriptEngine

/// Collects the methods of a module or of a component.
///
/// Arguments and results may be `String`, `Bool`, `Int`, `Double`, ``ScriptValue``, optionals, arrays, dictionaries with
/// text keys, and types that conform to ``ScriptConvertible``. A wrong argument is an error in the script.
///
///     registry.registerModule("cart") { module in
///       module.method("add") { (sku: String, count: Int) async throws -> Int in … }
///     }
public struct ModuleBuilder: Sendable {
  private(set) var methods: [String: ModuleMethod] = [:]

  init() {}

  /// Adds a method that returns its result to the script at once. It runs on the script's thread and must not wait.
  ///
  /// An error that it throws is thrown in the script.
  public mutating func immediate<each Argument: ScriptConvertible, Result: ScriptConvertible>(
    _ name: String, _ body: @escaping @Sendable (repeat each Argument) throws -> Result
  ) {
    methods[name] = .immediate { call, _ in
      var reader = CallReader(call)
      return try body(repeat try reader.next((each Argument).self)).scriptValue
    }
  }

  /// Adds a method that returns a promise to the script. It runs after the script has returned.
  ///
  /// An error that it throws rejects the promise.
  public mutating func method<each Argument: ScriptConvertible & Sendable, Result: ScriptConvertible & Sendable>(
    _ name: String, _ body: @escaping @Sendable (repeat each Argument) async throws -> Result
  ) {
    methods[name] = .promised { call, _ in
      var reader = CallReader(call)
      return try await body(repeat try reader.next((each Argument).self)).scriptValue
    }
  }

  /// Adds a method that calls the script's callbacks, any number of times, with
  /// ``PageInstance/callback(_:_:keepAlive:)``. It runs after the script has returned.
  ///
  /// An error that it throws is an exception of the page.
  public mutating func callbacks(
    _ name: String, _ body: @escaping @PageActor @Sendable (ModuleCall, PageInstance) async throws -> Void
  ) {
    methods[name] = .deferred(returning: nil, body)
  }
}

/// Reads the arguments of a call one after the other.
private struct CallReader {
  private let call: ModuleCall
  private var index = 0

  init(_ call: ModuleCall) { self.call = call }

  mutating func next<Value: ScriptConvertible>(_ type: Value.Type) throws -> Value {
    defer { index += 1 }
    // Frameworks write a missing argument as an empty text.
    let value = call[index] == "" && Value(scriptValue: .undefined) != nil ? .undefined : call[index]
    guard let converted = Value(scriptValue: value) else {
      throw ScriptError.wrongArgument(index: index, expected: Value.scriptDescription, found: value.kind)
    }
    return converted
  }
}
