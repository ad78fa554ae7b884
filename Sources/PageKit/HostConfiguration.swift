import Blobs
import Bundles
import Foundation
import HTTPCache
import HTTPTransport
import HTTPTypes
import Logging
import PageRuntime
import Releases

/// The configuration of a host. Every property has a default.
///
///     var configuration = try HostConfiguration(manifest: "https://pages.example.com/manifest.json")
///     configuration.storage.quotas.responses = 50 << 20
///     configuration.releases.channel = "beta"
///     configuration.network.retry.attempts = 5
///     configuration.pages.opening.policy = .cacheFirst
///     let host = try PageHost.launch(configuration)
public struct HostConfiguration: Sendable {
  /// The URL of the manifest; `nil` for a host that checks each bundle by itself.
  public var manifest: PageURL?
  /// The store on the disk, its limits, and the response cache beside it.
  public var storage: Storage
  /// The releases that the host takes: whom it believes, when it asks, and what it does with one that fails.
  public var releases = Releases()
  /// The requests for bundles and manifests, and what all requests share.
  public var network = Network()
  /// The loading of pages' requests: behaviour, rules and limits.
  public var resources = ResourceLoader.Configuration()
  /// Pages: how they open, their scripts and their device.
  public var pages = Pages()
  /// The log of the host and of pages' exceptions.
  public var logger = Logger(label: "pagekit")

  /// The store on the disk, its limits, and the response cache beside it.
  public struct Storage: Sendable {
    /// The folder of the durable store: that of the app by default.
    public var directory: StoreDirectory
    /// The bytes that are kept of releases, of bundles in no manifest and of responses.
    public var quotas = StoreQuotas()
    /// The bytes of checked bundles that are kept in memory.
    public var memoryCapacity = 16 << 20
    /// Lets a host use a store that exists and cannot be written: it reads what is stored, asks the network and keeps
    /// nothing. With `false`, making the host throws.
    public var allowsReadOnly = true
    /// The response cache; `nil` for `ResponseCache.shared` with the app's own store, and for one beside the store with any
    /// other.
    public var responses: ResponseCache?
    /// The time for which replaced releases are kept besides the previous one, for processes that still read them.
    package var releaseGrace: Duration = .zero
    /// The number of former releases that are kept: their bytes shorten the downloads of those who follow this host.
    package var formerReleases = 1

    init(_ directory: StoreDirectory) { self.directory = directory }
  }

  /// The releases that the host takes: whom it believes, when it asks, and what it does with one that fails.
  public struct Releases: Sendable {
    /// The keys whose signatures are asked for; `nil` for none. With it, the host stores and runs nothing but bundles that
    /// a manifest lists which these keys have signed.
    public var trust: ReleaseTrust?
    /// The times at which the server is asked for its MD5s.
    public var verification: Verification = .perLaunch
    /// The path of a release that is packaged with the app, as `bundlectl release export` writes it; `nil` for none.
    ///
    /// It is stored before the first page opens, unless the store has a release with its sequence or a higher one. With
    /// ``trust`` its signatures must hold at the time for which its manifest was signed, also when that is over.
    public var embedded: String?
    /// The name of the channel that the app follows; `nil` for the source's own release. A manifest names the releases of
    /// channels, and a channel that it does not name gets its own.
    public var channel: String?
    /// The version of what the app itself offers to pages, such as modules and components: numbers with dots. A release
    /// that needs a higher one is not taken. `nil` takes each.
    public var runtimeVersion: String?
    /// The trial of new releases; `nil` to take each release as good.
    public var trial: ReleaseTrial? = ReleaseTrial()
    /// The place to which each end of a trial is reported, so that a publisher can halt a release that fails; `nil` for
    /// none.
    public var reports: ReleaseReports?
    /// The retries of the preload that a launch starts, and the signs that start it again.
    public var preloadSchedule = PreloadSchedule.standard
    /// The options of preloads.
    package var preload = PreloadOptions()
    /// The limits of a manifest and of its files.
    package var manifestLimits: ManifestLimits = .standard
    /// `true` for a host that passes releases on: it takes those that are being rolled out.
    package var isInEveryRollout = false
    /// `false` for a tool whose openings do not decide about releases.
    package var decides = true
    /// `true` to keep the source's signatures and roots, which hosts that follow this one need.
    package var keepsSignatures = false
    /// `false` for a host that passes releases on, which switches to those that their status holds back too.
    package var actsOnStatus = true

    init() {}

    package var audience: Audience {
      var audience = Audience()
      (audience.channel, audience.runtimeVersion) = (channel, runtimeVersion)
      audience.isInEveryRollout = isInEveryRollout
      return audience
    }
  }

