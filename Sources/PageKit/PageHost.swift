import Blobs
import Bundles
import CCrypto
import CurlTransport
import Foundation
import HTTPCache
import HTTPTransport
import Logging
import PageRuntime
import ScriptEngine
import Synchronization

/// The parts of PageKit, connected: a store of bundles, a response cache, a preload, and the pages that use them.
///
///     let host = try PageHost.launch(.init(manifest: "https://pages.example.com/manifest.json"))
///     let page = try await host.open("https://pages.example.com/bundles/home.js")
public final class PageHost: Sendable {
  /// The configuration that the host was made with.
  public let configuration: HostConfiguration
  /// The durable store of bundles and releases.
  public let store: BundleStore
  package let transport: any HTTPTransporting
  /// `nil` without a manifest.
  package let verifier: LaunchVerifier?
  /// `nil` without a manifest.
  package let preloader: Preloader?
  /// Opens bundles from the store or the server.
  public let bundles: BundleLoader
  /// Fetches single bundles into the store.
  package let downloader: BundleDownloader
  /// The response cache, in memory and on disk.
  public let responses: ResponseCache
  /// Loads the answers to pages' requests, and to the app's own.
  public let resources: ResourceLoader
  /// The cookie jars of the users.
  let jars: PartitionCookies
  /// The cookies of the user that the host began with.
  let ownCookies: any CookieStoring
  /// The parts that pages share. Its `registry` takes the app's handlers and modules.
  public let pages: PageEnvironment
  /// The stack of pages that `navigator` pushes and pops. The app puts its first page on it.
  public let stack: PageStack
  let broadcast = Broadcast<BundleNews>()
  /// The pages that are rendered before they are opened.
  package let prerenderer: Prerenderer

  let snapshots: PageSnapshots
  /// `nil` if pages do not decide about releases.
  package let trials: ReleaseTrials?
  private let following: Task<Void, Never>
  private let launchPreload = Mutex<Preload?>(nil)

  /// Makes a host that does nothing until it is told to.
  ///
  /// - Parameters:
  ///   - configuration: the manifest, the store and the options.
  ///   - transport: sends requests; `nil` for libcurl.
  /// - Throws: `StoreError`, `TransportError`.
  public convenience init(_ configuration: HostConfiguration, transport: (any HTTPTransporting)? = nil) throws {
    // A process that loads libcurl ahead opens the store meanwhile.
    let store = try Self.store(configuration)
    let transport =
      try transport
      ?? CurlTransport(
        .init(
          certificateAuthorities: configuration.network.certificateAuthorities,
          connectionsPerHost: max(16, configuration.releases.preload.jobs)))
    try self.init(configuration, store: store, transport: transport, releases: transport)
  }

  /// Makes a host whose requests for releases go another way than those of its pages.
  ///
  /// - Parameters:
  ///   - transport: sends the requests of pages; it is shut down with the host.
  ///   - releases: sends the requests for manifests and bundles.
  /// - Throws: `StoreError`.
  package convenience init(
    _ configuration: HostConfiguration, transport: any HTTPTransporting, releases: any HTTPTransporting
  ) throws {
    try self.init(configuration, store: Self.store(configuration), transport: transport, releases: releases)
  }

