import CurlTransport
import Foundation
import HTTPCache
import HTTPTransport
import PageLayout
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// An origin and pages that load from it.
struct PageFixture {
  let origin: FaultOrigin
  let folder: TemporaryDirectory
  let loader: ResourceLoader
  let registry: PageRegistry
  let environment: PageEnvironment

  static func running<Result>(
    limits: ScriptLimits = ScriptLimits(), rules: [ResourceRule] = [], frameworks: [BundleType: String] = [:],
    preludes: [BundleType: String] = [:], nodeEnvironment: String = ScriptConfiguration.defaultNodeEnvironment,
    observer: WorkObserver? = nil, _ body: (PageFixture) async throws -> Result
  ) async throws -> Result {
    let origin = try await FaultOrigin.start()
    do {
      let result = try await body(
        try PageFixture(origin, limits, rules, frameworks, preludes, nodeEnvironment, observer))
      try await origin.stop()
      return result
    } catch {
      try await origin.stop()
      throw error
    }
  }

  private init(
    _ origin: FaultOrigin, _ limits: ScriptLimits, _ rules: [ResourceRule], _ frameworks: [BundleType: String],
    _ preludes: [BundleType: String], _ nodeEnvironment: String, _ observer: WorkObserver?
  ) throws {
    self.origin = origin
    folder = try TemporaryDirectory()
    let cache = try ResponseCache(
      store: try ResponseStore(at: ResponseDirectory(folder.file("responses"))), memoryCapacity: 4 << 20)
    var loading = ResourceLoader.Configuration()
    loading.rules = rules
    loader = ResourceLoader(
      cache: cache, transport: try CurlTransport(), configuration: loading)
    var handlers = PageHandlers(
      images: DefaultImageLoader(loader), exceptions: LoggedExceptions(), navigator: NoNavigation(),
      storage: MemoryStorage(), modals: SilentModals(), sockets: WebSocketTransport())
    // Texts are as large on each machine.
    handlers.measurer = FixedAdvances()
    registry = PageRegistry(defaults: handlers)
    var scripts = ScriptConfiguration()
    scripts.limits = limits
    scripts.frameworks = frameworks
    scripts.preludes = preludes
    scripts.observer = observer
    scripts.nodeEnvironment = nodeEnvironment
    environment = PageEnvironment(
      resources: loader, bundles: nil, registry: registry, configuration: DefaultConfiguration(),
      frameworks: FrameworkPool(scripts))
  }

  /// A page that has run a script with `document`, `body` and `weex` at hand.
  ///
  /// - Parameter former: a former run of the page, whose pictures it takes over.
  func page(
    _ script: String, determinism: PageDeterminism? = nil, after former: PageInstance? = nil
  ) async throws -> PageInstance {
    let page = await PageInstance(environment: environment)
    if let former { await page.takePictures(of: former) }
    let source = """
      // { "framework": "Vanilla" }
      var document = weex.document
      var body = document.createBody('div', { attr: {} })
      document.documentElement.appendChild(body)
      function add(type, props, parent) { var e = document.createElement(type, props); (parent || body).appendChild(e); return e }
      \(script)
      """
    let url = try #require(PageURL(origin.url(for: "/pages/page.js")))
    try await page.begin(url)
    try await page.render(source, options: PageOptions(bundleURL: url.text, determinism: determinism))
    return page
  }

  /// A page whose script may call `show`, which shows a value as JSON.
  func speakingPage(_ script: String, determinism: PageDeterminism? = nil) async throws -> PageInstance {
    try await page(
      """
      var text = add('text', { attr: { value: '' } }), said = []
      function show(v) { text.setAttr('value', typeof v === 'string' ? v : JSON.stringify(v)) }
      function say(v) { said.push(v); show(said) }
      var module = weex.requireModule
      \(script)
      """, determinism: determinism)
  }

  /// Returns the text that such a page shows when it has settled.
  func shown(_ script: String, determinism: PageDeterminism? = nil) async throws -> String? {
    let page = try await speakingPage(script, determinism: determinism)
    await page.settle(within: .seconds(50))
    let shown = await page.shown
    await page.destroy()
    return shown
  }
}

extension PageFixture {
  /// Returns the argument of a script's `tell(value)` as JSON.
  func told(_ script: String) async throws -> String {
    let page = try await page(
      "var told = []\nfunction tell(v) { told.push(v === undefined ? '-' : v) }\n" + script
        + "\nadd('told', { attr: { value: JSON.stringify(told) } })")
    let told = await page.first("told")?.attributes["value"]?.string
    await page.destroy()
    return told ?? "nothing"
  }

  /// Does the same with an origin of its own.
  static func told(_ script: String) async throws -> String {
    try await running { (fixture: PageFixture) async throws in try await fixture.told(script) }
  }

  /// Returns the commands of a script after its body, and its result.
  static func commands(_ script: String) async throws -> [String] {
    try await running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(script)
      let exceptions = await page.exceptions
      #expect(exceptions == [])
      return await page.commands.dropFirst().map(\.short)
    }
  }
}

extension RenderCommand {
  /// The command as `add b to _root at 1`: elements by their types, or by their refs, which count from 1.
  var short: String {
    func at(_ index: Int?) -> String { index.map { " at \($0)" } ?? "" }
    return switch self {
    case .createBody(let element): "body \(element.type)"
    case .addElement(let parent, let element, let index): "add \(element.type) to \(parent)\(at(index))"
    case .removeElement(let ref): "remove \(ref)"
    case .moveElement(let ref, let parent, let index): "move \(ref) to \(parent)\(at(index))"
    case .updateAttributes(let ref, let changes): "attrs \(ref) \(ScriptValue.object(changes).jsonText)"
    case .updateStyle(let ref, let changes): "style \(ref) \(ScriptValue.object(changes).jsonText)"
    case .addEvent(let ref, let type): "listen \(ref) \(type)"
    case .removeEvent(let ref, let type): "unlisten \(ref) \(type)"
    case .createFinish: "created"
    case .updateFinish: "updated"
    case .refreshFinish: "refreshed"
    }
  }
}

extension PageInstance {
  /// All commands of a page that has ended.
  var commands: [RenderCommand] {
    get async {
      var found: [RenderCommand] = []
      for await event in events {
        if case .commands(let commands) = event { found += commands }
      }
      return found
    }
  }

  /// The first element of a type.
  func first(_ type: String) -> ElementTree.Element? {
    guard let root = tree.root else { return nil }
    return tree.preorder(from: root).first { $0.type == type }
  }

  /// Types of the body's children, in order.
  var childTypes: [String] { tree.body?.children.compactMap { tree[$0]?.type } ?? [] }

  /// An attribute of the first text.
  var shown: String? { first("text")?.attributes["value"]?.string }

  /// Waits until the first text has a value.
  func waitUntilShown(_ text: String) async {
    for await _ in events where shown == text { return }
  }

  /// All exceptions of scripts so far.
  var exceptions: [String] {
    get async {
      var found: [String] = []
      await destroy()
      for await event in events {
        if case .exception(let exception) = event { found.append(exception.message) }
      }
      return found
    }
  }
}
