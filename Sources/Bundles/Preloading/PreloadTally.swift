import HTTPTransport
import Synchronization

/// Counts the results of one run's downloads.
final class PreloadTally: Sendable {
  struct Result: Sendable {
    var bytes: Int64 = 0
    var size: Int64 = 0
    var done: [PageBundle.Kind: Int] = [:]
    var copied: [PageBundle.Kind: Int] = [:]
    /// The entries that another process has stored meanwhile.
    var shared: [PageBundle.Kind: Int] = [:]
    var resumed = 0
    /// The bundles and files that arrived as the difference from older ones.
    var deltas = 0
    /// The number of idle entries that the data saver did not allow.
    var left = 0
    var failures: [PreloadReport.Failure] = []
    /// The longest pause that a server asked for with `Retry-After`.
    var retryAfter: Duration?
    /// The optional files whose bytes on the server differ from the manifest's digests.
    var leftOut: [PreloadReport.Failure] = []
    var hasMismatch = false
    var mustStop = false

    var doneBundles: Int { [done, copied, shared].reduce(0) { $0 + $1.values.reduce(0, +) } }
  }

  private let state = Mutex(Result())
  private let limit: Int64

  init(limit: Int64) { self.limit = limit }

  var result: Result { state.withLock { $0 } }

  /// `true` if an error ends the whole run.
  var mustStop: Bool { state.withLock(\.mustStop) }
  func stop() { state.withLock { $0.mustStop = true } }

  /// Counts wire bytes. Content is at least as large as its wire bytes, so that a run with too many of these stops.
  func receive(_ bytes: Int) {
    state.withLock { state in
      state.bytes += Int64(bytes)
      if state.bytes > limit { state.mustStop = true }
    }
  }

  func done(_ item: ManifestDiff.Fetch, _ delivery: BundleDownloader.Delivery) {
    state.withLock { state in
      state.size += delivery.blob.size
      for bundle in item.bundles {
        if !delivery.wasFetched {
          state.shared[bundle.kind, default: 0] += 1
        } else if bundle.url.isFile {
          state.copied[bundle.kind, default: 0] += 1
        } else {
          state.done[bundle.kind, default: 0] += 1
        }
        if delivery.wasResumed, bundle.kind == .bundle { state.resumed += 1 }
        if delivery.wasDelta { state.deltas += 1 }
      }
    }
  }

  func leave(_ item: ManifestDiff.Fetch) { state.withLock { $0.left += item.bundles.count } }

  /// Counts an optional file whose bytes on the server differ from the manifest's digests.
  func leaveOut(_ item: ManifestDiff.Fetch, _ reason: String, isMismatch: Bool) {
    state.withLock { state in
      state.leftOut += item.bundles.map { .init(name: $0.name, error: reason) }
      state.hasMismatch = state.hasMismatch || isMismatch
    }
  }

  func failed(_ item: ManifestDiff.Fetch, _ error: any Error) {
    state.withLock { state in
      state.failures += item.bundles.map { .init(name: $0.name, error) }
      if let asked = RetryPolicy.retryAfter(error) { state.retryAfter = max(asked, state.retryAfter ?? .zero) }
      state.hasMismatch = state.hasMismatch || (error as? BundleError)?.mayBeOutdatedManifest == true
    }
  }

  func checkLimit() throws {
    guard state.withLock({ max($0.size, $0.bytes) }) <= limit else { throw PreloadError.releaseTooLarge(limit: limit) }
  }
}

extension PreloadReport {
  /// The number of entries and responses that were stored.
  var done: Int { downloaded + copied + filesDownloaded + filesCopied + prefetched }

  /// The result of a round.
  ///
  /// - Parameters:
  ///   - before: the number of entries and responses that were stored before it.
  ///   - asked: the longest pause that a server asked for with `Retry-After`.
  func outcome(since before: Int, asked: Duration?) -> PreloadPacing.RoundResult {
    guard !failures.isEmpty || lacksPrefetches || isInterrupted else { return .complete }
    let isPassing = lacksPrefetches || isInterrupted || failures.contains(where: \.isPassing)
    return .failed(isPassing: isPassing, hasProgress: done > before, asked: asked)
  }

  mutating func count(_ counts: ReleaseCounts, of release: StoredRelease) {
    self.release = release.name
    sequence = release.sequence
    (bundles, files, onDemand) = (counts.bundles, counts.files, counts.onDemand)
    // After the manifest was fetched again, entries of this run are in the store: they do not count as up to date.
    upToDate = max(0, counts.storedBundles - downloaded - copied)
    filesUpToDate = max(0, counts.storedFiles - filesDownloaded - filesCopied)
  }

  mutating func add(_ result: PreloadTally.Result) {
    downloaded += result.done[.bundle] ?? 0
    filesDownloaded += result.done[.file] ?? 0
    copied += result.copied[.bundle] ?? 0
    filesCopied += result.copied[.file] ?? 0
    upToDate += result.shared[.bundle] ?? 0
    filesUpToDate += result.shared[.file] ?? 0
    resumed += result.resumed
    deltas += result.deltas
    bytesDownloaded += result.bytes
    leftOut += result.leftOut
  }
}
