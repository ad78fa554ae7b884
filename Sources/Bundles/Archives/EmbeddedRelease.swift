import Foundation
import HTTPTransport
import Logging
import Signing
import Synchronization

/// A release that was packaged with the app, in an archive: it is stored before anything is opened or asked of the
/// server, unless the store has it or a newer one.
package final class EmbeddedRelease: Sendable {
  private let path: String
  private let source: PageURL
  private let store: BundleStore
  private let trust: ReleaseTrust?
  private let limits: ManifestLimits
  private let logger: Logger
  private let installation = Mutex<Task<Void, Never>?>(nil)

  /// - Parameters:
  ///   - path: the path of the archive.
  ///   - source: the manifest's URL.
  ///   - trust: the keys whose signatures are asked for; `nil` for none.
  package init(
    _ path: String, of source: PageURL, store: BundleStore, trust: ReleaseTrust?, limits: ManifestLimits,
    logger: Logger
  ) {
    (self.path, self.source, self.store) = (path, source, store)
    (self.trust, self.limits, self.logger) = (trust, limits, logger)
  }

  /// Returns when the release is stored, or does not have to be. One that cannot be used is reported in the log.
  package func installed() async {
    let task = installation.withLock { task in
      if let task { return task }
      let begun = Task { [self] in
        do {
          try await install()
        } catch {
          logger.warning("the release that is packaged with the app cannot be used: \(error.sentence)")
        }
      }
      task = begun
      return begun
    }
    await task.value
  }

  private func install() async throws {
    let archive = try ReleaseArchive(reading: path)
    let manifest = try Manifest(reading: try archive.manifest(limits: limits), limits: limits)
    if let stored = try await store.source(source)?.current, stored.sequence >= manifest.sequence { return }
    let transport = try ArchiveTransport(archive, of: source, limits: limits)
    let client = OriginClient(transport)
    let retry = RetryPolicy(attempts: 1)
    // Its signatures were to hold when the app was built. An app that is old is no reason to show nothing.
    let date = manifest.signed.map { Date(timeIntervalSince1970: Double($0.seconds)) }
    let verifier = LaunchVerifier(
      source: source, store: store, client: client, limits: limits,
      trust: trust.map { ReleaseTrust($0.root).withoutStatus }, keepsSignatures: true, retry: retry, logger: logger,
      date: { date ?? Date() })
    let downloader = BundleDownloader(
      store: store,
      fetcher: BundleFetcher(
        client: client, store: store, retry: retry, fileLimit: limits.fileBytes),
      limits: limits)
    let preloader = Preloader(store: store, verifier: verifier, downloader: downloader, logger: logger)
    let report = await preloader.start().report()
    if let failure = report.failures.first { throw ArchiveError(path, "cannot be imported: \(failure.error)") }
    // The app was tried with it.
    if let stored = try await store.source(source)?.current, stored.sequence == manifest.sequence {
      try await store.mark(stored, as: .good)
    }
    guard !transport.onDemand.isEmpty else { return }
    _ = await preloader.withoutPrefetching(PreloadOptions(only: transport.onDemand)).start().report()
  }
}
