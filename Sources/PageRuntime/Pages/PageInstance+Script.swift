import Bundles
import Foundation
import HTTPTransport
import ScriptEngine

extension PageInstance {
  /// Enters the script, after the outcomes of earlier entries have been applied.
  ///
  /// - Parameter atEnd: called when the script has returned, before its outcome is applied, unless the page has ended or
  ///   was opened again.
  func enter(_ input: ScriptInput, atEnd: @escaping @PageActor () -> Void = {}) async throws {
    try await enter(input, by: { [id] in try await $0.enter(id, input) }, atEnd: atEnd)
  }

  /// - Parameters:
  ///   - input: what the script is entered with; `nil` for what is in no recording, such as a debugger's question.
  ///   - body: enters the script.
  func enter(
    _ input: ScriptInput?, by body: @escaping @Sendable (FrameworkGroup) async throws -> EntryOutcome,
    atEnd: @escaping @PageActor () -> Void = {}
  ) async throws {
    guard let group else { throw ScriptError.closed }
    let former = entries
    let entry = Task { @PageActor [weak self] in
      await former?.value
      guard self?.group === group else { throw ScriptError.closed }
      let began = self?.rerun?.time ?? self?.time?.milliseconds
      if let began { group.clock?.begin(at: began) }
      let outcome = try await body(group)
      if let clock = group.clock { self?.time?.move(toMilliseconds: clock.now) }
      if self?.group === group { atEnd() }
      await self?.apply(outcome, of: group, after: input, at: began)
      if let self, let recorder { await recorder.flush(tree) }
    }
    entries = Task { _ = await entry.result }
    try await entry.value
  }

  /// Applies an outcome. Other pages take turns with a long one.
  ///
  /// - Parameters:
  ///   - input: what the script was entered with.
  ///   - entered: the time of the script when it was entered; `nil` for the machine's.
  private func apply(
    _ outcome: EntryOutcome, of group: FrameworkGroup, after input: ScriptInput?, at entered: Double?
  ) async {
    guard isRunning(in: group) else { return }
    if let input { recorder?.record(input, at: entered ?? 0, outcome) }
    if let created = outcome.created { timings.createInstance = created - began }
    if timings.firstElement == nil, let first = outcome.firstCommand { timings.firstElement = first - began }
    noteSlides(outcome.commands)
    var rest = outcome.commands[...]
    while !rest.isEmpty {
      applyOwn(Array(rest.prefix(Self.commandsAtOnce)))
      rest = rest.dropFirst(Self.commandsAtOnce)
      // A recording has the changes that come from elsewhere before the script's, or after them.
      if recorder != nil { continue }
      guard !rest.isEmpty else { break }
      await Task.yield()
      guard isRunning(in: group) else { return }
    }
    noteNewSlides()
    if !outcome.componentData.isEmpty { setComponentData(outcome.componentData) }
    for log in outcome.logs { feed.send(.log(level: log.level, text: log.text)) }
    for part in outcome.missing { record(part) }
    for exception in outcome.exceptions { report(exception) }
    if rerun == nil {
      for id in outcome.cancelledTimers { cancelTimer(id) }
      for timer in outcome.timers { start(timer) }
      for (call, ticket) in outcome.calls { dispatch(call, ticket: ticket) }
    } else {
      rerun?.note(outcome)
    }
    if let failure = outcome.failure { end(with: failure) }
    followLayout()
  }

  private func isRunning(in group: FrameworkGroup) -> Bool { self.group === group && phase != .destroyed }

  /// The number of commands after which other pages have their turn: a few milliseconds.
  private static let commandsAtOnce = 1_000
  /// The number of refused commands among those that are applied at once that are reported one by one.
  private static let refusalsTold = 20

  /// Applies changes that do not come from an entry of the script.
  func apply(_ commands: [RenderCommand]) {
    // A page that runs again has those of the recording.
    guard rerun == nil else { return }
    applyRecorded(commands)
  }

