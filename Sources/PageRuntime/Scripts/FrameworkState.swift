import ScriptEngine
import Synchronization

/// The state that the native functions of a framework share: its pages, and the one that is running.
final class FrameworkState {
  /// The time and the random numbers of the group's scripts; `nil` for those of the machine.
  let clock: ScriptClock?
  /// The value of `process.env.NODE_ENV` in scripts.
  let nodeEnvironment: String
  var pages: [String: PageScript] = [:]
  /// The sources of the framework's services, by name.
  var services: [String: String] = [:]
  /// The page whose script is running. The page id that a script passes is not trusted.
  private(set) var current: PageScript?
  /// The commands of the running page that have not been read.
  var buffer: JSONBuffer?
  /// Gives a global object its members; see `PageGlobals.swift`.
  var globalsFunction: ScriptReference?
  /// Reports rejected promises that no script handles, of the running page.
  var rejectionHandler: ScriptReference?
  /// The functions that give scripts the time and the random numbers of ``clock``.
  var pinned: (now: ScriptReference, random: ScriptReference)?
  /// The bundle that ran last.
  private var bundle: (text: String, source: ScriptSource?)?
  /// Timers that the framework set while there was no page; the next page gets them.
  private var waitingTimers: [ScriptTimer] = []
  private var lastTimer = 0

  init(clock: ScriptClock? = nil, nodeEnvironment: String = ScriptConfiguration.defaultNodeEnvironment) {
    (self.clock, self.nodeEnvironment) = (clock, nodeEnvironment)
  }

  static func of(_ context: ScriptContext) throws -> FrameworkState {
    guard let state = context.attachment as? FrameworkState else { throw ScriptError.closed }
    return state
  }

  /// Lets go of all references to values of the context, which hold the context.
  func contextCloses() {
    (buffer, globalsFunction, rejectionHandler, pinned) = (nil, nil, nil, nil)
    (pages, waitingTimers) = ([:], [])
  }

  /// Returns a bundle's source. That of a bundle that runs more than once is kept.
  func source(_ text: String) -> ScriptSource {
    let runsAgain = bundle?.text == text
    let source = (runsAgain ? bundle?.source : nil) ?? ScriptSource(text)
    bundle = (text, runsAgain ? source : nil)
    return source
  }

  /// Returns a number that no other timer of the group has or had.
  func nextTimer() -> Int {
    lastTimer += 1
    return lastTimer
  }

  /// Sets a timer for a page, or for the next one if there is none.
  func add(_ timer: ScriptTimer, for page: PageScript?) {
    if let page { return page.add(timer) }
    if waitingTimers.count < PageScript.timerLimit { waitingTimers.append(timer) }
  }

  func removeTimer(_ id: Int, of page: PageScript?) {
    page?.removeTimer(id)
    waitingTimers.removeAll { $0.id == id }
  }

  /// Gives a page the timers that were set before it.
  func handTimers(to page: PageScript) {
    for timer in waitingTimers { page.add(timer) }
    waitingTimers = []
  }

  /// Reads the commands of the running page. Those with invalid arguments are reported.
  ///
  /// - Throws: ``ScriptError`` if they are too many, or cannot be read.
  func readCommands() throws {
    try buffer?.drain { reader in
      repeat {
        do {
          try current?.add(RenderCommand(reading: &reader))
        } catch ScriptError.exception(let exception) {
          current?.report(exception)
        }
      } while reader.accept(",")
    }
  }

  /// Reads the commands at the end of an entry. The script has ended: an error is the page's.
  private func readLastCommands() {
    do {
      try readCommands()
    } catch {
      current?.report(ScriptException(message: "\(error)"))
    }
  }

  func entering(_ page: PageScript, _ body: () throws -> Void) -> EntryOutcome {
    if current != nil { readLastCommands() }
    let former = current
    current = page
    defer { current = former }
    var failure: ScriptError?
    do {
      try body()
    } catch let error as ScriptError {
      failure = error
    } catch {
      failure = .engine("\(error)")
    }
    readLastCommands()
    var outcome = page.endEntry()
    outcome.failure = failure
    return outcome
  }
}

// MARK: - Services

extension FrameworkGroup {
  /// Runs the scripts of new services, each of which calls `service.register(name, {create, refresh, destroy})`, in the
  /// framework's context, and removes services that are no longer registered. A service that fails is left out.
  ///
  /// - Returns: the errors, each with the service's name.
  func register(_ services: [(name: String, source: String)]) async throws -> [ScriptException] {
    let isEmpty = services.isEmpty
    guard hasServices.exchange(!isEmpty, ordering: .relaxed) || !isEmpty else { return [] }
    return try await group.perform { [framework] group in
      let home = try group.context(framework)
      let state = try FrameworkState.of(home)
      for (name, source) in state.services
      where !services.contains(where: { $0.name == name && $0.source == source }) {
        try home.global.invoke("unregisterService", [home.reference(to: .string(name))])
        state.services[name] = nil
      }
      var failures: [ScriptException] = []
      for (name, source) in services where state.services[name] == nil {
        state.services[name] = source
        do {
          try home.evaluate(Self.wrapped(source), url: "service \(name)")
        } catch let error as ScriptError {
          failures.append(ScriptException(message: "service \(name): \(error)"))
        }
      }
      return failures
    }
  }

  /// Puts the script into a function, so that services do not share names. The function begins on the script's first line,
  /// so that lines count as in the file.
  private static func wrapped(_ source: String) -> String {
    "(function (service) { \(source)\n})({ register: function (name, options) { registerService(name, options) }, "
      + "unregister: function (name) { unregisterService(name) } })"
  }
}
