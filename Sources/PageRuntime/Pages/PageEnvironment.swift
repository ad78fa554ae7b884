import PageLoading
import ScriptEngine
import Synchronization

/// What the pages of one host have in common.
public final class PageEnvironment: Sendable {
  public let resources: ResourceLoader
  /// Opens bundles from the store; nil where there is none.
  public let bundles: BundleLoader?
  public let registry: PageRegistry
  public let configuration: any ConfigurationProviding
  public let clipboard = Clipboard()
  let channels = Channels()
  let frameworks: FrameworkPool
  private let lastID = Atomic<Int>(0)

  public init(
    resources: ResourceLoader, bundles: BundleLoader?, registry: PageRegistry,
    configuration: any ConfigurationProviding, frameworks: FrameworkPool
  ) {
    self.resources = resources
    self.bundles = bundles
    self.registry = registry
    self.configuration = configuration
    self.frameworks = frameworks
  }

  func nextPageID() -> String { String(lastID.add(1, ordering: .relaxed).newValue) }
}
