import Bundles
import CoreMetrics
import Foundation
import HTTPTransport
import Logging
import PageKit
import PageWorkers
import Releases
import ServerKit

/// Brings the source's whole release into the store, and then serves it.
struct ReleasePublisher: Sendable {
  let host: PageHost
  let feed: ReleaseFeed
  let representations: RepresentationStore
  let deltas: DeltaStore
  let record: HostRecord
  /// Signs the releases; `nil` for those that another server has signed, or that have no signatures.
  let signer: ReleaseSigner?
  /// Signs the status of signed releases; `nil` for those that somebody else signs.
  let statusSigner: StatusSigner?
  let halts: ReleaseHalts
  let logger: Logger
  /// Lets one change of the served release run at a time, so that the sequences of its statuses grow. Work that takes
  /// long is done before it, so that a halt does not wait for the next release.
  private let gate = FairGate<Int>(width: 1)

  /// The time for which a release waits until the differences from the former ones are made.
  private static let deltaTime: Duration = .seconds(15)

  private let source: PageURL
  private let preloader: Preloader

  /// - Throws: ``SettingsError/combination(_:)`` if the host has no manifest.
  init(
    host: PageHost, feed: ReleaseFeed, representations: RepresentationStore, deltas: DeltaStore, record: HostRecord,
    signer: ReleaseSigner? = nil, statusSigner: StatusSigner? = nil,
    haltsOfFleet: (@Sendable (SHA256Digest) async throws -> Bool)? = nil, logger: Logger
  ) throws {
    guard let source = host.configuration.manifest, let preloader = host.preloader else {
      throw SettingsError.combination("a manifest is needed to serve releases")
    }
    (self.host, self.feed, self.representations, self.deltas) = (host, feed, representations, deltas)
    (self.record, self.signer, self.statusSigner, self.logger) = (record, signer, statusSigner, logger)
    halts = ReleaseHalts(store: host.store, record: record, fleet: haltsOfFleet, logger: logger)
    (self.source, self.preloader) = (source, preloader)
  }

  /// Serves the stored release before the source is checked.
  func publishStored() async {
    do {
      let stored = try await host.store.source(source)
      if let previous = stored?.previous { feed.remember(try await snapshot(of: previous, isServed: false)) }
      if let current = stored?.current { try await publish(current, waitingForDeltas: .zero) }
    } catch is CancellationError where Task.isCancelled {
      // The daemon is shutting down.
    } catch {
      logger.warning("the stored release cannot be served: \(error.sentence)")
    }
  }

  /// Checks the source, fetches the missing files, and switches when the release is complete.
  ///
  /// - Parameter names: on-demand bundles that are fetched too; the others are fetched when they are requested.
  /// - Returns: `true` if the source's newest release is served.
  func bring(with names: Set<String>? = nil) async -> Bool {
    let before = feed.current?.id
    do {
      // Checks that the store is still in its place.
      _ = try await host.store.source(source)
      let generation = host.store.generation
      let isServed = try await bringNewest(with: names)
      if isServed {
        record.metrics.verifications(feed.current?.id == before ? "unchanged" : "changed").increment()
        feed.problem = nil
        feed.storeGeneration = generation
      }
      return isServed
    } catch is CancellationError where Task.isCancelled {
      return false
    } catch {
      fail(error.message)
      return false
    }
  }

  private func bringNewest(with names: Set<String>?) async throws -> Bool {
    var failure: (any Error)?
    do {
      try await ask()
    } catch {
      failure = error
    }
    var options = host.configuration.releases.preload
    options.only = names
    options.isOffline = failure != nil
    let preloader = preloader.withoutPrefetching(options)
    let report = await preloader.start().report()
    if let current = try await host.store.source(source)?.current {
      if current.id != feed.current?.id {
        try await publish(current, waitingForDeltas: Self.deltaTime)
        record.metrics.releases.increment()
        logger.notice("a release is served", metadata: ["release": "\(current.name)", "id": "\(current.id)"])
        await representations.sweep()
      } else {
        try await renew(current)
      }
    }
    if report.activated, !report.leftOut.isEmpty {
      logger.warning(
        "release \(report.release ?? "") is served without \(report.leftOut.count) files that differ from the source's manifest",
        metadata: ["first": "\(report.leftOut[0].error)"])
    }
    if let failure { throw failure }
    if let first = report.failures.first {
      let more = report.failures.count - 1
      fail("release \(report.release ?? "") is not complete: \(first.message)\(more > 0 ? "; and \(more) more" : "")")
      return false
    }
    return true
  }

  /// Asks the source for its current manifest.
  ///
  /// - Throws: ``SourceError``, ``StoreError``.
  func ask() async throws {
    try await host.refresh()
    feed.markVerified()
  }

  /// Records that the source has no new release, and signs the present one anew if that is due.
  func confirm() async {
    do {
      if let current = feed.current { try await renew(current.stored) }
      record.metrics.verifications("unchanged").increment()
      feed.markVerified()
    } catch is CancellationError where Task.isCancelled {
      // The daemon is shutting down.
    } catch {
      fail("release \(feed.current?.name ?? "") cannot be signed anew: \(error.sentence)")
    }
  }

