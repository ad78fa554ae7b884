import Foundation
import HTTPCaching
import HTTPTransport
import Logging
import Releases

/// The frequency of requests for the server's MD5s.
public enum Verification: Hashable, Sendable {
  /// Once per launch.
  case perLaunch
  /// Each time a page opens.
  case everyOpen
  /// Each time a page opens and the last answer is older than this.
  case every(Duration)

  /// Returns `true` if an answer of this age is still valid.
  func isValid(for age: Duration) -> Bool {
    switch self {
    case .perLaunch: true
    case .everyOpen: false
    case .every(let duration): age < duration
    }
  }
}

/// The server's answer for all entries of a manifest, which are in the store. It is unchanged if the server answered 304,
/// or sent the manifest that was already stored, also if it was signed anew.
package typealias Verified = (release: StoredRelease, isUnchanged: Bool)

/// Asks the server for its MD5s once per launch, however many pages open; see ``Verification`` for other intervals.
///
/// One question is under way at a time, and a newer one takes its place: an older answer that comes late is not
/// registered after a newer one, and the callers who waited for it get the newer one.
package actor LaunchVerifier {
  package nonisolated let source: PageURL
  package nonisolated let verification: Verification

  private let check: ManifestCheck
  private let now: @Sendable () -> ContinuousClock.Instant
  private let prepare: @Sendable () async -> Void

  private var last: (verified: Verified, at: ContinuousClock.Instant)?
  private var lastFailure: (error: any Error, at: ContinuousClock.Instant)?
  /// The tasks of all questions.
  private let questions = RunningTasks()
  /// The newest question; `nil` before the first.
  private var question: Question?
  private var launch = 0
  private var isShutDown = false
  private var hasAskedUnconditionally = false

  /// A question to the server, which its callers share.
  private struct Question {
    let number: Int
    /// The launch in which it was asked.
    let launch: Int
    /// `true` if a new launch begins with its answer.
    let isRefresh: Bool
    let isConditional: Bool
    /// Cancelled when a newer question takes the place of this one.
    let task: Task<Verified, any Error>
    var isOver = false
  }

  /// The pause after a failure, so that offline pages do not wait for a time-out each time.
  private static let failureRest: Duration = .seconds(30)

  /// - Parameters:
  ///   - trust: the keys whose signatures are asked for; `nil` for none.
  ///   - keepsSignatures: `true` to keep the source's signatures and roots for hosts that get its releases from this one.
  ///   - audience: the host, of which the release depends.
  ///   - prepare: is waited for before the server is asked.
  ///   - sleep: waits between attempts.
  ///   - now: a monotonic clock.
  ///   - date: the time of day, which decides what has expired.
  package init(
    source: PageURL, store: BundleStore, client: OriginClient,
    verification: Verification = .perLaunch, limits: ManifestLimits = .standard, trust: ReleaseTrust? = nil,
    keepsSignatures: Bool = false, audience: Audience = Audience(), retry: RetryPolicy = .standard,
    prepare: @escaping @Sendable () async -> Void = {},
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    logger: Logger = Logger(label: "pagekit.verify"),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    date: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.source = source
    self.verification = verification
    self.prepare = prepare
    self.now = now
    let fetcher = ManifestFetcher(
      source: source, client: client, limits: limits, retry: retry, sleep: sleep)
    check = ManifestCheck(
      store: store, fetcher: fetcher,
      signatures: trust.map { SignatureVerifier($0, fetcher: fetcher, store: store, now: date) },
      keeper: keepsSignatures
        ? SignatureKeeper(firstRoot: trust?.root.version ?? 1, fetcher: fetcher, store: store, logger: logger) : nil,
      audience: audience, logger: logger)
  }

  /// Begins a new launch: the next request goes to the server again.
  package func relaunch() {
    launch += 1
    last = nil
    lastFailure = nil
    hasAskedUnconditionally = false
  }

  /// The server's answer, from memory if it was asked before in this launch.
  ///
  /// The bundles of the manifest are registered in the store; none is fetched, and no release is switched to.
  /// - Parameter resting: `true` to send no request for 30 seconds after a failure.
  /// - Throws: ``SourceError``, ``StoreError``.
  package func verified(resting: Bool = true) async throws -> Verified {
    if let validAnswer { return validAnswer }
    // A missing manifest is also an answer.
    if let lastFailure, case SourceError.noManifest = lastFailure.error, isCurrent(since: lastFailure.at) {
      throw lastFailure.error
    }
    if resting, let lastFailure, verification != .everyOpen, now() - lastFailure.at < Self.failureRest {
      throw lastFailure.error
    }
    return try await ask(conditionally: true)
  }

  /// The answer that ``verified(resting:)`` has in memory; `nil` if it would ask the server.
  package var validAnswer: Verified? { last.flatMap { isCurrent(since: $0.at) ? $0.verified : nil } }

  /// The server's last answer in this launch; `nil` if it was not asked or did not answer. Sends no request.
  package var known: Verified? { last?.verified }

  /// Asks the server now. A new launch begins with its answer; without an answer the present launch goes on.
  ///
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  @discardableResult
  package func refresh() async throws -> Verified {
    let question = begin(conditionally: true, isRefresh: true)
    return try await withTaskCancellationHandler {
      try await answer(to: question)
    } onCancel: {
      question.task.cancel()
    }
  }

  /// Asks again without conditions, after bytes contradicted a 304. Later calls in the same launch answer from memory.
  package func verifiedUnconditionally() async throws -> Verified {
    guard !hasAskedUnconditionally else { return try await verified() }
    hasAskedUnconditionally = true
    return try await ask(conditionally: false)
  }

  /// Cancels the question that is under way, and returns when all have ended.
  package func shutDown() async {
    isShutDown = true
    await questions.shutDown()
  }

  private func isCurrent(since instant: ContinuousClock.Instant) -> Bool { verification.isValid(for: now() - instant) }

  private func ask(conditionally: Bool) async throws -> Verified {
    if conditionally, let question, !question.isOver, question.launch == launch {
      return try await answer(to: question)
    }
    return try await answer(to: begin(conditionally: conditionally, isRefresh: false))
  }

  /// Begins a question, which takes the place of the one that is under way.
  private func begin(conditionally: Bool, isRefresh: Bool) -> Question {
    let former = question.flatMap { $0.isOver ? nil : $0 }
    former?.task.cancel()
    let number = (question?.number ?? 0) + 1
    let isConditional = conditionally && former?.isConditional != false
    // Unstructured: all callers share it, and it must not end when the first of them is cancelled.
    let task = questions.start { [self, check, prepare] in
      // The former question stores its answer before this one reads the store.
      _ = await former?.task.result
      await prepare()
      let result: Result<Verified, any Error>
      do {
        result = .success(try await check.ask(conditionally: isConditional))
      } catch {
        result = .failure(error)
      }
      await record(result, of: number)
      return try result.get()
    }
    let begun = Question(
      number: number, launch: launch, isRefresh: isRefresh, isConditional: isConditional, task: task)
    question = begun
    return begun
  }

  /// The answer to a question, or to the one that has taken its place.
  private func answer(to first: Question) async throws -> Verified {
    var asked = first
    while true {
      let result: Result<Verified, any Error>
      do {
        result = .success(try await asked.task.valueForWaiter())
      } catch {
        result = .failure(error)
      }
      // Who has asked for a refresh may cancel it for those, too, who wait for its answer.
      guard asked.task.isCancelled, !Task.isCancelled, !isShutDown else { return try result.get() }
      let isNewest = asked.number == question?.number
      asked = isNewest ? begin(conditionally: true, isRefresh: false) : question ?? asked
    }
  }

  private func record(_ result: Result<Verified, any Error>, of number: Int) {
    guard let answered = question, answered.number == number else { return }
    question?.isOver = true
    guard answered.isRefresh || answered.launch == launch else { return }
    switch result {
    case .success(let verified):
      if answered.isRefresh { relaunch() }
      last = (verified, now())
      lastFailure = nil
    case .failure(let error):
      // Without an answer to a refresh the present launch goes on.
      if !answered.isRefresh || last == nil { remember(error) }
    }
  }

  private func remember(_ error: any Error) {
    // No request was sent, or none was answered, so that no pause is due.
    if error is CancellationError { return }
    if case SourceError.unreachable(_, is OfflineError) = error { return }
    lastFailure = (error, now())
  }
}

