import Bundles
import HTTPCache
import HTTPTransport
import ScriptEngine
import Synchronization

/// Makes pages: the app's, those a page embeds, and those a page goes to.
public typealias PageFactory = @PageActor @Sendable (PageEnvironment, PageRegistry?) -> PageInstance

/// What the pages of one host have in common.
public final class PageEnvironment: Sendable {
  public let resources: ResourceLoader
  /// Opens bundles from the store; nil where there is none.
  public let bundles: BundleLoader?
  public let registry: PageRegistry
  let configuration: any ConfigurationProviding
  let clipboard = Clipboard()
  let channels = Channels()
  package let frameworks: FrameworkPool
  let fallback: FallbackChoice
  private let factory: PageFactory
  private let lastID = Atomic<Int>(0)

  /// - Parameters:
  ///   - fallback: what a page gets that cannot open, where its options name nothing.
  ///   - factory: makes all pages.
  package init(
    resources: ResourceLoader, bundles: BundleLoader?, registry: PageRegistry,
    configuration: any ConfigurationProviding, frameworks: FrameworkPool,
    fallback: @escaping FallbackChoice = { _, _ in nil },
    factory: @escaping PageFactory = { CachingPageInstance(environment: $0, registry: $1) }
  ) {
    self.resources = resources
    self.bundles = bundles
    self.registry = registry
    self.configuration = configuration
    self.frameworks = frameworks
    self.fallback = fallback
    self.factory = factory
  }

  /// A page from the factory.
  ///
  /// - Parameter registry: what is registered for this page, and for those it embeds; nil for what is for all.
  @PageActor package func page(registry: PageRegistry? = nil) -> PageInstance { factory(self, registry) }

  func nextPageID() -> String { String(lastID.add(1, ordering: .relaxed).newValue) }
}
