import Bundles
import CurlTransport
import DiskStorage
import HTTPCache
import HTTPTransport
import Logging
import PageRuntime
import Synchronization
import WebSocketTransport

/// The parts of PageKit, wired together: a store, a transport, the launch's verifier, a preloader and a loader.
///
///     let host = try PageHost.launch(.init(manifest: "https://pages.example.com/manifest.json"))
///     let page = try await host.open("https://pages.example.com/bundles/home.js")
public final class PageHost: Sendable {
  public let configuration: HostConfiguration
  public let store: BundleStore
  package let transport: any HTTPTransporting
  /// `nil` without a manifest.
  package let verifier: LaunchVerifier?
  /// `nil` without a manifest.
  package let preloader: Preloader?
  /// Opens bundles, from the store where it may.
  public let bundles: BundleLoader
  /// Fetches single bundles into the store.
  package let downloader: BundleDownloader
  /// Responses, in memory and on disk.
  public let responses: ResponseCache
  /// Answers what pages ask for.
  public let resources: ResourceLoader
  /// Whose cookies are in which jar.
  let jars: PartitionCookies
  /// Those of the user that the host began with.
  let ownCookies: any CookieStoring
  /// What pages have in common; what an app registers goes to its `registry`.
  public let pages: PageEnvironment
  /// The pages that `navigator` pushes and pops; the app shows its first page on it.
  public let stack: PageStack
  let broadcast = Broadcast<BundleNews>()
  /// Pages rendered before they are opened.
  public let prerenderer: Prerenderer

  private let following: Task<Void, Never>
  private let launchPreload = Mutex<Preload?>(nil)

  /// - Parameter transport: instead of libcurl's.
  /// - Throws: ``StoreError``, ``TransportError``.
  public init(_ configuration: HostConfiguration, transport: (any HTTPTransporting)? = nil) throws {
    self.configuration = configuration
    let transport =
      try transport
      ?? CurlTransport(
        .init(
          certificateAuthorities: configuration.certificateAuthorities,
          connectionsPerHost: max(16, configuration.preload.jobs)))
    self.transport = transport
    store = try BundleStore(
      at: configuration.store, memoryCapacity: configuration.memoryCapacity,
      releaseGrace: configuration.releaseGrace, quotas: configuration.quotas,
      allowsReadOnly: configuration.allowsReadOnlyStore, logger: configuration.logger)
    let reachability = Reachability()
    let originFields = configuration.manifest.map { OriginFields(configuration.fields, for: $0) }
    let client = OriginClient(
      transport, fields: originFields, limits: configuration.transfer, reachability: reachability)
    let decoder = ContentDecoder()
    let verifier = configuration.manifest.map { [store] manifest in
      LaunchVerifier(
        source: manifest, store: store, client: client, decoding: decoder, verification: configuration.verification,
        limits: configuration.manifestLimits, retry: configuration.retry, logger: configuration.logger)
    }
    self.verifier = verifier
    downloader = BundleDownloader(
      store: store,
      fetcher: BundleFetcher(
        client: client, store: store, decoding: decoder, retry: configuration.retry,
        fileLimit: configuration.manifestLimits.fileBytes))
    responses = try configuration.responses ?? Self.responses(beside: store, configuration)
    jars = PartitionCookies(folder: configuration.store.path)
    ownCookies = try jars.begin(with: configuration.cookies, for: configuration.resources.partition)
    var loading = configuration.resources
    loading.originFields = loading.originFields ?? originFields
    resources = ResourceLoader(
      cache: responses, transport: transport, coding: decoder, cookies: ownCookies,
      files: ReleaseFiles(store, downloader: downloader, verifier: verifier),
      reachability: reachability, saver: configuration.saver, configuration: loading)
    preloader = verifier.map { [store, downloader, resources, broadcast] verifier in
      Preloader(
        store: store, verifier: verifier, downloader: downloader, options: configuration.preload,
        prefetcher: Prefetcher(resources), news: broadcast, logger: configuration.logger)
    }
    bundles = BundleLoader(
      store: store, verifier: verifier, downloader: downloader, verification: configuration.verification,
      configuration: configuration.opening, news: broadcast, time: .system, logger: configuration.logger)
    var scripts = configuration.scripts
    scripts.environment = configuration.device.environment
    stack = PageStack()
    prerenderer = Prerenderer(limits: configuration.prerendering)
    let handlers = PageHandlers(
      images: DefaultImageLoader(resources), exceptions: LoggedExceptions(configuration.logger),
      navigator: stack, storage: CacheStorage(try resources.cache.region("storage")), modals: SilentModals(),
      sockets: WebSocketTransport(Self.sockets(configuration)))
    pages = PageEnvironment(
      resources: resources, bundles: bundles, registry: PageRegistry(defaults: handlers),
      configuration: configuration.device, frameworks: FrameworkPool(scripts), fallback: configuration.fallback,
      factory: configuration.pageFactory)
    following = Task { [news = broadcast.listen(), prerenderer] in
      // What was rendered ahead shows the release before.
      for await item in news { if case .release = item { await prerenderer.empty() } }
    }
  }

