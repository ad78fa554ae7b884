import Bundles
import Foundation
import HTTPCache
import HTTPTransport
import HTTPTypes
import PageLayout
import PagePictures
import ScriptEngine

/// A phase of a page's life.
public enum PagePhase: String, Hashable, Sendable {
  /// The page was made and not opened. Next: loading, evaluating, failed, destroyed.
  case idle
  /// The bundle is being found or downloaded. Next: evaluating, failed, destroyed.
  case loading
  /// The script runs for the first time. Next: live, empty, loading (a reload), failed, destroyed.
  case evaluating
  /// The script has run and made no body. It may still make one. Next: live, loading or evaluating (a reload), failed,
  /// destroyed.
  case empty
  /// The page has rendered. Next: loading or evaluating (a reload), failed, destroyed.
  case live
  /// The page could not open, or was stopped. Next: loading or evaluating (a reload), destroyed.
  case failed
  /// The page was destroyed. No phase follows.
  case destroyed

  /// Returns `true` if the phase may follow this one.
  func canMove(to next: PagePhase) -> Bool {
    switch (self, next) {
    case (.idle, .loading), (.idle, .evaluating), (.idle, .failed): true
    case (.loading, .evaluating), (.loading, .failed): true
    case (.evaluating, .live), (.evaluating, .empty), (.evaluating, .loading), (.evaluating, .failed): true
    case (.empty, .live), (.empty, .loading), (.empty, .evaluating), (.empty, .failed): true
    case (.live, .loading), (.live, .evaluating), (.live, .failed): true
    case (.failed, .loading), (.failed, .evaluating): true
    case (.destroyed, _): false
    case (_, .destroyed): true
    default: false
    }
  }
}

/// A page: its script, its elements and its lifecycle.
///
/// ``renderByURL(_:options:data:)`` downloads a bundle and calls ``render(_:options:data:)``. A subclass may override one or
/// both, and calls `super`.
///
///     let page = try await host.open("https://pages.example.com/bundles/home.js")
///     await page.appear()
///     await page.settle(within: .seconds(10))
///     print(await page.tree.outline)
///     await page.destroy()
@PageActor open class PageInstance {
  // The states of a page, and what changes them. All are changed on the actor of pages. `closeScript` in
  // `PageInstance+Life.swift` resets all that belongs to a script: before each opening, and at the end. An opening whose
  // phase is no longer `evaluating` when it goes on was superseded, and changes nothing.

  // MARK: What the page is
  // Set when it is made, by its initializer or by whom it is made for.

  /// The id, unique among the pages of the host.
  public nonisolated let id: String
  /// The parts that the page shares with the host's other pages.
  public nonisolated let environment: PageEnvironment
  /// The registry's state when the page was made: later registrations do not change it.
  package let registry: PageRegistry.Snapshot
  /// The registry of the page alone, which the pages that it embeds get too; `nil` for the host's.
  let ownRegistry: PageRegistry?
  /// The pages that hear each other's channels have the same scope; `nil` for all pages of the user.
  package var ownChannelScope: String?
  var channelScope: String { ownChannelScope ?? partition.text }
  /// Sends the page's events. A late listener gets the first 10,000, and one that does not keep up the last 10,000; the
  /// tree has the result of all commands.
  nonisolated let feed = Broadcast<PageEvent>(.newest(10_000), replayLimit: 10_000)

  /// The user whose cache, cookies and stored values the page has, also after the host has turned to another user. Pages
  /// that are pushed or embedded have that of the page that asks.
  public internal(set) var partition: CachePartition
  /// The release that the embedding page sees.
  var inheritedView: ReleaseView?
  /// The number of pages that the page is embedded in, one in the other.
  var embeddingDepth = 0
  /// The page that embeds it, and the ref of the element there.
  weak var embedder: PageInstance?
  var embedderRef = ""

