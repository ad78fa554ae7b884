import ScriptEngine

/// A page's side on the script thread: what it has asked for since it was entered.
final class PageScript {
  let id: String
  let context: ScriptGroup.ContextID
  let modules: ModuleTable
  private(set) var outcome = EntryOutcome()
  private var timers: [Int: ScriptTimer] = [:]
  private var promises: [Int: PendingPromise] = [:]
  private var lastTicket = 0

  /// Commands of one entry; a script that makes more is not after a page.
  private static let commandLimit = 1_000_000

  init(id: String, context: ScriptGroup.ContextID, modules: ModuleTable) {
    self.id = id
    self.context = context
    self.modules = modules
  }

  func add(_ command: RenderCommand) throws {
    guard outcome.commands.count < Self.commandLimit else {
      throw ScriptError.engine("the page changes more than \(Self.commandLimit) things at once")
    }
    if outcome.commands.isEmpty { outcome.firstCommand = .now }
    outcome.commands.append(command)
  }

  /// Its context is there, with what the framework gives to bundles.
  func noteCreation() { outcome.created = .now }

  func report(_ exception: ScriptException) { outcome.exceptions.append(exception) }

  /// A promise that was rejected, and that nobody looks at.
  func report(unhandled exception: ScriptException) {
    var exception = exception
    exception.message = "unhandled rejection: \(exception.message)"
    report(exception)
  }

  /// Of one entry; who makes up more names is told nothing new.
  private static let missingLimit = 200

  /// Something that the page wants and that nobody registered.
  func note(_ part: MissingPart) {
    if outcome.missing.count < Self.missingLimit, !outcome.missing.contains(part) { outcome.missing.append(part) }
  }

  /// Notes a module where nobody registered it.
  func noteIfMissing(_ module: String) {
    if modules.modules[module] == nil { note(.module(String(module.prefix(100)))) }
  }

  func log(_ level: String, _ text: String) { outcome.logs.append(.init(level: level, text: text)) }

  /// Something the host does after the entry; `answersPromise` where the script waits for a promise of it.
  func later(_ call: ModuleCall, promise: PendingPromise? = nil) {
    var ticket: Int?
    if let promise {
      lastTicket += 1
      promises[lastTicket] = promise
      ticket = lastTicket
    }
    outcome.calls.append(.init(call: call, ticket: ticket))
  }

  func promise(_ ticket: Int) -> PendingPromise? { promises.removeValue(forKey: ticket) }

  // MARK: Timers

  /// Timers waiting at once; a page that wants more is not after time.
  static let timerLimit = 10_000

  func add(_ timer: ScriptTimer) {
    guard timers.count < Self.timerLimit else {
      return log("error", "the page has more than \(Self.timerLimit) timers")
    }
    timers[timer.id] = timer
    outcome.timers.append(.init(id: timer.id, delay: timer.delay, repeats: timer.repeats))
  }

  /// Whether a function of the framework's still waits for its time.
  var hasFrameworkTimers: Bool { timers.values.contains(where: \.isFramework) }

  func removeTimer(_ id: Int) {
    guard timers.removeValue(forKey: id) != nil else { return }
    outcome.cancelledTimers.append(id)
  }

  /// Calls what a timer was set for.
  func fireTimer(_ id: Int) throws {
    guard let timer = timers[id] else { return }
    if !timer.repeats { timers[id] = nil }
    try timer.body.call(timer.arguments)
  }

  /// What came of the entry; the next one begins anew.
  func takeOutcome() -> EntryOutcome {
    defer { outcome = EntryOutcome() }
    return outcome
  }
}

/// A function that a script wants called after a while.
struct ScriptTimer {
  /// No two timers of one group have the same.
  let id: Int
  let body: ScriptReference
  let arguments: [ScriptReference]
  let delay: Duration
  let repeats: Bool
  /// The framework has set it, not the page's own script.
  let isFramework: Bool

  init(
    id: Int, _ body: ScriptReference, _ arguments: [ScriptReference] = [], milliseconds: Double, repeats: Bool = false,
    isFramework: Bool
  ) {
    (self.id, self.body, self.arguments, self.repeats) = (id, body, arguments, repeats)
    self.isFramework = isFramework
    // HTML §8.6: a script that asks for nothing gets a little; what cannot be counted is nothing.
    let limited = milliseconds.isFinite ? min(max(milliseconds, repeats ? 4 : 0), 86_400_000 * 24) : 0
    delay = .milliseconds(Int(limited))
  }
}

/// What came of one entry into a page's script.
struct EntryOutcome: Sendable {
  struct Log: Hashable, Sendable {
    let level: String
    let text: String
  }

  /// A timer that was set.
  struct Timer: Hashable, Sendable {
    let id: Int
    let delay: Duration
    let repeats: Bool
  }

  /// A call of a module's method that the host does on its own time.
  struct DeferredCall: Sendable {
    let call: ModuleCall
    let ticket: Int?
  }

  var commands: [RenderCommand] = []
  var calls: [DeferredCall] = []
  var timers: [Timer] = []
  var cancelledTimers: [Int] = []
  var exceptions: [ScriptException] = []
  var logs: [Log] = []
  var missing: [MissingPart] = []
  /// When the page's context was there; nil for entries into a page that has one.
  var created: ContinuousClock.Instant?
  /// When the first of the commands was given.
  var firstCommand: ContinuousClock.Instant?
  /// Why the entry ended before its end; nil where it did not.
  var failure: ScriptError?
}
