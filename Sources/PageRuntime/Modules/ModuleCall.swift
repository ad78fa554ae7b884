import ScriptEngine

/// A script's call of a module's or a component's method.
public struct ModuleCall: Sendable {
  /// The page's id.
  public let page: String
  public let module: String
  public let method: String
  /// The component's element, where it is one's method.
  public let ref: String?
  public let arguments: [ScriptValue]

  /// An argument; ``ScriptValue/undefined`` where there is none.
  public subscript(index: Int) -> ScriptValue {
    arguments.indices.contains(index) ? arguments[index] : .undefined
  }

  /// The id of a callback at this place; nil where there is none.
  public func callback(at index: Int) -> String? {
    let value = self[index]
    return value.reference.flatMap { $0.isEmpty ? nil : $0 }
  }
}