  /// The requests for bundles and manifests, and what all requests share.
  public struct Network: Sendable {
    /// Fields that are sent to the manifest's origin only; without a manifest to none.
    public var fields: HTTPFields = [:]
    /// The retries of downloads of bundles and of the manifest.
    public var retry: RetryPolicy = .standard
    /// The time limits of downloads of bundles and of the manifest.
    public var transfer: TransferLimits = .standard
    /// The path of a PEM file of certificate authorities; `nil` for the system's.
    public var certificateAuthorities: String?
    /// The cookies of the first user; `nil` for a jar in a file beside the store. Users that the host turns to later have
    /// jars of their own there.
    public var cookies: (any CookieStoring)?
    /// Limits background loading.
    public var saver = DataSaver()

    init() {}
  }

  /// Pages: how they open, their scripts and their device.
  public struct Pages: Sendable {
    /// The opening of pages: the policy, its deadline and the release that they see.
    public var opening = BundleLoader.Configuration()
    /// The description of the device and the app that scripts get.
    public var device = DefaultConfiguration()
    /// The options of scripts: frameworks, engines and limits.
    public var scripts = ScriptConfiguration()
    /// The use of the elements of pages' last runs, for pages whose options do not say.
    public var snapshot = SnapshotUse.none
    /// Makes all pages: those that the app opens, embedded ones, and those that `navigator` pushes.
    public var factory: PageFactory = { CachingPageInstance(environment: $0, registry: $1) }
    /// Chooses the fallback of a page that cannot open and whose options name none.
    public var fallback: FallbackChoice = { _, _ in nil }
    /// The limits of pages that are rendered before they are opened.
    package var prerendering = Prerenderer.Limits()

    init() {}
  }

  /// Tells an app that has no store of its own yet where the data is that it may have stored in the shared folder; `nil`
  /// if there is nothing to tell.
  var movedStore: String? { movedStore(from: .standard(), to: .app()) }

  func movedStore(from shared: StoreDirectory, to own: StoreDirectory) -> String? {
    guard storage.directory == own, !own.hasStore, shared.hasStore else { return nil }
    return
      "this app stores in \(own.path), a folder of its own: what it stored in \(shared.path) before stays there; give "
      + "HostConfiguration the store .standard() to go on using that"
  }

  /// A configuration with a manifest.
  public init(manifest: PageURL, store: StoreDirectory = .app()) {
    self.manifest = manifest
    storage = Storage(store)
  }

  /// A configuration with the manifest of a URL.
  ///
  /// - Parameters:
  ///   - manifest: an `http`, `https` or `file` URL.
  ///   - store: the folder of the durable store.
  /// - Throws: `TransportError.invalidURL` for any other URL.
  public init(manifest: URL, store: StoreDirectory = .app()) throws {
    guard let url = PageURL(manifest) else { throw TransportError.invalidURL(manifest.absoluteString) }
    self.init(manifest: url, store: store)
  }

  /// A configuration without a manifest. The server is asked for the MD5 of each page, once per launch.
  public init(store: StoreDirectory = .app()) { storage = Storage(store) }

  /// A configuration with a manifest.
  ///
  /// - Parameters:
  ///   - manifest: an `http` or `https` URL, or a path.
  ///   - store: the folder of the durable store.
  /// - Throws: `TransportError.invalidURL`.
  public init(manifest: String, store: StoreDirectory = .app()) throws {
    self.init(manifest: try PageURL(manifestArgument: manifest), store: store)
  }
}

