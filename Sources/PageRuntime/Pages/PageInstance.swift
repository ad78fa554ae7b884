import Bundles
import Foundation
import HTTPCache
import HTTPTransport
import HTTPTypes
import ScriptEngine

/// A page: its script, its elements, its life.
///
/// `renderByURL` downloads a bundle and calls `render`; a subclass overrides one or both, and calls `super`.
@PageActor open class PageInstance {
  public nonisolated let id: String
  public nonisolated let environment: PageEnvironment
  /// The page's URL; nil before it is opened, and for a page of text alone.
  public internal(set) var url: PageURL?
  public internal(set) var phase: PagePhase = .idle
  public internal(set) var tree = ElementTree()
  public internal(set) var timings = PageTimings()
  /// Why it failed; nil where it did not.
  public internal(set) var failure: PageError?
  /// What is shown in its place, since it could not open; nil where it could.
  public internal(set) var shownFallback: (fallback: PageFallback, reason: PageError)?
  /// How its bundle was come by; nil where it did not come from the store or its loader.
  public internal(set) var bundle: LoadedBundle?
  /// The release of the page that embeds it.
  var inheritedView: ReleaseView?
  /// Listens for newer bytes than it shows.
  var newsTask: Task<Void, Never>?

  /// What it was opened with last.
  var lastOptions = PageOptions()
  private(set) var lastData: ScriptValue = [:]

  /// Whose page it is: its requests, cookies and stored values are this partition's, also after the host has turned to
  /// another user.
  public internal(set) var partition: CachePartition

  /// What it started with: later registrations do not change a page under way.
  let registry: PageRegistry.Snapshot
  /// What was registered for it alone, for the pages it embeds.
  let ownRegistry: PageRegistry?
  nonisolated let feed = PageFeed()
  var group: FrameworkGroup?
  /// What the group was taken for.
  var purpose: FrameworkPool.Purpose?
  var entries: Task<Void, Never>?
  /// Timers that scripts have set, by the script group's numbers.
  var timers: [Int: PageTimer] = [:]
  /// Calls of modules and components that have not ended.
  var calls: [UUID: PageCall] = [:]
  var began = ContinuousClock.now
  var hasRendered = false
  /// What is loading for elements that show pictures or other pages, by their refs.
  var sourceTasks: [String: Task<Void, Never>] = [:]
  /// Pages that elements of its show, by their refs.
  public internal(set) var embedded: [String: PageInstance] = [:]
  /// How many pages it is embedded in, one in the other.
  var embeddingDepth = 0
  /// Documents of `web` elements, by their refs.
  var documents: [String: [UInt8]] = [:]
  /// Timers of the `timer` module, by the callback they answer.
  var callbackTimers: [String: PageTimer] = [:]
  /// What was said to be missing.
  var missing: Set<MissingPart> = []
  /// What ends the loading of its bundle.
  var loads: [UUID: @Sendable () -> Void] = [:]
  /// Callback ids by the type of the app's event they wait for.
  var globalListeners: [String: [String]] = [:]
  var socket: PageSocket?
  /// What `meta.setViewport` said last.
  public internal(set) var viewport: ScriptValue = [:]
  /// The messages and questions that it has shown, the latest.
  public internal(set) var messages: [PageMessage] = []
  /// The input that has the focus.
  public internal(set) var focusedInput: String?
  /// What is selected of its text, in UTF-16 units.
  var inputSelection = 0..<0
  /// The element the page last wanted to be seen.
  public internal(set) var scrollTarget: String?
  /// Fonts and other rules the page has added.
  public internal(set) var rules: [PageRule] = []

  /// - Parameter registry: what is registered for this page; nil for what is for all of the host's.
  public init(environment: PageEnvironment, registry: PageRegistry? = nil) {
    self.environment = environment
    id = environment.nextPageID()
    partition = environment.resources.partition
    ownRegistry = registry
    self.registry = (registry ?? environment.registry).snapshot()
  }

  /// The release that it sees, from its opening to its end: its bundle and the release's files come from there. `nil`
  /// for a page that no manifest lists.
  package var view: ReleaseView? { inheritedView ?? bundle?.view }

  /// Those kept of its messages.
  private static let messageLimit = 100

  func show(_ message: PageMessage) {
    messages.append(message)
    if messages.count > Self.messageLimit { messages.removeFirst() }
    feed.send(.message(message))
  }

