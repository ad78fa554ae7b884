import ScriptEngine

/// What the native functions of one framework need: its pages, and which of them is running.
final class FrameworkState {
  var pages: [String: PageScript] = [:]
  /// Sources of the services that the framework has, by their names.
  var services: [String: String] = [:]
  /// Whose entry this is. What a script says of its page's id is not believed.
  private(set) var current: PageScript?

  static func of(_ context: ScriptContext) throws -> FrameworkState {
    guard let state = context.attachment as? FrameworkState else { throw ScriptError.closed }
    return state
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
