import HTTPTransport

/// A part that a page uses and that is not registered.
public enum MissingPart: Hashable, Sendable, CustomStringConvertible {
  /// A component, by its type. It is laid out as a `div`.
  case component(String)
  /// A module, by its name.
  case module(String)
  /// A method of a module or of a component, by their names.
  case method(of: String, String)

  public var description: String {
    switch self {
    case .component(let type): "the component \(type.quotedForMessage) is not registered: it is laid out as a div"
    case .module(let name): "the module \(name.quotedForMessage) is not registered"
    case .method(let owner, let name): "\(owner.quotedForMessage) has no method \(name.quotedForMessage)"
    }
  }
}
