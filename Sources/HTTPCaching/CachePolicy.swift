import HTTPTypes

/// The rules of RFC 9111 for one cache, as pure functions: they read no clock and do no I/O.
///
/// A cache asks three questions, and acts on the values that answer them:
///
/// ```swift
/// let policy = CachePolicy(mode: .private)
///
/// // 1. Before a request: `stored` are the responses that the cache holds for the URL.
/// switch policy.decision(for: request, among: stored, at: now) {
/// case .serve(let response, let age, _):
///   let answer = StoredAnswer(to: request, from: response, age: age)  // head, and the positions of its bytes
/// case .revalidate(let response, let conditional, _):
///   // 2. After the exchange: `received` is the origin's response to `conditional`.
///   switch policy.decision(on: received, to: conditional, for: request, validating: response, at: now) {
///   case .use: break  // 3. The response answers the request. May it be stored?
///   case .freshen(let response, let fields): update(response.id, fields)
///   …
///   }
/// …
/// }
///
/// if case .store(let status, let fields) = policy.storage(of: received, to: request, received: now) { … }
/// ```
package struct CachePolicy: Hashable, Sendable {
  /// The two kinds of cache that RFC 9111 §1 tells apart.
  package enum Mode: Hashable, Sendable {
    /// A cache of one user. It may store responses with `private`, and ignores `s-maxage`.
    case `private`
    /// A cache of many users, such as a gateway.
    case shared
  }

  /// The kind of cache that the rules are for.
  package var mode: Mode
  /// The names of the targeted fields that address this cache, the most specific first. If a response has a valid one,
  /// its directives replace `Cache-Control` and `Expires`. RFC 9213 §2.2.
  package let targets: [HTTPField.Name]
  /// Pass `true` to let a shared cache store responses together with their `Set-Cookie`, and thereby send one client's
  /// cookie to all. RFC 9111 §7.3 leaves this to the origin. A private cache always stores them.
  package var sharesCookies = false

  /// Creates the rules of a cache. A shared cache obeys `CDN-Cache-Control`.
  package init(mode: Mode) {
    self.init(mode: mode, targets: mode == .shared ? [.cdnCacheControl].compactMap(\.self) : [])
  }

  /// Creates the rules of a cache with its own targeted fields.
  ///
  /// - Parameters:
  ///   - mode: the kind of cache.
  ///   - targets: names of targeted fields (RFC 9213), the most specific first; empty for none.
  package init(mode: Mode, targets: [HTTPField.Name]) {
    self.mode = mode
    self.targets = targets
  }
}

extension HTTPField.Name {
  /// `CDN-Cache-Control`, the targeted field for shared caches of an origin's own network. RFC 9213 §3.1.
  package static let cdnCacheControl = HTTPField.Name("CDN-Cache-Control")
  /// `Content-Digest`, the digest of the bytes of one message. RFC 9530 §2.
  package static let contentDigest = HTTPField.Name("Content-Digest")
}

// MARK: - Invalidation

extension CachePolicy {
  /// Returns `true` if a response invalidates the stored responses for its URL: a status of 2xx or 3xx to a method
  /// that is not known to be safe. RFC 9111 §4.4.
  package func invalidates(_ method: HTTPRequest.Method, _ response: HTTPResponse) -> Bool {
    // RFC 9110 §9.2.1.
    let isSafe = [.get, .head, .options, .trace].contains(method)
    return !isSafe && (200..<400).contains(response.status.code)
  }

  /// Returns the values of `Location` and `Content-Location`. If ``invalidates(_:_:)`` is `true`, stored responses for
  /// their URLs are invalid too, provided that these have the request's origin. The caller resolves the references and
  /// compares the origins. RFC 9111 §4.4.
  package func invalidatedReferences(_ response: HTTPResponse) -> [String] {
    [HTTPField.Name.location, .contentLocation].compactMap { response.headerFields[$0] }
  }
}