  /// Applies changes that do not come from an entry, also while the page runs the steps of a recording again.
  func applyRecorded(_ commands: [RenderCommand]) {
    recorder?.record(commands)
    applyOwn(commands)
  }

  private func applyOwn(_ commands: [RenderCommand]) {
    guard !commands.isEmpty else { return }
    let applied = working { changeElements(by: commands) }
    if snapshot == nil { feed.send(.commands(applied)) }
    followSources(applied)
    for command in applied {
      switch command {
      case .createFinish: finishCreation()
      case .refreshFinish: feed.send(.refreshed)
      default: break
      }
    }
    // A bundle may make its body after it has waited for something.
    if phase == .empty { finishCreation() }
  }

  /// Changes the elements, and those of the layout.
  ///
  /// - Returns: the commands that fit the tree.
  private func changeElements(by commands: [RenderCommand]) -> [RenderCommand] {
    let insertions = commands.reduce(0) { $0 + $1.insertions }
    // A change of the tree, and be it of its room, drops its expansion.
    if insertions > 0 { tree.reserve(insertions) }
    var refusals: Set<Int> = []
    for (index, command) in commands.enumerated() where command.changesElements {
      do {
        try tree.apply(command)
      } catch {
        refusals.insert(index)
        if refusals.count <= Self.refusalsTold { report(ScriptException(message: "\(error)")) }
      }
    }
    let refused = refusals.count
    let applied = refused == 0 ? commands : commands.indices.filter { !refusals.contains($0) }.map { commands[$0] }
    if refused > Self.refusalsTold {
      report(ScriptException(message: "\(refused - Self.refusalsTold) more changes of elements are invalid"))
    }
    elementLayout?.follow(applied, in: tree)
    sentElements?.note(applied)
    return applied
  }

  func setImage(_ state: ImageState?, of ref: String) {
    tree.setImage(state, of: ref)
    if tree[ref] != nil { sentElements?.note(state, of: ref) }
    if snapshot == nil { feed.send(.image(ref: ref, state)) }
    guard elementLayout != nil else { return }
    elementLayout?.setPictureSize(state, of: ref)
    followLayout()
  }

  /// Puts an element where its animation would end.
  func endAnimation(of ref: String, _ styles: [String: ScriptValue]) {
    apply([.updateStyle(ref, styles)])
    followLayout()
  }

  /// Moves the page to the phase `live`, if it has a body: a framework may call createFinish without one.
  func finishCreation() {
    guard !hasRendered, tree.body != nil else { return }
    hasRendered = true
    timings.createFinish = .now - began
    _ = move(to: .live)
    endSnapshot()
    feed.send(.rendered)
    storeSnapshot()
    if failure == nil { trial?.rendered() }
    registry.handlers.monitor?.record(timings, page: id, url: url)
    tellVisibility()
  }

  /// Ends the page if it has not rendered or its script was stopped; otherwise reports the error, and the page goes on.
  func end(with error: ScriptError) {
    switch error {
    case .exception(let exception) where phase == .live: report(exception)
    case .closed: break
    default: _ = fail(scriptError(error))
    }
  }

  /// The page's error for a script's error.
  func scriptError(_ error: ScriptError) -> PageError {
    let name = purpose?.url ?? url?.text ?? "page-\(id).js"
    return .script(url: name, purpose.map { environment.frameworks.explained(error, of: $0.type) } ?? error)
  }

  /// Registers the services. One that fails is reported, and the page opens without it.
  func registerServices(in group: FrameworkGroup) async {
    do {
      for failure in try await group.register(registry.services) { report(failure) }
    } catch {
      report(ScriptException(message: "services: \(error)"))
    }
  }

  package func report(_ exception: ScriptException) {
    feed.send(.exception(exception))
    registry.handlers.exceptions.handle(exception, page: id, url: url)
  }
}