  private init(
    _ configuration: HostConfiguration, store: BundleStore, transport: any HTTPTransporting,
    releases: any HTTPTransporting
  ) throws {
    self.configuration = configuration
    self.transport = transport
    self.store = store
    let reachability = Reachability()
    let originFields = configuration.manifest.map { OriginFields(configuration.network.fields, for: $0) }
    let client = OriginClient(
      releases, fields: originFields, limits: configuration.network.transfer, reachability: reachability)
    let isDeciding = configuration.manifest != nil && configuration.releases.decides
    let trials = (isDeciding ? configuration.releases.trial : nil).map { [store, broadcast] in
      ReleaseTrials(
        store: store, options: $0, news: broadcast, sender: Self.sender(configuration, store, client),
        logger: configuration.logger)
    }
    self.trials = trials
    let embedded = Self.embedded(configuration, store)
    let prepare: @Sendable () async -> Void = {
      await embedded()
      await trials?.recordEndedProcesses()
    }
    let verifier = configuration.manifest.map { [store] manifest in
      LaunchVerifier(
        source: manifest, store: store, client: client, verification: configuration.releases.verification,
        limits: configuration.releases.manifestLimits, trust: configuration.releases.trust,
        keepsSignatures: configuration.releases.keepsSignatures, audience: configuration.releases.audience,
        retry: configuration.network.retry,
        prepare: prepare,
        logger: configuration.logger)
    }
    self.verifier = verifier
    downloader = BundleDownloader(
      store: store,
      fetcher: BundleFetcher(
        client: client, store: store, retry: configuration.network.retry,
        fileLimit: configuration.releases.manifestLimits.fileBytes),
      limits: configuration.releases.manifestLimits)
    responses = try configuration.storage.responses ?? Self.responses(beside: store, configuration)
    jars = PartitionCookies(folder: configuration.storage.directory.path)
    ownCookies = try jars.begin(with: configuration.network.cookies, for: configuration.resources.partition)
    var loading = configuration.resources
    loading.originFields = loading.originFields ?? originFields
    resources = ResourceLoader(
      cache: responses, transport: transport, cookies: ownCookies,
      files: ReleaseFiles(store, downloader: downloader, verifier: verifier).file,
      reachability: reachability, saver: configuration.network.saver, configuration: loading)
    preloader = verifier.map { [store, downloader, resources, broadcast] verifier in
      Preloader(
        store: store, verifier: verifier, downloader: downloader, options: configuration.releases.preload,
        prefetch: Prefetcher(resources).prefetch, saver: resources.saver, news: broadcast,
        logger: configuration.logger)
    }
    bundles = BundleLoader(
      store: store, verifier: verifier, downloader: downloader, verification: configuration.releases.verification,
      configuration: configuration.pages.opening, news: broadcast, prepare: prepare, time: .system,
      logger: configuration.logger)
    var scripts = configuration.pages.scripts
    scripts.environment = configuration.pages.device.environment
    stack = PageStack()
    prerenderer = Prerenderer(limits: configuration.pages.prerendering)
    let snapshots = PageSnapshots { [responses] in try responses.region("snapshots") }
    self.snapshots = snapshots
    let handlers = PageHandlers(
      images: DefaultImageLoader(resources), exceptions: LoggedExceptions(configuration.logger),
      navigator: stack, storage: CacheStorage { [responses] in try responses.region("storage") },
      modals: SilentModals(), sockets: WebSocketTransport(Self.sockets(configuration)))
    pages = PageEnvironment(
      resources: resources, bundles: bundles, registry: PageRegistry(defaults: handlers),
      configuration: configuration.pages.device, frameworks: FrameworkPool(scripts), trials: trials,
      snapshots: snapshots, snapshotUse: configuration.pages.snapshot, fallback: configuration.pages.fallback,
      factory: configuration.pages.factory)
    following = Task { [news = broadcast.listen(), prerenderer] in
      // Pages that were rendered ahead show another release.
      for await item in news {
        switch item {
        case .release, .undone: await prerenderer.empty()
        case .bundle: break
        }
      }
    }
  }

  private static func store(_ configuration: HostConfiguration) throws -> BundleStore {
    if let notice = configuration.movedStore { configuration.logger.notice("\(notice)") }
    return try BundleStore(
      at: configuration.storage.directory, memoryCapacity: configuration.storage.memoryCapacity,
      releaseGrace: configuration.storage.releaseGrace, formerReleases: configuration.storage.formerReleases,
      quotas: configuration.storage.quotas,
      allowsReadOnly: configuration.storage.allowsReadOnly, requiresSignatures: configuration.releases.trust != nil,
      takesAsGood: configuration.releases.trial == nil, actsOnStatus: configuration.releases.actsOnStatus,
      logger: configuration.logger)
  }

