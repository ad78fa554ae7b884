import HTTPTransport
import ScriptEngine
import Synchronization

/// A script group with a framework booted in it, ready for pages.
final class FrameworkGroup: Sendable {
  let group: ScriptGroup
  /// The id of the framework's context.
  let framework: Int
  /// `true` if another page may run in it after the first, which cannot have changed the framework.
  let isReusable: Bool
  /// The time and the random numbers of the group's scripts; `nil` for those of the machine.
  let clock: ScriptClock?
  private let observer: WorkObserver?
  private let turns: FairGate<String>
  /// The modules and components that the framework was told of last.
  private let known = Mutex((modules: [String: ScriptValue](), components: [String: ScriptValue]()))
  /// `true` if services run in the framework.
  let hasServices = Atomic(false)

  /// A framework's files, in the order in which they are evaluated.
  typealias Source = [(name: String, text: String)]

  private init(
    group: ScriptGroup, framework: Int, isReusable: Bool, clock: ScriptClock?, turns: FairGate<String>,
    observer: WorkObserver?
  ) {
    self.group = group
    self.framework = framework
    self.isReusable = isReusable
    self.clock = clock
    self.turns = turns
    self.observer = observer
  }

  /// - Parameters:
  ///   - environment: the `WXEnvironment` of scripts.
  ///   - components: in the form that `registerComponents` takes.
  ///   - isReusable: `true` if the files freeze everything of the framework that pages reach, so that another page may run
  ///     after the first.
  ///   - determinism: the time, the random numbers, the zone and the locale; `nil` for those of the machine.
  ///   - nodeEnvironment: what scripts see as `process.env.NODE_ENV`.
  ///   - turns: limits the number of scripts that run at once.
  /// - Throws: ``ScriptError`` if the framework itself fails.
  static func boot(
    _ source: Source, for type: BundleType = .vanilla, environment: ScriptValue, components: ScriptValue,
    isReusable: Bool = true, determinism: PageDeterminism? = nil,
    nodeEnvironment: String = ScriptConfiguration.defaultNodeEnvironment, limits: ScriptLimits = ScriptLimits(),
    turns: FairGate<String>, observer: WorkObserver? = nil
  ) async throws -> FrameworkGroup {
    // Before there is an engine, which takes the memory.
    let turn = await turns.enter(for: "")
    defer { turns.leave(turn) }
    let group = try ScriptGroup.make(limits: limits)
    let clock = determinism.map { ScriptClock($0) }
    let framework = try await group.perform { group -> Int in
      let context = try group.makeContext(named: "framework")
      let state = FrameworkState(clock: clock, nodeEnvironment: nodeEnvironment)
      context.attachment = state
      context.onClose = { [weak state] in state?.contextCloses() }
      if let clock { try state.pin(context, to: clock) }
      try context.global.set("WXEnvironment", Self.withNativePromises(environment))
      try state.defineFunctions(in: context)
      let handler = context.makeRejectionHandler { [weak state] exception in
        state?.current?.report(unhandled: exception)
      }
      state.rejectionHandler = handler
      context.onUnhandledRejection(handler)
      for file in source { try context.evaluate(file.text, url: file.name) }
      let opener = try opener(of: type, in: context, file: source.last?.name)
      try context.global.invoke("registerComponents", [context.reference(to: components)])
      // The functions that a page reaches must not give it the framework's global. Older frameworks make code of the
      // bundle's text themselves.
      context.setEvalAllowed(!opener.makesContext)
      return context.id
    }
    return FrameworkGroup(
      group: group, framework: framework, isReusable: isReusable, clock: clock, turns: turns, observer: observer)
  }

  /// Adds the member without which frameworks of iOS and Android replace the engine's promises: then every update of a
  /// page would be a timer.
  private static func withNativePromises(_ environment: ScriptValue) -> ScriptValue {
    .object(["__enable_native_promise__": true].merging(environment.object ?? [:]) { $1 })
  }

  /// The function that opens pages: `createInstanceContext`, or `createInstance` of frameworks before 0.23.6 and of those
  /// for the oldest type of bundles.
  ///
  /// - Returns: the function. `makesContext` is `true` if it makes the members of a context for the bundle, and `false` if
  ///   it is given the bundle's text, and runs it in the framework's context.
  /// - Throws: ``ScriptError`` if the framework's file defines none.
  private static func opener(of type: BundleType, in home: ScriptContext, file: String? = nil) throws
    -> (function: ScriptReference, makesContext: Bool)
  {
    for name in type == .weex ? ["createInstance"] : ["createInstanceContext", "createInstance"] {
      let function = try home.global[name]
      if function.isFunction { return (function, name == "createInstanceContext") }
    }
    let names = type == .weex ? "createInstance" : "createInstanceContext or createInstance"
    throw ScriptError.exception(
      ScriptException(
        message: "the framework file for \(type.rawValue) defines no function \(names), by which pages are opened",
        url: file))
  }