extension PageInstance {
  func dispatch(_ call: ModuleCall, ticket: Int?) {
    guard let method = registry.method(of: call, in: tree) else {
      let type = call.ref.flatMap { tree[$0]?.type }
      record(type.map { .method(of: $0, call.method) } ?? registry.modules.missing(call.module, call.method))
      return
    }
    let key = UUID()
    let task = Task { @PageActor [weak self] in
      guard let self else { return }
      defer { self.calls[key] = nil }
      do {
        switch method {
        // Of a component: its script has gone on without the result.
        case .immediate(let body): _ = try body(call, self.configuration)
        case .deferred(_, let body): try await body(call, self)
        case .promised(let body):
          let result: Result<ScriptValue, any Error>
          do {
            result = .success(try await body(call, self))
          } catch {
            result = .failure(error)
          }
          guard let ticket else { return _ = try result.get() }
          try await self.enter(.settle(ticket: ticket, result.mapError { DescribedError("\($0)") }))
        }
      } catch {
        if error is CancellationError || Task.isCancelled { return }
        self.report(ScriptException(message: "\(self.name(of: call)): \(error)"))
      }
    }
    calls[key] = (task, call.ref == nil && call.module == "stream")
  }

  /// The call's name: `module.method` or `component.method`.
  private func name(of call: ModuleCall) -> String {
    "\(call.ref.map { tree[$0]?.type ?? "element \($0)" } ?? call.module).\(call.method)"
  }
}

extension PageInstance {
  /// Taps the first element that a query finds, as a user does: the event `click` goes to that element, or to the nearest
  /// around it that listens.
  ///
  ///     try await page.click(.text("Buy"))
  ///     await page.settle(within: .seconds(10))
  ///
  /// To tap another one than the first, look it up with ``ElementTree/all(_:)`` and click its ``ElementQuery/ref(_:)``.
  ///
  /// - Throws: ``ClickError`` if there is no such element, or if none listens; ``ScriptError/closed`` if the page has no
  ///   script; ``EventError`` if the element is gone by then.
  public func click(_ query: ElementQuery) async throws {
    try await fireEvent(try expandedTree.tree.clicked(query).ref, "click")
  }

  /// Fires an event on an element. While a snapshot is shown, the event waits for the script's elements.
  ///
  /// An `appear` or `disappear` that the page's layout has fired on the element last is not fired again; later ones are the
  /// app's.
  ///
  /// A user's change of the element, such as typed text, is in ``tree`` and in the script's element before the script
  /// handles the event:
  ///
  ///     try await page.fireEvent(ref, "input", ["value": "Ann"], changes: ["attrs": ["value": "Ann"]])
  ///
  /// - Parameters:
  ///   - ref: the element's ref in ``tree``.
  ///   - type: the event's type, such as `click`.
  ///   - event: further members of the event object.
  ///   - changes: the user's changes of the element, `attrs` and `style`. Without them, the events of `input`, `textarea`,
  ///     `switch` and sliders change the attribute that devices change: `{value: "Ann"}` of an input its `value`.
  /// - Throws: ``ScriptError/closed`` if the page has no script; ``EventError`` if there is no such element, or if that of
  ///   a snapshot is not among the script's elements.
  public func fireEvent(
    _ ref: String, _ type: String, _ event: ScriptValue = [:], changes: ScriptValue = .undefined
  ) async throws {
    let live = await liveRef(of: ref)
    guard group != nil else { throw ScriptError.closed }
    guard let live else { throw EventError(ref: ref, type: type) }
    if noteFired(type, on: live, event) { return }
    try await send(type, to: live, event, changes: changes)
    if timings.interaction == nil { timings.interaction = .now - began }
  }

