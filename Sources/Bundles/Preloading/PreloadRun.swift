import HTTPTransport
import Logging
import Releases
import Synchronization

// One round of a preload, from asking the server to switching to the release.
extension Preloader {
  /// The way in which the server is asked for its manifest.
  enum Question: Hashable, Sendable {
    /// The server is asked unless there is an answer from this launch.
    case oncePerLaunch
    /// The server is asked likewise, also soon after a failure.
    case onceMore
    /// The server is asked for a newer manifest.
    case anew
  }

  /// The name of a failure of the whole run in the report.
  private static let manifestName = "manifest"

  /// - Parameter report: the report, which includes earlier rounds that did not store everything.
  func round(_ question: Question, _ report: inout PreloadReport) async -> PreloadPacing.RoundResult {
    let start = ContinuousClock.now
    let requestsBefore = downloader.client.requestCount
    let done = report.done
    (report.failures, report.leftOut) = ([], [])
    (report.isInterrupted, report.notFetched) = (false, 0)
    (report.held, report.withheld, report.bad) = (nil, nil, nil)
    var asked: Duration?
    do {
      let before = try await signedCurrent
      let known = try await release(question)
      if let before, let current = try await signedCurrent, current.sequence < before.sequence {
        // The status that came with the answer has gone back.
        news?.send(.release(current))
      }
      if let failure = known.failure {
        report.failures.append(
          .init(
            name: Self.manifestName, error: "\(failure); the stored release \(known.release.name) stays",
            cause: failure))
        asked = RetryPolicy.retryAfter(failure)
      }
      try await bring(known, &report, &asked)
    } catch is CancellationError {
      report.isInterrupted = true
    } catch {
      report.failures.append(.init(name: Self.manifestName, error))
      asked = RetryPolicy.retryAfter(error)
    }
    report.requests += downloader.client.requestCount - requestsBefore
    report.elapsed += ContinuousClock.now - start
    return report.outcome(since: done, asked: asked)
  }

  /// The release that pages open, where signatures are required; a status changes no other.
  private var signedCurrent: StoredRelease? {
    get async throws { store.requiresSignatures ? try await store.source(verifier.source)?.current : nil }
  }

  /// The release to preload. `isUnchanged` is `true` if the server answered 304, or sent the stored manifest again;
  /// `failure` is the reason why there is no answer from the server.
  private typealias Known = (release: StoredRelease, isUnchanged: Bool, failure: SourceError?)

  /// The server's release; if the server cannot be reached, the stored one with the reason.
  private func release(_ question: Question) async throws -> Known {
    if options.isOffline {
      guard let stored = try await store.source(verifier.source)?.latest else {
        throw SourceError.notStored(verifier.source)
      }
      return (release: stored, isUnchanged: false, failure: nil)
    }
    do {
      let verified =
        switch question {
        case .oncePerLaunch: try await verifier.verified()
        case .onceMore: try await verifier.verified(resting: false)
        case .anew: try await verifier.refresh()
        }
      return (release: verified.release, isUnchanged: verified.isUnchanged, failure: nil)
    } catch let error as SourceError {
      guard let stored = try await store.source(verifier.source)?.latest else { throw error }
      return (release: stored, isUnchanged: false, failure: error)
    }
  }

  private func bring(_ known: Known, _ report: inout PreloadReport, _ asked: inout Duration?) async throws {
    var release = known.release
    if let bad = try await store.badRelease(release) {
      (report.release, report.sequence) = (release.name, release.sequence)
      report.bad = "\(bad)"
      return feed.setTotals { $0.release = release.name }
    }
    let isReachable = report.failures.isEmpty && !options.isOffline
    var outcome = try await fetchMissing(of: release, isReachable: isReachable, &report)
    if outcome.hasMismatch, known.isUnchanged,
      let fresh = try? await verifier.verifiedUnconditionally().release, fresh.id != release.id
    {
      // The server called an old manifest unchanged, which its bytes have disproved.
      logger.notice("a 304 was contradicted by the bytes; the manifest was fetched again")
      release = fresh
      (report.failures, report.leftOut) = ([], [])
      outcome = try await fetchMissing(of: release, isReachable: isReachable, &report)
    }
    asked = outcome.retryAfter ?? asked
    feed.setTotals { $0.phase = .activating }
    var hasSwitched = false
    if outcome.isComplete {
      var source = try await store.source(release.source)
      // Most launches change nothing, and a look at that needs no transaction that may write.
      if store.requiresSignatures || source?.current?.id != release.id {
        hasSwitched = try await store.activate(release, leavingIdle: outcome.left > 0)
        source = try await store.source(release.source)
      }
      report.activated = report.activated || hasSwitched
      if hasSwitched { news?.send(.release(release)) }
      if let source, source.isHeld, source.current?.id != release.id { report.held = source.current?.name }
      if let source, source.withholds(release) { report.withheld = source.current?.name }
    }
    if isReachable { try await prefetchResponses(for: release, &report) }
    guard hasSwitched else { return }
    let sources = try await store.sources()
    if sources.count > 1 || sources.first?.previous != nil {
      // The store must not grow without limit; a collection that fails is repeated after the next switch.
      try? await store.collectAfterSwitch()
    }
  }

