import HTTPTransport
import Releases
import Synchronization

/// The result of a preload, which counts what it stored.
///
/// Its JSON is that of `bundlectl preload --json`: the members of this type, and `failed`, the number of failures.
public struct PreloadReport: Hashable, Sendable, Encodable {
  /// An entry that could not be fetched, or `manifest` for a failure of the whole preload.
  public struct Failure: Hashable, Sendable, Codable {
    /// The entry's name.
    public let name: String
    /// The reason, in a sentence.
    public let error: String
    /// The error that caused the failure; `nil` if there is none. Neither encoded nor compared.
    package private(set) var cause: (any Error)?
    /// `true` if a later attempt may succeed without any change here, for example if the server was unreachable. Not
    /// encoded.
    public var isPassing: Bool { cause.map(RetryPolicy.mayPass) ?? false }

    package init(name: String, error: String, cause: (any Error)? = nil) {
      self.name = name
      self.error = error
      self.cause = cause
    }

    package init(name: String, _ error: any Error) {
      self.init(name: name, error: error.sentence, cause: error)
    }

    public static func == (lhs: Self, rhs: Self) -> Bool {
      (lhs.name, lhs.error, lhs.isPassing) == (rhs.name, rhs.error, rhs.isPassing)
    }

    public func hash(into hasher: inout Hasher) {
      hasher.combine(name)
      hasher.combine(error)
      hasher.combine(isPassing)
    }

    private enum CodingKeys: CodingKey {
      case name, error
    }
  }

  /// The release's name; `nil` if no manifest is known.
  public var release: String?
  /// The release's sequence.
  package var sequence: Int64 = 0
  /// The number of bundles in the release.
  public var bundles = 0
  /// The number of files in the release.
  public var files = 0
  /// The number of bundles that were stored before, or that another process has stored meanwhile.
  public var upToDate = 0
  /// The number of bundles that were downloaded.
  public var downloaded = 0
  /// The number of downloaded bundles that continued a partial download.
  package var resumed = 0
  /// The number of downloaded bundles and files that arrived as the difference from older ones.
  package var deltas = 0
  /// The number of bundles that were read from a folder of this machine.
  package var copied = 0
  /// The number of files that were stored before, or that another process has stored meanwhile.
  public var filesUpToDate = 0
  /// The number of files that were downloaded.
  public var filesDownloaded = 0
  /// The number of files that were read from a folder of this machine.
  package var filesCopied = 0
  /// The number of entries that are fetched when they are opened: those on demand, and idle ones that the data saver
  /// did not allow.
  package var onDemand = 0
  /// The wire bytes of all response bodies.
  public var bytesDownloaded: Int64 = 0
  /// The number of requests that were sent.
  package var requests = 0
  /// `true` if the release became the current one in this run.
  public var activated = false
  /// The time that the preload took, without pauses.
  public var elapsed: Duration = .zero
  /// The entries that could not be fetched, with the reasons.
  public var failures: [Failure] = []
  /// `true` if the preload was cancelled before its end. Complete downloads stay, partial ones are continued next time.
  public var isInterrupted = false
  /// The number of entries that were neither fetched nor failed when the preload was cancelled.
  package var notFetched = 0
  /// The optional files whose bytes on the server differ from the manifest's digests; the release is complete without
  /// them.
  public var leftOut: [Failure] = []
  /// The name of the held release that stays current in place of this one; `nil` if none is held.
  public var held: String?
  /// The reason for which nothing of the release was fetched: it is bad on this device. `nil` for any other.
  public var bad: String?
  /// The name of the release that stays current, since the publisher's status holds this one back; `nil` if it does not.
  package var withheld: String?
  /// The names of the bundles that the publisher has disabled, sorted.
  package var disabled: [String] = []
  /// The number of prefetched responses that were stored and kept.
  package var prefetched = 0
  /// The number of responses that the data saver did not allow to prefetch.
  package var prefetchSkipped = 0
  /// The URL and reason of each response that could not be prefetched; the release is complete without them.
  public var prefetchFailures: [String] = []
  /// The references that are stored, or that another round would not fetch either.
  var settledPrefetches: Set<String> = []
  /// `true` if other references may be fetched by a later attempt.
  var lacksPrefetches = false

  package init() {}