  /// Everything that happens to it, from its beginning.
  public nonisolated var events: AsyncStream<PageEvent> { feed.listen() }

  // MARK: Opening

  /// Downloads a bundle and renders it.
  ///
  /// - Throws: ``PageError``; the page is in the phase `failed` then.
  open func renderByURL(_ text: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]) async throws {
    guard let url = PageURL(text) else { throw fail(.invalidURL(text)) }
    try begin(url)
    try await orFallBack(options: options, data: data) {
      let (resources, partition) = (environment.resources, partition)
      let bytes = try await loading {
        let loaded = try await resources.response(
          for: ResourceRequest(url.text, type: .page, behavior: .networkOnly, partition: partition))
        guard loaded.status == 200 else { throw AnswerStatusError(url: "\(url)", status: loaded.status) }
        return try await loaded.body.collect()
      }
      guard let source = String(validating: bytes, as: UTF8.self) else {
        throw BundleError.notUTF8(bundle: url.text, url: url)
      }
      try await render(source, options: options, data: data)
    }
  }

  /// Runs a bundle's text.
  ///
  /// - Throws: ``PageError``; the page is in the phase `failed` then.
  open func render(_ source: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]) async throws {
    if [.idle, .live, .empty, .failed].contains(phase) { began = .now }
    guard phase != .destroyed else { throw PageError.destroyed }
    (lastOptions, lastData) = (options, data)
    cancelLoads()
    try await closeScript()
    timings = PageTimings()
    timings.bundleReady = .now - began
    guard move(to: .evaluating) else { throw overtaken }
    let name = options.bundleURL ?? url?.text ?? "page-\(id).js"
    let declared = options.type ?? BundleType.declared(in: source, url: url)
    if declared == nil, let fault = BundleFault(in: source) { throw fail(.notABundle(url: name, fault)) }
    if declared == nil, let named = BundleType.nameInComment(source) {
      throw fail(.unknownFramework(named, url: name))
    }
    let type = declared ?? .weex
    let purpose = FrameworkPool.Purpose(
      type: type, url: name, source: source, modules: registry.modules, components: registry.components,
      partition: partition)
    let group: FrameworkGroup
    do {
      group = try await environment.frameworks.group(for: purpose)
    } catch let error as PageError {
      throw fail(error)
    }
    guard phase == .evaluating else { throw overtaken }
    (self.group, self.purpose) = (group, purpose)
    await registerServices(in: group)
    guard phase == .evaluating, self.group === group else { throw overtaken }
    var config = options.config
    config["bundleUrl"] = .string(name)
    config["bundleType"] = .string(type.rawValue)
    config["env"] = configuration.environment
    let opening = FrameworkGroup.Opening(
      id: id, source: source, url: name, type: type, config: .object(config), data: data, modules: registry.modules,
      prelude: environment.frameworks.prelude(for: type))
    do {
      try await enter { try await $0.open(opening) }
    } catch let error as ScriptError {
      throw self.group === group ? fail(scriptError(error)) : overtaken
    }
    if let failure { throw failure }
    guard self.group === group else { throw overtaken }
    timings.evaluated = .now - began
    // Plain bundles do not say that they are done: with a body they are.
    finishCreation()
    if !hasRendered { _ = move(to: .empty) }
  }

  /// Runs a bundle's text as though it had come from a URL: what the page asks for counts from there.
  public func render(_ source: String, at url: PageURL, data: ScriptValue = [:]) async throws {
    try begin(url)
    try await render(source, options: PageOptions(bundleURL: url.text), data: data)
  }

  /// Notes that it is being opened from a URL.
  package func begin(_ url: PageURL) throws {
    guard move(to: .loading) else { throw PageError.destroyed }
    cancelLoads()
    newsTask?.cancel()
    began = .now
    self.url = url
    (shownFallback, bundle) = (nil, nil)
  }

  /// Loads its bundle again, and renders anew.
  ///
  /// - Parameter ignoringCache: the origin's bundle, whatever is stored.
  open func reload(ignoringCache: Bool = false) async throws {
    guard let url else { return }
    try await renderByURL(url.text, options: lastOptions, data: lastData)
  }

  /// Ends the page: its requests are cancelled, its script is freed. It cannot be opened again.
  public func destroy() async {
    guard phase != .destroyed, move(to: .destroyed) else { return }
    cancelLoads()
    newsTask?.cancel()
    group?.interrupt()
    try? await closeScript()
    feed.send(.destroyed)
    feed.finish()
  }
}