  private func fetchMissing(
    of release: StoredRelease, isReachable: Bool, _ report: inout PreloadReport
  ) async throws -> PreloadTally.Outcome {
    let disabled = Set(try await store.disabled(of: release.source).keys)
    report.disabled = disabled.sorted()
    var counts: ReleaseCounts
    let diff: ManifestDiff
    var unknown: [String] = []
    if options.only == nil, let stock = try await store.stock(of: release) {
      counts = stock.counts
      diff = ManifestDiff(of: stock.absent, disabled: disabled) { _ in false }
    } else {
      let contents = try await store.contents(of: release)
      let stored = Set(contents.lazy.filter { $0.blob != nil }.map(\.bundle))
      counts = ReleaseCounts(contents)
      diff = ManifestDiff(of: contents.map(\.bundle), only: options.only, disabled: disabled) { stored.contains($0) }
      unknown = (options.only ?? []).subtracting(contents.lazy.map(\.bundle.name)).sorted()
    }
    counts.onDemand += diff.onDemand.count
    report.count(counts, of: release)
    if diff.fetch.isEmpty, unknown.isEmpty, counts.stored + counts.onDemand == counts.all {
      announce([], of: release, upToDate: counts.stored)
      return PreloadTally.Outcome(isComplete: true)
    }
    // They can be fetched as soon as the manifest can.
    let passing = report.failures.first(where: \.isPassing)?.cause
    report.failures += unknown.map {
      .init(name: $0, error: "release \(release.name) has no bundle or file \($0.quotedForMessage)")
    }
    guard isReachable || verifier.source.isFile && !options.isOffline else {
      let reason = options.isOffline ? "the network may not be asked" : "the server's manifest cannot be had"
      func failures(_ list: [ManifestDiff.Fetch]) -> [PreloadReport.Failure] {
        list.flatMap(\.bundles).map {
          .init(
            name: $0.name, error: "\($0.name.quotedForMessage) is not in the store, and \(reason)",
            cause: passing)
        }
      }
      let required = diff.fetch.filter { !$0.isOptional }
      report.failures += failures(required)
      report.leftOut += failures(diff.fetch.filter(\.isOptional))
      return PreloadTally.Outcome(
        isComplete: required.isEmpty && counts.stored + report.leftOut.count + counts.onDemand == counts.all)
    }
    if !diff.fetch.isEmpty, let reason = store.readOnlyReason { throw PreloadError.readOnly(reason: reason) }
    try checkSpace(for: diff)
    let tally = PreloadTally(report, limit: options.releaseLimit)
    let wanted = diff.fetch.filter { item in
      guard item.isOptional, let fault = downloader.knownFault(of: item.expected, in: release) else { return true }
      tally.leaveOut(item, fault, isMismatch: false)
      return false
    }
    announce(wanted, of: release, upToDate: counts.stored, bytes: diff.bytesToFetch)
    do {
      try await fetch(wanted, of: release, tally)
    } catch {
      report = tally.report
      report.notFetched = diff.fetch.reduce(0) { $0 + $1.bundles.count } - tally.outcome.settled
      throw error
    }
    report = tally.report
    var outcome = tally.outcome
    report.onDemand += outcome.left
    outcome.isComplete =
      unknown.isEmpty && outcome.failed == 0 && counts.stored + counts.onDemand + outcome.settled == counts.all
    return outcome
  }

  private func announce(
    _ wanted: [ManifestDiff.Fetch], of release: StoredRelease, upToDate: Int, bytes: Int64 = 0
  ) {
    feed.setBundles(
      wanted.map {
        .init(name: $0.bundles[0].name, kind: $0.bundles[0].kind, size: $0.expected.size, state: .waiting)
      }
    ) { totals in
      totals.phase = .fetching
      totals.release = release.name
      totals.toFetch = wanted.count
      (totals.fetched, totals.failed, totals.bytes) = (0, 0, 0)
      totals.upToDate = upToDate
      totals.bytesToFetch = bytes
    }
  }

  private func checkSpace(for diff: ManifestDiff) throws {
    // Encoded downloads are on disk twice while they arrive; some space is left for the database and other programs.
    let needed = diff.bytesToFetch + diff.bytesToFetch / 4 + (16 << 20)
    let available = try store.availableBytes()
    guard diff.fetch.isEmpty || needed <= available else {
      throw PreloadError.notEnoughSpace(needed: needed, available: available)
    }
  }

