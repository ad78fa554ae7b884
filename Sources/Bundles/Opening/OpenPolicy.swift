import HTTPTransport

/// How the store and the server share in opening a page: the strategies of Workbox, by their names.
public enum OpenPolicy: Hashable, Sendable {
  /// The server's bytes, and what is stored if they are not here by the deadline or cannot be had; the download then
  /// goes on for the next opening. The deadline counts from the beginning of the opening and covers the question for the
  /// server's MD5s, the download and every retry; it holds only where something is stored.
  case networkFirst(deadline: Duration = .seconds(2))
  /// What is stored, without asking; the server's bytes where nothing is.
  case cacheFirst
  /// What is stored, without waiting; the server is asked behind it for the next opening.
  case staleWhileRevalidate
  /// What is stored, or an error.
  case cacheOnly
  /// The server's bytes, or an error: what is stored counts only if the server confirms it in this launch.
  case networkOnly
}

extension OpenPolicy {
  /// Whether stored bytes are run without asking the server first.
  package var startsWithStored: Bool {
    switch self {
    case .cacheFirst, .staleWhileRevalidate, .cacheOnly: true
    case .networkFirst, .networkOnly: false
    }
  }

  /// Whether the server may be asked at all.
  package var usesNetwork: Bool { self != .cacheOnly }

  /// Whether stored bytes may be run that the server has not confirmed.
  var allowsUnconfirmed: Bool { self != .networkOnly }

  /// How long an opening waits for the server where something is stored; `nil` for as long as it makes progress.
  var deadline: Duration? {
    if case .networkFirst(let deadline) = self { deadline } else { nil }
  }
}

/// The policy of pages whose URLs match a pattern.
public struct OpenRule: Hashable, Sendable {
  public let pattern: URLPattern
  public let policy: OpenPolicy

  public init(_ pattern: URLPattern, _ policy: OpenPolicy) {
    self.pattern = pattern
    self.policy = policy
  }
}

/// When an opening stops waiting for the server.
struct OpeningDeadline: Equatable, Sendable {
  /// When the opening began.
  let began: Duration
  /// How long its caller had waited for the server by then.
  var waited: Duration = .zero
  /// From the beginning, where something can be shown; `nil` for no limit.
  let total: Duration?
  /// Without progress, where nothing can be shown.
  let idle: Duration

  /// - Parameters:
  ///   - canShow: stored bytes may be run when the time is up.
  ///   - progress: when the server last sent something for this opening.
  func expiry(canShow: Bool, progress: Duration?) -> Duration {
    let idleExpiry = max(began, progress ?? began) + idle
    guard canShow, let total else { return idleExpiry }
    return min(began - waited + total, idleExpiry)
  }
}