  // MARK: Its opening
  // Changed by `begin` and `render` here, by `CachingPageInstance` and its fallback, and by `fail` and `endTrial` in
  // `PageInstance+Life.swift`; the phase by `move(to:)` there alone, the loads by `loading` in
  // `PageInstance+Requests.swift`. The times are also counted there, and by `apply` and `finishCreation` in
  // `PageInstance+Script.swift`, which says that the page has rendered.

  /// The phase of the page's life.
  public internal(set) var phase: PagePhase = .idle
  /// The page's URL; `nil` before the page is opened, and for a page of text alone.
  public internal(set) var url: PageURL?
  /// The bundle with its source and its verification; `nil` if it did not come from the store or its loader.
  public internal(set) var bundle: LoadedBundle?
  /// The error because of which the page failed; `nil` if it did not.
  public internal(set) var failure: PageError?
  /// The fallback that replaces the page, and the error because of which it could not open; `nil` if there is none.
  public internal(set) var shownFallback: (fallback: PageFallback, reason: PageError)?
  /// The options of the latest opening.
  var lastOptions = PageOptions()
  private(set) var lastData: ScriptValue = [:]
  var began = ContinuousClock.now
  var hasRendered = false
  /// The times of the latest opening.
  public internal(set) var timings = PageTimings()
  /// The trial of the opening; `nil` if the opening does not decide about a release.
  var trial: OpeningTrial?
  /// `true` while a failure does not end the page, since its opening may go on with another release.
  var survivesFailures = false
  /// Listens for bytes that are newer than those of the page.
  var newsTask: Task<Void, Never>?
  /// Cancel what the page opens from, by the loads' keys.
  var loads: [UUID: @Sendable () -> Void] = [:]

  // MARK: Being shown
  // Changed by `appear`, `disappear` and `tellVisibility` in `PageInstance+Life.swift`.

  /// `true` between ``appear()`` and ``disappear()``.
  public internal(set) var isShown = false
  /// `true` if the script knows that the page is shown: `viewappear` was the last of both events.
  var hasAppeared = false
  /// Fires the latest of the events `viewappear` and `viewdisappear`.
  var visibilityTask: Task<Void, Never>?

  // MARK: Its script
  // Changed by `render` here, by `enter`, `dispatch` and `receive` in `PageInstance+Script.swift`, and by
  // `TimerModule.swift`; the missing parts by `record` in `PageInstance+Sources.swift`. Ended by `closeScript` and `fail`.

  var group: FrameworkGroup?
  /// The purpose that the group was taken for.
  var purpose: FrameworkPool.Purpose?
  var entries: Task<Void, Never>?
  /// The timers: those of the `timer` module by the callbacks that they call, and those that scripts have set by `#` and
  /// the script group's numbers.
  var timers: [String: PageTimer] = [:]
  /// Records what enters the script, and its changes of the elements; `nil` for a page that is not recorded.
  var recorder: PageRecorder?
  /// The calls and timers that a recording leaves open, while the page runs its steps again; `nil` otherwise.
  var rerun: PageRerun?
  /// The time of the script and of its timers; `nil` for the machine's.
  var time: PageTime?
  /// The calls of modules and components that have not ended, and other calls of the script that are waited for as these
  /// are; `true` for HTTP requests.
  var calls: [UUID: (task: Task<Void, Never>, isRequest: Bool)] = [:]
  /// The parts that were reported as not registered.
  var missing: Set<MissingPart> = []
  /// The number of messages of channels that wait for the page's script.
  var waitingMessages = 0
  /// `true` while messages are dropped because too many wait.
  var dropsMessages = false

  // MARK: Its elements
  // Changed by the script's commands (`apply` in `PageInstance+Script.swift`) and by what elements load
  // (`PageInstance+Sources.swift`).