  /// Runs at most `jobs` downloads at once, in the list's order. Finished ones are flushed to disk while the next ones
  /// run.
  private func fetch(_ list: [ManifestDiff.Fetch], of release: StoredRelease, _ tally: PreloadTally) async throws {
    let (freeSlots, slot) = AsyncStream.makeStream(of: Void.self)
    for _ in 0..<options.jobs { slot.yield() }
    var slots = freeSlots.makeAsyncIterator()
    let toCome = Atomic(list.count)
    let settled = { @Sendable in
      slot.yield()
      // The last ones are made durable at once.
      if toCome.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { store.expectNoMoreDownloads() }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      var started = 0
      for (index, item) in list.enumerated() {
        guard await slots.next() != nil, !tally.mustStop else { break }
        if item.bundles.allSatisfy({ $0.preload == .idle }), !mayDoIdleWork {
          tally.leave(item)
          settled()
          continue
        }
        // The slot is freed once: when the bytes wait to be made durable, or at the end.
        let isFreed = Atomic(false)
        group.addTask {
          try await fetch(item, at: index, of: release, tally) {
            if !isFreed.exchange(true, ordering: .relaxed) { slot.yield() }
          }
        }
        started += 1
        // The first bundle shortens the others, which is worth waiting for where bytes are dear.
        let isAwaited = started == 1 && item.bundles[0].kind == .bundle && saver?.isOn == true
        if started > Self.outstandingLimit || isAwaited { try await group.next() }
      }
      try await group.waitForAll()
    }
    try tally.checkLimit()
    try Task.checkCancellation()
  }

  private var mayDoIdleWork: Bool { saver?.allowsIdleWork ?? true }

  /// The largest number of downloads and commits together, since each has open files.
  private static let outstandingLimit = 128

  private func fetch(
    _ item: ManifestDiff.Fetch, at index: Int, of release: StoredRelease, _ tally: PreloadTally,
    _ freeSlot: @escaping @Sendable () -> Void
  )
    async throws
  {
    defer { freeSlot() }
    feed.setState(.fetching(0), of: index)
    var lastError: (any Error)?
    // Entries with equal content: the first URL that delivers it serves all.
    for bundle in item.bundles {
      do {
        let isFile = bundle.url.isFile
        let delivery = try await downloader.download(
          FetchTarget(bundle), for: release, sharing: true,
          began: { position, size in if !isFile { feed.began(at: position, size: size, by: index) } },
          received: { bytes in
            if !isFile { tally.receive(bytes) }
            feed.received(bytes, by: index)
          },
          retries: { feed.retries($0, by: index) },
          fetched: freeSlot)
        tally.done(item, delivery)
        if bundle.preload == .idle { saver?.spend(delivery.blob.size) }
        feed.setState(.done, of: index)
        try tally.checkLimit()
        return
      } catch let error as BundleError {
        lastError = error
      } catch {
        tally.stop()
        throw error
      }
    }
    guard let lastError else { return }
    logger.debug("\(lastError)")
    if item.isOptional, let fault = lastError as? BundleError, !RetryPolicy.mayPass(fault) {
      downloader.recordFault(of: item.expected, in: release, "\(fault)")
      tally.leaveOut(item, "\(fault)", isMismatch: fault.mayBeOutdatedManifest)
    } else {
      tally.failed(item, lastError)
    }
    feed.setState(.failed("\(lastError)"), of: index)
  }
}

extension Preloader {
  /// Fetches the responses that the release's bundles list for prefetching, and keeps them.
  func prefetchResponses(for release: StoredRelease, _ report: inout PreloadReport) async throws {
    guard let prefetch else { return }
    let all = try await store.prefetches(of: release, onlyStored: true)
    // References that an earlier round fetched, or found lastingly unavailable, are not requested again.
    let references = Array(all.subtracting(report.settledPrefetches))
    var former: [String] = []
    if report.activated, let previous = try await store.source(release.source)?.previous {
      former = try await store.prefetches(of: previous, onlyStored: false).subtracting(all).sorted()
    }
    guard !references.isEmpty || !former.isEmpty else { return }
    feed.setTotals { $0.phase = .prefetching }
    let base = release.source.isFile ? nil : release.source
    let result = await prefetch(references, base, former)
    report.prefetched += result.kept
    report.prefetchSkipped += result.skipped
    report.prefetchFailures.removeAll { failure in references.contains { failure.hasPrefix("\($0): ") } }
    report.prefetchFailures += result.failures
    report.settledPrefetches.formUnion(references)
    report.settledPrefetches.subtract(result.passing)
    report.lacksPrefetches = !result.passing.isEmpty
    for failure in result.failures { logger.notice("prefetching failed: \(failure)") }
  }
}
