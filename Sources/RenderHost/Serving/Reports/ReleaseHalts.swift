import Bundles
import CoreMetrics
import HTTPTransport
import Logging
import ServerKit
import Synchronization

/// The halts of releases: the store's record of them, and what is said about them.
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
  }

  private let store: BundleStore
  private let record: HostRecord
  private let logger: Logger
  private let state = Mutex(State())

  init(store: BundleStore, record: HostRecord, logger: Logger) {
    (self.store, self.record, self.logger) = (store, record, logger)
  }

  /// Returns the halt of a release; `nil` if it is not to be halted.
  ///
  /// - Throws: ``StoreError``.
  func halt(of identity: SHA256Digest) async throws -> Halt? {
    let tally = try await store.tally(of: identity)
    let known = state.withLock { $0.halts[identity] }
    guard tally.haltedAt != nil else {
      // The store was lost.
      if let known { try await store.halt(identity, otherwise: known.otherwise) }
      return known
    }
    let halt = Halt(otherwise: tally.otherwise ?? known?.otherwise)
    state.withLock { $0.halts[identity] = halt }
    return halt
  }

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
