import HTTPCaching
import HTTPTransport
import HTTPTypes

/// How a cache and the network share in answering a request: what may be read first, when the network is asked, and
/// what may answer when it fails.
public struct LoadBehavior: Hashable, Sendable {
  /// The stored responses that answer before the network is asked.
  package enum CacheRead: String, Hashable, Sendable, Codable {
    case never
    /// Those that RFC 9111 allows.
    case valid
    /// Any stored response, however old.
    case any
  }

  /// When the network is asked.
  package enum NetworkUse: String, Hashable, Sendable, Codable {
    case never
    /// If nothing stored answers.
    case onMiss
    /// Always, on condition that the stored response has changed.
    case revalidating
    /// Always, as though nothing were stored.
    case reloading
    /// Always, and no cache on the way may answer either.
    case reloadingPastAllCaches
  }

  /// The stored responses that answer after the network has failed.
  package enum Fallback: String, Hashable, Sendable, Codable {
    case never
    /// Those that RFC 9111 §4.2.4 and RFC 5861 §4 allow.
    case permitted
    case any
  }

  /// The request that follows an answer from the cache.
  package enum Refresh: String, Hashable, Sendable, Codable {
    case never
    /// A stale answer is refreshed in the background.
    case whenStale
    /// Every answer is refreshed in the background.
    case always
  }

  /// The stored responses that answer before the network is asked.
  package var cacheRead: CacheRead
  /// When the network is asked.
  package var network: NetworkUse
  /// The stored responses that answer after the network has failed.
  package var fallback: Fallback
  /// The request that follows an answer from the cache.
  package var refresh: Refresh
  /// How long the network may take before the fallback answers; `nil` for as long as the transfer's limits allow.
  package var patience: Duration?
  /// While the network is away, anything stored answers at once.
  package var yieldsOffline: Bool
  /// An answer of 500 or more counts as a failure of the network.
  package var fallsBackOnServerErrors: Bool

  /// A behaviour of your own; the named ones such as ``cacheFirst`` are made so.
  ///
  /// - Parameter patience: how long the network may take before the fallback answers; `nil` for as long as the
  ///   transfer's limits allow.
  package init(
    cacheRead: CacheRead, network: NetworkUse, fallback: Fallback = .never, refresh: Refresh = .never,
    patience: Duration? = nil, yieldsOffline: Bool = false, fallsBackOnServerErrors: Bool = false
  ) {
    self.cacheRead = cacheRead
    self.network = network
    self.fallback = fallback
    self.refresh = refresh
    self.patience = patience
    self.yieldsOffline = yieldsOffline
    self.fallsBackOnServerErrors = fallsBackOnServerErrors
  }
}

extension LoadBehavior {
  /// RFC 9111. Offline: what is fresh, and what is stale where its server does not forbid that.
  public static let protocolCache = LoadBehavior(cacheRead: .valid, network: .onMiss, fallback: .permitted)

  /// The stored response, however old; the network if there is none. Offline: the stored response.
  public static let cacheFirst = LoadBehavior(cacheRead: .any, network: .onMiss)

  /// The network, revalidating; after `timeout` or a failure whatever is stored. Offline: whatever is stored.
  public static func networkFirst(timeout: Duration = .seconds(3)) -> LoadBehavior {
    LoadBehavior(cacheRead: .never, network: .revalidating, fallback: .any, patience: timeout)
  }

  /// The stored response at once, and then the network's answer. Offline: the stored response, and then the failure.
  public static let cacheThenNetwork = LoadBehavior(cacheRead: .any, network: .onMiss, refresh: .always)

  /// The stored response at once; if it is stale, the network is asked for the next time. Offline: the stored
  /// response.
  public static let staleWhileRevalidate = LoadBehavior(cacheRead: .any, network: .onMiss, refresh: .whenStale)

  /// The network; what it answers is stored. Offline: an error.
  public static let networkOnly = LoadBehavior(cacheRead: .never, network: .reloading)

  /// The stored response, or an error. Offline: the same.
  public static let cacheOnly = LoadBehavior(cacheRead: .any, network: .never)

  /// RFC 9111 while online. Offline, and after the network has failed, the stored response of any age. The default for
  /// requests that no rule matches.
  public static let automatic = LoadBehavior(
    cacheRead: .valid, network: .onMiss, fallback: .any, yieldsOffline: true)

  /// Like ``automatic``, but the stored response also answers after a 5xx or after three seconds. The default for
  /// pictures that no rule matches.
  public static let picture = LoadBehavior(
    cacheRead: .valid, network: .onMiss, fallback: .any, patience: .seconds(3), yieldsOffline: true,
    fallsBackOnServerErrors: true)
}

/// The values of `NSURLRequest.CachePolicy`, by their names.
extension LoadBehavior {
  /// The protocol's rules: RFC 9111. Offline: what is fresh, and what is stale where its server does not forbid that.
  public static let useProtocolCachePolicy = protocolCache

  /// The network, and nothing stored here. Offline: an error.
  public static let reloadIgnoringLocalCacheData = networkOnly

  /// The same. Offline: an error.
  public static let reloadIgnoringCacheData = networkOnly

  /// The origin itself: caches on the way are told not to answer. Offline: an error.
  public static let reloadIgnoringLocalAndRemoteCacheData = LoadBehavior(
    cacheRead: .never, network: .reloadingPastAllCaches)

  /// The stored response, however old, or else the network. Offline: the stored response.
  public static let returnCacheDataElseLoad = cacheFirst

