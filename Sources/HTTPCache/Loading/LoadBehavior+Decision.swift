import HTTPCaching
import HTTPTransport
import HTTPTypes

extension LoadBehavior {
  /// Decides what to do with a request, by what is stored and what the caller wants.
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
    let anything = policy.anyAnswer(to: request, among: stored)
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
  func answerAfterFailure(
    to request: HTTPRequest, among stored: [StoredResponse], at now: HTTPDate, policy: CachePolicy,
    lifetime: LifetimeRule
  ) -> (StoredResponse, ServeReason)? {
    guard request.method == .get || request.method == .head,
      let anything = policy.anyAnswer(to: request, among: stored)
    else { return nil }
    switch fallback {
    case .never: return nil
    case .permitted:
      return policy.staleAnswer(to: request, from: anything, at: now, lifetime: lifetime).map { (anything, $0) }
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
