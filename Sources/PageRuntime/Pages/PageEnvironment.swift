import Bundles
import HTTPCache
import HTTPTransport
import ScriptEngine
import Synchronization

/// Makes the pages of a host: those that the app opens, those that pages embed, and those that `navigator` pushes. The
/// registry is the page's own; `nil` stands for the host's.
public typealias PageFactory = @PageActor @Sendable (PageEnvironment, PageRegistry?) -> PageInstance

/// Passes a message of a page's `BroadcastChannel` on to pages outside this process.
package typealias ChannelOutlet =
  @PageActor @Sendable (
    PageInstance, _ name: String, _ message: ScriptValue
  ) async -> Void

/// The parts that the pages of one host share.
public final class PageEnvironment: Sendable {
  /// Loads the answers to pages' requests.
  public let resources: ResourceLoader
  /// Opens bundles from the store; `nil` if there is no store.
  public let bundles: BundleLoader?
  /// The handlers, modules, components and services that the app registered.
  public let registry: PageRegistry
  let configuration: DefaultConfiguration
  let clipboard = Mutex("")
  /// The pages that have channels open, by their scopes and the channels' names.
  @PageActor var channels: [String: [String: [() -> PageInstance?]]] = [:]
  let channelOutlet: ChannelOutlet?
  /// The call of the module `storage` that came last: the calls of all pages run one after the other.
  @PageActor var lastStorageCall: Task<ScriptValue, Never>?
  package let frameworks: FrameworkPool
  /// The elements of pages' last runs; `nil` if none are stored.
  let snapshots: PageSnapshots?
  let snapshotUse: SnapshotUse
  /// The trials of releases; `nil` if openings do not decide about releases.
  let trials: ReleaseTrials?
  let fallback: FallbackChoice
  private let factory: PageFactory
  private let lastID = Atomic<Int>(0)

  /// - Parameters:
  ///   - snapshots: the elements of pages' last runs; `nil` to store none.
  ///   - snapshotUse: their use by pages whose options do not say.
  ///   - trials: the trials of releases; `nil` if openings do not decide about releases.
  ///   - fallback: chooses the fallback of a page that cannot open and whose options name none.
  ///   - channelOutlet: passes messages of pages' channels on to pages outside this process; `nil` if there are none.
  ///   - factory: makes all pages.
  package init(
    resources: ResourceLoader, bundles: BundleLoader?, registry: PageRegistry,
    configuration: DefaultConfiguration, frameworks: FrameworkPool, trials: ReleaseTrials? = nil,
    snapshots: PageSnapshots? = nil, snapshotUse: SnapshotUse = .none,
    fallback: @escaping FallbackChoice = { _, _ in nil }, channelOutlet: ChannelOutlet? = nil,
    factory: @escaping PageFactory = { CachingPageInstance(environment: $0, registry: $1) }
  ) {
    self.resources = resources
    self.bundles = bundles
    self.registry = registry
    self.configuration = configuration
    self.frameworks = frameworks
    self.trials = trials
    (self.snapshots, self.snapshotUse) = (snapshots, snapshotUse)
    self.fallback = fallback
    self.channelOutlet = channelOutlet
    self.factory = factory
  }

  /// Makes a page with the factory.
  ///
  /// - Parameter registry: the registry of this page and of those that it embeds; `nil` for the host's.
  @PageActor package func page(registry: PageRegistry? = nil) -> PageInstance { factory(self, registry) }

  func nextPageID() -> String { String(lastID.add(1, ordering: .relaxed).newValue) }
}

/// The options of one opening of a page.
///
///     let options = PageOptions(config: ["theme": "dark"], policy: .networkOnly)
///     let page = try await host.open("https://pages.example.com/bundles/prices.js", options: options)
public struct PageOptions: Hashable, Sendable {
  /// The URL that scripts see as `weex.config.bundleUrl`; `nil` for the page's URL.
  public var bundleURL: String?
  /// The framework that the bundle is for; `nil` to read it from the bundle.
  public var type: BundleType?
  /// Further members of `weex.config`.
  public var config: [String: ScriptValue]
  /// The replacement if the page cannot open; `nil` to ask the host's choice.
  public var fallback: PageFallback?
  /// The order in which the store and the server are asked; `nil` for the host's rules.
  public var policy: OpenPolicy?
  /// The use of the elements of the page's last run; `nil` for the host's.
  public var snapshot: SnapshotUse?
  /// The time, random numbers, zone and locale of the page's script; `nil` for the machine's own. Pages that it embeds or
  /// pushes get the same.
  public var determinism: PageDeterminism?
  /// The time that the caller has already waited for the server. It counts for the policy's deadline.
  package var timeWaited: Duration = .zero

  /// Options; each default leaves the choice to the host or the bundle.
  public init(
    bundleURL: String? = nil, type: BundleType? = nil, config: [String: ScriptValue] = [:],
    fallback: PageFallback? = nil, policy: OpenPolicy? = nil, determinism: PageDeterminism? = nil
  ) {
    self.bundleURL = bundleURL
    self.type = type
    self.config = config
    self.fallback = fallback
    self.policy = policy
    self.determinism = determinism
  }
}
