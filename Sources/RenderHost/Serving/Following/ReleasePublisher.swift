import Bundles
import CoreMetrics
import HTTPTransport
import Logging
import PageKit
import ServerKit
import Signing

/// Brings the source's whole release into the store, and then serves it.
struct ReleasePublisher: Sendable {
  let host: PageHost
  let feed: ReleaseFeed
  let representations: RepresentationStore
  let deltas: DeltaStore
  let record: HostRecord
  /// Signs the releases; `nil` for those that another server has signed, or nobody.
  let signer: ReleaseSigner?
  let logger: Logger

  /// The time for which a release waits until the differences from the former ones are made.
  private static let deltaTime: Duration = .seconds(15)

  private let source: PageURL
  private let preloader: Preloader

  /// - Throws: ``ServingSettingsError`` if the host has no manifest.
  init(
    host: PageHost, feed: ReleaseFeed, representations: RepresentationStore, deltas: DeltaStore, record: HostRecord,
    signer: ReleaseSigner? = nil, logger: Logger
  ) throws {
    guard let source = host.configuration.manifest, let preloader = host.preloader else {
      throw ServingSettingsError("a manifest is needed to serve releases")
    }
    (self.host, self.feed, self.representations, self.deltas) = (host, feed, representations, deltas)
    (self.record, self.signer, self.logger) = (record, signer, logger)
    (self.source, self.preloader) = (source, preloader)
  }

  /// Serves the stored release before the source is checked.
  func publishStored() async {
    do {
      let stored = try await host.store.source(source)
      if let previous = stored?.previous { feed.remember(try await snapshot(of: previous, isServed: false)) }
      if let current = stored?.current {
        let release = try await snapshot(of: current)
        try await deltas.prepare(release, for: .zero)
        feed.publish(release)
      }
    } catch is CancellationError where Task.isCancelled {
      // The daemon is shutting down.
    } catch {
      logger.warning("the stored release cannot be served: \(error)")
    }
  }

  /// Checks the source, fetches what is missing, and switches when the release is complete.
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
      fail("\(error)")
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
    var options = host.configuration.preload
    options.only = names
    options.isOffline = failure != nil
    let preloader = preloader.withoutPrefetching(options)
    let report = await preloader.start().report()
    if let current = try await host.store.source(source)?.current {
      if current.id != feed.current?.id {
        let release = try await snapshot(of: current)
        try await deltas.prepare(release, for: Self.deltaTime)
        feed.publish(release)
        record.metrics.releases.increment()
        logger.info("a release is served", metadata: ["release": "\(current.name)", "id": "\(current.id)"])
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
      fail("release \(report.release ?? "") is not complete: \(first.error)\(more > 0 ? "; and \(more) more" : "")")
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
      fail("release \(feed.current?.name ?? "") cannot be signed anew: \(error)")
    }
  }

  /// Serves the current release with other signatures, roots and status, if there are others.
  private func renew(_ release: StoredRelease) async throws {
    if let signer {
      if try await signer.isDue(feed.current?.signed, at: .now) {
        feed.renew(try await snapshot(of: release))
      } else if let signed = try await signer.withOtherStatus(feed.current?.signed) {
        // Signed anew, the manifest would not be the one that the status is of.
        feed.renew(try await snapshot(of: release, signed: signed))
      }
    } else if try await passedOn(release)?.isSame(as: feed.current?.signed) == false {
      feed.renew(try await snapshot(of: release))
    }
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
  ///   - known: the signed manifest; `nil` to make it.
  private func snapshot(
    of release: StoredRelease, isServed: Bool = true, signed known: SignedContents? = nil
  ) async throws -> ServedRelease {
    let manifest = try Manifest(
      reading: try await host.store.manifestBytes(of: release), limits: host.configuration.manifestLimits)
    let contents = try await host.store.recordedContents(of: release)
    let signed =
      if let known { known } else { isServed ? try await signedContents(of: release, manifest, contents) : nil }
    return try ServedRelease(release, manifest: manifest, contents: contents, signed: signed, after: feed.current)
  }

  private func signedContents(
    of release: StoredRelease, _ manifest: Manifest, _ contents: [StoredBundle]
  ) async throws -> SignedContents? {
    if let signer {
      return try await signer.sign(try ServedRelease.manifest(of: release, manifest, contents), at: .now)
    }
    guard var signed = try await passedOn(release) else { return nil }
    signed.paths = try SignedContents.paths(of: manifest)
    return signed
  }

  /// Returns the source's manifest with its signatures, roots and status; `nil` if it has no signatures.
  private func passedOn(_ release: StoredRelease) async throws -> SignedContents? {
    guard let signatures = try await host.store.signatures(of: release) else { return nil }
    return SignedContents(
      manifest: try await host.store.manifestBytes(of: release), signatures: signatures,
      roots: try await host.store.roots(of: source), status: try await host.store.status(of: source))
  }
}
