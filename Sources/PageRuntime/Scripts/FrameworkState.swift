import ScriptEngine

/// What the native functions of one framework need: its pages, and which of them is running.
final class FrameworkState {
  var pages: [String: PageScript] = [:]
  /// Sources of the services that the framework has, by their names.
  var services: [String: String] = [:]
  /// Whose entry this is. What a script says of its page's id is not believed.
  private(set) var current: PageScript?
  /// Timers that the framework set while no page was there; the next page's host fires them.
  private var waitingTimers: [ScriptTimer] = []
  private var lastTimer = 0

  static func of(_ context: ScriptContext) throws -> FrameworkState {
    guard let state = context.attachment as? FrameworkState else { throw ScriptError.closed }
    return state
  }

  /// A number that no other timer of the group has or had.
  func nextTimer() -> Int {
    lastTimer += 1
    return lastTimer
  }

  /// Sets a timer for a page, or for the next one where there is none.
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
