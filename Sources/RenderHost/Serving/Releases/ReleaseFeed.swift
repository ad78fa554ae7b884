import Bundles
import Foundation
import HTTPTransport
import Synchronization

/// The release that is served, those before it, and the way to learn of the next.
package final class ReleaseFeed: Sendable {
  private struct State {
    var current: ServedRelease?
    /// Newest first, with the time when another took its place.
    var former: [(release: ServedRelease, replaced: ContinuousClock.Instant)] = []
    /// Oldest first.
    var events: [ReleaseEvent] = []
    var hasAsked = false
    var verified: Date?
    var problem: String?
    var storeGeneration = 0
  }

  /// The time that the bytes of a replaced release stay available by their digests.
  static let grace: Duration = .seconds(300)
  static let formerLimit = 64
  static let eventsLimit = 64
  static let subscribersLimit = 1000

  private let state = Mutex(State())
  private let publications = Atomic<Int>(0)
  /// One pending change stands for all that have not been taken.
  private let broadcast = Broadcast<Void>(.newest(1))

  package init() {}

  /// Another for each release; read before ``current`` it is never newer than that.
  var generation: Int { publications.load(ordering: .acquiring) }

  var current: ServedRelease? { state.withLock(\.current) }

  /// Returns an entry with these bytes of a release that is still known.
  func entry(of digest: SHA256Digest) -> (ServedEntry, StoredRelease)? {
    let releases = state.withLock { state in [state.current].compactMap(\.self) + state.former.map(\.release) }
    return releases.lazy.compactMap { release in release.entry(of: digest).map { ($0, release.stored) } }.first
  }

  /// Takes in what was served before this process began.
  func remember(_ release: ServedRelease, now: ContinuousClock.Instant = .now) {
    state.withLock { $0.former.append((release, now)) }
  }

  /// Switches to a release: at once, and whole.
  func publish(_ release: ServedRelease, now: ContinuousClock.Instant = .now) {
    change { state in
      publications.add(1, ordering: .acquiringAndReleasing)
      let former = state.current ?? state.former.first?.release
      state.events.append(ReleaseEvent(release, after: former))
      if state.events.count > Self.eventsLimit { state.events.removeFirst() }
      if let current = state.current { state.former.insert((current, now), at: 0) }
      state.former = Array(
        state.former.prefix(Self.formerLimit).prefix { now - $0.replaced < Self.grace })
      state.current = release
    }
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    broadcast.send(())
  }

  // MARK: Readiness

  /// The source has been asked for the first time, with whatever result.
  func markAsked() { change { $0.hasAsked = true } }

  /// The source was asked, and has answered.
  func markVerified(at time: Date = Date()) { change { $0.verified = time } }

  /// When the source has answered last.
  var verified: Date? { state.withLock(\.verified) }

  /// The reason why the source's newest release is not served; `nil` if it is.
  var problem: String? {
    get { state.withLock(\.problem) }
    set { change { $0.problem = newValue } }
  }

  /// The store's generation that the release was brought into last.
  var storeGeneration: Int {
    get { state.withLock(\.storeGeneration) }
    set { change { $0.storeGeneration = newValue } }
  }

  /// The part of this host's readiness that releases decide.
  package var readiness: ReleaseReadiness {
    state.withLock { state in
      ReleaseReadiness(hasAsked: state.hasAsked, latest: state.current == nil ? nil : state.events.last, state.problem)
    }
  }

  // MARK: Events

  /// The number of streams of ``changes()`` that are read.
  package var subscriberCount: Int { broadcast.listenerCount }

  /// Newest last.
  var history: [ReleaseEvent] { state.withLock(\.events) }

  /// The events after the one with this number; only the current one if the number is missing or impossible.
  func events(after seen: Int64?) -> [ReleaseEvent] {
    state.withLock { state in
      guard let seen, let newest = state.events.last?.id, seen <= newest else { return state.events.suffix(1) }
      return state.events.filter { $0.id > seen }
    }
  }

  /// An element for each change of events or readiness; changes that have not been taken yet are one element. Returns
  /// `nil` if there are ``subscribersLimit`` streams already.
  func changes() -> AsyncStream<Void>? { broadcast.listen(maximum: Self.subscribersLimit) }
}

// MARK: - Readiness

/// Checks that the store is open and a release is active.
package struct ReleaseReadiness: Hashable, Sendable, Encodable {
  /// The source was asked once, with whatever result.
  package let hasAsked: Bool
  /// The source was asked, and a release is served: the newest, or with the source away the one that is stored.
  package let isReady: Bool
  /// Its name; `nil` if none is served.
  package let release: String?
  /// When it was switched to, RFC 3339.
  package let since: String?
  package let bundles: Int
  package let files: Int
  /// The reason why the source's newest release is not served, in one sentence; `nil` if it is.
  package let problem: String?

  init(hasAsked: Bool, latest: ReleaseEvent?, _ problem: String?) {
    self.hasAsked = hasAsked
    isReady = hasAsked && latest != nil
    release = latest?.release
    since = latest?.since
    bundles = latest?.bundles ?? 0
    files = latest?.files ?? 0
    self.problem = problem
  }
}
