import Blobs
import Foundation
import HTTPTransport
import Logging
import NIOPosix
import Releases
import ServiceLifecycle

/// Publishes a folder: makes a release of its contents at the start and after every change.
///
/// If a file cannot be published, such as HTML in place of a script, the current release stays, and the problem is
/// reported.
package actor FolderWatcher: Service {
  private let source: FolderSource
  private let publisher: ReleasePublisher
  /// Looks at releases before they are served; `nil` for none.
  private var gate: ReleaseGate?
  /// Reports of callers that the folder may have changed.
  private let reports: Broadcast<Void>
  /// Sent for an event in the folder, and at the end of a wait.
  private let wakes = Broadcast<Void>(.newest(1))
  private var isAsked = false
  private let logger: Logger
  private var scanner: FolderScanner
  private var former: Manifest?
  private var hasLooked = false

  /// The time until the next scan after a failure, or after a change without an event.
  private static let retry: Duration = .milliseconds(500)
  /// The same where a command signs, which may be slow.
  private static let signedRetry: Duration = .seconds(5)
  private static let round: Duration = .seconds(30)
  private static let roundUnwatched: Duration = .seconds(2)

  init(
    _ source: FolderSource, publisher: ReleasePublisher, gate: ReleaseGate? = nil, reports: Broadcast<Void>,
    logger: Logger
  ) {
    self.source = source
    self.gate = gate
    self.publisher = publisher
    self.reports = reports
    self.logger = logger
    scanner = FolderScanner(
      source, isSigned: publisher.signer != nil, hasStatus: publisher.statusSigner != nil, hasGate: gate != nil)
  }

  package func run() async throws {
    let (changes, wakeUps) = (reports.listen(), wakes.listen())
    let events = try DirectoryEvents(source.folder)
    defer { events.stop() }
    former = try? Manifest(
      reading: RegularFile.contents(of: source.manifestPath, upTo: ManifestLimits.standard.manifestBytes))
    if publisher.signer == nil {
      logger.info("the folder's releases are not signed, so that hosts with keys refuse them: --sign-with signs them")
    }
    await publisher.publishStored()
    var next = await look(events)
    publisher.feed.markAsked()
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [wakes] in for await _ in events.signals { wakes.send(()) } }
      group.addTask { for await _ in changes { await self.ask() } }
      // Each wait has its own timer: a late one only wakes the loop once more.
      var timer: Task<Void, Never>?
      defer { timer?.cancel() }
      func wake(after duration: Duration) {
        timer?.cancel()
        timer = Task { [wakes] in if (try? await Task.sleep(for: duration)) != nil { wakes.send(()) } }
      }
      // One more scan, for files that were being written when the watch began.
      next = min(next, FolderActivity.quiet)
      wake(after: next)
      var deadline = ContinuousClock.now + next
      for await _ in wakeUps.cancelOnGracefulShutdown() {
        switch events.decision(at: .now) {
        // This applies to requested scans too: files that are being written are incomplete.
        case .wait(let duration): wake(after: duration)
        case .rest where !isAsked && .now < deadline: wake(after: deadline - .now)
        case .look, .rest:
          isAsked = false
          next = await look(events)
          deadline = .now + next
          wake(after: next)
        }
      }
      group.cancelAll()
    }
  }

  private func ask() {
    isAsked = true
    wakes.send(())
  }

  /// - Returns: the time until the next scan if there is no event.
  private func look(_ events: DirectoryEvents) async -> Duration {
    var round = Self.round
    do {
      let isNew = try events.prepareToLook(at: .now)
      // At the start every folder is new.
      let isSettled = !isNew || !hasLooked
      hasLooked = true
      guard isSettled else { return FolderActivity.quiet }
    } catch {
      logger.warning("\(error.sentence)")
      round = Self.roundUnwatched
    }
    do {
      let (scanner, former) = (scanner, former)
      let (manifest, kept) = try await NIOThreadPool.singleton.runIfActive {
        var scanner = scanner
        let manifest = try scanner.scan(after: former, now: Date().timeIntervalSince1970)
        return (manifest, scanner)
      }
      self.scanner = kept
      if let manifest {
        if let refusal = try await refusal(of: manifest) {
          await publisher.refuse(refusal)
          return round
        }
        try write(manifest)
      } else if let former, !FileManager.default.fileExists(atPath: source.manifestPath) {
        // The folder was removed with the store.
        try write(former)
      }
      publisher.feed.refusal = nil
      guard let newest = self.former else { return round }
      if publisher.isServing(newest) {
        await publisher.confirm()
        return round
      }
      let names = Set((newest.bundles + newest.files).map(\.name))
      return await publisher.bring(with: names) ? round : publisher.signer == nil ? Self.retry : Self.signedRetry
    } catch is FolderScanner.Unsettled {
      return Self.retry
    } catch is CancellationError {
      // The daemon is shutting down.
      return round
    } catch {
      publisher.fail(error.sentence)
      return round
    }
  }

  /// - Returns: `nil` if the release may be served.
  private func refusal(of manifest: Manifest) async throws -> String? {
    guard var gate else { return nil }
    // A host that serves a release is ready while the pages of the next one run.
    if publisher.feed.current != nil { publisher.feed.markAsked() }
    let refusal = try await gate.refusal(of: manifest, in: source.folder, beside: publisher.feed.current)
    self.gate = gate
    return refusal
  }

  private func write(_ manifest: Manifest) throws {
    try source.write(manifest)
    former = manifest
  }
}