  /// Sends an event to an element of the script.
  ///
  /// - Parameter target: the event's target; `nil` for that of now.
  /// - Throws: as ``fireEvent(_:_:_:changes:)``.
  func send(
    _ type: String, to live: String, _ event: ScriptValue, changes: ScriptValue = .undefined, target: EventTarget? = nil
  ) async throws {
    guard group != nil else { throw ScriptError.closed }
    // An event of a cell that a template made is the template's; its arguments are the cell's.
    let target = target ?? eventTarget(live, type)
    guard let element = tree[target.ref] else { throw EventError(ref: live, type: type) }
    let isOwn = target.ref == live
    let changes = isOwn && changes.isNothing ? element.changes(by: type, event) : changes
    var commands: [RenderCommand] = []
    if isOwn {
      if let attributes = changes["attrs"].object { commands.append(.updateAttributes(live, attributes)) }
      if let style = changes["style"].object { commands.append(.updateStyle(live, style)) }
    }
    apply(commands)
    var event = event
    if let component = target.component, let members = event.object {
      event = .object(members.merging(["componentId": .string(component)]) { $1 })
    }
    // The framework knows the arguments of an element's own events.
    let options: [ScriptValue] = isOwn ? [] : [["params": target.arguments ?? .undefined]]
    try await call("fireEvent", [.string(target.ref), .string(type), event, changes] + options)
  }

  /// Calls a callback of the script.
  ///
  /// - Parameters:
  ///   - id: the id from ``ModuleCall/callback(at:)``.
  ///   - value: the callback's argument.
  ///   - keepAlive: `true` if the callback will be called again; otherwise the framework frees it.
  /// - Throws: ``ScriptError/closed`` if the page has no script.
  public func callback(_ id: String, _ value: ScriptValue, keepAlive: Bool = false) async throws {
    try await callback(id, value, keepAlive: keepAlive, json: nil)
  }

  /// - Parameter json: a member that the argument, an object, gets too, as JSON: the script sees its members in their
  ///   order. A text that is not JSON stays text.
  func callback(
    _ id: String, _ value: ScriptValue, keepAlive: Bool, json: (name: String, text: String)? = nil,
    atEnd: @escaping @PageActor () -> Void = {}
  ) async throws {
    try await call("callback", [.string(id), value, .bool(keepAlive)], json: json, atEnd: atEnd)
  }

  /// The largest number of messages of channels that wait for a page's script.
  private static let waitingMessageLimit = 1_000

  /// Delivers a message of another page's `BroadcastChannel`. It is dropped if too many wait.
  func receive(_ message: ScriptValue, from channel: String) async {
    guard group != nil else { return }
    guard waitingMessages < Self.waitingMessageLimit else {
      guard !dropsMessages else { return }
      dropsMessages = true
      return report(
        ScriptException(
          message: "messages of the channel \(channel) are dropped: \(Self.waitingMessageLimit) wait for the page"))
    }
    dropsMessages = false
    waitingMessages += 1
    defer { waitingMessages -= 1 }
    try? await enter(.message(message, channel: channel))
  }

  /// Replaces the page's data, and lets the script render it.
  ///
  /// - Throws: ``ScriptError/closed`` if the page has no script.
  public func refresh(data: ScriptValue) async throws {
    try await enter(.refresh(data))
  }

  func call(
    _ method: String, _ arguments: [ScriptValue], json: (name: String, text: String)? = nil,
    atEnd: @escaping @PageActor () -> Void = {}
  ) async throws {
    try await enter(.call(method: method, arguments, json: json), atEnd: atEnd)
  }
}

/// The error of an event for an element that the page does not have.
public struct EventError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The ref of the event's element.
  public let ref: String
  /// The event's type.
  public let type: String

  public var description: String {
    "there is no element \(ref.quotedForMessage) for the event \(type.quotedForMessage)"
  }
}

extension ElementTree.Element {
  /// The attribute that a device has changed when it fires an event of the user; `undefined` for other events.
  fileprivate func changes(by event: String, _ details: ScriptValue) -> ScriptValue {
    let (attribute, member): (String, String)
    switch (type, event) {
    case ("input", "input"), ("input", "change"), ("input", "return"), ("textarea", "input"), ("textarea", "change"),
      ("textarea", "return"):
      (attribute, member) = ("value", "value")
    case ("switch", "change"): (attribute, member) = ("checked", "value")
    case (_, "change") where Self.sliderTypes.contains(type): (attribute, member) = ("index", "index")
    default: return .undefined
    }
    return details[member] == .undefined ? .undefined : ["attrs": [attribute: details[member]]]
  }
}