/// One question to the server for its manifest, and what follows from the answer.
struct ManifestCheck: Sendable {
  let store: BundleStore
  let fetcher: ManifestFetcher
  /// `nil` if no signatures are asked for.
  let signatures: SignatureVerifier?
  /// `nil` if no other host gets its releases from this one.
  let keeper: SignatureKeeper?
  /// The host, of which the release depends.
  let audience: Audience
  let logger: Logger

  /// The wait until a manifest that does not fit its signatures is asked for again.
  private static let publishingPause: Duration = .milliseconds(500)

  /// Asks the server, and registers its manifest in the store.
  ///
  /// - Parameter conditionally: `false` to have the manifest sent even if it is unchanged.
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  func ask(conditionally: Bool) async throws -> Verified {
    do {
      return try await askOnce(conditionally: conditionally, isRepeated: false)
    } catch SourceError.untrusted(_, let error) where error.mayBePublishing {
      // The manifest, its signatures and the status are several files: while a release is published, they may be of
      // different ones.
      try await fetcher.pause(Self.publishingPause)
      return try await askOnce(conditionally: false, isRepeated: true)
    }
  }

  /// - Parameter isRepeated: `true` if the server's files did not fit together before.
  private func askOnce(conditionally: Bool, isRepeated: Bool) async throws -> Verified {
    let known = try await store.source(fetcher.source)?.latest
    let former = try await store.choice(of: fetcher.source)
    // An unchanged manifest may have another release for another audience.
    let isConditional = conditionally && former.audience == audience.text
    let answer = try await fetcher.fetch(validators: isConditional ? try await validators(of: known) : Validators())
    switch answer {
    case .unchanged(let validators):
      guard let known else { throw SourceError.notStored(fetcher.source) }
      try await signatures?.check(unchanged: known, namedBy: former.manifest)
      if let keeper, try await store.signatures(of: known) != nil { try await keeper.keepOthers() }
      if validators != known.validators { try await store.setValidators(validators, of: known) }
      logger.debug("the manifest is unchanged", metadata: ["source": "\(fetcher.source)", "release": "\(known.name)"])
      return (release: known, isUnchanged: true)
    case .manifest(let fetched, var validators):
      let (manifest, bytes) = (fetched.manifest, fetched.bytes)
      let listed = try await listed(by: known, beside: manifest, bytes)
      let signatures: ManifestSignatures?
      if let verifier = self.signatures {
        signatures = try await verifier.verify(fetched, sameSequence: listed, conditionally: isConditional)
      } else {
        let kept = try await kept(of: fetched, isRepeated: isRepeated)
        // With the next check the server sends the manifest again, and may have its signatures.
        if case .unusable = kept { validators = Validators() }
        signatures = if case .signatures(let found) = kept { found } else { nil }
      }
      var choice = SourceChoice()
      choice.audience = audience.text
      let verified: Verified
      if let other = try await other(than: fetched, known, validators, isRepeated: isRepeated) {
        choice.manifest = .init(sequence: manifest.sequence, sha256: try SHA256Digest(of: bytes))
        verified = other
      } else {
        let release = try await store.register(
          manifest, bytes: bytes, bundles: fetched.bundles, for: fetcher.source, validators: validators,
          signatures: signatures, renewing: listed?.listsTheSame(as: manifest) == true ? known : nil)
        verified = (release: release, isUnchanged: release.id == known?.id && release.name == known?.name)
      }
      if signatures != nil { try await keeper?.keepOthers() }
      if choice != former { try await store.setChoice(choice, of: fetcher.source) }
      logger.debug(
        "the server has a manifest", metadata: ["source": "\(fetcher.source)", "release": "\(verified.release.name)"])
      return verified
    }
  }

