import ScriptEngine

/// A script's call of a method of a module or of a component.
public struct ModuleCall: Sendable {
  /// The id of the page.
  public let page: String
  /// The name of the module; empty for a component.
  public let module: String
  /// The name of the method.
  public let method: String
  /// The ref of the component's element; `nil` for a module.
  public let ref: String?
  /// The arguments. A function is a callback's id.
  public let arguments: [ScriptValue]

  /// An argument; ``ScriptValue/undefined`` if there is none.
  public subscript(index: Int) -> ScriptValue {
    arguments.indices.contains(index) ? arguments[index] : .undefined
  }

  /// Returns the id of the callback at this place among the arguments, or `nil` if there is none.
  public func callback(at index: Int) -> String? {
    let value = self[index]
    return value.reference.flatMap { $0.isEmpty ? nil : $0 }
  }
}
