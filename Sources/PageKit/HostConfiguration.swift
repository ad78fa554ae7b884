import Bundles
import DiskStorage
import Foundation
import HTTPCache
import HTTPTransport
import HTTPTypes
import Logging
import PageRuntime

/// The configuration of a host. Every property has a default.
public struct HostConfiguration: Sendable {
  /// The URL of the manifest; `nil` for a host that checks each bundle by itself.
  public var manifest: PageURL?
  /// The folder of the durable store: that of the app by default.
  public var store: StoreDirectory
  /// The keys whose signatures are asked for; `nil` for none. With it, the host stores and runs nothing but bundles that
  /// a manifest lists which these keys have signed.
  public var trust: ReleaseTrust?
  /// The times at which the server is asked for its MD5s.
  public var verification: Verification = .perLaunch
  /// The opening of pages: the policy, its deadline and the release that they see.
  public var opening = BundleLoader.Configuration()
  /// Fields that are sent to the manifest's origin only; without a manifest to none.
  public var fields: HTTPFields = [:]
  /// The path of a release that is packaged with the app, as `bundlectl release export` writes it; `nil` for none.
  ///
  /// It is stored before the first page opens, unless the store has a release with its sequence or a higher one. With
  /// ``trust`` its signatures must hold at the time for which its manifest was signed, also when that is over.
  public var embedded: String?
  /// The name of the channel that the app follows; `nil` for the source's own release. A manifest names the releases of
  /// channels, and a channel that it does not name gets its own.
  public var channel: String?
  /// The version of what the app itself offers to pages, such as modules and components: numbers with dots. A release that
  /// needs a higher one is not taken. `nil` takes each.
  public var runtimeVersion: String?
  /// `true` for a host that passes releases on: it takes those that are being rolled out.
  package var isInEveryRollout = false
  /// The trial of new releases; `nil` to take each release as good.
  public var trial: ReleaseTrial? = ReleaseTrial()
  /// The place to which each end of a trial is reported, so that a publisher can halt a release that fails; `nil` for none.
  public var reports: ReleaseReports?
  /// `false` for a tool whose openings do not decide about releases.
  package var decidesAboutReleases = true
  /// The options of preloads.
  package var preload = PreloadOptions()
  /// The retries of the preload that a launch starts, and the signs that start it again.
  public var preloadSchedule = PreloadSchedule.standard
  /// The retries of downloads of bundles and of the manifest.
  public var retry: RetryPolicy = .standard
  /// The time limits of downloads of bundles and of the manifest.
  public var transfer: TransferLimits = .standard
  /// The limits of a manifest and of its files.
  package var manifestLimits: ManifestLimits = .standard
  /// The path of a PEM file of certificate authorities; `nil` for the system's.
  public var certificateAuthorities: String?
  /// The bytes of checked bundles that are kept in memory.
  public var memoryCapacity = 16 << 20
  /// The time for which replaced releases are kept besides the previous one, for processes that still read them.
  package var releaseGrace: Duration = .zero
  /// The number of former releases that are kept: their bytes shorten the downloads of those who follow this host.
  package var formerReleases = 1
  /// `true` to keep the source's signatures and roots, which hosts that follow this one need.
  package var keepsSignatures = false
  /// `false` for a host that passes releases on, which switches to those that their status holds back too.
  package var actsOnStatus = true
  /// The bytes that are kept of releases, of bundles in no manifest and of responses.
  public var quotas = StoreQuotas()
  /// Lets a host use a store that exists and cannot be written: it reads what is stored, asks the network and keeps
  /// nothing. With `false`, making the host throws.
  public var allowsReadOnlyStore = true
  /// The response cache; `nil` for `ResponseCache.shared` with the app's own store, and for one beside the store with any
  /// other.
  public var responses: ResponseCache?
  /// The loading of pages' requests: behaviour, rules and limits.
  public var resources = ResourceLoader.Configuration()
  /// The cookies of the first user; `nil` for a jar in a file beside the store. Users that the host turns to later have
  /// jars of their own there.
  public var cookies: (any CookieStoring)?
  /// Limits background loading.
  public var saver = DataSaver()
  /// The description of the device and the app that scripts get.
  public var device = DefaultConfiguration()
  /// The options of scripts: frameworks, engines and limits.
  public var scripts = ScriptConfiguration()
  /// The use of the elements of pages' last runs, for pages whose options do not say.
  public var snapshot = SnapshotUse.none
  /// Makes all pages: those that the app opens, embedded ones, and those that `navigator` pushes.
  public var pageFactory: PageFactory = { CachingPageInstance(environment: $0, registry: $1) }
  /// Chooses the fallback of a page that cannot open and whose options name none.
  public var fallback: FallbackChoice = { _, _ in nil }
  /// The limits of pages that are rendered before they are opened.
  package var prerendering = Prerenderer.Limits()
  /// The log of the host and of pages' exceptions.
  public var logger = Logger(label: "pagekit")

  package var audience: Audience {
    var audience = Audience()
    (audience.channel, audience.runtimeVersion) = (channel, runtimeVersion)
    audience.isInEveryRollout = isInEveryRollout
    return audience
  }

  /// Tells an app that has no store of its own yet where the data is that it may have stored in the shared folder; `nil`
  /// if there is nothing to tell.
  var movedStore: String? { movedStore(from: .standard(), to: .app()) }

  func movedStore(from shared: StoreDirectory, to own: StoreDirectory) -> String? {
    guard store == own, !own.hasStore, shared.hasStore else { return nil }
    return
      "this app stores in \(own.path), a folder of its own: what it stored in \(shared.path) before stays there; give "
      + "HostConfiguration the store .standard() to go on using that"
  }

  /// A configuration with a manifest.
  public init(manifest: PageURL, store: StoreDirectory = .app()) {
    self.manifest = manifest
    self.store = store
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
  public init(store: StoreDirectory = .app()) { self.store = store }

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
