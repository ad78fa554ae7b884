import Bundles
import CoreMetrics
import Fleet
import HTTPTransport
import Hummingbird
import Logging
import Releases
import ServerKit
import Synchronization

/// The halts of releases: the store's record of them, and the messages about them.
///
/// A halt outlives the store, if that is lost while the process runs.
final class ReleaseHalts: Sendable {
  /// A release from which hosts are to be kept.
  struct Halt: Hashable, Sendable {
    /// The manifest that all hosts get in its place, if it is not signed; `nil` if none is known.
    var otherwise: ManifestReference?
  }

  /// The subjects of messages. The same message about one is said once.
  enum Subject: Hashable, Sendable {
    case status
    case halt
  }

  private struct State {
    var halts: [SHA256Digest: Halt] = [:]
    var said: [Subject: String] = [:]
    /// The releases of which the fleet was asked; what changes after that is an order. Until the fleet was asked for the
    /// first time, its answer is waited for.
    var asked: Set<SHA256Digest> = []
    var hasAsked = false
  }

  private let store: BundleStore
  private let record: HostRecord
  /// Returns `true` if the fleet has halted a release; `nil` for a host of its own.
  private let fleet: (@Sendable (SHA256Digest) async throws -> Bool)?
  private let logger: Logger
  private let state = Mutex(State())

  /// The longest wait for the fleet's answer: a host whose journal is away serves what it has.
  private static let patience: Duration = .seconds(2)
  private static let askedLimit = 64

  init(
    store: BundleStore, record: HostRecord, fleet: (@Sendable (SHA256Digest) async throws -> Bool)? = nil,
    logger: Logger
  ) {
    (self.store, self.record, self.fleet, self.logger) = (store, record, fleet, logger)
  }

  /// Returns the halt of a release; `nil` if it is not to be halted.
  ///
  /// - Throws: ``StoreError``.
  func halt(of identity: SHA256Digest) async throws -> Halt? {
    let tally = try await store.tally(of: identity)
    let known = state.withLock { $0.halts[identity] }
    guard tally.haltedAt != nil else {
      // The store was lost.
      if let known {
        try await store.halt(identity, otherwise: known.otherwise)
        return known
      }
      guard await isHaltedByFleet(identity) else { return nil }
      try await begin(identity, otherwise: nil)
      return Halt()
    }
    let halt = Halt(otherwise: tally.otherwise ?? known?.otherwise)
    state.withLock { $0.halts[identity] = halt }
    return halt
  }

  /// Asks the fleet about a release of which this host has no halt: it may have joined, or lost its store, after that.
  private func isHaltedByFleet(_ identity: SHA256Digest) async -> Bool {
    guard let fleet, state.withLock({ !$0.asked.contains(identity) }) else { return false }
    let patience = state.withLock { state in
      defer { state.hasAsked = true }
      return state.hasAsked ? .zero : Self.patience
    }
    do {
      let isHalted = try await JournalError.retryingWhileAway(for: patience) { try await fleet(identity) }
      state.withLock { state in
        if state.asked.count >= Self.askedLimit { state.asked = [] }
        state.asked.insert(identity)
      }
      return isHalted
    } catch {
      // It is asked again when the journal can be reached.
      logger.notice("the fleet cannot be asked if release \(identity.hex.prefix(12)) is halted: \(error.sentence)")
      return false
    }
  }

  /// Has the fleet asked again: orders may have been missed.
  func askFleetAgain() { state.withLock { $0.asked = [] } }

  /// Records a halt, or lifts it.
  ///
  /// - Throws: ``StoreError``.
  func set(_ isHalted: Bool, for identity: SHA256Digest, otherwise: ManifestReference?) async throws {
    if isHalted { try await begin(identity, otherwise: otherwise) } else { try await end(identity) }
  }

  /// Records a halt.
  ///
  /// - Throws: ``StoreError``.
  func begin(_ identity: SHA256Digest, otherwise: ManifestReference?) async throws {
    try await store.halt(identity, otherwise: otherwise)
    state.withLock { $0.halts[identity] = Halt(otherwise: otherwise) }
  }

  /// Lifts a halt. The counts of reports begin anew.
  ///
  /// - Throws: ``StoreError``.
  func end(_ identity: SHA256Digest) async throws {
    try await store.forgetTally(of: identity)
    state.withLock { _ = $0.halts.removeValue(forKey: identity) }
  }

  // MARK: Messages

  /// Says that hosts are kept from a release now.
  func tellHalted(_ release: ServedRelease) async {
    record.metrics.halts.increment()
    let tally = (try? await store.tally(of: release.identity)) ?? ReportTally()
    tell(.halt, "release \(release.name) is halted\(tally.good + tally.bad > 0 ? ": \(Self.share(tally))" : "")")
  }

  /// The share of installs on which a release is bad, as a clause.
  static func share(_ tally: ReportTally) -> String {
    "it is bad on \(tally.bad) of the \(tally.good + tally.bad) installs that have reported"
  }

  /// Logs an error, and adds it to the failures of the status, unless it was the last one of its subject.
  func tell(_ subject: Subject, _ text: String) {
    let isNews = state.withLock { $0.said.updateValue(text, forKey: subject) != text }
    guard isNews else { return }
    logger.error("\(text)")
    record.failures.append(.release, text)
  }

  /// Forgets what was said about a subject that is in order again.
  func clear(_ subject: Subject) { state.withLock { _ = $0.said.removeValue(forKey: subject) } }
}

extension ReleaseHalts {
  /// Adds the admin's routes that halt the release that is served, and lift the halt.
  ///
  /// - Parameter setHalted: returns the release's name; `nil` without bundles.
  static func addRoutes(
    to router: RouterGroup<HostRequestContext>, setHalted: (@Sendable (Bool) async throws -> String)?
  ) {
    for (path, isHalted) in [("release/halt", true), ("release/resume", false)] as [(RouterPath, Bool)] {
      router.post(path) { _, context in
        guard let setHalted else {
          throw ServedError.notFound("this host has no releases: it is started with --bundles or --manifest")
        }
        let release = try await setHalted(isHalted)
        context.requestLogger.notice(
          isHalted ? "A release was halted by hand" : "The halt of a release was lifted by hand",
          metadata: ["release": "\(release)"])
        return Response.json(["release": release])
      }
    }
  }
}