  /// The elements.
  public internal(set) var tree = ElementTree() { didSet { expansion = nil } }
  /// The changes since a process that follows the elements was sent a record; `nil` if none follows.
  var sentElements: ElementChanges?
  /// The loads of pictures, pages and documents of elements, by the elements' refs.
  var sourceTasks: [String: Task<Void, Never>] = [:]
  /// The pictures of former runs.
  var knownPictures = KnownPictures()
  /// The elements that show pictures which a former run could not load, by the pictures' sources, until there is an answer.
  var failedPictures: [String: [String]] = [:]
  /// `true` until these pictures are asked for.
  var defersFailedPictures = false
  /// The events of sources that a recorded run has told and that are not told again, by the elements' refs.
  var toldSources: [String: Set<String>] = [:]
  /// The pages that `embed` elements show, by the elements' refs.
  public internal(set) var embedded: [String: PageInstance] = [:]
  /// The documents of `web` elements, by the elements' refs.
  var documents: [String: [UInt8]] = [:]

  // MARK: Cells of `recycle-list` elements
  // Changed in `RecycleListComponent.swift`, and by `followSources` in `PageInstance+Sources.swift`.

  /// The tree with cells, and the components in them; `nil` after a change of the tree, and without cells.
  var expansion: (tree: ElementTree, components: [CellComponent])?
  /// The number of times that lists were filled with cells.
  var expansionCount = 0
  /// `true` if a template has components with data of their own.
  var hasCellComponents = false
  /// The components in cells that the script knows, by their ids, and whether they are attached.
  var cellComponents: [String: (component: CellComponent, isAttached: Bool)] = [:]
  /// The key of the call that tells the script of components in cells.
  var componentTask: UUID?
  /// The data of components in cells that has not been applied, by their ids.
  var changedComponents: [String: [String: ScriptValue]] = [:]
  /// The items of lists whose changes have not been applied, by the lists' refs.
  var listData: [String: [ScriptValue]] = [:]

  // MARK: Its layout
  // Changed in `PageInstance+Layout.swift`; what asks for it, and new sliders, are noted by `followSources` in
  // `PageInstance+Sources.swift`.

  /// The boxes of the elements; `nil` until something asks for them.
  var elementLayout: ElementLayout?
  /// `true` if an element listens to an event that follows from places alone.
  var listensToLayout = false
  /// `true` if the app has asked for changes of boxes.
  var isLayoutFollowed = false
  /// Wakes those who read changes of boxes.
  nonisolated let layoutFeed = Broadcast<Void>(.newest(1))
  /// The key of the call that fires the events that follow from the layout.
  var layoutTask: UUID?
  /// The events that followed from the layout in a recorded run, and that the script has not had.
  var overdueEvents: [LayoutEvent] = []
  /// `true` if a slider listens to its changes.
  var listensToSlides = false
  /// The sliders that the script has put on another page, and its index.
  var slides: [(ref: String, index: ScriptValue)] = []
  /// The sliders that the entry at hand has made.
  var newSliders: [String] = []

  // MARK: Its texts
  // Changed in `PageInstance+Picture.swift`.

  /// Draws and measures the page's texts; `nil` until something asks for a place, or for a picture.
  var ownTexts: PageTexts?
  /// The references of the fonts that draw the page's texts, by their families in lower case.
  var usedFonts: [String: String] = [:]

  // MARK: The elements of its last run
  // Changed in `PageSnapshots.swift`.

  /// The elements of the page's last run, while they are shown in place of ``tree``; `nil` otherwise.
  public internal(set) var snapshot: ElementTree?
  /// The name under which the page's elements are stored; `nil` if they are not.
  var snapshotName: String?
  /// Stores the page's elements.
  var snapshotTask: Task<Void, Never>?
  /// Those who wait for the page's own elements, with the refs of the elements that they are about.
  var snapshotWaiters: [(ref: String, CheckedContinuation<String?, Never>)] = []

  // MARK: What the script has set by modules
  // Each is changed by its module or component; `forgetSources` in `PageInstance+Sources.swift` takes the focus from an
  // input that has gone.