  /// Encodes the report; a member without a value is `null`.
  ///
  /// - Throws: `EncodingError`.
  public func encode(to encoder: any Encoder) throws {
    let members: KeyValuePairs<AnyKey, any Encodable> = [
      "release": release, "sequence": sequence, "bundles": bundles, "upToDate": upToDate, "downloaded": downloaded,
      "resumed": resumed, "deltas": deltas, "copied": copied, "onDemand": onDemand, "files": files,
      "filesUpToDate": filesUpToDate, "filesDownloaded": filesDownloaded, "filesCopied": filesCopied,
      "prefetched": prefetched, "prefetchSkipped": prefetchSkipped, "prefetchFailures": prefetchFailures,
      "failed": failures.count, "notFetched": notFetched, "interrupted": isInterrupted,
      "bytesDownloaded": bytesDownloaded, "requests": requests, "activated": activated, "held": held,
      "withheld": withheld, "bad": bad, "disabled": disabled, "seconds": (elapsed.seconds * 1000).rounded() / 1000,
      "failures": failures, "leftOut": leftOut,
    ]
    var container = encoder.container(keyedBy: AnyKey.self)
    for (key, value) in members { try container.encode(value, forKey: key) }
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

  /// Counts the entries of a release, and those that are stored.
  mutating func count(_ counts: ReleaseCounts, of release: StoredRelease) {
    self.release = release.name
    sequence = release.sequence
    (bundles, files, onDemand) = (counts.bundles, counts.files, counts.onDemand)
    // After the manifest was fetched again, entries of this run are in the store: they do not count as up to date.
    upToDate = max(0, counts.storedBundles - downloaded - copied)
    filesUpToDate = max(0, counts.storedFiles - filesDownloaded - filesCopied)
  }

  /// Counts an entry that was put into the store.
  mutating func count(_ bundle: PageBundle, _ delivery: BundleDownloader.Delivery) {
    // A file of this machine is copied.
    switch (bundle.kind, delivery.wasFetched, bundle.url.isFile) {
    // Another process has stored it meanwhile.
    case (.bundle, false, _): upToDate += 1
    case (.file, false, _): filesUpToDate += 1
    case (.bundle, true, true): copied += 1
    case (.file, true, true): filesCopied += 1
    case (.bundle, true, false): downloaded += 1
    case (.file, true, false): filesDownloaded += 1
    }
    if delivery.wasResumed, bundle.kind == .bundle { resumed += 1 }
    if delivery.wasDelta { deltas += 1 }
  }
}

/// Counts the downloads of one run in its report.
final class PreloadTally: Sendable {
  /// The outcome of a run's downloads, beside what the report counts.
  struct Outcome: Sendable {
    /// `true` if every entry is stored, or need not be.
    var isComplete = false
    /// The entries of the list that were stored, left for later, left out, or failed.
    var settled = 0
    /// The entries that failed.
    var failed = 0
    /// The number of idle entries that the data saver did not allow.
    var left = 0
    /// The longest pause that a server asked for with `Retry-After`.
    var retryAfter: Duration?
    /// `true` if bytes differ from the digests of the manifest.
    var hasMismatch = false
  }

  /// The wire bytes, and the bytes of the contents, of this run.
  private typealias State = (report: PreloadReport, outcome: Outcome, bytes: Int64, size: Int64, mustStop: Bool)

  private let state: Mutex<State>
  private let limit: Int64

  /// - Parameters:
  ///   - report: the report of the rounds before.
  ///   - limit: the size limit of the release in bytes.
  init(_ report: PreloadReport, limit: Int64) {
    state = Mutex<State>((report, Outcome(), 0, 0, false))
    self.limit = limit
  }

  /// The report with what has been counted.
  var report: PreloadReport { state.withLock(\.report) }

  var outcome: Outcome { state.withLock(\.outcome) }

  /// `true` if an error ends the whole run.
  var mustStop: Bool { state.withLock(\.mustStop) }
  func stop() { state.withLock { $0.mustStop = true } }

  /// Counts wire bytes. Content is at least as large as its wire bytes, so that a run with too many of these stops.
  func receive(_ bytes: Int) {
    state.withLock { state in
      state.bytes += Int64(bytes)
      state.report.bytesDownloaded += Int64(bytes)
      if state.bytes > limit { state.mustStop = true }
    }
  }

  func done(_ item: ManifestDiff.Fetch, _ delivery: BundleDownloader.Delivery) {
    state.withLock { state in
      state.size += delivery.blob.size
      state.outcome.settled += item.bundles.count
      for bundle in item.bundles { state.report.count(bundle, delivery) }
    }
  }

  func leave(_ item: ManifestDiff.Fetch) {
    state.withLock { state in
      state.outcome.settled += item.bundles.count
      state.outcome.left += item.bundles.count
    }
  }

  /// Counts an optional file whose bytes on the server differ from the manifest's digests.
  func leaveOut(_ item: ManifestDiff.Fetch, _ reason: String, isMismatch: Bool) {
    state.withLock { state in
      state.outcome.settled += item.bundles.count
      state.outcome.hasMismatch = state.outcome.hasMismatch || isMismatch
      state.report.leftOut += item.bundles.map { .init(name: $0.name, error: reason) }
    }
  }

  func failed(_ item: ManifestDiff.Fetch, _ error: any Error) {
    state.withLock { state in
      state.outcome.settled += item.bundles.count
      state.outcome.failed += item.bundles.count
      state.report.failures += item.bundles.map { .init(name: $0.name, error) }
      if let asked = RetryPolicy.retryAfter(error) {
        state.outcome.retryAfter = max(asked, state.outcome.retryAfter ?? .zero)
      }
      if (error as? BundleError)?.mayBeOutdatedManifest == true { state.outcome.hasMismatch = true }
    }
  }

  func checkLimit() throws {
    guard state.withLock({ max($0.size, $0.bytes) }) <= limit else { throw PreloadError.releaseTooLarge(limit: limit) }
  }
}
