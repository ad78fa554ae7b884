import HTTPTransport

/// Something that a page wants and that nobody registered.
public enum MissingPart: Hashable, Sendable, CustomStringConvertible {
  case component(String)
  case module(String)
  /// Of a module, or of a component.
  case method(of: String, String)

  public var description: String {
    switch self {
    case .component(let type): "nobody registered a component \(type.quotedForMessage): it is laid out as a div"
    case .module(let name): "nobody registered a module \(name.quotedForMessage)"
    case .method(let owner, let name): "\(owner.quotedForMessage) has no method \(name.quotedForMessage)"
    }
  }
}
