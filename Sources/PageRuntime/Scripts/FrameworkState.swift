import ScriptEngine

/// The state that the native functions of a framework share: its pages, and the one that is running.
final class FrameworkState {
  var pages: [String: PageScript] = [:]
  /// The sources of the framework's services, by name.
  var services: [String: String] = [:]
  /// The page whose script is running. The page id that a script passes is not trusted.
  private(set) var current: PageScript?
  /// Timers that the framework set while there was no page; the next page gets them.
  private var waitingTimers: [ScriptTimer] = []
  private var lastTimer = 0

  static func of(_ context: ScriptContext) throws -> FrameworkState {
    guard let state = context.attachment as? FrameworkState else { throw ScriptError.closed }
    return state
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

  func entering(_ page: PageScript, _ body: () throws -> Void) -> EntryOutcome {
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
    var outcome = page.takeOutcome()
    outcome.failure = failure
    return outcome
  }
}
