import Bundles
import Foundation
import HTTPCaching
import HTTPTransport
import Releases
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
    var refusal: String?
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

  /// The reason why the gate keeps the folder's newest release from being served; `nil` if it does not.
  var refusal: String? {
    get { state.withLock(\.refusal) }
    set { change { $0.refusal = newValue } }
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
package struct ReleaseReadiness: Hashable, Sendable {
  /// `true` if the source was asked once, with or without success.
  package let hasAsked: Bool
  /// `true` if the source was asked and a release is served: the newest, or the stored one if the source is
  /// unavailable.
  package let isReady: Bool
  /// The number of bundles of the release.
  package let bundles: Int
  /// The reason why the source's newest release is not served, in one sentence; `nil` if it is.
  package let problem: String?

  init(hasAsked: Bool, latest: ReleaseEvent?, _ problem: String?) {
    self.hasAsked = hasAsked
    isReady = hasAsked && latest != nil
    bundles = latest?.bundles ?? 0
    self.problem = problem
  }
}

/// The switch to a release, with its name and its changes; or another status of a release.
struct ReleaseEvent: Hashable, Sendable, Encodable {
  struct Change: Hashable, Sendable, Encodable {
    let name: String
    /// Its location on this host.
    let url: String
    let md5: MD5Digest
  }

  /// The position of an event among all events of a host, also across its processes: the release's number grows, and
  /// the status's sequence within a release. A client sends the text back when it reconnects.
  struct ID: Hashable, Comparable, Sendable, Encodable, CustomStringConvertible, LosslessStringConvertible {
    let release: Int64
    /// 0 if there is no status.
    var status: Int64 = 0

    var description: String { status == 0 ? "\(release)" : "\(release).\(status)" }

    init(release: Int64, status: Int64 = 0) { (self.release, self.status) = (release, status) }

    init?(_ text: String) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard (1...2).contains(parts.count), let release = Int64(parts[0]) else { return nil }
      self.release = release
      guard let last = parts.dropFirst().first else { return }
      guard let status = Int64(last), status > 0 else { return nil }
      self.status = status
    }

    static func < (left: ID, right: ID) -> Bool { (left.release, left.status) < (right.release, right.status) }

    /// The release's number alone.
    func encode(to encoder: any Encoder) throws { try release.encode(to: encoder) }
  }

  /// The `id` of the event.
  let id: ID
  let release: String
  let sequence: Int64
  /// The sequence of the status; `nil` if there is none.
  let status: Int64?
  /// RFC 3339.
  let since: String
  let bundles: Int
  let files: Int
  /// New entries, and entries with other bytes than before; empty if the former release is unknown.
  let changed: [Change]
  /// The names of removed entries.
  let removed: [String]
  /// `true` if there are more changes than an event lists.
  let isTruncated: Bool
  /// `true` if the release is the same as before, and only its status is another.
  let isStatus: Bool

  private enum CodingKeys: CodingKey {
    case id, release, sequence, status, since, bundles, files, changed, removed, isTruncated
  }

  /// The limit of changes in one event; beyond it a client reads the manifest.
  static let changesLimit = 1000

  init(_ release: ServedRelease, after former: ServedRelease?) {
    id = ID(release: release.id, status: release.statusSequence ?? 0)
    self.release = release.name
    sequence = release.stored.sequence
    status = release.statusSequence
    isStatus = release.id == former?.id
    since = Date(timeIntervalSince1970: Double(release.since.secondsSinceEpoch)).formatted(.iso8601)
    bundles = release.entries.count { $0.bundle.kind == .bundle }
    files = release.entries.count - bundles
    guard let former else {
      (changed, removed, isTruncated) = ([], [], false)
      return
    }
    let changed = release.entries.lazy.filter { former.entry(at: $0.path)?.bundle.md5 != $0.bundle.md5 }
    let removed = former.entries.lazy.filter { release.entry(at: $0.path) == nil }
    self.changed = changed.prefix(Self.changesLimit).map {
      Change(name: $0.bundle.name, url: $0.location, md5: $0.bundle.md5)
    }
    self.removed = removed.prefix(Self.changesLimit).map(\.bundle.name)
    isTruncated =
      changed.dropFirst(Self.changesLimit).first != nil || removed.dropFirst(Self.changesLimit).first != nil
  }
}