  private static func sockets(_ configuration: HostConfiguration) -> WebSocketTransport.Options {
    var options = configuration.sockets
    options.certificateAuthorities = options.certificateAuthorities ?? configuration.certificateAuthorities
    // Where requests may not go, sockets may not either.
    let (own, general) = (options.permission, configuration.resources.permission)
    options.permission = { text in
      try own(text)
      // ws becomes http, and wss https.
      if let url = PageURL("http" + text.dropFirst(2)) { try general(url) }
    }
    return options
  }

  /// A host that is at work: the server is being asked for its MD5s, bundles are coming into the store, and a script
  /// engine is made ready. Nothing of that is waited for; a page that is opened meanwhile comes first.
  ///
  /// - Throws: ``StoreError``, ``TransportError``.
  public static func launch(
    _ configuration: HostConfiguration, transport: (any HTTPTransporting)? = nil
  ) throws -> PageHost {
    let host = try PageHost(configuration, transport: transport)
    host.launchPreload.withLock { $0 = host.preload(configuration.preloadSchedule) }
    Task { [frameworks = host.pages.frameworks] in await frameworks.prepare() }
    return host
  }

  deinit {
    following.cancel()
    launchPreload.withLock { $0?.cancel() }
  }

  /// The preload that the latest launch began; `nil` for a host that was not launched. It goes on by itself, as
  /// ``HostConfiguration/preloadSchedule`` says, until everything is here, it is cancelled or the host is gone.
  public var preloading: Preload? { launchPreload.withLock(\.self) }

  private static func responses(beside store: BundleStore, _ configuration: HostConfiguration) throws -> ResponseCache {
    func cache(in directory: ResponseDirectory) throws -> ResponseCache {
      try ResponseCache(
        diskCapacity: configuration.quotas.responses, directory: directory, logger: configuration.logger)
    }
    let directory = configuration.responseDirectory
    do {
      return try directory == .standard() ? ResponseCache.shared : cache(in: directory)
    } catch let error as StoreError {
      guard case .notWritable = error, let session = store.sessionFolder else { throw error }
      if let unreadable = directory.unreadable { configuration.logger.warning("\(unreadable)") }
      return try cache(in: directory.linked(into: session))
    }
  }

  /// News of verified bytes and complete releases that are newer than what pages show, from now on. A page's own events
  /// have those that concern it.
  public var news: AsyncStream<BundleNews> { bundles.news }

  /// Whether origins can be reached, for bundles and for what pages ask for. Set its `setting` where the app knows.
  public var reachability: Reachability { resources.reachability }

  /// Starts bringing the manifest's bundles into the store; returns at once. What fails is not tried again. Without a
  /// manifest there is nothing to bring.
  public func preload() -> Preload { preloader?.start() ?? .nothing }

  /// Starts a preload that goes on by itself; returns at once.
  public func preload(_ schedule: PreloadSchedule) -> Preload { preloader?.start(schedule) ?? .nothing }

  /// Begins a new launch: the server is asked for its MD5s again. A host that was launched preloads again.
  public func relaunch() async {
    await verifier?.relaunch()
    await bundles.relaunch()
    await prerenderer.empty()
    launchPreload.withLock { preload in
      guard let former = preload else { return }
      former.cancel()
      preload = self.preload(configuration.preloadSchedule)
    }
  }

  /// Asks the server for its MD5s now; a new launch begins with its answer. Without one the launch goes on.
  ///
  /// - Throws: ``SourceError``, ``StoreError``.
  public func refresh() async throws {
    do {
      _ = try await verifier?.refresh()
    } catch let error as SourceError {
      // Without a manifest each page is asked about by itself.
      if case .noManifest = error { await bundles.relaunch() }
      throw error
    }
    await bundles.relaunch()
    await prerenderer.empty()
  }
}
