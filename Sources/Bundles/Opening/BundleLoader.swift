import Blobs
import HTTPTransport
import Logging
import Releases
import Synchronization

/// Opens bundles: from the store if the server's MD5 matches the stored bytes, from the network otherwise.
///
/// `BundleDecision` decides each step; one opening is a `BundleOpening`.
///
///     if let home = PageURL("https://pages.example.com/bundles/home.js") {
///       let bundle = try await host.bundles.load(home)
///       print(bundle.source, bundle.isVerified, bundle.bytes.count)
///     }
public final class BundleLoader: Sendable {
  /// The configuration of a bundle loader.
  public struct Configuration: Sendable {
    /// The policy of pages that no rule matches; `.networkFirst` with a deadline of 2 seconds by default.
    public var policy = OpenPolicy.networkFirst()
    /// The policies of certain pages; the first rule that matches a page's URL applies.
    public var rules: [OpenRule] = []
    /// The bytes that a page gets while a newer release is being downloaded.
    public var consistency = Consistency.bundle
    /// The query parameters that belong to a page's identity, for manifests without a rule of their own.
    package var identity = PageIdentity.ignoringAllParameters
    /// The longest wait of an opening for a silent server if nothing is stored; 15 seconds by default.
    public var idleLimit: Duration = .seconds(15)

    /// Makes a configuration with the default values.
    public init() {}
  }

  let store: BundleStore
  /// `nil` without a manifest.
  let verifier: LaunchVerifier?
  let downloader: BundleDownloader
  let checksums: PageChecksums
  let configuration: Configuration
  let time: TimeSource
  let logger: Logger
  private let prepare: @Sendable () async -> Void
  private let broadcast: Broadcast<BundleNews>
  /// The ends of the openings that go on in the background while their pages show stored bytes.
  private let behind = Mutex<[PageURL: Task<Void, Never>]>([:])
  /// The walks of all openings.
  let walks = RunningTasks()

  /// - Parameters:
  ///   - verifier: `nil` without a manifest.
  ///   - verification: how often servers are asked about bundles outside the manifest.
  ///   - news: receives the news that ``news`` passes on.
  ///   - prepare: is waited for before anything is looked up.
  package init(
    store: BundleStore, verifier: LaunchVerifier?, downloader: BundleDownloader,
    verification: Verification = .perLaunch, configuration: Configuration = Configuration(),
    news: Broadcast<BundleNews> = Broadcast(), prepare: @escaping @Sendable () async -> Void = {},
    time: TimeSource = .system, logger: Logger = Logger(label: "pagekit.open")
  ) {
    self.store = store
    self.verifier = verifier
    self.downloader = downloader
    checksums = PageChecksums(
      client: downloader.client, verification: verification, time: time)
    self.configuration = configuration
    self.time = time
    broadcast = news
    self.prepare = prepare
    self.logger = logger
  }

  /// Announces verified bytes and complete releases that are newer than the ones that pages show, from now on.
  package var news: AsyncStream<BundleNews> { broadcast.listen() }

  /// Returns the bundle's bytes, checked against their digests. The configuration's rules and policy apply.
  ///
  /// - Parameter url: the page's URL, as the page sees it.
  /// - Throws: ``BundleError``; ``SourceError`` if the manifest cannot be had or is not trusted and nothing is stored;
  ///   `StoreError`; `CancellationError`.
  public func load(_ url: PageURL) async throws -> LoadedBundle { try await load(url, options: OpenOptions()) }

  /// Returns the bundle's bytes, checked against their digests.
  ///
  /// - Parameters:
  ///   - url: the page's URL, as the page sees it.
  ///   - options: a policy for this opening alone.
  /// - Throws: ``BundleError``, ``ReleaseError``, `StoreError`, `CancellationError`.
  package func load(_ url: PageURL, options: OpenOptions) async throws -> LoadedBundle {
    await prepare()
    var tries = 1
    while true {
      do {
        return try await BundleOpening(url, options, policy: policy(for: url, options), of: self).run()
      } catch StoreError.releaseGone where tries < 3 {
        // The release was collected between the choice and the lease: another one is current by now.
        tries += 1
      }
    }
  }

  /// Returns `true` if the publisher has disabled the page's bundle, as far as the store knows. Sends no request.
  package func isDisabled(_ url: PageURL) async -> Bool {
    (try? await BundleOpening(url, OpenOptions(), policy: .cacheOnly, of: self).isDisabled()) ?? false
  }

