import Synchronization

/// Whether origins can be reached, as seen from what became of requests to them.
///
/// After a few failures in a row to connect, an origin counts as away for a short while, so that nobody waits for
/// time-outs; then one request may try again, and longer each time it fails.
public final class Reachability: Sendable {
  public enum Setting: Hashable, Sendable {
    /// From what becomes of requests.
    case observed
    case online
    case offline
  }

  /// When an origin counts as away, and for how long.
  public struct Patience: Hashable, Sendable {
    /// Failures to connect in a row.
    public var failures: Int
    /// How long nothing is sent; twice as long each time that a try fails after it.
    public var rest: Duration
    public var longestRest: Duration

    public init(failures: Int = 2, rest: Duration = .seconds(5), longestRest: Duration = .seconds(60)) {
      self.failures = max(1, failures)
      self.rest = rest
      self.longestRest = longestRest
    }
  }

  /// One origin, as a value.
  package struct Breaker: Hashable, Sendable {
    package private(set) var failures = 0
    package private(set) var openUntil: ContinuousClock.Instant?
    private var isTrying = false

    private let patience: Patience

    package init(_ patience: Patience = Patience()) { self.patience = patience }

    /// Whether a request may go out; once the rest is over, one may try, and the others wait for what becomes of it.
    package mutating func admits(at now: ContinuousClock.Instant) -> Bool {
      guard let openUntil else { return true }
      guard now >= openUntil else { return false }
      self.openUntil = now + patience.rest
      isTrying = true
      return true
    }

    package func isOnline(at now: ContinuousClock.Instant) -> Bool { openUntil.map { now >= $0 } ?? true }

    package mutating func recordFailure(at now: ContinuousClock.Instant) {
      // What was sent before it opened says nothing new.
      guard isTrying || isOnline(at: now) else { return }
      isTrying = false
      failures += 1
      guard failures >= patience.failures else { return }
      let doublings = min(failures - patience.failures, 10)
      openUntil = now + min(patience.rest * (1 << doublings), patience.longestRest)
    }

    package mutating func recordSuccess() { self = Breaker(patience) }
  }

  private struct State {
    var setting: Setting = .observed
    var breakers: [String: Breaker] = [:]
  }

  /// Origins that are away at the same time.
  private static let rememberedLimit = 1000

  private let state = Mutex(State())
  private let now: @Sendable () -> ContinuousClock.Instant

  private let patience: Patience

  /// - Parameter now: the clock; monotonic.
  public init(_ patience: Patience = Patience(), now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.patience = patience
    self.now = now
  }

  /// What the app knows better. While it is ``Setting/offline`` no request goes out, for resources or for bundles; a
  /// preload that waits goes on as soon as it is set to anything else.
  public var setting: Setting {
    get { state.withLock(\.setting) }
    set {
      let former = state.withLock { state in
        defer { state.setting = newValue }
        return state.setting
      }
      if former != newValue, newValue != .offline { returns.send() }
    }
  }

  /// Sent when an origin that was away answers, and when the app says that there is a network.
  package let returns = Signal()

  /// Throws ``OfflineError`` while the app says that there is no network.
  package func checkSetting(for url: PageURL) throws {
    if setting == .offline { throw OfflineError(url: url) }
  }

  /// Whether the URL's origin is thought to be there.
  public func isOnline(_ url: PageURL) -> Bool {
    state.withLock { state in
      switch state.setting {
      case .online: true
      case .offline: false
      case .observed: state.breakers.isEmpty || state.breakers[url.origin]?.isOnline(at: now()) ?? true
      }
    }
  }

  /// Whether the URL's origin was away when it was last tried.
  public func isAway(_ url: PageURL) -> Bool {
    state.withLock { $0.breakers[url.origin]?.openUntil != nil }
  }

  /// Whether a request may go to the URL's origin now.
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

  package func recordSuccess(_ url: PageURL) {
    let wasAway = state.withLock { state in
      state.breakers.isEmpty ? false : state.breakers.removeValue(forKey: url.origin)?.openUntil != nil
    }
    if wasAway { returns.send() }
  }

  /// Returns `true` if an error says that an origin cannot be reached: one that answers, however badly, is there.
  package static func meansAway(_ error: any Error) -> Bool {
    switch error as? TransportError {
    case .cannotResolve, .cannotConnect, .insecure, .timedOut: true
    default: false
    }
  }
}
