import CJavaScriptCore

/// Contexts that share one engine and one thread: what runs in one waits for what runs in another.
///
///     let group = try ScriptGroup.make()
///     let sum = try await group.perform { try $0.makeContext(named: "sum").evaluate("1 + 2").value() }
package actor ScriptGroup {
  private nonisolated let thread: ScriptThread
  let limiter: ScriptLimiter
  private nonisolated let interruption: Interruption
  private let raw: JSContextGroupRef
  private var contexts: [ContextID: ScriptContext] = [:]
  private var lastID = 0

  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// Names a context from any thread.
  package struct ContextID: Hashable, Sendable {
    fileprivate let number: Int
  }

  /// A group with an engine and a thread of its own.
  ///
  /// - Throws: ``ScriptError/engine(_:)``.
  // Swift 6.3's optimiser fails (“circular reference”) where another module's code comes to allocate this class, with
  // its isolated `deinit`: nothing of it may be inlined there.
  @inline(never)
  package static func make(limits: ScriptLimits = ScriptLimits()) throws -> ScriptGroup {
    try ScriptGroup(limits: limits)
  }

  /// Loads JavaScriptCore, which the first ``make(limits:)`` does otherwise: for a process that may open no files later.
  /// Starts no thread.
  ///
  /// - Throws: ``ScriptError/engine(_:)`` if JavaScriptCore is not installed. Each ``make(limits:)`` throws it again.
  package static func loadEngine() throws { try EngineSettings.load() }

  private init(limits: ScriptLimits) throws {
    try EngineSettings.apply()
    guard let raw = JSContextGroupCreate() else { throw ScriptError.engine("no group can be made") }
    self.raw = raw
    interruption = Interruption()
    limiter = ScriptLimiter(group: raw, limits: limits, interruption: interruption)
    thread = ScriptThread()
  }

  isolated deinit {
    for context in contexts.values { context.close() }
    contexts = [:]
    JSContextGroupRelease(raw)
    thread.stop()
  }

  /// Does something with the group's contexts, on its thread, under its limits.
  ///
  /// - Throws: what `body` throws; ``ScriptError`` where a script fails.
  package func perform<Result: Sendable>(
    _ body: @Sendable (isolated ScriptGroup) throws -> Result
  ) async throws -> Result {
    try limiter.entering { try body(self) }
  }

  /// Stops the scripts that run, and those that wait to, until ``endInterruption()``: what called them throws
  /// ``ScriptError/closed``.
  package nonisolated func interrupt() { interruption.request() }

  package func endInterruption() { interruption.clear() }

  package var limits: ScriptLimits {
    get { limiter.limits }
    set { limiter.limits = newValue }
  }

  /// To be found again by ``context(_:)`` until it is closed.
  package func makeContext(named name: String) throws -> ScriptContext {
    let context = try ScriptContext(in: raw, named: name, limiter: limiter)
    lastID += 1
    let id = ContextID(number: lastID)
    context.id = id
    contexts[id] = context
    return context
  }

  /// - Throws: ``ScriptError/closed``.
  package func context(_ id: ContextID) throws -> ScriptContext {
    guard let context = contexts[id] else { throw ScriptError.closed }
    return context
  }

  /// Lets go of a context and of all it has.
  package func close(_ id: ContextID) {
    guard let context = contexts.removeValue(forKey: id) else { return }
    context.close()
    // Once, for many: a collection costs more than a page.
    closed += 1
    if closed % 8 == 0 { context.collectGarbage() }
  }

  private var closed = 0

  package var contextCount: Int { contexts.count }
}
