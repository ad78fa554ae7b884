import Bundles
import DiskStorage
import Foundation
import HTTPCache
import HTTPTransport
import HTTPTypes
import Logging
import PageRuntime
import WebSocketTransport

/// Everything a host may be told; all has a default.
public struct HostConfiguration: Sendable {
  /// Where the manifest comes from; `nil` for a host whose bundles are each checked by themselves.
  public var manifest: PageURL?
  /// The folder of the durable store.
  public var store: StoreDirectory
  public var verification: Verification = .perLaunch
  /// How pages open: the policy, its deadline, and the release they see.
  public var opening = BundleLoader.Configuration()
  /// Sent to the manifest's origin and to no other; without a manifest to none.
  public var fields: HTTPFields = [:]
  public var preload = PreloadOptions()
  /// When the preload of a launch goes on by itself, and for how long.
  public var preloadSchedule = PreloadSchedule.standard
  public var retry: RetryPolicy = .standard
  public var transfer: TransferLimits = .standard
  public var manifestLimits: ManifestLimits = .standard
  /// A PEM file of certificate authorities instead of the system's.
  public var certificateAuthorities: String?
  /// Bytes of checked bundles kept in memory.
  public var memoryCapacity = 16 << 20
  /// How long releases are kept after others took their place, besides the previous one: for who still reads them.
  public var releaseGrace: Duration = .zero
  /// How much is kept of each class of what is stored.
  public var quotas = StoreQuotas()
  /// Whether a store that is there and may not be written is used all the same: what is stored in it is used, the network
  /// is asked, and nothing is kept.
  public var allowsReadOnlyStore = true
  /// Where responses are kept. Nil for ``ResponseCache/shared`` with the standard store, and for one in the store's
  /// own folder with any other.
  public var responses: ResponseCache?
  /// The folder of stored responses if ``responses`` names none.
  package var responseDirectory: ResponseDirectory {
    store == .standard() ? .standard() : ResponseDirectory(store.path)
  }
  /// How pages' requests are loaded.
  public var resources = ResourceLoader.Configuration()
  /// Nil for a jar in a file beside the store. Partitions that the host turns to later have jars of their own there.
  public var cookies: (any CookieStoring)?
  /// Nothing that nobody waits for is loaded while it forbids that.
  public var saver = DataSaver()
  /// What scripts learn of the device and the app.
  public var device: any ConfigurationProviding = DefaultConfiguration()
  /// How pages' web sockets are opened.
  public var sockets = WebSocketTransport.Options()
  /// How scripts are run.
  public var scripts = ScriptConfiguration()
  /// Makes all pages: the app's, embedded ones, and those that `navigator` pushes.
  public var pageFactory: PageFactory = { CachingPageInstance(environment: $0, registry: $1) }
  /// What is shown in the place of a page that cannot open.
  public var fallback: FallbackChoice = { _, _ in nil }
  /// Pages rendered before they are opened.
  public var prerendering = Prerenderer.Limits()
  public var logger = Logger(label: "pagekit")

  public init(manifest: PageURL, store: StoreDirectory = .standard()) {
    self.manifest = manifest
    self.store = store
  }

  /// A host without a manifest: what ``BundleLoader/Configuration/checksumSources`` tell of each page is asked once per
  /// launch.
  public init(store: StoreDirectory = .standard()) { self.store = store }

  /// - Parameter manifest: an `http` or `https` URL, or a path.
  /// - Throws: ``TransportError/invalidURL(_:)``.
  public init(manifest: String, store: StoreDirectory = .standard()) throws {
    self.init(manifest: try PageURL(manifestArgument: manifest), store: store)
  }
}

extension PageURL {
  /// Reads what a person types: a URL where there is a scheme, a path otherwise. Symbolic links in the path are
  /// resolved, so that one folder is one source.
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
