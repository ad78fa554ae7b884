import CJavaScriptCore
import Foundation
import Synchronization

/// Contexts that share one engine and one thread, so that only one of their scripts runs at a time.
///
///     let group = try ScriptGroup.make()
///     let sum = try await group.perform { try $0.makeContext(named: "sum").evaluate("1 + 2").value() }
package actor ScriptGroup {
  private nonisolated let thread: ScriptThread
  let limiter: ScriptLimiter
  private let raw: JSContextGroupRef
  /// The open contexts, by their ids.
  private var contexts: [Int: ScriptContext] = [:]
  private var lastID = 0

  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// Makes a group with an engine and a thread of its own.
  ///
  /// - Throws: ``ScriptError/engine(_:)``.
  // Swift 6.3's optimiser fails (“circular reference”) if another module's code allocates this class, with its isolated
  // `deinit`: nothing of it may be inlined there.
  @inline(never)
  package static func make(limits: ScriptLimits = ScriptLimits()) throws -> ScriptGroup {
    try ScriptGroup(limits: limits)
  }

  /// Loads JavaScriptCore, as the first ``make(limits:)`` would: for a process that may not open files later. Starts no
  /// thread.
  ///
  /// - Throws: ``ScriptError/engine(_:)`` if JavaScriptCore is not installed. Each ``make(limits:)`` throws it again.
  package static func loadEngine() throws {
    if let reason = pk_load_javascriptcore() { throw ScriptError.engine(String(cString: reason)) }
  }

  /// The reason why the engine's library cannot be loaded, with the package to install; `nil` if it is loaded now.
  package static var engineProblem: String? {
    do {
      try loadEngine()
      return nil
    } catch ScriptError.engine(let reason) {
      return reason
    } catch {
      return "\(error)"
    }
  }

  private init(limits: ScriptLimits) throws {
    try Self.applySettings()
    guard let raw = JSContextGroupCreate() else { throw ScriptError.engine("no group can be made") }
    self.raw = raw
    thread = ScriptThread()
    limiter = ScriptLimiter(group: raw, limits: limits, thread: thread)
  }

  isolated deinit {
    for context in contexts.values { context.close() }
    contexts = [:]
    JSContextGroupRelease(raw)
    thread.stop()
  }

  /// Runs a function on the group's thread, under its limits.
  ///
  /// - Throws: the errors of `body`; ``ScriptError`` if a script fails.
  package func perform<Result: Sendable>(
    _ body: @Sendable (isolated ScriptGroup) throws -> Result
  ) async throws -> Result {
    try limiter.entering { try body(self) }
  }

  /// Stops the running script and those that wait, until ``endInterruption()``. Their callers get
  /// ``ScriptError/closed``.
  package nonisolated func interrupt() { thread.isInterrupted.store(true, ordering: .relaxed) }

  /// Lets scripts run again.
  package func endInterruption() { thread.isInterrupted.store(false, ordering: .relaxed) }

  /// The limits of each entry.
  package var limits: ScriptLimits {
    get { limiter.limits }
    set { limiter.limits = newValue }
  }

  /// Makes a context. ``context(_:)`` returns it by its id until it is closed.
  package func makeContext(named name: String) throws -> ScriptContext {
    lastID += 1
    let context = try ScriptContext(lastID, in: raw, named: name, limiter: limiter)
    contexts[lastID] = context
    return context
  }

  /// Returns a context that is open.
  ///
  /// - Throws: ``ScriptError/closed``.
  package func context(_ id: Int) throws -> ScriptContext {
    guard let context = contexts[id] else { throw ScriptError.closed }
    return context
  }

  /// Closes a context and frees its values.
  package func close(_ id: Int) {
    guard let context = contexts.removeValue(forKey: id) else { return }
    context.close()
    // Once for eight: a collection costs more than a page.
    closed += 1
    if closed % 8 == 0 { context.collectGarbage() }
  }

  private var closed = 0

  /// The number of open contexts.
  package var contextCount: Int { contexts.count }
}

/// The thread of one group of contexts: the engine measures its stack, and scripts may block it.
///
/// It runs until ``stop()``. After a second without work it frees the memory that the engine's allocator keeps for it
/// (0.65 MB per page, measured). Threads that several groups share would save little more, and a shared thread that ended
/// while another group's engine collected garbage made the process hang, in one of two runs of the tests.
final class ScriptThread: SerialExecutor {
  /// The engine measures this stack, so that deep recursion is an error of the script and not a crash.
  private static let stackSize = 4 << 20

  /// `true` while the scripts of the thread are to stop.
  let isInterrupted = Atomic(false)
  private let wake = DispatchSemaphore(value: 0)
  private let state = Mutex((jobs: [UnownedJob](), isStopping: false))
  private let idleTime: DispatchTimeInterval
  private let whenIdle: @Sendable () -> Void

  /// - Parameters:
  ///   - idleTime: the time without work after which `whenIdle` runs on the thread, once.
  ///   - whenIdle: frees memory of the thread.
  init(
    idleTime: DispatchTimeInterval = .seconds(1),
    whenIdle: @escaping @Sendable () -> Void = { pk_release_free_memory_of_this_thread() }
  ) {
    self.idleTime = idleTime
    self.whenIdle = whenIdle
    let thread = Thread { [self] in run() }
    thread.name = "pagekit.script"
    thread.stackSize = Self.stackSize
    thread.start()
  }

  private func run() {
    while true {
      if wake.wait(timeout: .now() + idleTime) == .timedOut {
        whenIdle()
        wake.wait()
      }
      let (jobs, isStopping) = state.withLock { state in
        defer { state.jobs = [] }
        return (state.jobs, state.isStopping)
      }
      for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
      if isStopping, jobs.isEmpty { return }
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs.append(job) }
    wake.signal()
  }

  /// Ends the thread once no work is left.
  func stop() {
    state.withLock { $0.isStopping = true }
    wake.signal()
  }
}

// MARK: - The engine's settings, which must be made before the first context of the process

extension ScriptGroup {
  /// The signal with which the engine stops its threads. Its default, SIGUSR1, belongs to the app.
  private static let collectorSignal: Int32 = 36

  private static let applied: Bool = {
    // Without WebAssembly the engine installs no handler for SIGSEGV, so that crashes are reported as usual.
    for option in ["useWasm", "useWasmFaultSignalHandler"] { _ = jsc_options_set_boolean(option, 0) }
    return JSConfigureSignalForGC(collectorSignal)
  }()

  /// - Throws: ``ScriptError/engine(_:)`` if JavaScriptCore is not installed.
  fileprivate static func applySettings() throws {
    try loadEngine()
    _ = applied
  }
}
