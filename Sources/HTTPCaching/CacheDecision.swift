import HTTPTypes

/// What a cache does with a request. RFC 9111 §4.
public enum CacheDecision: Equatable, Sendable {
  /// Answer with what is stored.
  case serve(StoredResponse, age: Int64, because: ServeReason)
  /// Answer with what is stored, and ask whether it is still valid meanwhile.
  case serveStale(StoredResponse, age: Int64, revalidatingWith: HTTPRequest)
  /// Ask whether what is stored is still valid.
  case revalidate(StoredResponse, with: HTTPRequest, because: ForwardReason)
  /// Ask for the rest of what is stored in part.
  case complete(StoredResponse, with: HTTPRequest)
  /// Ask, as though nothing were stored.
  case fetch(HTTPRequest, because: ForwardReason)
  /// The request may only be answered from what is stored, and nothing is that may be used. RFC 9111 §5.2.1.7.
  case gatewayTimeout(because: ForwardReason)
}

/// Why a stored response may be used.
public enum ServeReason: String, Hashable, Sendable {
  case fresh = "it is fresh"
  case requestAllowsStale = "the request accepts stale answers"
  case whileRevalidating = "it may be used while it is revalidated"
  case ifError = "it may be used where the origin fails"
  case disconnected = "the origin cannot be reached"
  /// The caller does not ask for more.
  case anyAge = "whatever is stored will do"

  /// Where the rule stands; nil where it is the caller's own.
  public var clause: String? {
    switch self {
    case .fresh: "RFC 9111 §4.2"
    case .requestAllowsStale: "RFC 9111 §5.2.1.2"
    case .whileRevalidating: "RFC 5861 §3"
    case .ifError: "RFC 5861 §4"
    case .disconnected: "RFC 9111 §4.2.4"
    case .anyAge: nil
    }
  }
}

/// Why a request goes to the origin.
public enum ForwardReason: String, Hashable, Sendable {
  case method = "only GET and HEAD are answered from the cache"
  case notStored = "nothing is stored for the URL"
  case variant = "what is stored answers other request fields"
  case stale = "it is stale"
  case invalidated = "the resource was changed since it was stored"
  case noFreshness = "the server gave neither a lifetime nor a validator"
  case responseNoCache = "the response says no-cache"
  case requestNoCache = "the request says no-cache"
  case requestMaxAge = "it is older than the request accepts"
  case requestMinFresh = "it is not fresh for as long as the request wants"
  case partial = "only a part of it is stored"
  case precondition = "the request's condition is for the origin"
  case upgrade = "the request asks for another protocol"
  /// The caller's wish.
  case asked = "the caller wants the origin's answer"

  /// Where the rule stands; nil where it is the caller's own.
  public var clause: String? {
    switch self {
    case .method, .notStored: "RFC 9111 §4"
    case .variant: "RFC 9111 §4.1"
    case .stale, .noFreshness: "RFC 9111 §4.2"
    case .invalidated: "RFC 9111 §4.4"
    case .responseNoCache: "RFC 9111 §5.2.2.4"
    case .requestNoCache: "RFC 9111 §5.2.1.4"
    case .requestMaxAge: "RFC 9111 §5.2.1.1"
    case .requestMinFresh: "RFC 9111 §5.2.1.3"
    case .partial: "RFC 9111 §3.3"
    case .precondition: "RFC 9111 §4.3.2"
    case .upgrade: "RFC 9110 §7.8"
    case .asked: nil
    }
  }

  /// The `fwd` parameter of RFC 9211 §2.2.
  public var cacheStatusToken: String {
    switch self {
    case .method: "method"
    case .notStored: "uri-miss"
    case .variant: "vary-miss"
    case .stale, .invalidated, .noFreshness, .responseNoCache: "stale"
    case .requestNoCache, .requestMaxAge, .requestMinFresh, .asked: "request"
    case .partial: "partial"
    case .precondition, .upgrade: "bypass"
    }
  }
}
