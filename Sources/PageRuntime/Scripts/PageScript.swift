import ScriptEngine

/// A page on the script's thread: collects the calls of its script during an entry.
final class PageScript {
  let id: String
  /// The id of its context.
  let context: Int
  /// The context itself, while it is open.
  private(set) weak var scriptContext: ScriptContext?
  let modules: ModuleTable
  /// The description of the device and the app.
  let configuration: DefaultConfiguration
  private(set) var outcome = EntryOutcome()
  /// The source of the results that calls return to the script at once.
  var answers: CallAnswers
  private var timers: [Int: ScriptTimer] = [:]
  /// The functions that settle the promises of calls, by the calls' tickets.
  private var promises: [Int: (Result<ScriptValue, any Error>) throws -> Void] = [:]
  private var lastTicket = 0
  /// The open `BroadcastChannel`s, and the functions that get their messages.
  private var channels: [(number: Int, name: String, receive: ScriptReference)] = []
  private var lastChannel = 0

  /// `true` if the bundle runs in the framework's context.
  var runsInFramework = false
  /// Describes values to debuggers, once one has asked.
  private var inspector: ScriptInspector?

  /// The largest number of commands of one entry.
  private static let commandLimit = 1_000_000

  init(
    id: String, in scriptContext: ScriptContext, modules: ModuleTable, configuration: DefaultConfiguration,
    answers: CallAnswers = .made
  ) {
    (self.id, self.answers) = (id, answers)
    (context, self.scriptContext) = (scriptContext.id, scriptContext)
    self.modules = modules
    self.configuration = configuration
  }

  func add(_ command: RenderCommand) throws {
    guard outcome.commands.count < Self.commandLimit else {
      throw ScriptError.engine("the page changes more than \(Self.commandLimit) things at once")
    }
    outcome.commands.append(command)
  }

  /// Records that the script has sent a command.
  func recordCommand() { if outcome.firstCommand == nil { outcome.firstCommand = .now } }

  /// Records that the context is there, with the framework's objects for bundles.
  func recordCreation() { outcome.created = .now }

  func report(_ exception: ScriptException) { outcome.exceptions.append(exception) }

  /// Records a result that the script has got at once.
  func record(_ answer: CallAnswer) { outcome.answers.append(answer) }

  /// Reports a rejected promise without a handler.
  func report(unhandled exception: ScriptException) {
    var exception = exception
    exception.message = "unhandled rejection: \(exception.message)"
    report(exception)
  }

  /// The largest number of missing parts of one entry: a script may make up names.
  private static let missingLimit = 200

  /// Records a part that is not registered.
  func record(_ part: MissingPart) {
    if outcome.missing.count < Self.missingLimit, !outcome.missing.contains(part) { outcome.missing.append(part) }
  }

  /// Records a module if it is not registered.
  func recordIfMissing(_ module: String) {
    if modules.modules[module] == nil { record(.module(String(module.prefix(100)))) }
  }

  /// Records the data that a hook has returned for a component in a cell.
  func setData(_ data: [String: ScriptValue], ofComponent id: String) { outcome.componentData[id] = data }

  /// The limit of a text that a script logs, in bytes.
  private static let logLimit = 64 << 10

  /// Records what the script logs. A text above the limit is cut.
  func log(_ level: String, _ text: String) {
    outcome.logs.append((level.cut(toBytes: 100), text.cut(toBytes: Self.logLimit)))
  }

  /// Records a call that is made after the entry.
  ///
  /// - Parameter settle: settles the promise that the script got, if any.
  func later(_ call: ModuleCall, settle: ((Result<ScriptValue, any Error>) throws -> Void)? = nil) {
    var ticket: Int?
    if let settle {
      lastTicket += 1
      promises[lastTicket] = settle
      ticket = lastTicket
    }
    outcome.calls.append((call, ticket))
  }

  /// Settles the promise of a call.
  func settle(_ ticket: Int, _ result: Result<ScriptValue, any Error>) throws {
    try promises.removeValue(forKey: ticket)?(result)
  }

  // MARK: Timers

  /// The largest number of timers that wait at once.
  static let timerLimit = 10_000

  func add(_ timer: ScriptTimer) {
    guard timers.count < Self.timerLimit else {
      return log("error", "the page has more than \(Self.timerLimit) timers")
    }
    timers[timer.id] = timer
    outcome.timers.append((timer.id, timer.delay, timer.repeats))
  }

  /// `true` if a timer of the framework itself is still waiting.
  var hasFrameworkTimers: Bool { timers.values.contains(where: \.isFramework) }

  func removeTimer(_ id: Int) {
    guard timers.removeValue(forKey: id) != nil else { return }
    outcome.cancelledTimers.append(id)
  }

  /// Calls the function of a timer.
  func fireTimer(_ id: Int) throws {
    guard let timer = timers[id] else { return }
    if !timer.repeats { timers[id] = nil }
    try timer.body.call(timer.arguments)
  }

  // MARK: Channels

  /// The largest number of channels that are open at once.
  static let channelLimit = 1_000
  /// The largest length of a channel's name in bytes.
  static let channelNameLimit = 4_096