/// The names that properties had before they were in groups.
extension HostConfiguration {
  /// ``storage`` has it.
  @available(*, deprecated, renamed: "storage.directory")
  public var store: StoreDirectory {
    get { storage.directory }
    set { storage.directory = newValue }
  }
  /// ``storage`` has it.
  @available(*, deprecated, renamed: "storage.memoryCapacity")
  public var memoryCapacity: Int {
    get { storage.memoryCapacity }
    set { storage.memoryCapacity = newValue }
  }
  /// ``storage`` has it.
  @available(*, deprecated, renamed: "storage.quotas")
  public var quotas: StoreQuotas {
    get { storage.quotas }
    set { storage.quotas = newValue }
  }
  /// ``storage`` has it.
  @available(*, deprecated, renamed: "storage.allowsReadOnly")
  public var allowsReadOnlyStore: Bool {
    get { storage.allowsReadOnly }
    set { storage.allowsReadOnly = newValue }
  }
  /// ``storage`` has it.
  @available(*, deprecated, renamed: "storage.responses")
  public var responses: ResponseCache? {
    get { storage.responses }
    set { storage.responses = newValue }
  }
  /// ``releases`` has it.
  @available(*, deprecated, renamed: "releases.trust")
  public var trust: ReleaseTrust? {
    get { releases.trust }
    set { releases.trust = newValue }
  }
  /// ``releases`` has it.
  @available(*, deprecated, renamed: "releases.verification")
  public var verification: Verification {
    get { releases.verification }
    set { releases.verification = newValue }
  }
  /// ``releases`` has it.
  @available(*, deprecated, renamed: "releases.embedded")
  public var embedded: String? {
    get { releases.embedded }
    set { releases.embedded = newValue }
  }
  /// ``releases`` has it.
  @available(*, deprecated, renamed: "releases.channel")
  public var channel: String? {
    get { releases.channel }
    set { releases.channel = newValue }
  }
  /// ``releases`` has it.
  @available(*, deprecated, renamed: "releases.runtimeVersion")
  public var runtimeVersion: String? {
    get { releases.runtimeVersion }
    set { releases.runtimeVersion = newValue }
  }
  /// ``releases`` has it.
  @available(*, deprecated, renamed: "releases.trial")
  public var trial: ReleaseTrial? {
    get { releases.trial }
    set { releases.trial = newValue }
  }
  /// ``releases`` has it.
  @available(*, deprecated, renamed: "releases.reports")
  public var reports: ReleaseReports? {
    get { releases.reports }
    set { releases.reports = newValue }
  }
  /// ``releases`` has it.
  @available(*, deprecated, renamed: "releases.preloadSchedule")
  public var preloadSchedule: PreloadSchedule {
    get { releases.preloadSchedule }
    set { releases.preloadSchedule = newValue }
  }
  /// ``network`` has it.
  @available(*, deprecated, renamed: "network.fields")
  public var fields: HTTPFields {
    get { network.fields }
    set { network.fields = newValue }
  }
  /// ``network`` has it.
  @available(*, deprecated, renamed: "network.retry")
  public var retry: RetryPolicy {
    get { network.retry }
    set { network.retry = newValue }
  }
  /// ``network`` has it.
  @available(*, deprecated, renamed: "network.transfer")
  public var transfer: TransferLimits {
    get { network.transfer }
    set { network.transfer = newValue }
  }
  /// ``network`` has it.
  @available(*, deprecated, renamed: "network.certificateAuthorities")
  public var certificateAuthorities: String? {
    get { network.certificateAuthorities }
    set { network.certificateAuthorities = newValue }
  }
  /// ``network`` has it.
  @available(*, deprecated, renamed: "network.cookies")
  public var cookies: (any CookieStoring)? {
    get { network.cookies }
    set { network.cookies = newValue }
  }
  /// ``network`` has it.
  @available(*, deprecated, renamed: "network.saver")
  public var saver: DataSaver {
    get { network.saver }
    set { network.saver = newValue }
  }
  /// ``pages`` has it.
  @available(*, deprecated, renamed: "pages.opening")
  public var opening: BundleLoader.Configuration {
    get { pages.opening }
    set { pages.opening = newValue }
  }
  /// ``pages`` has it.
  @available(*, deprecated, renamed: "pages.device")
  public var device: DefaultConfiguration {
    get { pages.device }
    set { pages.device = newValue }
  }
  /// ``pages`` has it.
  @available(*, deprecated, renamed: "pages.scripts")
  public var scripts: ScriptConfiguration {
    get { pages.scripts }
    set { pages.scripts = newValue }
  }
  /// ``pages`` has it.
  @available(*, deprecated, renamed: "pages.snapshot")
  public var snapshot: SnapshotUse {
    get { pages.snapshot }
    set { pages.snapshot = newValue }
  }
  /// ``pages`` has it.
  @available(*, deprecated, renamed: "pages.factory")
  public var pageFactory: PageFactory {
    get { pages.factory }
    set { pages.factory = newValue }
  }
  /// ``pages`` has it.
  @available(*, deprecated, renamed: "pages.fallback")
  public var fallback: FallbackChoice {
    get { pages.fallback }
    set { pages.fallback = newValue }
  }
}

extension PageURL {
  /// Reads an argument of a command: a URL if it has a scheme, otherwise a path. Symbolic links in the path are resolved, so
  /// that one folder is one source.
  ///
  /// - Throws: `TransportError.invalidURL`.
  package init(manifestArgument text: String) throws {
    if text.contains("://") {
      guard let url = PageURL(text) else { throw TransportError.invalidURL(text) }
      self = url
    } else {
      let path = URL(fileURLWithPath: text).resolvingSymlinksInPath().path(percentEncoded: false)
      guard let url = PageURL(filePath: path) else { throw TransportError.invalidURL(text) }
      self = url
    }
  }
}
