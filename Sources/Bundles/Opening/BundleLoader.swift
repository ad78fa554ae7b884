import DiskStorage
import HTTPTransport
import Logging
import Synchronization

/// Opens bundles: from the store where the server's MD5 says so, from the network otherwise. The decisions are
/// ``BundleDecision``'s, one opening is a ``BundleOpening``.
public final class BundleLoader: Sendable {
  public struct Configuration: Sendable {
    /// How pages open that no rule matches.
    public var policy = OpenPolicy.networkFirst()
    /// The first that matches a page's URL counts.
    public var rules: [OpenRule] = []
    /// Which release a page sees that opens while a newer one is coming in.
    public var consistency = Consistency.bundle
    /// Which query parameters belong to a page's identity, for manifests that do not say.
    public var identity = PageIdentity.ignoringAllParameters
    /// How long an opening with nothing to show waits for a server that sends nothing.
    public var idleLimit: Duration = .seconds(15)
    /// Asked in their order for bundles outside the manifest.
    public var checksumSources = ChecksumSource.standard

    public init() {}
  }

  let store: any BundleStoring
  /// `nil` where there is no manifest.
  let verifier: LaunchVerifier?
  let contents: ReleaseContents
  let checksums: PageChecksums
  let configuration: Configuration
  let time: TimeSource
  let logger: Logger
  private let broadcast: Broadcast<BundleNews>
  private let behind = Mutex<[PageURL: Behind]>([:])

  /// An opening that goes on behind what a page shows.
  private struct Behind {
    let walk: Task<LoadedBundle, any Error>
    let end: Task<Void, Never>
  }

  /// - Parameters:
  ///   - verifier: `nil` where there is no manifest.
  ///   - verification: how often servers are asked about bundles outside the manifest.
  public convenience init(
    store: any BundleStoring, verifier: LaunchVerifier?, downloader: BundleDownloader,
    verification: Verification = .perLaunch, configuration: Configuration = Configuration(),
    logger: Logger = Logger(label: "pagekit.open")
  ) {
    self.init(
      store: store, verifier: verifier, downloader: downloader, verification: verification,
      configuration: configuration, news: Broadcast(), time: .system, logger: logger)
  }

  package init(
    store: any BundleStoring, verifier: LaunchVerifier?, downloader: BundleDownloader, verification: Verification,
    configuration: Configuration, news: Broadcast<BundleNews>, time: TimeSource,
    logger: Logger = Logger(label: "pagekit.open")
  ) {
    self.store = store
    self.verifier = verifier
    contents = ReleaseContents(store: store, downloader: downloader, verifier: verifier)
    checksums = PageChecksums(
      lookup: ChecksumLookup(client: downloader.client, order: configuration.checksumSources),
      verification: verification, time: time)
    self.configuration = configuration
    self.time = time
    broadcast = news
    self.logger = logger
  }

  /// News of verified bytes and complete releases that are newer than what pages show, from now on.
  public var news: AsyncStream<BundleNews> { broadcast.listen() }

  /// The bundle's bytes, checked.
  ///
  /// - Throws: ``BundleError``, ``ReleaseError``, ``StoreError``, `CancellationError`.
  public func load(_ url: PageURL, options: OpenOptions = OpenOptions()) async throws -> LoadedBundle {
    var tries = 1
    while true {
      do {
        return try await BundleOpening(url, options, policy: policy(for: url, options), of: self).run()
      } catch StoreError.releaseGone where tries < 3 {
        // Collected between the choice and the lease: another one is current by now.
        tries += 1
      }
    }
  }

  /// Asks for the server's manifest, and waits as the opening of a page waits: up to the policy's deadline if the store
  /// has something to show, and otherwise for as long as the server sends something.
  ///
  /// - Parameter canShow: something is stored that can be shown without the server.
  /// - Returns: `nil` if the deadline came first, or there is no manifest.
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  package func verified(policy: OpenPolicy, canShow: Bool) async throws -> Verified? {
    guard let verifier else { return nil }
    // Something of the time is left to the opening itself.
    let deadline = OpeningDeadline(
      began: time.now(), total: policy.deadline.map { $0 - .milliseconds(100) }, idle: configuration.idleLimit)
    while true {
      let expiry = deadline.expiry(
        canShow: canShow, progress: contents.downloader.client.activity.last(verifier.source))
      if expiry > time.now() {
        if let verified = try await within(until: expiry, on: time, { try await verifier.verified() }) {
          return verified
        }
        continue
      }
      if canShow, policy.allowsUnconfirmed { return nil }
      throw SourceError.noProgress(verifier.source, after: configuration.idleLimit)
    }
  }

  private func policy(for url: PageURL, _ options: OpenOptions) -> OpenPolicy {
    options.policy ?? configuration.rules.first { $0.pattern.matches(url) }?.policy ?? configuration.policy
  }

  /// Begins a new launch: servers are asked again about bundles outside the manifest.
  package func relaunch() async { await checksums.relaunch() }

  // MARK: Behind what is shown

  /// Lets an opening come to its end for the next one; where another of the same page is under way, that one serves.
  ///
  /// - Parameter shown: what the page shows meanwhile.
  func goOn(_ walk: Task<LoadedBundle, any Error>, behind shown: LoadedBundle) {
    let url = shown.url
    behind.withLock { behind in
      guard behind[url] == nil else { return walk.cancel() }
      let end = Task {
        let result = await walk.result
        if case .success(let newer) = result, newer.isVerified || newer.source == .network, newer.md5 != shown.md5 {
          broadcast.send(.bundle(url, md5: newer.md5, release: newer.view?.release.name))
        }
        self.behind.withLock { $0[url] = nil }
      }
      behind[url] = Behind(walk: walk, end: end)
    }
  }

  /// Waits for downloads that go on behind pages that were opened already.
  package func finishBackgroundWork() async {
    while let opening = behind.withLock({ $0.values.first }) { await opening.end.value }
  }

  /// Cancels those downloads, and returns when they have ended.
  package func shutDown() async {
    for opening in behind.withLock({ Array($0.values) }) { opening.walk.cancel() }
    await finishBackgroundWork()
  }
}