  /// The stored response, however old, and never the network. Offline: the same.
  public static let returnCacheDataDontLoad = cacheOnly

  /// A stored response if the origin confirms it, else the origin's new response. Offline: an error.
  public static let reloadRevalidatingCacheData = LoadBehavior(cacheRead: .never, network: .revalidating)
}

extension LoadBehavior {
  /// Every preset and policy by its name in Swift; `networkFirst` with its default timeout.
  package static let named: [(name: String, behavior: LoadBehavior)] = [
    ("automatic", automatic), ("picture", picture), ("protocolCache", protocolCache), ("cacheFirst", cacheFirst),
    ("networkFirst", networkFirst()), ("cacheThenNetwork", cacheThenNetwork),
    ("staleWhileRevalidate", staleWhileRevalidate), ("networkOnly", networkOnly), ("cacheOnly", cacheOnly),
    ("useProtocolCachePolicy", useProtocolCachePolicy),
    ("reloadIgnoringLocalCacheData", reloadIgnoringLocalCacheData),
    ("reloadIgnoringLocalAndRemoteCacheData", reloadIgnoringLocalAndRemoteCacheData),
    ("reloadIgnoringCacheData", reloadIgnoringCacheData), ("returnCacheDataElseLoad", returnCacheDataElseLoad),
    ("returnCacheDataDontLoad", returnCacheDataDontLoad),
    ("reloadRevalidatingCacheData", reloadRevalidatingCacheData),
  ]

  /// The preset or policy of this name.
  public init?(named name: String) {
    guard let found = Self.named.first(where: { $0.name == name }) else { return nil }
    self = found.behavior
  }

  /// Its first name, for explanations.
  public var name: String { Self.named.first { $0.behavior == self }?.name ?? "custom" }
}

extension LoadBehavior {
  /// Decides what to do with a request, by the stored responses and the caller's wish.
  ///
  /// - Parameter isOnline: whether the origin is thought to be reachable.
  func decision(
    for request: HTTPRequest, among stored: [StoredResponse], at now: HTTPDate, policy: CachePolicy,
    lifetime: LifetimeRule, isOnline: Bool
  ) -> CacheDecision {
    let byProtocol = policy.decision(for: request, among: stored, at: now, lifetime: lifetime)
    if case .fetch(_, because: .method) = byProtocol {
      return network == .never ? .gatewayTimeout(because: .method) : byProtocol
    }
    let anything = policy.selectedResponse(for: request, among: stored)
    let isYielding = yieldsOffline && !isOnline && anything != nil
    switch isYielding ? .any : cacheRead {
    case .any:
      if let anything {
        let freshness = Freshness(of: anything, at: now, rule: lifetime)
        let isFresh = freshness.isFresh && !anything.isInvalidated
        return .serve(anything, age: freshness.age, because: isFresh ? .fresh : .anyAge)
      }
    case .valid:
      switch byProtocol {
      case .serve, .serveStale: return byProtocol
      default: break
      }
    case .never: break
    }
    switch network {
    case .never: return .gatewayTimeout(because: byProtocol.forwardReason ?? .notStored)
    case .onMiss: return byProtocol
    case .revalidating:
      guard let anything else { return .fetch(request, because: byProtocol.forwardReason ?? .asked) }
      let freshness = Freshness(of: anything, at: now, rule: lifetime)
      // RFC 8246 §2: what never changes is not asked about while it is fresh.
      if anything.control.isImmutable, freshness.isFresh, !anything.isInvalidated {
        return .serve(anything, age: freshness.age, because: .fresh)
      }
      return policy.validation(of: anything, for: request).map { .revalidate(anything, with: $0, because: .asked) }
        ?? .fetch(request, because: .asked)
    case .reloading:
      return .fetch(request, because: .asked)
    case .reloadingPastAllCaches:
      var request = request
      request.headerFields[.cacheControl] = "no-cache"
      if let pragma = HTTPField.Name("Pragma") { request.headerFields[pragma] = "no-cache" }
      return .fetch(request, because: .asked)
    }
  }

  /// The stored response that answers after the network has failed; `nil` if none may.
  func responseAfterFailure(
    to request: HTTPRequest, among stored: [StoredResponse], at now: HTTPDate, policy: CachePolicy,
    lifetime: LifetimeRule
  ) -> (StoredResponse, ServeReason)? {
    guard request.method == .get || request.method == .head,
      let anything = policy.selectedResponse(for: request, among: stored)
    else { return nil }
    switch fallback {
    case .never: return nil
    case .permitted:
      return policy.fallback(to: anything, for: request, at: now, lifetime: lifetime).map { (anything, $0) }
    case .any: return (anything, .anyAge)
    }
  }
}

extension CacheDecision {
  /// The decision in a few words, for logs.
  var summary: String {
    switch self {
    case .serve(_, let age, let reason): "answered from the cache, \(age) s old: \(reason.rawValue)"
    case .serveStale(_, let age, _): "answered from the cache, \(age) s old, and revalidating"
    case .revalidate(_, _, let reason): "revalidating: \(reason.rawValue)"
    case .complete: "asking for the rest of what is stored"
    case .fetch(_, let reason): "fetching: \(reason.rawValue)"
    case .gatewayTimeout(let reason): "not answered: \(reason.rawValue)"
    }
  }

  /// Why it goes to the origin, where it does.
  var forwardReason: ForwardReason? {
    switch self {
    case .revalidate(_, _, let reason), .fetch(_, let reason), .gatewayTimeout(let reason): reason
    case .complete: .partial
    case .serve, .serveStale: nil
    }
  }
}