  /// Asks for the server's manifest, and waits as the opening of a page waits: up to the policy's deadline, or the first
  /// attempt that does not reach the server, if stored bytes can be shown, and otherwise for as long as the server sends
  /// bytes.
  ///
  /// - Parameter canShow: `true` if stored bytes can be shown without the server.
  /// - Returns: `nil` if the deadline came first, or there is no manifest.
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  package func verified(policy: OpenPolicy, canShow: Bool) async throws -> Verified? {
    guard let verifier else { return nil }
    // A part of the time is left to the opening itself.
    let deadline = OpeningDeadline(
      began: time.now(), total: policy.deadline.map { $0 - .milliseconds(100) }, idle: configuration.idleLimit)
    let activity = downloader.client.activity
    let mayShow = canShow && policy.allowsUnconfirmed
    while true {
      let seen = activity.failures.count
      if mayShow, activity.failure(verifier.source) != nil { return nil }
      // What is known needs no deadline.
      if let known = await verifier.validAnswer { return known }
      let expiry = deadline.expiry(canShow: canShow, progress: activity.last(verifier.source))
      if expiry > time.now() {
        let verified = try await within(until: expiry, on: time) { () async throws -> Verified? in
          guard mayShow else { return try await verifier.verified() }
          return try await until(activity.failures, beyond: seen) { try await verifier.verified() }
        }
        if let verified, let verified { return verified }
        continue
      }
      if mayShow { return nil }
      throw SourceError.noProgress(verifier.source, after: configuration.idleLimit)
    }
  }

  private func policy(for url: PageURL, _ options: OpenOptions) -> OpenPolicy {
    options.policy ?? configuration.rules.first { $0.pattern.matches(url) }?.policy ?? configuration.policy
  }

  /// Begins a new launch: servers are asked again about bundles outside the manifest.
  package func relaunch() async { await checksums.relaunch() }

  // MARK: Work in the background

  /// Lets an opening finish in the background for the next one. If another one of the same page is under way, the new
  /// one is cancelled.
  ///
  /// - Parameter shown: the bundle that the page shows meanwhile.
  func goOn(_ walk: Task<LoadedBundle, any Error>, behind shown: LoadedBundle) {
    let url = shown.url
    behind.withLock { behind in
      guard behind[url] == nil else { return walk.cancel() }
      behind[url] = Task {
        let result = await walk.result
        if case .success(let newer) = result, newer.isVerified || newer.source == .network, newer.md5 != shown.md5 {
          broadcast.send(.bundle(url, md5: newer.md5, release: newer.view?.release.name))
        }
        self.behind.withLock { $0[url] = nil }
      }
    }
  }

  /// Waits for the downloads that go on in the background.
  package func finishBackgroundWork() async {
    while let end = behind.withLock({ $0.values.first }) { await end.value }
  }

  /// Cancels those downloads and all openings, and returns when they have ended.
  package func shutDown() async {
    await walks.shutDown()
    await finishBackgroundWork()
  }
}

/// A bundle's bytes, checked against their digests, with their origin.
public struct LoadedBundle: Sendable {
  /// The origin of a bundle's bytes.
  public enum Source: String, Hashable, Sendable, Codable {
    /// From memory; the bytes were checked when they were read.
    case memory
    /// From the store on disk.
    case store
    /// From the server.
    case network
    /// From the store, although the server has newer bytes, which could not be fetched.
    case stale
    /// From the store, although the server no longer has the bundle.
    case kept
  }

  /// The page's URL, as the page sees it, wherever the bytes come from.
  public let url: PageURL
  /// The script, in UTF-8.
  public let bytes: [UInt8]
  /// The origin of the bytes.
  public let source: Source
  /// The MD5 of the bytes.
  public let md5: MD5Digest
  /// The SHA-256 of the bytes.
  package let sha256: SHA256Digest
  /// `true` if the server confirmed the bytes in this launch.
  public let isVerified: Bool
  /// A sentence that says why the bytes are stale or unconfirmed; `nil` for verified bytes.
  public let note: String?
  /// The view of the release that the bytes belong to; `nil` for a bundle that no manifest lists.
  package let view: ReleaseView?

  /// The release that the bytes belong to; `nil` for a bundle that no manifest lists.
  public var release: StoredRelease? { view?.release }
}

extension LoadedBundle {
  /// The bytes of a file as it is now, which no store has seen.
  ///
  /// - Throws: ``DigestError``.
  package init(file url: PageURL, _ bytes: [UInt8]) throws {
    let digests = try ContentDigests(of: bytes)
    self.init(
      url: url, bytes: bytes, source: .network, md5: digests.md5, sha256: digests.sha256, isVerified: true, note: nil,
      view: nil)
  }
}