  /// Opens a channel. The host hears of the first one of a name.
  ///
  /// - Parameter receive: called with each message of other pages.
  /// - Returns: the channel's number.
  /// - Throws: ``ScriptError`` if there are too many channels, or the name is too long.
  func openChannel(_ name: String, _ receive: ScriptReference) throws -> Int {
    guard channels.count < Self.channelLimit, name.utf8.count <= Self.channelNameLimit else {
      throw ScriptError.engine(
        "a page may open \(Self.channelLimit) channels, with names of \(Self.channelNameLimit) bytes")
    }
    if !channels.contains(where: { $0.name == name }) { callChannels("open", [.string(name)]) }
    lastChannel += 1
    channels.append((lastChannel, name, receive))
    return lastChannel
  }

  func closeChannel(_ number: Int) {
    guard let index = channels.firstIndex(where: { $0.number == number }) else { return }
    let name = channels.remove(at: index).name
    if !channels.contains(where: { $0.name == name }) { callChannels("close", [.string(name)]) }
  }

  /// Records a message of a channel for other pages.
  ///
  /// - Throws: ``ScriptError`` if the message is not plain data.
  func post(_ message: ScriptReference, from number: Int) throws {
    guard let name = channels.first(where: { $0.number == number })?.name else { return }
    callChannels("post", [.string(name), try message.value()])
  }

  /// Delivers a message of another page. Receivers that throw are reported.
  ///
  /// - Throws: ``ScriptError`` if the script is stopped.
  func deliver(_ message: ScriptValue, to name: String) throws {
    guard let message = scriptContext?.reference(to: message) else { return }
    for channel in channels where channel.name == name {
      do {
        try channel.receive.call([message])
      } catch ScriptError.exception(let exception) {
        report(exception)
      }
    }
  }

  private func callChannels(_ method: String, _ arguments: [ScriptValue]) {
    later(ModuleCall(page: id, module: "broadcastChannel", method: method, ref: nil, arguments: arguments))
  }

  // MARK: Debuggers

  /// Answers a debugger's question about the script.
  ///
  /// - Parameter home: the framework's context.
  /// - Returns: JSON.
  /// - Throws: ``ScriptError`` if the script is stopped.
  func answer(_ inspection: PageInspection, home: ScriptContext) throws -> [UInt8] {
    guard let context = runsInFramework ? home : scriptContext else { throw ScriptError.closed }
    let inspector = try inspector ?? ScriptInspector(in: context)
    self.inspector = inspector
    switch inspection {
    case .tree, .box, .edit: return []
    case .evaluate(let session, let expression, let group, let byValue, let preview):
      return try inspector.evaluate(expression, session: session, group: group, byValue: byValue, preview: preview)
    case .call(let session, let function, let handle, let arguments, let group, let byValue, let preview):
      return try inspector.call(
        function, on: handle, arguments, session: session, group: group, byValue: byValue, preview: preview)
    case .properties(let session, let handle, let preview, let withIndexes):
      return try inspector.properties(of: handle, session: session, preview: preview, withIndexes: withIndexes)
    case .release(let session, let handle, let group):
      try inspector.release(session: session, handle: handle, group: group)
      return Array("{}".utf8)
    }
  }

  /// Returns the outcome of the entry, and begins a new one.
  func endEntry() -> EntryOutcome {
    defer { outcome = EntryOutcome() }
    return outcome
  }
}

/// A function that a script wants called after a delay.
struct ScriptTimer {
  /// The id, unique among the timers of a group.
  let id: Int
  let body: ScriptReference
  let arguments: [ScriptReference]
  let delay: Duration
  let repeats: Bool
  /// `true` if the framework has set the timer, and not the page's own script.
  let isFramework: Bool

  init(
    id: Int, _ body: ScriptReference, _ arguments: [ScriptReference] = [], milliseconds: Double, repeats: Bool = false,
    isFramework: Bool
  ) {
    (self.id, self.body, self.arguments, self.repeats) = (id, body, arguments, repeats)
    self.isFramework = isFramework
    // HTML §8.6: an interval has at least 4 ms. A delay that is not finite is 0.
    let limited = milliseconds.isFinite ? min(max(milliseconds, repeats ? 4 : 0), 86_400_000 * 24) : 0
    delay = .milliseconds(Int(limited))
  }
}

/// The outcome of one entry into a page's script.
struct EntryOutcome: Sendable {
  var commands: [RenderCommand] = []
  /// The calls of modules' methods that the host makes after the entry, with the numbers of their promises.
  var calls: [(call: ModuleCall, ticket: Int?)] = []
  /// The timers that were set.
  var timers: [(id: Int, delay: Duration, repeats: Bool)] = []
  var cancelledTimers: [Int] = []
  var exceptions: [ScriptException] = []
  var logs: [(level: String, text: String)] = []
  var missing: [MissingPart] = []
  /// The data of components in cells, by their ids.
  var componentData: [String: [String: ScriptValue]] = [:]
  /// The time at which the page's context was made; `nil` for later entries.
  var created: ContinuousClock.Instant?
  /// The time of the first command.
  var firstCommand: ContinuousClock.Instant?
  /// The results that calls have returned at once, if the page is recorded.
  var answers: [CallAnswer] = []
  /// The error that ended the entry; `nil` if there was none.
  var failure: ScriptError?
}
