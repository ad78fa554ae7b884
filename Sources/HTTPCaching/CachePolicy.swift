import HTTPTypes

/// The rules of RFC 9111 for one cache, as pure functions: they read no clock and do no I/O.
///
/// A cache asks three questions. Before a request, ``decision(for:among:at:lifetime:)`` says if a stored response may
/// be served. After an exchange with the origin, ``decision(on:to:for:validating:at:lifetime:)`` says how the origin's
/// response is used, and ``storage(of:to:received:)`` if it may be stored:
///
///     let policy = CachePolicy(mode: .shared)
///     let request = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/news")
///     let response = HTTPResponse(status: .ok, headerFields: [.cacheControl: "private, max-age=60"])
///     print(policy.storage(of: response, to: request, received: now) == .refuse(.isPrivate))  // true
public struct CachePolicy: Hashable, Sendable {
  /// The two kinds of cache that RFC 9111 §1 tells apart.
  public enum Mode: Hashable, Sendable {
    /// A cache of one user. It may store responses with `private`, and ignores `s-maxage`.
    case `private`
    /// A cache of many users, such as a gateway. It obeys `s-maxage` and `proxy-revalidate`, and stores neither
    /// responses with `private` nor those to requests with `Authorization` that do not allow it.
    case shared
  }

  /// The kind of cache that the rules are for.
  public package(set) var mode: Mode
  /// The names of the targeted fields that address this cache, the most specific first. If a response has a valid one,
  /// its directives replace `Cache-Control` and `Expires`. RFC 9213 §2.2.
  public let targets: [HTTPField.Name]
  /// `true` lets a shared cache store responses together with their `Set-Cookie`, and thereby send one client's cookie to
  /// all; `false` by default. RFC 9111 §7.3 leaves this to the origin. A private cache always stores them.
  public var sharesCookies = false

  /// Creates the rules of a cache. A shared cache obeys `CDN-Cache-Control` (RFC 9213 §3).
  ///
  /// - Parameter mode: the kind of cache.
  public init(mode: Mode) {
    self.init(mode: mode, targets: mode == .shared ? [.cdnCacheControl].compactMap(\.self) : [])
  }

  /// Creates the rules of a cache with its own targeted fields.
  ///
  /// - Parameters:
  ///   - mode: the kind of cache.
  ///   - targets: names of targeted fields (RFC 9213), the most specific first; empty for none.
  public init(mode: Mode, targets: [HTTPField.Name]) {
    self.mode = mode
    self.targets = targets
  }
}

extension HTTPField.Name {
  /// `CDN-Cache-Control`, the targeted field for shared caches of an origin's own network. RFC 9213 §3.
  package static let cdnCacheControl = HTTPField.Name("CDN-Cache-Control")
  /// `Content-Digest`, the digest of the bytes of one message. RFC 9530 §2.
  package static let contentDigest = HTTPField.Name("Content-Digest")
}

// MARK: - Invalidation

extension CachePolicy {
  /// Returns `true` if a response invalidates the stored responses for its URL: a status of 2xx or 3xx to a method
  /// that is not known to be safe. RFC 9111 §4.4.
  ///
  /// - Parameters:
  ///   - method: the method of the request.
  ///   - response: the head of its response.
  public func invalidates(_ method: HTTPRequest.Method, _ response: HTTPResponse) -> Bool {
    // RFC 9110 §9.2.1.
    let isSafe = [.get, .head, .options, .trace].contains(method)
    return !isSafe && (200..<400).contains(response.status.code)
  }

  /// Returns the values of `Location` and `Content-Location`. If ``invalidates(_:_:)`` is `true`, stored responses for
  /// their URLs are invalid too, provided that these have the request's origin. The caller resolves the references and
  /// compares the origins. RFC 9111 §4.4.
  ///
  /// - Parameter response: the head of the response.
  public func invalidatedReferences(_ response: HTTPResponse) -> [String] {
    [HTTPField.Name.location, .contentLocation].compactMap { response.headerFields[$0] }
  }
}
