import Foundation
import HTTPTransport
import LivePages
import PageKit
import PagePictures
import Synchronization

/// The pages of a worker by the daemon's numbers, and their common parts.
@PageActor final class WorkerPages {
  nonisolated let environment: PageEnvironment
  nonisolated let socket: WorkerSocket
  private nonisolated let relay: HostRelay
  private nonisolated let entries: EntryTable
  private var pages: [UInt64: Resident] = [:]
  /// The recordings whose scripts run again.
  private var replays: [UInt64: (recording: Recording, run: PageReplay)] = [:]
  private nonisolated let roots: RegistryTable
  /// The members of `WXEnvironment` that are not the default ones.
  private nonisolated let device: [String: ScriptValue]
  /// The folders of fonts that the process has loaded to draw pages, or the reason why it cannot; `nil` if it draws none.
  private nonisolated let fonts: Result<[String], PictureError>?

  private struct Resident {
    let page: RelayedPage
    let registry: PageRegistry
    let errors: RecordedExceptions
    var relaying: Task<Void, Never>?
    /// `true` if a program renders the page.
    let isReported: Bool
    /// The pages that it pushes; `nil` if it does not navigate by itself.
    let stack: PageStack?
    /// Reports what changes in its HTML; `nil` if it has no viewers.
    var live: LivePage?
    /// The number of the next run, with which the reports went on; `nil` if there is none.
    var successor: UInt64?
    /// Listens to the pages that it embeds; `nil` until a debugger looks.
    var listener: PageListener?
  }

  /// - Parameter fonts: the folders of fonts that the process can read, or the reason why it can draw no pages; `nil` if it is
  ///   not to draw any.
  nonisolated init(
    _ setUp: WorkerSetUp, _ fonts: Result<[String], PictureError>? = nil, socket: WorkerSocket, relay: HostRelay,
    entries: EntryTable
  ) throws {
    (self.socket, self.relay, self.entries, self.fonts) = (socket, relay, entries, fonts)
    relay.limit(questions: setUp.questions)
    var loading = ResourceLoader.Configuration()
    if setUp.refreshesAlways { loading.behavior = .cacheThenNetwork }
    let resources = ResourceLoader(
      cache: try ResponseCache(store: NoResponseStore(), memoryCapacity: 0, allowingNone: true),
      transport: NoTransport(), configuration: loading)
    var scripts = ScriptConfiguration()
    // A page above its limit is stopped before the daemon must kill the worker.
    scripts.limits = ScriptLimits(time: .seconds(setUp.pageTime), residentBytes: setUp.memory / 4 * 3)
    scripts.ready = setUp.readyEngines
    scripts.entriesAtOnce = setUp.entriesAtOnce
    scripts.environment = ScriptValue(setUp.environment)
    scripts.nodeEnvironment = setUp.nodeEnvironment
    scripts.observer = { entries.record($0, $1, $2) }
    scripts.frameworkAdvice = { setUp.frameworkAdvice[$0.rawValue] ?? "" }
    for (name, text) in setUp.frameworks {
      if let type = BundleType(rawValue: name) { scripts.frameworks[type] = text }
    }
    scripts.preludeAdvice = { setUp.preludeAdvice[$0.rawValue] ?? "" }
    for (name, text) in setUp.preludes {
      if let type = BundleType(rawValue: name) { scripts.preludes[type] = text }
    }
    let roots = RegistryTable()
    self.roots = roots
    device = ScriptValue(setUp.environment).object ?? [:]
    var handlers = PageHandlers(
      images: DefaultImageLoader(resources), exceptions: RecordedExceptions(), navigator: NoNavigation(),
      storage: MemoryStorage(), modals: SilentModals(), sockets: NoWebSockets(advice: setUp.socketAdvice))
    // A process without the libraries cannot load them any more.
    if (try? fonts?.get()) == nil { handlers.measurer = FixedAdvances() }
    let registry = PageRegistry(defaults: handlers)
    registry.registerIdleModules(setUp.idleModules)
    environment = PageEnvironment(
      resources: resources, bundles: nil, registry: registry,
      configuration: DefaultConfiguration(device),
      frameworks: FrameworkPool(scripts),
      channelOutlet: { page, name, message in
        guard let root = (page as? RelayedPage)?.root else { return }
        let bytes = message.json.text
        guard bytes.count <= Frame.channelLimit else {
          return page.report(
            ScriptException(
              message: "a message of the channel \(name) has \(bytes.count) bytes as JSON; "
                + "the limit for other pages is \(Frame.channelLimit)"))
        }
        await socket.send(.channel(page: root, name: name), bytes)
      },
      factory: { environment, registry in
        RelayedPage(
          environment: environment, registry: registry, root: registry.flatMap { roots[$0] } ?? 0, relay: relay,
          entries: entries)
      })
  }

