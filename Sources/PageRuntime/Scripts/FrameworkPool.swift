import PageCore
import ScriptEngine
import Synchronization

/// Script groups with a framework booted in them: some are kept ready, so that a page need not wait for one.
public actor FrameworkPool {
  public struct Configuration: Sendable {
    /// Framework files for the types the built-in one does not run.
    public var frameworks: [BundleType: String] = [:]
    /// Groups that wait for pages.
    public var ready = 1
    public var limits = ScriptLimits()
    /// What scripts see as `WXEnvironment`.
    public var environment: ScriptValue = [:]

    public init() {}
  }

  private let configuration: Configuration
  private var waiting: [String: [FrameworkGroup]] = [:]

  public init(_ configuration: Configuration = Configuration()) { self.configuration = configuration }

  /// A group of its own for one page.
  ///
  /// - Throws: ``PageError``.
  func group(for type: BundleType, url: String, modules: ModuleTable) async throws -> FrameworkGroup {
    let source: FrameworkGroup.Source
    if type == .vanilla {
      source = BuiltInFramework.sources
    } else if let text = configuration.frameworks[type] {
      source = [("\(type.rawValue.lowercased())-framework.js", text)]
    } else {
      throw PageError.noFramework(type, url: url)
    }
    do {
      return try await FrameworkGroup.boot(
        source, environment: configuration.environment, modules: modules, components: DefaultComponents.names,
        limits: configuration.limits)
    } catch let error as ScriptError {
      throw PageError.script(url: "\(type.rawValue) framework", error)
    }
  }
}