  /// The callback ids, by the type of the app's event that they wait for.
  var globalListeners: [String: [String]] = [:]
  var socket: PageSocket?
  /// The callback ids, by the event of the web socket that they wait for, such as `onopen`.
  var socketListeners: [String: String] = [:]
  /// The argument of the latest `meta.setViewport`.
  public internal(set) var viewport: ScriptValue = [:] { didSet { renewLayoutWindow() } }
  /// The latest messages and questions that the page has shown, at most 100.
  package internal(set) var messages: [PageMessage] = []
  /// The ref of the input that has the focus.
  public internal(set) var focusedInput: String?
  /// The selection in its text, in UTF-16 units.
  var inputSelection = 0..<0
  /// The ref of the latest `dom.scrollToElement`.
  public internal(set) var scrollTarget: String?
  /// The fonts and other rules that the page has added.
  package internal(set) var rules: [PageRule] = []

  /// A page that is not opened yet.
  ///
  /// - Parameters:
  ///   - environment: the shared parts of the host's pages.
  ///   - registry: the page's own registry; `nil` for the host's.
  public init(environment: PageEnvironment, registry: PageRegistry? = nil) {
    self.environment = environment
    id = environment.nextPageID()
    partition = environment.resources.partition
    ownRegistry = registry
    self.registry = (registry ?? environment.registry).snapshot()
  }

  /// The release that the page sees from its opening to its end; its bundle and the release's files come from there. `nil`
  /// for a page that no manifest lists.
  package var view: ReleaseView? { inheritedView ?? bundle?.view }

  /// The number of messages that are kept.
  private static let messageLimit = 100

  /// Records a message and tells it, with texts within the limit: replies of workers contain all of a page's messages.
  func show(_ message: PageMessage) {
    let message = message.cut(toBytes: PageMessage.textLimit, titles: PageMessage.textLimit)
    messages.append(message)
    if messages.count > Self.messageLimit { messages.removeFirst() }
    feed.send(.message(message))
  }

  /// The page's events from its beginning, however late they are asked for. The sequence ends when the page is destroyed.
  /// A late reader gets the first 10,000 past events. A reader that is more than 10,000 events behind loses the oldest of
  /// them; ``tree`` has the result of all commands.
  public nonisolated var events: AsyncStream<PageEvent> { feed.listen() }

  /// The page's events from now on.
  package nonisolated var laterEvents: AsyncStream<PageEvent> { feed.listen(replays: false) }

  // MARK: - Opening