  func open(_ number: UInt64, _ opening: PageOpening, _ source: [UInt8]) async throws -> (PageReply, [UInt8]) {
    guard let url = PageURL(opening.url) else { throw PageFault.refused("\"\(opening.url)\" is not the URL of a page") }
    let registry = PageRegistry(parent: environment.registry)
    let handlers = RelayedHandlers(relay: relay, page: number)
    registry.register(handlers as any ResourceRequestHandling)
    registry.register(handlers as any StorageProviding, as: \.storage)
    let stack = opening.reportsCommands.map { _ in PageStack() }
    if let stack {
      registry.register(stack as any Navigating, as: \.navigator)
    } else if !opening.isOnce {
      registry.register(handlers as any Navigating, as: \.navigator)
      registry.register(handlers as any ModalPresenting, as: \.modals)
    }
    let errors = RecordedExceptions()
    registry.register(errors as any ScriptExceptionHandling, as: \.exceptions)
    if let screen = opening.device {
      let device = device.merging([
        "deviceWidth": .number(Double(screen.width) * screen.scale),
        "deviceHeight": .number(Double(screen.height) * screen.scale), "scale": .number(screen.scale),
      ]) { $1 }
      registry.register(DefaultConfiguration(device), as: \.configuration)
    }
    roots[registry] = number
    let page = RelayedPage(
      environment: environment, registry: registry, root: number, relay: relay, entries: entries)
    pages[number] = Resident(
      page: page, registry: registry, errors: errors, isReported: opening.reportsCommands != nil, stack: stack)
    if let reportsCommands = opening.reportsCommands {
      errors.tell(besides: page.id) { [socket] fault in
        socket.post(.event(page: number, name: PageNotice.name), PageNotice.thrown(fault).text)
      }
      pages[number]?.relaying = relayNotices(of: page, number, hasCommands: reportsCommands)
    } else if !opening.isOnce {
      if opening.tellsInside {
        errors.tell(besides: page.id, failures: { [relay] in relay.tellInside($0, page: number) }) { [relay] in
          relay.tellInside(PageFailureNotice($0), page: number)
        }
      }
      pages[number]?.relaying = relayEvents(of: page, number)
    }
    if opening.isRecorded, let head = try? Frame.head(of: WorkerMessage.event(page: number, name: PageNotice.recording))
    {
      page.record { [socket] bytes in
        guard bytes.count > Frame.pieceLimit else { return await socket.send(head: head, bytes) }
        for start in stride(from: 0, to: bytes.count, by: Frame.pieceLimit) {
          await socket.send(head: head, Array(bytes[start..<min(start + Frame.pieceLimit, bytes.count)]))
        }
      }
    }
    if let former = opening.former.flatMap({ pages[$0]?.page }) { page.takePictures(of: former) }
    // The caller sees it, or a program shows it.
    page.appear()
    do {
      try page.begin(url)
      var options = PageOptions(
        bundleURL: opening.options.bundleUrl ?? url.text,
        config: opening.options.config?.mapValues { ScriptValue($0) } ?? [:])
      if let type = opening.options.type { options.type = BundleType(rawValue: type) }
      options.determinism = opening.determinism
      do {
        if let last = opening.lastStep {
          try await page.render(try Recording(reading: source), to: last, options: options)
        } else {
          try await page.render(
            String(decoding: source, as: UTF8.self), options: options, data: ScriptValue(opening.data))
        }
      } catch is PageError where opening.reportsCommands != nil {
        // A notice has reported the error; the rest of the page is shown.
        return (reply(page, errors, since: 0, PendingWork()), try await view(page, nil, isReported: true))
      }
      if opening.inputs?.isEmpty == false || opening.wait.settle > 0 { page.askForFailedPictures() }
      let replayed = try await Self.replay(opening.inputs, on: page)
      let pending = await page.settle(opening.wait)
      if let failure = page.failure, opening.reportsCommands == nil { throw failure }
      let seen = try await view(page, opening.view, isReported: opening.reportsCommands != nil)
      var reply = reply(page, errors, since: 0, pending)
      reply.replay = replayed
      // Nothing can fail any more.
      reply.isFollowed = opening.former.map { succeed(page, number, $0) }
      page.askForFailedPictures()
      if opening.isOnce { await close(number) }
      return (reply, seen)
    } catch {
      await close(number)
      throw error
    }
  }