/// The options of one opening.
package struct OpenOptions: Hashable, Sendable {
  /// The policy; `nil` to apply the loader's rules.
  package var policy: OpenPolicy?
  /// Fetches the bytes from the server even if they are stored.
  package var ignoresStore: Bool
  /// Opens the bundle of this release only, which is the release of the page around it. A bundle that the release does
  /// not list is opened like one outside of manifests.
  package var view: ReleaseView?
  /// The reason why the release is opened in place of the newest one; the release must list the bundle then. `nil` for
  /// a page inside of another one.
  package var reason: String?
  /// The time that the caller has already waited for the server; it counts towards the policy's deadline.
  package var timeWaited: Duration = .zero

  package init(
    policy: OpenPolicy? = nil, ignoresStore: Bool = false, view: ReleaseView? = nil, reason: String? = nil
  ) {
    self.policy = policy
    self.ignoresStore = ignoresStore
    self.view = view
    self.reason = reason
  }
}

/// An announcement that the store has other bytes than pages show.
public enum BundleNews: Hashable, Sendable {
  /// The page's bundle has newer verified bytes; `release` names their release, `nil` for a bundle without one.
  case bundle(PageURL, md5: MD5Digest, release: String?)
  /// The release is complete and is now the current one.
  case release(StoredRelease)
  /// A release is bad on this device, and `current` has taken its place.
  case undone(BadRelease, current: StoredRelease)

  /// Returns `true` if a page that shows these bytes may be reloaded to show newer ones.
  package func concerns(_ shown: LoadedBundle) -> Bool {
    switch self {
    case .bundle(let url, let md5, _): url == shown.url && md5 != shown.md5
    case .release(let release), .undone(_, let release):
      shown.view.map { $0.release.source == release.source && $0.release.id != release.id } ?? false
    }
  }
}

/// The order in which the store and the server are used to open a page. The names are those of Workbox's strategies.
public enum OpenPolicy: Hashable, Sendable {
  /// Uses the server's bytes, and stored bytes if the server's have not arrived by the deadline or cannot be fetched;
  /// the download then goes on for the next opening. The deadline counts from the beginning of the opening and covers
  /// the request for the server's MD5s, the download and every retry. It applies only if bytes are stored.
  case networkFirst(deadline: Duration = .seconds(2))
  /// Uses stored bytes without asking the server, and the server's bytes if none are stored.
  case cacheFirst
  /// Uses stored bytes at once, and asks the server in the background for the next opening.
  case staleWhileRevalidate
  /// Uses stored bytes, and fails if there are none.
  case cacheOnly
  /// Uses the server's bytes, and stored bytes only if the server confirms them in this launch. Fails otherwise.
  case networkOnly
}

extension OpenPolicy {
  /// `true` if stored bytes are run without asking the server first.
  package var startsWithStored: Bool {
    switch self {
    case .cacheFirst, .staleWhileRevalidate, .cacheOnly: true
    case .networkFirst, .networkOnly: false
    }
  }

  /// `true` if the server may be asked at all.
  package var usesNetwork: Bool { self != .cacheOnly }

  /// `true` if stored bytes may be run without the server's confirmation.
  var allowsUnconfirmed: Bool { self != .networkOnly }

  /// The longest wait for the server if bytes are stored; `nil` to wait as long as there is progress.
  var deadline: Duration? {
    if case .networkFirst(let deadline) = self { deadline } else { nil }
  }
}

/// A policy for the pages whose URLs match a pattern.
///
///     configuration.pages.opening.rules = [OpenRule(.prefix("https://pages.example.com/help/"), .cacheFirst)]
public struct OpenRule: Hashable, Sendable {
  /// The pattern of the pages' URLs.
  public let pattern: URLPattern
  /// The policy with which matching pages open.
  public let policy: OpenPolicy

  /// Makes a rule.
  public init(_ pattern: URLPattern, _ policy: OpenPolicy) {
    self.pattern = pattern
    self.policy = policy
  }
}

/// The time at which an opening stops waiting for the server.
struct OpeningDeadline: Equatable, Sendable {
  /// The time at which the opening began.
  let began: Duration
  /// The time that the caller had waited for the server by then.
  var waited: Duration = .zero
  /// The limit from the beginning if stored bytes can be shown; `nil` for no limit.
  let total: Duration?
  /// The limit without progress if nothing can be shown.
  let idle: Duration

  /// - Parameters:
  ///   - canShow: `true` if stored bytes may be run when the time is up.
  ///   - progress: the time at which the server last sent bytes for this opening.
  func expiry(canShow: Bool, progress: Duration?) -> Duration {
    let idleExpiry = max(began, progress ?? began) + idle
    guard canShow, let total else { return idleExpiry }
    return min(began - waited + total, idleExpiry)
  }
}

/// The bytes that a page gets while a newer release is being downloaded.
public enum Consistency: Hashable, Sendable {
  /// The newest verified bytes of this page, fetched at once if necessary.
  case bundle
  /// The bytes of the current release, until the newer one is complete.
  case release
}