  /// Returns a function that waits until the release which is packaged with the app is stored, if there is one.
  private static func embedded(_ configuration: HostConfiguration, _ store: BundleStore) -> @Sendable () async -> Void {
    guard let path = configuration.releases.embedded, let manifest = configuration.manifest else { return {} }
    let release = EmbeddedRelease(
      path, of: manifest, store: store, trust: configuration.releases.trust,
      limits: configuration.releases.manifestLimits,
      logger: configuration.logger)
    return { await release.installed() }
  }

  /// Returns the sender of reports; `nil` if the app names no place for them.
  private static func sender(
    _ configuration: HostConfiguration, _ store: BundleStore, _ client: OriginClient
  ) -> ReportSender? {
    guard let reports = configuration.releases.reports, let manifest = configuration.manifest else { return nil }
    return ReportSender(reports, of: manifest, store: store, client: client, logger: configuration.logger)
  }

  private static func sockets(_ configuration: HostConfiguration) -> WebSocketTransport.Options {
    var options = WebSocketTransport.Options()
    options.certificateAuthorities = configuration.network.certificateAuthorities
    // Web sockets are limited to the origins that requests may go to.
    options.permission = { [permission = configuration.resources.permission] text in
      // ws becomes http, and wss https.
      if let url = PageURL("http" + text.dropFirst(2)) { try permission(url) }
    }
    return options
  }

  /// Makes a host and starts its work in the background: it asks the server for its MD5s, preloads the manifest's bundles
  /// and makes a script engine ready. A page that opens meanwhile takes precedence.
  ///
  /// - Parameters:
  ///   - configuration: the manifest, the store and the options.
  ///   - transport: sends requests; `nil` for libcurl.
  /// - Throws: `StoreError`, `TransportError`.
  public static func launch(
    _ configuration: HostConfiguration, transport: (any HTTPTransporting)? = nil
  ) throws -> PageHost {
    let host = try PageHost(configuration, transport: transport)
    host.launchPreload.withLock { $0 = host.preload(configuration.releases.preloadSchedule) }
    Task { [frameworks = host.pages.frameworks] in await frameworks.prepare() }
    return host
  }

  deinit {
    following.cancel()
    launchPreload.withLock { $0?.cancel() }
  }

  /// The preload that the latest launch started; `nil` for a host that was not launched. It continues by
  /// ``HostConfiguration/Releases/preloadSchedule`` until everything is stored, it is cancelled or the host is freed.
  public var preloading: Preload? { launchPreload.withLock(\.self) }

  private static func responses(beside store: BundleStore, _ configuration: HostConfiguration) throws -> ResponseCache {
    func cache(in directory: ResponseDirectory) throws -> ResponseCache {
      try ResponseCache(
        diskCapacity: configuration.storage.quotas.responses, directory: directory, logger: configuration.logger)
    }
    let directory = ResponseDirectory(beside: configuration.storage.directory)
    do {
      return try configuration.storage.directory == .app() ? ResponseCache.shared : cache(in: directory)
    } catch let error as StoreError {
      guard case .notWritable = error, let session = store.sessionFolder else { throw error }
      if let unreadable = directory.unreadable { configuration.logger.warning("\(unreadable)") }
      return try cache(in: directory.session(in: session))
    }
  }

  /// Newer verified bytes and newer complete releases, from now on. A page's events have those that concern it.
  public var news: AsyncStream<BundleNews> { bundles.news }

  /// The reachability of origins, for bundles and for pages' requests. Set its `setting` if the app knows better.
  public var reachability: Reachability { resources.reachability }

  /// Starts one preload of the manifest's bundles, and returns at once. Bundles that fail are not tried again later. Without
  /// a manifest the preload is empty.
  public func preload() -> Preload { preloader?.start() ?? .nothing }

  /// Starts a preload that continues by a schedule, and returns at once. Without a manifest it is empty.
  public func preload(_ schedule: PreloadSchedule) -> Preload { preloader?.start(schedule) ?? .nothing }

