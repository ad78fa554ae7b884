import HTTPTransport
import Logging
import Releases

/// Downloads a source's release into the store as a whole, and switches to it.
package struct Preloader: Sendable {
  let store: BundleStore
  let verifier: LaunchVerifier
  let downloader: BundleDownloader
  private(set) var options: PreloadOptions
  private(set) var prefetch: Prefetch?
  private(set) var saver: DataSaver?
  let news: Broadcast<BundleNews>?
  let sleep: @Sendable (Duration) async throws -> Void
  let logger: Logger
  /// The updates of the preload that was started.
  private(set) var feed = PreloadFeed()

  /// - Parameters:
  ///   - prefetch: fetches the responses that bundles list; `nil` for none.
  ///   - saver: decides whether idle bundles are fetched; `nil` to fetch them always.
  ///   - news: receives the releases that become current.
  ///   - sleep: waits between the rounds of a preload that continues by itself.
  package init(
    store: BundleStore, verifier: LaunchVerifier, downloader: BundleDownloader,
    options: PreloadOptions = PreloadOptions(), prefetch: Prefetch? = nil, saver: DataSaver? = nil,
    news: Broadcast<BundleNews>? = nil,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    logger: Logger = Logger(label: "pagekit.preload")
  ) {
    self.store = store
    self.verifier = verifier
    self.downloader = downloader
    self.options = options
    self.prefetch = prefetch
    self.saver = saver
    self.news = news
    self.sleep = sleep
    self.logger = logger
  }

  /// A preloader with other options that fetches only bundles and files, without prefetching responses.
  package func withoutPrefetching(_ options: PreloadOptions) -> Preloader {
    var preloader = self
    (preloader.options, preloader.prefetch, preloader.saver) = (options, nil, nil)
    return preloader
  }

  /// Starts a preload of one round, which reports failures and does not retry them.
  package func start() -> Preload {
    start { preloader in
      var report = PreloadReport()
      _ = await preloader.round(.oncePerLaunch, &report)
      return report
    }
  }

  /// Starts a preload that continues until everything is stored, and with `every` or `events` beyond that; it also ends
  /// when it is cancelled. Its updates report failures and the time of the next round.
  package func start(_ schedule: PreloadSchedule) -> Preload {
    // Without the network another round would not store more.
    guard !options.isOffline else { return start() }
    return start { await $0.rounds(schedule) }
  }

  private func start(_ body: @escaping @Sendable (Preloader) async -> PreloadReport) -> Preload {
    var begun = self
    begun.feed = PreloadFeed()
    return Preload(
      feed: begun.feed,
      task: Task { [begun] in
        let report = await body(begun)
        begun.feed.finish(report)
        return report
      })
  }
}

/// The bundles and files that a preload fetches, and how many of them at once.
package struct PreloadOptions: Sendable {
  /// The number of simultaneous downloads, at least 1; 8 by default.
  package var jobs: Int
  /// The names of the bundles and files to fetch; `nil`, the default, for all.
  package var only: Set<String>?
  /// Reports the stored bundles and files, and sends no request.
  package var isOffline: Bool
  /// The size limit of a release, in bytes; 2 GiB by default. Bytes count as they arrive, so that the limit also holds
  /// if the manifest gives no sizes.
  package var releaseLimit: Int64

  /// Makes options with the given values; `jobs` below 1 counts as 1.
  package init(
    jobs: Int = 8, only: Set<String>? = nil, isOffline: Bool = false,
    releaseLimit: Int64 = ManifestLimits.standard.releaseBytes
  ) {
    self.jobs = max(1, jobs)
    self.only = only
    self.isOffline = isOffline
    self.releaseLimit = releaseLimit
  }
}

/// A running preload, as `PageHost.preload()` returns it.
///
///     let preload = host.preload()
///     for await update in preload.updates { print(update.totals.bytesHere, "of", update.totals.bytesToFetch) }
///     print(await preload.report().failures)
public struct Preload: Sendable {
  fileprivate let feed: PreloadFeed
  fileprivate let task: Task<PreloadReport, Never>

  /// A preload that has ended without storing anything.
  package static var nothing: Preload {
    let feed = PreloadFeed()
    feed.finish(PreloadReport())
    return Preload(feed: feed, task: Task { PreloadReport() })
  }

  /// The preload's progress. Each reader gets the present state first and the report last, also if it starts late.
  public var updates: AsyncStream<PreloadUpdate> { feed.updates }

  /// Waits for the preload's end, and returns its report.
  public func report() async -> PreloadReport { await task.value }

  /// Cancels the preload. Complete downloads stay, partial ones are continued by the next preload.
  public func cancel() { task.cancel() }
}

/// The difference between a release and the store: the contents to fetch.
package struct ManifestDiff: Equatable, Sendable {
  /// One content to fetch, and the entries of the release that have it.
  package struct Fetch: Equatable, Sendable {
    package let expected: ExpectedContent
    /// The entries with this content, at least one; the first whose URL delivers it serves all.
    package let bundles: [PageBundle]

    /// `true` if the release is complete without it.
    package var isOptional: Bool { bundles.allSatisfy(\.isOptional) }
  }

  /// The contents to fetch: launch bundles and files first, then idle ones.
  package let fetch: [Fetch]
  /// The entries that are fetched when a page opens them, and disabled bundles.
  package let onDemand: [PageBundle]

  /// The bytes to fetch, as far as the manifest gives sizes.
  package var bytesToFetch: Int64 { fetch.reduce(0) { $0 + ($1.expected.size ?? 0) } }

  /// - Parameters:
  ///   - only: the names of the entries to fetch; `nil` for all.
  ///   - disabled: the names of bundles that are not fetched.
  ///   - isStored: returns `true` if the store has the entry's bytes.
  package init(
    of release: [PageBundle], only: Set<String>? = nil, disabled: Set<String> = [],
    isStored: (PageBundle) -> Bool
  ) {
    var onDemand: [PageBundle] = []
    var wanting: [ExpectedContent: [PageBundle]] = [:]
    var order: [ExpectedContent] = []
    for bundle in release where !isStored(bundle) {
      if bundle.kind == .bundle, disabled.contains(bundle.name) {
        onDemand.append(bundle)
      } else if let only {
        if only.contains(bundle.name) { add(bundle) }
      } else if bundle.preload == .demand {
        onDemand.append(bundle)
      } else {
        add(bundle)
      }
    }
    func add(_ bundle: PageBundle) {
      if wanting[bundle.expected] == nil { order.append(bundle.expected) }
      wanting[bundle.expected, default: []].append(bundle)
    }
    let fetches = order.map { Fetch(expected: $0, bundles: wanting[$0] ?? []) }
    let canWait = { (fetch: Fetch) in fetch.bundles.allSatisfy { $0.preload == .idle } }
    fetch = fetches.filter { !canWait($0) } + fetches.filter(canWait)
    self.onDemand = onDemand
  }
}