  /// The release that this host gets in place of the manifest's; `nil` if it gets that one.
  ///
  /// - Parameter validators: those of the source's manifest, with which it is asked for again.
  private func other(
    than fetched: FetchedManifest, _ known: StoredRelease?, _ validators: Validators, isRepeated: Bool
  ) async throws -> Verified? {
    let manifest = fetched.manifest
    let hasTaken = known.map { $0.sequence == manifest.sequence && $0.name == manifest.release } ?? false
    let install = manifest.rollout == nil ? "" : try await store.installID()
    switch try ManifestChoice(of: manifest, for: audience, install: install, hasTaken: hasTaken) {
    case .this: return nil
    case .none(let reason): throw SourceError.notForThisHost(fetcher.source, reason: reason)
    case .other(let reference):
      if var known, known.digest == reference.sha256 {
        if known.validators != validators { try await store.setValidators(validators, of: known) }
        known.validators = validators
        return (release: known, isUnchanged: true)
      }
      let other = try await fetcher.fetch(reference, namedAt: fetched.url)
      let signed: ManifestSignatures?
      if let signatures {
        signed = try await signatures.verify(named: other)
      } else if case .signatures(let found) = try await kept(of: other, isRepeated: isRepeated) {
        signed = found
      } else {
        signed = nil
      }
      let release = try await store.register(
        other.manifest, bytes: other.bytes, bundles: other.bundles, for: fetcher.source, validators: validators,
        signatures: signed,
        renewing: nil)
      return (release: release, isUnchanged: release.id == known?.id)
    }
  }

