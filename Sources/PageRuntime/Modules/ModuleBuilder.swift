import ScriptEngine

/// Collects a module's methods.
///
///     registry.registerModule("cart") { module in
///       module.method("add") { (sku: String, count: Int) async throws -> Int in … }
///     }
public struct ModuleBuilder: Sendable {
  private(set) var methods: [String: ModuleMethod] = [:]

  init() {}

  /// A method that answers at once; it runs on the script's thread, and must not wait.
  public mutating func immediate<each Argument: ScriptConvertible, Result: ScriptConvertible>(
    _ name: String, _ body: @escaping @Sendable (repeat each Argument) throws -> Result
  ) {
    methods[name] = .immediate { call in
      var reader = CallReader(call)
      return try body(repeat try reader.next((each Argument).self)).scriptValue
    }
  }

  /// A method whose answer comes later: scripts get a promise of it.
  public mutating func method<each Argument: ScriptConvertible & Sendable, Result: ScriptConvertible & Sendable>(
    _ name: String, _ body: @escaping @Sendable (repeat each Argument) async throws -> Result
  ) {
    methods[name] = .promised { call, _ in
      var reader = CallReader(call)
      return try await body(repeat try reader.next((each Argument).self)).scriptValue
    }
  }

  /// A method that answers callbacks, as often as it likes: by ``PageInstance/callback(_:_:keepAlive:)``.
  public mutating func callbacks(
    _ name: String, _ body: @escaping @PageActor @Sendable (ModuleCall, PageInstance) async throws -> Void
  ) {
    methods[name] = .deferred(returning: nil, body)
  }
}

/// Goes through a call's arguments.
private struct CallReader {
  private let call: ModuleCall
  private var index = 0

  init(_ call: ModuleCall) { self.call = call }

  mutating func next<Value: ScriptConvertible>(_ type: Value.Type) throws -> Value {
    defer { index += 1 }
    // Frameworks write nothing as empty text.
    let value = call[index] == "" && Value(scriptValue: .undefined) != nil ? .undefined : call[index]
    guard let converted = Value(scriptValue: value) else {
      throw ScriptError.wrongArgument(index: index, expected: Value.scriptDescription, found: value.kind)
    }
    return converted
  }
}
