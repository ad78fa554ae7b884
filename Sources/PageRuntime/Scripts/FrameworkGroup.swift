import HTTPTransport
import ScriptEngine
import Synchronization

/// A script group with a framework booted in it, ready for pages.
final class FrameworkGroup: Sendable {
  let group: ScriptGroup
  let framework: ScriptGroup.ContextID
  /// Another page may run in it after the first, since that can have changed nothing of the framework.
  let isReusable: Bool
  private let observer: (any EntryObserving)?
  private let turns: FairGate<String>
  /// What the framework was told of last.
  private let known = Mutex((modules: [String: ScriptValue](), components: [String: ScriptValue]()))

  /// A framework's files, in the order in which they are evaluated.
  typealias Source = [(name: String, text: String)]

  private init(
    group: ScriptGroup, framework: ScriptGroup.ContextID, isReusable: Bool, turns: FairGate<String>,
    observer: (any EntryObserving)?
  ) {
    self.group = group
    self.framework = framework
    self.isReusable = isReusable
    self.turns = turns
    self.observer = observer
  }

  /// - Parameters:
  ///   - environment: what scripts see as `WXEnvironment`.
  ///   - components: as `registerComponents` takes them.
  ///   - isReusable: the files freeze what pages reach of the framework, so that another page may run after the first.
  ///   - turns: where entries wait until fewer scripts run.
  /// - Throws: ``ScriptError`` where the framework itself fails.
  static func boot(
    _ source: Source, for type: BundleType = .vanilla, environment: ScriptValue, components: ScriptValue,
    isReusable: Bool = true, limits: ScriptLimits = ScriptLimits(), turns: FairGate<String>,
    observer: (any EntryObserving)? = nil
  ) async throws -> FrameworkGroup {
    // Before there is an engine: it is what takes the memory.
    let turn = await turns.enter(for: "")
    defer { turns.leave(turn) }
    let group = try ScriptGroup.make(limits: limits)
    let framework = try await group.perform { group -> ScriptGroup.ContextID in
      let context = try group.makeContext(named: "framework")
      let state = FrameworkState()
      context.attachment = state
      try context.global.set("WXEnvironment", Self.withNativePromises(environment))
      try context.global.set("global", context.global)
      try NativeFunctions(context, state).define()
      context.onUnhandledRejection { [weak state] exception in state?.current?.report(unhandled: exception) }
      for file in source { try context.evaluate(file.text, url: file.name) }
      try opener(of: type, in: context, file: source.last?.name)
      try context.global.invoke("registerComponents", [context.reference(to: components)])
      // What a page reaches of the framework's functions must not give it the framework's global. The oldest kind of
      // framework makes code of the bundle's text itself.
      context.setEvalAllowed(type == .weex)
      guard let id = context.id else { throw ScriptError.closed }
      return id
    }
    return FrameworkGroup(group: group, framework: framework, isReusable: isReusable, turns: turns, observer: observer)
  }

  /// Frameworks of iOS and Android leave the engine's promises alone only where the host says so: without them an
  /// update of a page is a timer.
  private static func withNativePromises(_ environment: ScriptValue) -> ScriptValue {
    .object(["__enable_native_promise__": true].merging(environment.object ?? [:]) { $1 })
  }

  /// The function that opens pages.
  ///
  /// - Throws: ``ScriptError`` where the framework's file defines none.
  @discardableResult
  private static func opener(
    of type: BundleType, in home: ScriptContext, file: String? = nil
  ) throws -> ScriptReference {
    let name = type == .weex ? "createInstance" : "createInstanceContext"
    let function = try home.global[name]
    guard function.isFunction else {
      throw ScriptError.exception(
        ScriptException(
          message: "\(file ?? "the framework") defines no function \(name), by which \(type.rawValue) pages are opened",
          url: file))
    }
    return function
  }

  /// Tells the framework of modules and components; those it knows stay.
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

  /// Opens and ends a page that nobody sees.
  func prime(_ source: String) async {
    let opening = Opening(
      id: "primer", source: source, url: "primer.js", type: .vanilla, config: [:], data: [:], modules: ModuleTable())
    _ = try? await open(opening)
    await close("primer")
  }

  /// What a page needs to begin.
  struct Opening: Sendable {
    let id: String
    let source: String
    /// What its errors and its `weex.config` call it.
    let url: String
    let type: BundleType
    let config: ScriptValue
    let data: ScriptValue
    let modules: ModuleTable
    /// A script that runs in the page's context before the bundle; nil for none.
    var prelude: String?
  }