  /// The manifest of a known release, if one that is signed or rolled out has the same sequence; `nil` in all other cases.
  private func listed(
    by known: StoredRelease?, beside manifest: Manifest, _ bytes: [UInt8]
  ) async throws -> Manifest? {
    guard let known, known.sequence == manifest.sequence else { return nil }
    let isSigned = (signatures != nil || keeper != nil) && manifest.expires != nil
    if !isSigned, manifest.rollout == nil {
      // Most releases have never had one, and reading a manifest with many entries takes long.
      guard try await store.mayHaveRollout(known) else { return nil }
    }
    let stored = try await store.manifestBytes(of: known)
    let listed = stored == bytes ? manifest : try await fetcher.manifest(reading: stored)
    // Also a rollout that is over: its release stays the same.
    return isSigned || manifest.rollout != nil || listed.rollout != nil ? listed : nil
  }

  /// The signatures that a host without keys keeps for others.
  private func kept(of fetched: FetchedManifest, isRepeated: Bool) async throws -> SignatureKeeper.Kept {
    try await keeper?.signatures(of: fetched, mayBePublishing: !isRepeated) ?? .unsigned
  }

  /// The validators with which the server may say that a release is unchanged.
  private func validators(of known: StoredRelease?) async throws -> Validators {
    guard let known else { return Validators() }
    // Without its signatures an unchanged manifest could not be checked.
    if signatures != nil, try await store.signatures(of: known) == nil { return Validators() }
    return known.validators
  }
}

extension TrustError {
  /// `true` if the manifest, its signatures, the status and its signatures do not fit.
  fileprivate var mayBePublishing: Bool {
    switch self {
    case .unsigned(let kind), .wronglySigned(let kind, _, _), .otherBytes(let kind): kind != .root
    case .noStatus, .otherManifest: true
    default: false
    }
  }
}