  /// The longest wait for the requests of an input that is done again, and of all, in seconds.
  private static let (inputWait, replayWait) = (0.2, 2.0)

  /// Does again what a user has done, up to the first input that no element fits.
  private static func replay(_ inputs: [PageInput]?, on page: PageInstance) async throws -> ReplayedInputs? {
    guard let inputs else { return nil }
    var done = ReplayedInputs(count: 0)
    let deadline = ContinuousClock.now + .seconds(replayWait)
    for input in inputs {
      let left = (deadline - .now).seconds
      if left > 0 { _ = await page.settle(PageWait(settle: min(inputWait, left), timers: 0)) }
      let firing = input.firing
      guard let ref = page.ref(at: input.place, listeningTo: firing.type) else {
        done.stopped = "\(firing.type) of \(input.place.description)"
        break
      }
      try await page.fireEvent(ref, firing.type, ScriptValue(firing.event), changes: ScriptValue(firing.changes))
      done.count += 1
    }
    return done
  }

  /// Runs a call of a page, and creates its view.
  ///
  /// - Parameter wait: the waits before the view; `nil` for none.
  func enter(
    _ number: UInt64, _ wanted: PageView?, wait: PageWait? = nil, _ body: (PageInstance) async throws -> Void
  ) async throws -> (PageReply, [UInt8]) {
    guard let resident = pages[number] else { throw PageFault.unknownPage }
    let before = resident.errors.count
    do {
      try await body(resident.page)
    } catch  where resident.isReported {
      throw PageFault.refused(error.sentence)
    }
    let pending = await resident.page.settle(wait ?? PageWait(settle: 0, timers: PendingWork.timerLimit.seconds))
    if let failure = resident.page.failure, !resident.isReported { throw failure }
    let seen = try await view(resident.page, wanted, isReported: resident.isReported)
    return (reply(resident.page, resident.errors, since: before, pending), seen)
  }

  /// Runs a step of a recording again; with the number 0, boots the framework of the recording.
  ///
  /// - Returns: the calls and changes of the script, without the changes if they are those of the recording.
  func replay(_ number: UInt64, step: Int, _ payload: [UInt8]) async throws -> [UInt8] {
    guard step > 0 else {
      let recording = try Recording(reading: payload)
      replays[number] = (recording, try await PageReplay(recording, limits: environment.frameworks.limits))
      return []
    }
    guard let (recording, run) = replays[number] else { throw PageFault.unknownPage }
    let recorded = try recording.step(step)
    return try await run.run(recorded).text(besides: recorded)
  }

  /// Answers a debugger's question to a page.
  ///
  /// - Returns: the state of the page, and the answer as JSON.
  /// - Throws: ``PageFault/unknownPage``, `PageError` if its script was stopped, ``ScriptError``.
  func inspect(_ number: UInt64, _ inspection: PageInspection) async throws -> (PageReply, [UInt8]) {
    guard let resident = pages[number] else { throw PageFault.unknownPage }
    let before = resident.errors.count
    if case .tree = inspection { listen(number, resident.page) }
    let found = try await resident.page.answer(inspection)
    let pending = await resident.page.settle(PageWait(settle: 0, timers: PendingWork.timerLimit.seconds))
    return (reply(resident.page, resident.errors, since: before, pending), found)
  }