  /// Tells the framework of modules and components, if they differ from those that it knows.
  func register(_ modules: ModuleTable, _ components: ComponentTable) async throws {
    let (newModules, newComponents) = known.withLock { known in
      defer { known = (modules.names, components.names) }
      return (known.modules != modules.names, known.components != components.names)
    }
    guard newModules || newComponents else { return }
    try await group.perform { [framework] group in
      let home = try group.context(framework)
      try home.global.invoke("registerModules", [home.reference(to: .object(modules.names))])
      try home.global.invoke("registerComponents", [home.reference(to: components.descriptions)])
    }
  }

  /// Opens and ends a page that is not shown.
  func prime(_ source: String) async {
    let purpose = FrameworkPool.Purpose(
      type: .vanilla, url: "primer.js", source: source, modules: ModuleTable(), components: ComponentTable())
    _ = try? await open("primer", purpose)
    await close("primer")
  }

  /// Frees what booting has left over, so that the first page does not wait for it.
  func collectGarbage() async {
    try? await group.perform { [framework] group in try group.context(framework).collectGarbage() }
  }

  /// A call of a hook in the lifecycle of a component in a cell; `target` is the id of the component, or of its template.
  typealias ComponentHook = (target: String, name: String, arguments: [ScriptValue], component: String)

  /// Makes a context for the page and runs its bundle there.
  ///
  /// - Parameters:
  ///   - purpose: the bundle, and the modules that it may call.
  ///   - configuration: the description of the device and the app.
  ///   - prelude: a script that runs in the page's context before the bundle.
  ///   - answers: where the results of calls come from that the script gets at once.
  /// - Throws: ``ScriptError`` if the context cannot be made. An error of the bundle is in the outcome.
  func open(
    _ id: String, _ purpose: FrameworkPool.Purpose, config: ScriptValue = [:], data: ScriptValue = [:],
    configuration: DefaultConfiguration = DefaultConfiguration(), prelude: String? = nil,
    answers: CallAnswers = .made
  ) async throws -> EntryOutcome {
    try await inTurn(id) { [framework] group in
      let home = try group.context(framework)
      let state = try FrameworkState.of(home)
      let context = try group.makeContext(named: purpose.url)
      if let clock = state.clock { try state.pin(context, to: clock) }
      let page = PageScript(
        id: id, in: context, modules: purpose.modules, configuration: configuration, answers: answers)
      state.pages[id] = page
      state.handTimers(to: page)
      if let handler = state.rejectionHandler { context.onUnhandledRejection(handler) }
      return state.entering(page) {
        let opener = try Self.opener(of: purpose.type, in: home)
        let arguments = [.string(id), config, data].map { home.reference(to: $0) }
        guard opener.makesContext else {
          page.runsInFramework = true
          let source = home.reference(to: .string(purpose.source))
          try Self.check(opener.function.call([arguments[0], source] + arguments[1...]))
          return
        }
        let made = try Self.check(opener.function.call(arguments))
        try state.prepareGlobals(of: context, page: id, environment: config["env"], members: made)
        page.recordCreation()
        if let prelude {
          try context.evaluate(prelude, url: "\(purpose.type.rawValue.lowercased())-prelude.js")
        }
        try context.evaluate(state.source(purpose.source), url: purpose.url)
      }
    }
  }

  /// Throws an error that a framework returned instead of throwing it.
  @discardableResult
  private static func check(_ result: ScriptReference) throws -> ScriptReference {
    if let error = result.errorGiven { throw ScriptError.exception(error) }
    return result
  }

  /// Calls into a page: events, callbacks, hooks.
  ///
  /// - Parameters:
  ///   - tasks: in the form that the framework's `callJS` takes.
  ///   - json: a member that the second argument of the first task gets too, as JSON; `nil` for none.
  func call(_ id: String, _ tasks: ScriptValue, json: (name: String, text: String)? = nil) async throws -> EntryOutcome
  {
    try await enter(id) { home, _ in
      let tasks = home.reference(to: tasks)
      if let json { try tasks["0"]["args"]["1"].set(json.name, home.reference(toJSON: json.text)) }
      try Self.check(home.global.invoke("callJS", [home.reference(to: .string(id)), tasks]))
    }
  }