  /// Begins a new launch: the server is asked for its MD5s again, and a host that was launched preloads again.
  public func relaunch() async {
    await verifier?.relaunch()
    await bundles.relaunch()
    await prerenderer.empty()
    launchPreload.withLock { preload in
      guard let former = preload else { return }
      former.cancel()
      preload = self.preload(configuration.releases.preloadSchedule)
    }
  }

  /// Asks the server for its MD5s now, and begins a new launch with its answer. Without an answer the launch goes on.
  ///
  /// - Throws: `SourceError`, which names the manifest and the reason; `StoreError`; `CancellationError`.
  public func refresh() async throws {
    do {
      _ = try await verifier?.refresh()
    } catch let error as SourceError {
      // Without a manifest the server is asked about each page.
      if case .noManifest = error { await bundles.relaunch() }
      throw error
    }
    await bundles.relaunch()
    await prerenderer.empty()
  }
}

extension PageHost {
  /// Makes a page that is not opened yet, with the factory.
  ///
  /// - Parameter registry: the registry of this page and of those that it embeds; `nil` for the host's.
  @PageActor public func page(registry: PageRegistry? = nil) -> PageInstance { pages.page(registry: registry) }

  /// Opens a page, or takes one that was rendered ahead with the same arguments.
  ///
  /// - Parameters:
  ///   - url: the URL of the bundle.
  ///   - options: the options of this opening.
  ///   - data: the page's data, an object.
  /// - Returns: the page, which has run its script. A page that could not open and has a fallback is returned too: see
  ///   `PageInstance.shownFallback`.
  /// - Throws: `PageError` if the page cannot open and has no fallback.
  @PageActor public func open(
    _ url: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws -> PageInstance {
    if let page = try await prerenderer.remove(url, options: options, data: data) {
      // Its bundle may have been disabled since it was rendered.
      guard let known = PageURL(url), await bundles.isDisabled(known) else { return page }
      await page.destroy()
    }
    let page = page()
    do {
      try await page.renderByURL(url, options: options, data: data)
    } catch {
      guard page.shownFallback == nil else { return page }
      await page.destroy()
      throw error
    }
    return page
  }

  /// Opens the page of a URL: the same as ``open(_:options:data:)`` with its text.
  ///
  /// - Throws: `PageError` if the page cannot open and has no fallback.
  @PageActor public func open(
    _ url: URL, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws -> PageInstance { try await open(url.absoluteString, options: options, data: data) }

  /// Makes script engines ready for bundles of a type, and returns when they are ready. ``launch(_:transport:)`` begins
  /// with `vanilla`.
  ///
  /// - Parameter type: a type for which ``HostConfiguration/Pages/scripts`` has no framework is ignored.
  public func prepare(for type: BundleType = .vanilla) async { await pages.frameworks.prepare(type) }

  /// Renders a page ahead, for the next ``open(_:options:data:)`` with the same arguments, and returns when it is ready.
  ///
  /// A page waits for at most 60 seconds.
  ///
  /// - Throws: `PrerenderError` if three pages wait already; `PageError`.
  @PageActor public func prerender(
    _ url: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws {
    try await prerenderer.prerender(url, options: options, data: data) { page() }
  }
}

extension PageHost {
  /// Ends all work, and returns when it has ended: the launch's preload, pages rendered ahead and pushed, requests,
  /// downloads and background revalidation. The store stays valid.
  ///
  /// Call it before the process exits, after the app has destroyed its own pages and cancelled its own preloads. The host
  /// cannot be used afterwards.
  public func shutDown() async {
    preloading?.cancel()
    await prerenderer.empty()
    await stack.empty()
    await trials?.shutDown()
    await transport.shutDown()
    await resources.shutDown()
    await bundles.shutDown()
    await verifier?.shutDown()
    await pages.frameworks.shutDown()
    _ = await preloading?.report()
  }
}

extension PageHost {
  /// The name and version of each library that PageKit uses, as the library reports them.
  package static var libraries: [String] {
    [
      CurlTransport.libraryVersion, String(cString: OpenSSL_version(OPENSSL_VERSION)),
      "SQLite \(BundleStore.databaseVersion)",
    ]
  }
}