  /// Goes on serving the present release in the place of one that is refused, and signs it anew if that is due.
  func refuse(_ refusal: String) async {
    if let current = feed.current {
      do {
        try await renew(current.stored)
      } catch {
        logger.warning("release \(current.name) cannot be signed anew: \(error.sentence)")
      }
    }
    feed.refusal = refusal
    fail(refusal)
  }

  private func publish(_ stored: StoredRelease, waitingForDeltas time: Duration) async throws {
    let manifest = try await signedManifest(of: stored, after: served(stored))
    try await deltas.prepare(try await snapshot(of: stored, isServed: false), for: time)
    let pass = await gate.enter(for: 0)
    defer { gate.leave(pass) }
    let release = try await snapshot(of: stored) { isHalted in
      try await addingStatus(to: manifest, of: stored, isHalted: isHalted)
    }
    feed.publish(release)
    if release.isHalted { logger.warning("release \(release.name) is halted") }
  }

  /// Serves the current release with other signatures, roots, status or rollout, if there are others.
  private func renew(_ release: StoredRelease) async throws {
    guard feed.current?.id == release.id else { return }
    let manifest = try await signedManifest(of: release, after: served(release))
    try await renew(release) { _ in manifest }
  }

  /// - Parameter manifest: returns the signed manifest that is to be served in the place of the present one.
  private func renew(_ release: StoredRelease, with manifest: (ServedRelease) -> SignedContents?) async throws {
    let pass = await gate.enter(for: 0)
    defer { gate.leave(pass) }
    guard let current = feed.current, current.id == release.id else { return }
    let halt = try await halts.halt(of: current.identity)
    let signed = try await addingStatus(to: manifest(current), of: release, isHalted: halt != nil)
    if let signed {
      guard !signed.isSame(as: current.signed) else { return }
    } else if current.signed == nil, release.digest == current.stored.digest {
      guard current.isHalted != (halt != nil), reasonNotToHalt(current) == nil else { return }
    }
    let next = try await snapshot(of: release) { _ in signed }
    feed.renew(next)
    if next.isHalted, !current.isHalted { await halts.tellHalted(next) }
  }

  // MARK: Halts

  /// Serves the present release with its halt, or without it if that was lifted. Nothing else changes: this waits
  /// neither for the source, nor for another signature of the manifest, nor for the next release.
  ///
  /// - Throws: ``StoreError``.
  func renew() async throws {
    if let current = feed.current { try await renew(current.stored) { $0.signed } }
  }

  /// The reason why hosts cannot be kept from switching to a release; `nil` if they can.
  func reasonNotToHalt(_ release: ServedRelease) -> String? {
    guard release.signed != nil else {
      return release.otherwise != nil ? nil : "it is not signed, and is no rollout, whose share could be set to 0"
    }
    return statusSigner == nil ? "only a status with a signature halts it: --status-sign-with signs one" : nil
  }

  /// Returns the release that is served, if it can be halted, or if its halt can be lifted.
  ///
  /// - Throws: ``ServedError``, with the reason; ``StoreError``.
  func checkHalt(_ isHalted: Bool) async throws -> ServedRelease {
    guard let current = feed.current else { throw ServedError.noRelease }
    func refusal(_ reason: String) -> ServedError {
      ServedError(status: .conflict, reason: "release \(current.name) \(reason)")
    }
    if isHalted {
      if let reason = reasonNotToHalt(current) { throw refusal("cannot be halted: \(reason)") }
    } else if try await halts.halt(of: current.identity) == nil {
      throw refusal(current.isHalted ? "is halted by the status that is published" : "is not halted")
    }
    return current
  }

  /// Halts a release, or lifts its halt, by an order of the fleet: it may be one that this host does not serve yet.
  ///
  /// - Throws: ``StoreError``.
  func setHalted(_ isHalted: Bool, of release: SHA256Digest) async throws {
    let current = feed.current.flatMap { $0.identity == release ? $0 : nil }
    try await halts.set(isHalted, for: release, otherwise: current?.otherwise)
    guard let current else { return }
    do {
      try await renew()
    } catch {
      halts.tell(.halt, "it is decided for release \(current.name), and not published yet: \(error.sentence)")
    }
  }

  /// Halts the release that is served, or lifts the halt: a person's decision.
  ///
  /// - Returns: the release's name.
  /// - Throws: ``ServedError``, with the reason; ``StoreError``.
  func setHalted(_ isHalted: Bool) async throws -> String {
    let current = try await checkHalt(isHalted)
    try await halts.set(isHalted, for: current.identity, otherwise: current.otherwise)
    do {
      try await renew()
    } catch {
      throw ServedError(status: .badGateway, reason: "it is decided, and not published yet: \(error.sentence)")
    }
    if let next = feed.current, next.identity == current.identity, next.isHalted != isHalted {
      throw ServedError(
        status: .badGateway,
        reason: "it is decided for release \(current.name), and not published yet: /status has the reason")
    }
    return current.name
  }

