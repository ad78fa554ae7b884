import HTTPTransport

/// The order in which the store and the server are used to open a page. The names are those of Workbox's strategies.
public enum OpenPolicy: Hashable, Sendable {
  /// Uses the server's bytes, and stored bytes if the server's have not arrived by the deadline or cannot be fetched;
  /// the download then goes on for the next opening. The deadline counts from the beginning of the opening and covers
  /// the request for the server's MD5s, the download and every retry. It applies only if bytes are stored.
  case networkFirst(deadline: Duration = .seconds(2))
  /// Uses stored bytes without asking the server, and the server's bytes if none are stored.
  case cacheFirst
  /// Uses stored bytes at once, and asks the server in the background for the next opening.
  case staleWhileRevalidate
  /// Uses stored bytes, and fails if there are none.
  case cacheOnly
  /// Uses the server's bytes, and stored bytes only if the server confirms them in this launch. Fails otherwise.
  case networkOnly
}

extension OpenPolicy {
  /// `true` if stored bytes are run without asking the server first.
  package var startsWithStored: Bool {
    switch self {
    case .cacheFirst, .staleWhileRevalidate, .cacheOnly: true
    case .networkFirst, .networkOnly: false
    }
  }

  /// `true` if the server may be asked at all.
  package var usesNetwork: Bool { self != .cacheOnly }

  /// `true` if stored bytes may be run without the server's confirmation.
  var allowsUnconfirmed: Bool { self != .networkOnly }

  /// The longest wait for the server if bytes are stored; `nil` to wait as long as there is progress.
  var deadline: Duration? {
    if case .networkFirst(let deadline) = self { deadline } else { nil }
  }
}

/// A policy for the pages whose URLs match a pattern.
public struct OpenRule: Hashable, Sendable {
  /// The pattern of the pages' URLs.
  public let pattern: URLPattern
  /// The policy with which matching pages open.
  public let policy: OpenPolicy

  /// Makes a rule.
  public init(_ pattern: URLPattern, _ policy: OpenPolicy) {
    self.pattern = pattern
    self.policy = policy
  }
}

/// The time at which an opening stops waiting for the server.
struct OpeningDeadline: Equatable, Sendable {
  /// The time at which the opening began.
  let began: Duration
  /// The time that the caller had waited for the server by then.
  var waited: Duration = .zero
  /// The limit from the beginning if stored bytes can be shown; `nil` for no limit.
  let total: Duration?
  /// The limit without progress if nothing can be shown.
  let idle: Duration

  /// - Parameters:
  ///   - canShow: `true` if stored bytes may be run when the time is up.
  ///   - progress: the time at which the server last sent bytes for this opening.
  func expiry(canShow: Bool, progress: Duration?) -> Duration {
    let idleExpiry = max(began, progress ?? began) + idle
    guard canShow, let total else { return idleExpiry }
    return min(began - waited + total, idleExpiry)
  }
}

/// The bytes that a page gets while a newer release is being downloaded.
public enum Consistency: Hashable, Sendable {
  /// The newest verified bytes of this page, fetched at once if necessary.
  case bundle
  /// The bytes of the current release, until the newer one is complete.
  case release
}