  /// Downloads a bundle and renders it.
  ///
  /// - Parameters:
  ///   - text: the URL of the bundle.
  ///   - options: the options of this opening.
  ///   - data: the page's data, an object.
  /// - Throws: ``PageError``; the page is then in the phase `failed`.
  open func renderByURL(_ text: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]) async throws {
    guard let url = PageURL(text) else { throw fail(.invalidURL(text)) }
    try begin(url)
    try await orFallBack(options: options, data: data) {
      let (resources, partition) = (environment.resources, partition)
      let bytes = try await loading {
        let loaded = try await resources.response(
          for: ResourceRequest(url.text, type: .page, behavior: .networkOnly, partition: partition))
        guard loaded.status == 200 else { throw HTTPFault(loaded.response, url: url, now: .now) }
        return try await loaded.body.collect()
      }
      guard let source = String(validating: bytes, as: UTF8.self) else {
        throw BundleError.notUTF8(bundle: url.text, url: url)
      }
      try await render(source, options: options, data: data)
    }
  }

  /// Runs the text of a bundle.
  ///
  /// - Parameters:
  ///   - source: the text.
  ///   - options: the options of this opening.
  ///   - data: the page's data, an object.
  /// - Throws: ``PageError``; the page is then in the phase `failed`.
  open func render(_ source: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]) async throws {
    if [.idle, .live, .empty, .failed].contains(phase) { began = .now }
    guard phase != .destroyed else { throw PageError.destroyed }
    (lastOptions, lastData) = (options, data)
    cancelLoads()
    try await closeScript()
    let shown = snapshot == nil ? nil : timings.snapshot
    timings = PageTimings()
    timings.snapshot = shown
    timings.bundleReady = .now - began
    guard move(to: .evaluating) else { throw superseded }
    let name = options.bundleURL ?? url?.text ?? "page-\(id).js"
    let declared = options.type ?? BundleType.declared(in: source, url: url)
    if declared == nil, let fault = BundleFault(in: source) { throw fail(.notABundle(url: name, reason: "\(fault)")) }
    if declared == nil, let named = BundleType.nameInComment(source) {
      throw fail(.unknownFramework(named, url: name))
    }
    let type = declared ?? .weex
    let determinism = options.determinism ?? (recorder == nil ? nil : .ofThisMachine)
    time = embedder?.time ?? determinism.map { PageTime($0) }
    let purpose = FrameworkPool.Purpose(
      type: type, url: name, source: source, modules: registry.modules, components: registry.components,
      partition: partition, determinism: time?.determinism)
    let frameworks = environment.frameworks
    let turn = await frameworks.openings.enter(for: id)
    defer {
      frameworks.openings.leave(turn)
      frameworks.opened(type)
    }
    guard phase == .evaluating else { throw superseded }
    let group: FrameworkGroup
    do {
      group = try await frameworks.group(for: purpose)
    } catch let error as PageError {
      throw fail(error)
    }
    guard phase == .evaluating else { throw superseded }
    (self.group, self.purpose) = (group, purpose)
    await registerServices(in: group)
    guard phase == .evaluating, self.group === group else { throw superseded }
    var config = options.config
    config["bundleUrl"] = .string(name)
    config["bundleType"] = .string(type.rawValue)
    config["env"] = configuration.environment
    let opening = ScriptOpening(
      purpose: purpose, config: .object(config), data: data, configuration: configuration,
      prelude: frameworks.prelude(for: type),
      answers: rerun.map { CallAnswers.given($0.firstAnswers[...]) } ?? (recorder == nil ? .made : .recorded))
    recorder?.begin(opening, page: id, registry.services, frameworks)
    do {
      try await enter(.open(opening))
    } catch let error as ScriptError {
      throw self.group === group ? fail(scriptError(error)) : superseded
    }
    if let failure { throw failure }
    guard self.group === group else { throw superseded }
    timings.evaluated = .now - began
    // A plain bundle does not call createFinish; with a body it has rendered.
    finishCreation()
    if !hasRendered { _ = move(to: .empty) }
    followLayout()
  }

  /// Runs the text of a bundle as if it had come from a URL. The page's relative references count from there.
  ///
  /// - Throws: ``PageError``; the page is then in the phase `failed`.
  public func render(_ source: String, at url: PageURL, data: ScriptValue = [:]) async throws {
    try begin(url)
    try await render(source, options: PageOptions(bundleURL: url.text), data: data)
  }

  /// Begins an opening from a URL.
  ///
  /// - Throws: ``PageError/destroyed``.
  package func begin(_ url: PageURL) throws {
    guard move(to: .loading) else { throw PageError.destroyed }
    cancelLoads()
    newsTask?.cancel()
    endTrial()
    dropSnapshot()
    timings = PageTimings()
    began = .now
    self.url = url
    (shownFallback, bundle) = (nil, nil)
  }

  /// Loads the bundle again and renders it, with the options and the data of the latest opening. A page without a URL does
  /// nothing.
  ///
  /// - Parameter ignoringCache: `true` takes the server's bundle whatever is stored.
  /// - Throws: ``PageError``; the page is then in the phase `failed`.
  open func reload(ignoringCache: Bool = false) async throws {
    guard let url else { return }
    try await renderByURL(url.text, options: lastOptions, data: lastData)
  }

  /// Ends the page: cancels its requests, and frees its script and the pages that it embeds. It cannot be opened again.
  ///
  /// A page that is shown gets the event `viewdisappear` before, and at most a second to handle it.
  public func destroy() async {
    await leave()
    guard phase != .destroyed, move(to: .destroyed) else { return }
    cancelLoads()
    newsTask?.cancel()
    endTrial()
    dropSnapshot()
    group?.interrupt()
    try? await closeScript()
    feed.send(.destroyed)
    feed.finish()
    layoutFeed.finish()
  }
}

/// The actor of pages: their lifecycle, their elements, and their calls of handlers.
@globalActor
public actor PageActor {
  /// The one instance.
  public static let shared = PageActor()
}
