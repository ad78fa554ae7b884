import HTTPTypes

/// What a cache may do, by RFC 9111. It reads no clock and does no I/O.
public struct CachePolicy: Hashable, Sendable {
  public enum Mode: Hashable, Sendable {
    /// For one user.
    case `private`
    /// For many.
    case shared
  }

  public let mode: Mode
  /// Targeted fields that are meant for this cache, the most specific first; a response that has one of them is judged
  /// by it instead of by `Cache-Control` and `Expires`. RFC 9213 §2.2.
  public let targets: [HTTPField.Name]
  /// A shared cache stores responses with their `Set-Cookie`, and so gives one client's cookie to all. RFC 9111 §7.3
  /// leaves that to the origin; a private cache always stores them.
  public var sharesCookies = false

  /// A shared cache heeds `CDN-Cache-Control`.
  public init(mode: Mode) {
    self.init(mode: mode, targets: mode == .shared ? [.cdnCacheControl].compactMap(\.self) : [])
  }

  public init(mode: Mode, targets: [HTTPField.Name]) {
    self.mode = mode
    self.targets = targets
  }
}

extension HTTPField.Name {
  /// RFC 9213 §3.
  public static let cdnCacheControl = HTTPField.Name("CDN-Cache-Control")
}

// MARK: - Invalidation

extension CachePolicy {
  /// Whether an answer makes what is stored for its URL doubtful: one without an error, to a method that is not known
  /// to be safe. RFC 9111 §4.4.
  public func invalidates(_ method: HTTPRequest.Method, _ response: HTTPResponse) -> Bool {
    // RFC 9110 §9.2.1.
    let isSafe = [.get, .head, .options, .trace].contains(method)
    return !isSafe && (200..<400).contains(response.status.code)
  }

  /// References in the answer whose targets are doubtful too, where they have the request's origin: that is for the
  /// caller to see, who can resolve them. RFC 9111 §4.4.
  public func invalidatedReferences(_ response: HTTPResponse) -> [String] {
    [HTTPField.Name.location, .contentLocation].compactMap { response.headerFields[$0] }
  }
}