  /// Reports from now on that pages have changed which a page embeds.
  private func listen(_ number: UInt64, _ page: RelayedPage) {
    if let listener = pages[number]?.listener { return listener.renew() }
    pages[number]?.listener = PageListener(page) { [socket, root = page.id] page, event in
      guard page.id != root, event.changesPreview else { return }
      await socket.send(.event(page: number, name: LiveEvent.embedded), Array("{}".utf8))
    }
  }

  /// Reports what changes in the HTML of a page, and returns the HTML as it is.
  ///
  /// - Parameter resources: the text before the URLs that its elements refer to.
  /// - Throws: ``PageFault``, ``PageError``.
  func follow(_ number: UInt64, _ resources: String) throws -> (PageReply, [UInt8]) {
    // The viewers of a former run, which ends at once, have been sent the next one.
    let number = pages[number]?.successor ?? number
    guard let resident = pages[number] else { throw PageFault.unknownPage }
    if let failure = resident.page.failure { throw failure }
    let live =
      resident.live
      ?? LivePage(resident.page, resources: resources, post: poster(number)) { [socket] in
        await socket.waitForRoom()
      }
    pages[number]?.live = live
    var reply = reply(resident.page, resident.errors, since: resident.errors.count, PendingWork())
    reply.run = number
    return (reply, live.view)
  }

  /// Goes on with the reports about a former run of a page.
  ///
  /// - Returns: `false` if there were none here.
  private func succeed(_ page: RelayedPage, _ number: UInt64, _ former: UInt64) -> Bool {
    guard let live = pages[former]?.live else { return false }
    pages[former]?.live = nil
    pages[former]?.successor = number
    pages[number]?.live = LivePage(page, after: live, run: number, post: poster(number)) { [socket] in
      await socket.waitForRoom()
    }
    return true
  }

  private func poster(_ number: UInt64) -> @Sendable ([UInt8]) -> Void {
    { [socket] patch in socket.post(.event(page: number, name: LiveEvent.patch), patch) }
  }

  func unfollow(_ number: UInt64) {
    pages[number]?.live?.stop()
    pages[number]?.live = nil
  }

  /// Delivers a message of another page's channel. A page that has ended gets none.
  ///
  /// - Parameter payload: the message as JSON.
  func deliver(_ payload: [UInt8], toChannel name: String, of numbers: [UInt64]) async {
    guard let message = ScriptValue(json: String(decoding: payload, as: UTF8.self)) else { return }
    for number in numbers where pages[number] != nil {
      await environment.deliver(message, toChannel: name, in: RelayedPage.channelScope(of: number))
    }
  }

  func close(_ number: UInt64) async {
    guard let resident = pages.removeValue(forKey: number) else { return }
    await close(resident)
  }

  /// Ends a page, and waits until all its events were sent.
  ///
  /// - Throws: ``PageFault/unknownPage``.
  func end(_ number: UInt64) async throws -> PageReply {
    guard let resident = pages.removeValue(forKey: number) else { throw PageFault.unknownPage }
    let reply = reply(resident.page, resident.errors, since: resident.errors.count, PendingWork())
    await close(resident)
    return reply
  }

  private func close(_ resident: Resident) async {
    roots[resident.registry] = nil
    resident.live?.stop()
    resident.listener?.stop()
    await resident.page.destroy()
    await resident.stack?.empty()
    await resident.relaying?.value
  }

  private func relayNotices(
    of page: RelayedPage, _ number: UInt64, hasCommands: Bool
  ) -> Task<Void, Never> {
    let (events, socket) = (page.events, socket)
    return Task.detached {
      for await event in events {
        for notice in PageNotice(event, hasCommands: hasCommands)?.pieces ?? [] {
          await socket.send(.event(page: number, name: PageNotice.name), notice.text)
        }
      }
    }
  }

  private func relayEvents(of page: RelayedPage, _ number: UInt64) -> Task<Void, Never> {
    let (events, socket) = (page.events, socket)
    return Task.detached {
      for await event in events {
        guard let (name, details) = event.told else { continue }
        await socket.send(.event(page: number, name: name), details.text)
      }
    }
  }

