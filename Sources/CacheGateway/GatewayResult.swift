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
  /// The origin's answer to somebody else who asked for the same at that moment.
  case collapsed
  /// The origin's answer, which is stored.
  case miss
  /// The origin's answer, which may not be.
  case pass
  /// The origin sent no response.
  case fault
  /// Too many wait for the origin.
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

  /// True if the origin did not have to send the body.
  package var isSaved: Bool {
    switch self {
    case .hit, .stale, .revalidated, .collapsed: true
    case .miss, .pass, .fault, .busy: false
    }
  }
}
