import PageCore
import ScriptEngine

/// Script groups with a framework booted in them: some are kept ready, so that a page need not wait for one.
public actor FrameworkPool {
  public struct Configuration: Sendable {
    /// Texts of framework files for the types that the built-in one does not run.
    public var frameworks: [BundleType: String] = [:]
    /// Groups that wait for pages, for each type that was asked for.
    public var ready = 1
    public var limits = ScriptLimits()
    /// What scripts see as `WXEnvironment`.
    public var environment: ScriptValue = [:]

    public init() {}
  }

  private let configuration: Configuration
  private var waiting: [BundleType: [FrameworkGroup]] = [:]
  private var booting: [BundleType: Int] = [:]

  /// Engines run what they have run before faster: something of everything a page does.
  private static let primer = """
    var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
    var e = d.createElement('text', { attr: { value: 'a' }, style: { color: 'red' } })
    b.appendChild(e); e.setAttr('value', 'b'); e.setStyle('color', 'blue'); e.addEvent('click', function () {})
    """

  public init(_ configuration: Configuration = Configuration()) { self.configuration = configuration }

  /// A group of its own for one page.
  ///
  /// - Throws: ``PageError``.
  func group(
    for type: BundleType, url: String, modules: ModuleTable, components: ComponentTable = ComponentTable()
  ) async throws -> FrameworkGroup {
    guard let source = source(for: type) else { throw PageError.noFramework(type, url: url) }
    do {
      let group: FrameworkGroup
      if let ready = waiting[type]?.popLast() { group = ready } else { group = try await boot(source) }
      refill(type, source)
      // What was registered since the group was made.
      try await group.register(modules, components)
      return group
    } catch let error as ScriptError {
      throw PageError.script(url: "\(type.rawValue) framework", error)
    }
  }

  /// Groups that wait for pages of a type.
  func readyCount(_ type: BundleType) -> Int { waiting[type]?.count ?? 0 }

  private func source(for type: BundleType) -> FrameworkGroup.Source? {
    if type == .vanilla { return BuiltInFramework.sources }
    return configuration.frameworks[type].map { [("\(type.rawValue.lowercased())-framework.js", $0)] }
  }

  private func boot(_ source: FrameworkGroup.Source) async throws -> FrameworkGroup {
    try await FrameworkGroup.boot(
      source, environment: configuration.environment, components: DefaultComponents.names,
      limits: configuration.limits)
  }

  private func refill(_ type: BundleType, _ source: FrameworkGroup.Source) {
    guard (waiting[type]?.count ?? 0) + (booting[type] ?? 0) < configuration.ready else { return }
    booting[type, default: 0] += 1
    Task(priority: .low) { [weak self] in
      let made = try? await self?.boot(source)
      if let made, type == .vanilla { await made.prime(Self.primer) }
      await self?.add(made, type)
    }
  }

  private func add(_ group: FrameworkGroup?, _ type: BundleType) {
    booting[type, default: 1] -= 1
    if let group { waiting[type, default: []].append(group) }
  }
}
