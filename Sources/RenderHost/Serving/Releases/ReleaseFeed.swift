import Bundles
import Foundation
import HTTPTransport
import Synchronization

/// The current release, the former ones, and a stream of changes.
package final class ReleaseFeed: Sendable {
  private struct State {
    var current: ServedRelease?
    /// The former releases, newest first, with the time of their replacement.
    var former: [(release: ServedRelease, replaced: ContinuousClock.Instant)] = []
    /// The events, oldest first.
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
  /// Several pending changes are one element.
  private let broadcast = Broadcast<Void>(.newest(1))

  package init() {}

  /// A number that changes with each release. Read before ``current``, it is never newer than that.
  var generation: Int { publications.load(ordering: .acquiring) }

  var current: ServedRelease? { state.withLock(\.current) }

  /// Returns an entry with these bytes, in the current release or one within its grace period.
  ///
  /// - Parameter path: the entry's path; `nil` for any.
  func entry(of digest: SHA256Digest, at path: String? = nil) -> (ServedEntry, StoredRelease)? {
    let releases = state.withLock { state in [state.current].compactMap(\.self) + state.former.map(\.release) }
    return releases.lazy.compactMap { release in
      release.entry(of: digest, at: path).map { ($0, release.stored) }
    }.first
  }

  /// Records the release that the former process served.
  func remember(_ release: ServedRelease, now: ContinuousClock.Instant = .now) {
    state.withLock { $0.former.append((release, now)) }
  }

  /// Switches to a whole release at once.
  func publish(_ release: ServedRelease, now: ContinuousClock.Instant = .now) {
    change { state in
      publications.add(1, ordering: .acquiringAndReleasing)
      Self.append(ReleaseEvent(release, after: state.current ?? state.former.first?.release), to: &state)
      if let current = state.current { state.former.insert((current, now), at: 0) }
      state.former = Array(
        state.former.prefix(Self.formerLimit).prefix { now - $0.replaced < Self.grace })
      state.current = release
    }
  }

  /// Serves the current release with another manifest, other signatures, or another status. Only the last is an event.
  func renew(_ release: ServedRelease) {
    change { state in
      guard let former = state.current, former.id == release.id else { return }
      publications.add(1, ordering: .acquiringAndReleasing)
      state.current = release
      if release.statusSequence != former.statusSequence {
        Self.append(ReleaseEvent(release, after: former), to: &state)
      }
    }
  }

  private static func append(_ event: ReleaseEvent, to state: inout State) {
    state.events.append(event)
    if state.events.count > eventsLimit { state.events.removeFirst() }
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    broadcast.send(())
  }

  // MARK: Readiness

  /// Records that the source was asked for the first time, with or without success.
  func markAsked() { change { $0.hasAsked = true } }

  /// Records that the source has answered.
  func markVerified(at time: Date = Date()) { change { $0.verified = time } }

  /// The time of the source's last answer.
  var verified: Date? { state.withLock(\.verified) }

  /// The reason why the source's newest release is not served; `nil` if it is.
  var problem: String? {
    get { state.withLock(\.problem) }
    set { change { $0.problem = newValue } }
  }

  /// The store's generation at the last update of the release.
  var storeGeneration: Int {
    get { state.withLock(\.storeGeneration) }
    set { change { $0.storeGeneration = newValue } }
  }

  /// The state of releases, as a part of this host's readiness.
  package var readiness: ReleaseReadiness {
    state.withLock { state in
      ReleaseReadiness(hasAsked: state.hasAsked, latest: state.current == nil ? nil : state.events.last, state.problem)
    }
  }

  // MARK: Events

  /// The number of open streams of ``changes()``.
  package var subscriberCount: Int { broadcast.listenerCount }

  /// The events, newest last.
  var history: [ReleaseEvent] { state.withLock(\.events) }

  /// Returns the events after the one with this position; only the latest if the position is missing or unknown.
  func events(after seen: ReleaseEvent.ID?) -> [ReleaseEvent] {
    state.withLock { state in
      guard let seen, let newest = state.events.last?.id, seen <= newest else { return state.events.suffix(1) }
      return state.events.filter { $0.id > seen }
    }
  }

  /// Returns a stream with an element for each change of events or readiness; several pending changes are one element.
  /// Returns `nil` if ``subscribersLimit`` streams are open.
  func changes() -> AsyncStream<Void>? { broadcast.listen(maximum: Self.subscribersLimit) }
}

// MARK: - Readiness

/// The state of releases: a host is ready if it has asked its source and serves a release.
package struct ReleaseReadiness: Hashable, Sendable, Encodable {
  /// `true` if the source was asked once, with or without success.
  package let hasAsked: Bool
  /// `true` if the source was asked and a release is served: the newest, or the stored one if the source is
  /// unavailable.
  package let isReady: Bool
  /// The name of the release; `nil` if none is served.
  package let release: String?
  /// The time of the switch to it, RFC 3339.
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
