import HTTPCache
import HTTPCaching

/// The result of a request, for metrics and logs.
package enum GatewayResult: String, CaseIterable, Sendable {
  /// A stored response that is fresh.
  case hit
  /// A stored response that is no longer fresh.
  case stale
  /// A stored response that the origin has confirmed.
  case revalidated
  /// The origin's response to an identical request of another client at the same time.
  case collapsed
  /// The origin's response, which is stored.
  case miss
  /// The origin's response, which must not be stored.
  case pass
  /// The origin sent no response.
  case fault
  /// The limit of requests that wait for the origin was reached.
  case busy

  init(_ loaded: Resource) {
    guard let status = loaded.cacheStatus else {
      self = .pass
      return
    }
    switch status.outcome {
    case .hit: self = (status.timeToLive ?? 0) > 0 ? .hit : .stale
    case .forwarded where loaded.source == .revalidated: self = .revalidated
    case .forwarded where status.isCollapsed: self = .collapsed
    case .forwarded, .generated: self = status.isStored ? .miss : .pass
    }
  }

  /// `true` if the origin did not send the body.
  package var isSaved: Bool {
    switch self {
    case .hit, .stale, .revalidated, .collapsed: true
    case .miss, .pass, .fault, .busy: false
    }
  }
}
