import Synchronization

/// Tells whether origins can be reached, from the outcomes of requests to them.
///
/// After several consecutive failures to connect, an origin counts as unreachable for a short time, so that requests
/// fail without a time-out; then one request may try again. The time grows with each further failure.
///
///     host.reachability.setting = .offline  // no request is sent
///     host.reachability.setting = .observed  // the outcomes of requests decide again
public final class Reachability: Sendable {
  /// The app's knowledge of the network.
  public enum Setting: Hashable, Sendable {
    /// Unknown: the outcomes of requests decide.
    case observed
    /// There is a network: every origin counts as reachable.
    case online
    /// There is no network: no request is sent.
    case offline
  }

  /// The failures after which an origin counts as unreachable, and for how long.
  package struct Patience: Hashable, Sendable {
    /// The number of consecutive failures to connect; 2 by default, at least 1.
    package var failures: Int
    /// The time without requests; 5 seconds by default, and twice as long after each further failure.
    package var rest: Duration
    /// The longest time without a request; 60 seconds by default.
    package var longestRest: Duration

    package init(failures: Int = 2, rest: Duration = .seconds(5), longestRest: Duration = .seconds(60)) {
      self.failures = max(1, failures)
      self.rest = rest
      self.longestRest = longestRest
    }
  }

  /// The circuit breaker of one origin, as a value.
  package struct Breaker: Hashable, Sendable {
    package private(set) var failures = 0
    package private(set) var openUntil: ContinuousClock.Instant?
    private var isTrying = false

    private let patience: Patience

    package init(_ patience: Patience = Patience()) { self.patience = patience }

    /// Returns `true` if a request may be sent. After the rest one request may try, and the others wait for its
    /// outcome.
    package mutating func admits(at now: ContinuousClock.Instant) -> Bool {
      guard let openUntil else { return true }
      guard now >= openUntil else { return false }
      self.openUntil = now + patience.rest
      isTrying = true
      return true
    }

    package func isOnline(at now: ContinuousClock.Instant) -> Bool { openUntil.map { now >= $0 } ?? true }

    package mutating func recordFailure(at now: ContinuousClock.Instant) {
      // Failures of requests that were sent before it opened do not count.
      guard isTrying || isOnline(at: now) else { return }
      isTrying = false
      failures += 1
      guard failures >= patience.failures else { return }
      openUntil = now + patience.rest.doubled(failures - patience.failures, atMost: patience.longestRest)
    }

    package mutating func recordSuccess() { self = Breaker(patience) }
  }

  /// The largest number of unreachable origins that are remembered.
  private static let rememberedLimit = 1000

  /// The breakers are those of origins that have failed.
  private let state = Mutex<(setting: Setting, breakers: [String: Breaker])>((.observed, [:]))
  private let now: @Sendable () -> ContinuousClock.Instant

  private let patience: Patience

  /// - Parameters:
  ///   - patience: the failures after which an origin counts as unreachable, and for how long.
  ///   - now: a monotonic clock.
  package init(_ patience: Patience = Patience(), now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.patience = patience
    self.now = now
  }

  /// Makes a reachability that has seen no request yet.
  public convenience init() { self.init(Patience()) }

  /// The app's knowledge of the network. While it is ``Setting/offline``, no request is sent for resources or bundles;
  /// a waiting preload continues as soon as it is set to another value.
  public var setting: Setting {
    get { state.withLock(\.setting) }
    set {
      let former = state.withLock { state in
        defer { state.setting = newValue }
        return state.setting
      }
      if former != newValue, newValue != .offline { recovered.send() }
    }
  }

  /// Sent when an unreachable origin answers again, and when ``setting`` changes from offline.
  package let recovered = Signal()

  /// Throws ``OfflineError`` while ``setting`` is ``Setting/offline``.
  package func checkSetting(for url: PageURL) throws {
    if setting == .offline { throw OfflineError(url: url) }
  }

  /// Returns `true` if the URL's origin counts as reachable now.
  public func isOnline(_ url: PageURL) -> Bool {
    state.withLock { state in
      switch state.setting {
      case .online: true
      case .offline: false
      case .observed: state.breakers.isEmpty || state.breakers[url.origin]?.isOnline(at: now()) ?? true
      }
    }
  }

  /// Returns `true` if the last requests to the URL's origin found it unreachable, also after the pause.
  package func isAway(_ url: PageURL) -> Bool {
    state.withLock { $0.breakers[url.origin]?.openUntil != nil }
  }

  /// Returns `true` if a request may be sent to the URL's origin now.
  package func admits(_ url: PageURL) -> Bool {
    state.withLock { state in
      switch state.setting {
      case .online: return true
      case .offline: return false
      case .observed:
        guard !state.breakers.isEmpty else { return true }
        return state.breakers[url.origin]?.admits(at: now()) ?? true
      }
    }
  }

  package func record(_ error: any Error, for url: PageURL) {
    guard Self.meansAway(error) else { return }
    let now = now()
    state.withLock { state in
      if state.breakers.count >= Self.rememberedLimit, state.breakers[url.origin] == nil {
        state.breakers = state.breakers.filter { !$0.value.isOnline(at: now) }
        guard state.breakers.count < Self.rememberedLimit else { return }
      }
      state.breakers[url.origin, default: Breaker(patience)].recordFailure(at: now)
    }
  }

  /// Requests to all origins are tried again at once.
  package func forgetFailures() {
    let hadFailures = state.withLock { state in
      defer { state.breakers = [:] }
      return !state.breakers.isEmpty
    }
    if hadFailures { recovered.send() }
  }

  package func recordSuccess(_ url: PageURL) {
    let wasAway = state.withLock { state in
      state.breakers.isEmpty ? false : state.breakers.removeValue(forKey: url.origin)?.openUntil != nil
    }
    if wasAway { recovered.send() }
  }

  /// Returns `true` if an error means that an origin cannot be reached; an origin that sends an invalid response can
  /// be.
  package static func meansAway(_ error: any Error) -> Bool {
    switch error as? TransportError {
    case .cannotResolve, .cannotConnect, .insecure, .timedOut: true
    default: false
    }
  }
}

/// A request was not sent because ``Reachability/setting`` is ``Reachability/Setting/offline``.
public struct OfflineError: Error, Hashable, CustomStringConvertible {
  /// The URL of the request.
  public let url: PageURL

  public var description: String { "\(url) was not asked: the network is set to offline" }
}

extension OfflineError: RetryableError {
  package var isRetryable: Bool { true }
}