  /// Makes a context for the page and runs its bundle there.
  ///
  /// - Throws: ``ScriptError`` where not even the context can be made; what the bundle throws is in the outcome.
  func open(_ opening: Opening) async throws -> EntryOutcome {
    try await inTurn(opening.id) { [framework] group in
      let home = try group.context(framework)
      let state = try FrameworkState.of(home)
      let context = try group.makeContext(named: opening.url)
      guard let contextID = context.id else { throw ScriptError.closed }
      let page = PageScript(id: opening.id, context: contextID, modules: opening.modules)
      state.pages[opening.id] = page
      state.handTimers(to: page)
      context.onUnhandledRejection(from: home) { [weak page] exception in
        page?.report(unhandled: exception)
      }
      return state.entering(page) {
        let opener = try Self.opener(of: opening.type, in: home)
        let id = home.reference(to: .string(opening.id))
        let (config, data) = (home.reference(to: opening.config), home.reference(to: opening.data))
        guard opening.type != .weex else {
          try Self.check(opener.call([id, home.reference(to: .string(opening.source)), config, data]))
          return
        }
        let made = try Self.check(opener.call([id, config, data]))
        try PageGlobals(context, state, page).define(environment: opening.config["env"])
        for name in made.propertyNames { try context.global.set(name, context.adopting(made[name])) }
        if opening.type != .vanilla { try PageGlobals(context, state, page).watchRequire() }
        page.noteCreation()
        if let prelude = opening.prelude {
          try context.evaluate(prelude, url: "\(opening.type.rawValue.lowercased())-prelude.js")
        }
        try context.evaluate(opening.source, url: opening.url)
      }
    }
  }

  /// Frameworks give errors back instead of throwing them.
  @discardableResult
  private static func check(_ result: ScriptReference) throws -> ScriptReference {
    if let error = result.errorGiven { throw ScriptError.exception(error) }
    return result
  }

  /// Calls into a page: events, callbacks, hooks.
  ///
  /// - Parameter tasks: as `callJS` takes them.
  func call(_ id: String, _ tasks: ScriptValue) async throws -> EntryOutcome {
    try await enter(id) { home, _ in
      try Self.check(home.global.invoke("callJS", [home.reference(to: .string(id)), home.reference(to: tasks)]))
    }
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

  /// Settles a promise that the page waits for.
  func settle(_ id: String, _ ticket: Int, _ result: Result<ScriptValue, any Error>) async throws -> EntryOutcome {
    try await enter(id) { _, page in try page.promise(ticket)?.settle(result) }
  }

  /// Stops what is running, and what waits to, until a page is closed.
  func interrupt() { group.interrupt() }

  /// Ends a page, and frees what it has.
  ///
  /// - Returns: whether another page may follow. `false` if the framework failed to end the page, or still has timers of
  ///   its own: they end with the page, and a framework that remembers having set one never sets it again.
  @discardableResult
  func close(_ id: String) async -> Bool {
    let turn = await turns.enter(for: id)
    // Only now: entries that were waiting for their turn are stopped at it, too.
    await group.endInterruption()
    let end = try? await enter(id, turn) { home, _ in
      try home.global.invoke("destroyInstance", [home.reference(to: .string(id))])
    }
    let hasTimers = try? await group.perform { [framework] group in
      let state = try FrameworkState.of(group.context(framework))
      guard let page = state.pages.removeValue(forKey: id) else { return false }
      group.close(page.context)
      return page.hasFrameworkTimers
    }
    guard let end, hasTimers == false else { return false }
    return end.failure == nil
  }

  private func enter(
    _ id: String, _ turn: FairGate<String>.Pass? = nil, _ body: @Sendable (ScriptContext, PageScript) throws -> Void
  ) async throws -> EntryOutcome {
    try await inTurn(id, turn) { [framework] group in
      let home = try group.context(framework)
      let state = try FrameworkState.of(home)
      guard let page = state.pages[id] else { throw ScriptError.closed }
      return state.entering(page) { try body(home, page) }
    }
  }

  /// One entry, when it is the page's turn.
  ///
  /// - Parameter turn: `nil` to wait for it.
  private func inTurn<Result: Sendable>(
    _ id: String, _ turn: FairGate<String>.Pass? = nil, _ body: @Sendable (isolated ScriptGroup) throws -> Result
  ) async throws -> Result {
    let turn = if let turn { turn } else { await turns.enter(for: id) }
    return try await group.perform { [turns, observer] group in
      observer?.began(id)
      defer {
        observer?.ended(id)
        // On the script's thread: the next need not wait until this one's caller is reached.
        turns.leave(turn)
      }
      return try body(group)
    }
  }
}