  /// Calls hooks of components in cells, in order. One that throws is reported. The data of a component is what its hook
  /// `create` or `syncState` returns.
  func run(_ hooks: [ComponentHook], of id: String) async throws -> EntryOutcome {
    try await enter(id) { home, page in
      for hook in hooks {
        let task: ScriptValue = [
          "method": "componentHook",
          "args": [.string(hook.target), "lifecycle", .string(hook.name), .array(hook.arguments)],
        ]
        do {
          let results = try Self.check(
            home.global.invoke("callJS", [home.reference(to: .string(id)), home.reference(to: [task])]))
          guard hook.name == "create" || hook.name == "syncState" else { continue }
          if let data = try results["0"].value().object { page.setData(data, ofComponent: hook.component) }
        } catch ScriptError.exception(let exception) {
          page.report(exception)
        } catch ScriptError.notPlainData(let reason) {
          page.report(ScriptException(message: "the data of a component in a cell is not plain data: \(reason)"))
        }
      }
    }
  }

  /// Says where the results of a page's next calls come from that it gets at once.
  func give(_ answers: CallAnswers, to id: String) async throws {
    _ = try await enter(id) { _, page in page.answers = answers }
  }

  func refresh(_ id: String, _ data: ScriptValue) async throws -> EntryOutcome {
    try await enter(id) { home, _ in
      try Self.check(
        home.global.invoke("refreshInstance", [home.reference(to: .string(id)), home.reference(to: data)]))
    }
  }

  func fireTimer(_ id: String, _ timer: Int) async throws -> EntryOutcome {
    try await enter(id) { _, page in try page.fireTimer(timer) }
  }

  /// Delivers a message of another page to the page's channels of the name.
  func deliver(_ id: String, _ message: ScriptValue, to name: String) async throws -> EntryOutcome {
    try await enter(id) { _, page in try page.deliver(message, to: name) }
  }

  /// Answers a debugger's question about the page's script.
  ///
  /// - Returns: the outcome, and the answer as JSON.
  /// - Throws: ``ScriptError`` if the page has ended.
  func inspect(_ id: String, _ inspection: PageInspection) async throws -> (EntryOutcome, [UInt8]) {
    let answer = Mutex([UInt8]())
    let outcome = try await enter(id) { home, page in
      let text = try page.answer(inspection, home: home)
      answer.withLock { $0 = text }
    }
    return (outcome, answer.withLock(\.self))
  }

  /// Settles a promise of the page.
  func settle(_ id: String, _ ticket: Int, _ result: Result<ScriptValue, any Error>) async throws -> EntryOutcome {
    try await enter(id) { _, page in try page.settle(ticket, result) }
  }

  /// Stops the running script and those that wait for their turn, until a page is closed.
  func interrupt() { group.interrupt() }

  /// Ends a page and frees its context.
  ///
  /// - Returns: `true` if another page may follow. `false` if the framework failed to end the page, or still has timers of
  ///   its own: they end with the page, and a framework that has set one does not set it again.
  @discardableResult
  func close(_ id: String) async -> Bool {
    let mayFollow = try? await inTurn(id) { [framework] group in
      // Not earlier: entries that were waiting for their turn are to be stopped too.
      group.endInterruption()
      let home = try group.context(framework)
      let state = try FrameworkState.of(home)
      guard let page = state.pages[id] else { return false }
      let end = state.entering(page) { try home.global.invoke("destroyInstance", [home.reference(to: .string(id))]) }
      state.pages[id] = nil
      group.close(page.context)
      return end.failure == nil && !page.hasFrameworkTimers
    }
    return mayFollow ?? false
  }

  private func enter(
    _ id: String, _ body: @Sendable (ScriptContext, PageScript) throws -> Void
  ) async throws -> EntryOutcome {
    try await inTurn(id) { [framework] group in
      let home = try group.context(framework)
      let state = try FrameworkState.of(home)
      guard let page = state.pages[id] else { throw ScriptError.closed }
      return state.entering(page) { try body(home, page) }
    }
  }

  /// Enters the script when it is the page's turn.
  private func inTurn<Result: Sendable>(
    _ id: String, _ body: @Sendable (isolated ScriptGroup) throws -> Result
  ) async throws -> Result {
    let turn = await turns.enter(for: id)
    return try await group.perform { [turns, observer] group in
      observer?(id, .entry, .begin)
      defer {
        observer?(id, .entry, .end)
        // On the script's thread, so that the next entry does not wait for this one's caller.
        turns.leave(turn)
      }
      return try body(group)
    }
  }
}