  private func view(_ page: PageInstance, _ wanted: PageView?, isReported: Bool) async throws -> [UInt8] {
    guard let wanted else { return isReported ? page.takeRecord(upTo: Frame.viewLimit) : [] }
    switch wanted.format {
    case .json: return await Self.away { [tree = page.tree] in tree.jsonText }
    case .outline:
      return await Self.away { [tree = page.tree] in Array(tree.outline(withStyles: wanted.withStyles).utf8) }
    case .html:
      guard let prefix = wanted.resources else {
        let preview = await page.preview(title: wanted.title, embedding: wanted.isEmbedding, limit: wanted.limit)
        return Array(preview.html.utf8)
      }
      return Array(page.linkedPreview(resources: prefix).html.utf8)
    case .png, .svg:
      guard let fonts else { throw PageFault.refused("this process draws no pages") }
      _ = try fonts.get()
      return try await page.picture(wanted.picture ?? PictureOptions(wanted.format == .svg ? .svg : .png))
    }
  }

  /// Writes a view while other pages run.
  @concurrent private nonisolated static func away(_ write: @Sendable () -> [UInt8]) async -> [UInt8] { write() }

  private func reply(
    _ page: PageInstance, _ errors: RecordedExceptions, since before: Int, _ pending: PendingWork
  ) -> PageReply {
    let timings = page.timings
    // The daemon has its own time of the bundle.
    let stages = timings.stages.filter { $0.name != "bundle" }
    return PageReply(
      phase: page.phase.rawValue, failure: page.failure.map { PageFailureNotice($0) }, elements: page.tree.count,
      timings: Dictionary(stages.compactMap { name, time in time.map { (name, $0.seconds) } }) { $1 },
      requests: timings.requests, hits: timings.hits, bytes: timings.bytes, pending: pending, messages: page.messages,
      errors: errors.latest, newErrors: errors.count - before)
  }
}

/// The page of a registry.
final class RegistryTable: Sendable {
  private let numbers = Mutex<[ObjectIdentifier: UInt64]>([:])

  subscript(registry: PageRegistry) -> UInt64? {
    get { numbers.withLock { $0[ObjectIdentifier(registry)] } }
    set { numbers.withLock { $0[ObjectIdentifier(registry)] = newValue } }
  }
}

/// Records the latest errors of scripts, and tells those of all pages but one.
package final class RecordedExceptions: ScriptExceptionHandling {
  private static let limit = 20
  private let state = Mutex((faults: [ScriptException](), count: 0))
  private let listener = Mutex<Listener?>(nil)

  private struct Listener: Sendable {
    let page: String
    let failures: (@Sendable (PageFailureNotice) -> Void)?
    let tell: @Sendable (ScriptException) -> Void
  }

  package init() {}

  /// - Parameters:
  ///   - page: the page whose events contain its own errors.
  ///   - failures: is told of embedded pages that cannot be opened.
  package func tell(
    besides page: String, failures: (@Sendable (PageFailureNotice) -> Void)? = nil,
    _ body: @escaping @Sendable (ScriptException) -> Void
  ) {
    listener.withLock { $0 = Listener(page: page, failures: failures, tell: body) }
  }

  /// An embedded page cannot be opened.
  func handle(_ failure: PageError) { listener.withLock(\.self)?.failures?(PageFailureNotice(failure)) }

  package func handle(_ exception: ScriptException, page: String, url: PageURL?) {
    state.withLock { state in
      state.count += 1
      state.faults.append(exception)
      if state.faults.count > Self.limit { state.faults.removeFirst() }
    }
    if let listener = listener.withLock(\.self), listener.page != page { listener.tell(exception.located) }
  }

  var latest: [ScriptException] { state.withLock(\.faults) }
  var count: Int { state.withLock(\.count) }
}

extension PageInstance {
  fileprivate func settle(_ wait: PageWait) async -> PendingWork {
    await pendingWork(within: .seconds(wait.settle), timers: .seconds(wait.timers))
  }
}
