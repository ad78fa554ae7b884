import HTTPTransport
import Logging

/// Brings a source's release into the store, whole, and switches to it.
public struct Preloader: Sendable {
  private let store: any BundleStoring
  private let verifier: LaunchVerifier
  private let downloader: BundleDownloader
  private let options: PreloadOptions
  private let prefetcher: (any Prefetching)?
  private let news: Broadcast<BundleNews>?
  private let sleep: @Sendable (Duration) async throws -> Void
  private let logger: Logger

  /// - Parameters:
  ///   - prefetcher: fetches what bundles will ask for; nil for nothing of that. Its loader's data saver says whether
  ///     idle bundles are fetched.
  ///   - sleep: how to wait between the rounds of a preload that goes on by itself.
  public init(
    store: any BundleStoring, verifier: LaunchVerifier, downloader: BundleDownloader,
    options: PreloadOptions = PreloadOptions(), prefetcher: (any Prefetching)? = nil,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    logger: Logger = Logger(label: "pagekit.preload")
  ) {
    self.init(
      store: store, verifier: verifier, downloader: downloader, options: options, prefetcher: prefetcher, news: nil,
      sleep: sleep, logger: logger)
  }

  /// - Parameter news: told of releases that become current.
  package init(
    store: any BundleStoring, verifier: LaunchVerifier, downloader: BundleDownloader, options: PreloadOptions,
    prefetcher: (any Prefetching)?, news: Broadcast<BundleNews>?,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }, logger: Logger
  ) {
    self.store = store
    self.verifier = verifier
    self.downloader = downloader
    self.options = options
    self.prefetcher = prefetcher
    self.news = news
    self.sleep = sleep
    self.logger = logger
  }

  /// The same with other options, for bundles and files alone: nothing is prefetched.
  package func withoutPrefetching(_ options: PreloadOptions) -> Preloader {
    Preloader(
      store: store, verifier: verifier, downloader: downloader, options: options, prefetcher: nil, news: news,
      sleep: sleep, logger: logger)
  }

  /// Starts a preload of one round: what fails then is reported, and not tried again.
  public func start() -> Preload {
    start { run in
      var report = PreloadReport()
      _ = await run.round(.oncePerLaunch, &report)
      return report
    }
  }

  /// Starts a preload that goes on by itself until everything is here, and with `every` or `events` for longer; or
  /// until it is cancelled. Its updates say what is missing and when it tries again.
  public func start(_ schedule: PreloadSchedule) -> Preload {
    // Where the network may not be asked, another round would bring nothing more.
    guard !options.isOffline else { return start() }
    return start { [sleep] run in await PreloadRounds(run: run, schedule: schedule, sleep: sleep).report() }
  }

  private func start(_ body: @escaping @Sendable (PreloadRun) async -> PreloadReport) -> Preload {
    let feed = PreloadFeed()
    let run = PreloadRun(
      store: store, verifier: verifier, downloader: downloader, options: options, prefetcher: prefetcher,
      feed: feed, news: news, logger: logger)
    return Preload(
      feed: feed,
      task: Task {
        let report = await body(run)
        feed.finish(report)
        return report
      })
  }
}

/// The bundles and files that a preload fetches, and how many of them at once.
public struct PreloadOptions: Sendable {
  /// The number of simultaneous downloads, at least 1; 8 by default.
  public var jobs: Int
  /// The names of the bundles and files to fetch; `nil`, the default, for all.
  public var only: Set<String>?
  /// Reports what is stored and sends no request.
  public var isOffline: Bool
  /// The size limit of a release, in bytes; 2 GiB by default. Bytes count as they arrive, so that the limit also holds
  /// if the manifest gives no sizes.
  public var releaseLimit: Int64

  /// Makes options with the given values; `jobs` below 1 counts as 1.
  public init(
    jobs: Int = 8, only: Set<String>? = nil, isOffline: Bool = false,
    releaseLimit: Int64 = ManifestLimits.standard.releaseBytes
  ) {
    self.jobs = max(1, jobs)
    self.only = only
    self.isOffline = isOffline
    self.releaseLimit = releaseLimit
  }
}

/// A preload under way.
public struct Preload: Sendable {
  fileprivate let feed: PreloadFeed
  fileprivate let task: Task<PreloadReport, Never>

  /// A preload that has ended and brought nothing.
  package static var nothing: Preload {
    let feed = PreloadFeed()
    feed.finish(PreloadReport())
    return Preload(feed: feed, task: Task { PreloadReport() })
  }

  /// How far it is; a late subscriber misses nothing.
  public var updates: AsyncStream<PreloadUpdate> { feed.updates }

  /// Waits for the end: of the one round, or of a preload that goes on by itself.
  public func report() async -> PreloadReport { await task.value }

  /// What is complete stays, what is partial goes on next time; nothing is half done.
  public func cancel() { task.cancel() }
}
