import HTTPCaching
import HTTPTransport
import HTTPTypes

/// How an app wants some of its resources to be loaded: the first rule that matches counts.
public struct ResourceRule: Sendable {
  /// The URLs it is for.
  public let pattern: URLPattern
  /// `nil` for all.
  public let types: Set<ResourceType>?
  /// How they are loaded; `nil` for the default.
  public var behavior: LoadBehavior?
  /// How long their responses are fresh.
  public var lifetime: LifetimeRule
  /// A shared partition stores responses with their `Set-Cookie`, so that one client's cookie reaches all.
  package var sharesCookies = false
  /// Makes responses to POST storable: the text that it makes of a request's body becomes part of the key. It returns
  /// `nil` for a request whose response is not to be stored.
  public var postKey: (@Sendable ([UInt8]) -> String?)?

  /// Makes a rule. Each parameter is the property of the same name.
  ///
  /// - Parameters:
  ///   - behavior: `nil` for the default.
  ///   - lifetime: the time for which responses are fresh.
  public init(
    _ pattern: URLPattern = .any, types: Set<ResourceType>? = nil, behavior: LoadBehavior? = nil,
    lifetime: LifetimeRule = .server, postKey: (@Sendable ([UInt8]) -> String?)? = nil
  ) {
    self.pattern = pattern
    self.types = types
    self.behavior = behavior
    self.lifetime = lifetime
    self.postKey = postKey
  }

  func matches(_ url: PageURL, _ type: ResourceType) -> Bool {
    (types?.contains(type) ?? true) && pattern.matches(url)
  }
}