  /// Returns `true` if the release of this manifest is served and stored.
  func isServing(_ manifest: Manifest) -> Bool {
    guard let current = feed.current, host.store.isInPlace, host.store.generation == feed.storeGeneration else {
      return false
    }
    return current.name == manifest.release && current.stored.sequence == manifest.sequence && feed.problem == nil
  }

  func fail(_ problem: String) {
    record.metrics.verifications("failed").increment()
    if feed.problem != problem {
      logger.warning("\(problem)")
      record.failures.append(.release, problem)
    }
    feed.problem = problem
  }

  /// - Parameters:
  ///   - isServed: `false` for a release whose bytes alone are served, not its manifest.
  ///   - signing: returns the signed manifest with the status of a release that is halted or not; `nil` if it has no
  ///     signatures.
  private func snapshot(
    of release: StoredRelease, isServed: Bool = true,
    signing: (_ isHalted: Bool) async throws -> SignedContents? = { _ in nil }
  ) async throws -> ServedRelease {
    let (manifest, contents) = try await contents(of: release)
    let identity = try ServedRelease.identity(of: release, manifest, contents)
    let halt = isServed ? try await halts.halt(of: identity) : nil
    var signed = try await signing(halt != nil)
    if signer == nil { signed?.paths = try SignedContents.paths(of: manifest) }
    let served = try ServedRelease(
      release, identity: identity, manifest: manifest, contents: contents, signed: signed, halt: halt,
      after: feed.current)
    // A rollout that is over names no other manifest any more.
    if let halt, let otherwise = served.otherwise, halt.otherwise != otherwise {
      try await halts.begin(identity, otherwise: otherwise)
    }
    return served
  }

  private func contents(of release: StoredRelease) async throws -> (Manifest, [StoredBundle]) {
    let manifest = try Manifest(
      reading: try await host.store.manifestBytes(of: release), limits: host.configuration.releases.manifestLimits)
    return (manifest, try await host.store.recordedContents(of: release))
  }

  /// Returns the signed manifest of a release as it is served now; `nil` if it is not.
  private func served(_ release: StoredRelease) -> SignedContents? {
    feed.current.flatMap { $0.id == release.id ? $0.signed : nil }
  }

  /// Returns a release's signed manifest with the status that it has now; `nil` if it has no signatures.
  private func addingStatus(
    to manifest: SignedContents?, of release: StoredRelease, isHalted: Bool
  ) async throws -> SignedContents? {
    guard var signed = manifest else { return nil }
    let former = served(release)
    // What another server publishes is passed on as it is.
    signed.status = signer != nil && signed.published?.signatures == nil ? nil : signed.published
    signed.ownStatus = nil
    guard let statusSigner else { return signed }
    do {
      try await statusSigner.addStatus(
        to: &signed, of: release, isHalted: isHalted, after: former, root: newestRoot(signed.roots),
        verified: feed.verified.map { SignedTime(seconds: Int64($0.timeIntervalSince1970)) }, at: .now
      ) { [store = host.store, source] in
        try await store.nextStatusSequence(of: source, atLeast: $0)
      }
      halts.clear(.status)
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      // Bundles are served without it, and with the status before it as long as that is valid.
      if let former, former.manifest == signed.manifest {
        (signed.status, signed.ownStatus) = (former.status, former.ownStatus)
      }
      let order = isHalted && former?.ownStatus?.isHalted != true ? " is to be halted, and" : ":"
      halts.tell(.status, "release \(release.name)\(order) its status cannot be signed: \(error.sentence)")
    }
    return signed
  }

  /// The newest of the published roots and the host's own.
  private func newestRoot(_ published: [PublishedRoot]) -> TrustRoot? {
    let own = host.configuration.releases.trust?.root
    guard let newest = published.last.flatMap({ try? TrustRoot(reading: $0.bytes) }) else { return own }
    return own.map { $0.version > newest.version ? $0 : newest } ?? newest
  }

  private func signedManifest(of release: StoredRelease, after former: SignedContents?) async throws -> SignedContents?
  {
    guard let signer else { return try await passedOn(release) }
    guard var former, try await !signer.isDue(former, at: .now) else {
      let (manifest, contents) = try await contents(of: release)
      return try await signer.sign(try ServedRelease.manifest(of: release, manifest, contents), at: .now)
    }
    former.published = try await signer.status()
    return former
  }

  /// Returns the source's manifest with its signatures, roots and status; `nil` if it has no signatures.
  private func passedOn(_ release: StoredRelease) async throws -> SignedContents? {
    guard let signatures = try await host.store.signatures(of: release) else { return nil }
    return SignedContents(
      manifest: try await host.store.manifestBytes(of: release), signatures: signatures,
      roots: try await host.store.roots(of: source), published: try await host.store.status(of: source))
  }
}
