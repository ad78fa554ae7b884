import HTTPTransport
import ScriptEngine

/// An input of a page's script. All that a script hears comes this way, and in this order.
enum ScriptInput: Sendable {
  /// The bundle runs for the first time.
  case open(ScriptOpening)
  /// A task of the framework's `callJS`, such as `fireEvent` or `callback`. `json` is a member that its second argument gets
  /// too, as JSON.
  case call(method: String, [ScriptValue], json: (name: String, text: String)? = nil)
  /// Hooks in the lifecycle of components in cells.
  case hooks([FrameworkGroup.ComponentHook])
  /// New data.
  case refresh(ScriptValue)
  /// A timer is due.
  case timer(Int)
  /// A message of a channel.
  case message(ScriptValue, channel: String)
  /// The result of a call that returned a promise; a failure is the text of the error.
  case settle(ticket: Int, Result<ScriptValue, DescribedError>)
}

/// The bundle that a page opens with, and what it is given.
struct ScriptOpening: Sendable {
  let purpose: FrameworkPool.Purpose
  let config: ScriptValue
  let data: ScriptValue
  /// The description of the device and the app.
  var configuration = DefaultConfiguration()
  /// A script that runs in the page's context before the bundle.
  var prelude: String?
  var answers = CallAnswers.made
}

/// Where the results come from that calls of modules return to the script at once.
enum CallAnswers: Sendable {
  /// The modules make them.
  case made
  /// The modules make them, and they are recorded.
  case recorded
  /// They are those of an earlier run, in the order of the calls.
  case given(ArraySlice<CallAnswer>)
}

/// A result that a call of a module has returned to the script at once.
enum CallAnswer: Hashable, Sendable {
  case value(ScriptValue)
  /// The message of the error that it threw.
  case error(String)
}

extension FrameworkGroup {
  /// Enters a page's script.
  ///
  /// - Throws: ``ScriptError`` if there is no such page, or its context cannot be made. An error of the script is in the
  ///   outcome.
  func enter(_ id: String, _ input: ScriptInput) async throws -> EntryOutcome {
    switch input {
    case .open(let opening):
      try await open(
        id, opening.purpose, config: opening.config, data: opening.data, configuration: opening.configuration,
        prelude: opening.prelude, answers: opening.answers)
    case .call(let method, let arguments, let json):
      try await call(id, [["method": .string(method), "args": .array(arguments)]], json: json)
    case .hooks(let hooks): try await run(hooks, of: id)
    case .refresh(let data): try await refresh(id, data)
    case .timer(let timer): try await fireTimer(id, timer)
    case .message(let message, let channel): try await deliver(id, message, to: channel)
    case .settle(let ticket, let result): try await settle(id, ticket, result.mapError { $0 as any Error })
    }
  }
}

extension PageScript {
  /// Returns the result of a call to the script at once.
  ///
  /// - Parameter make: asks the module.
  /// - Throws: the errors of `make`, or that of the earlier run.
  func answer(_ make: () throws -> ScriptValue) throws -> ScriptValue {
    switch answers {
    case .made: return try make()
    case .recorded:
      do {
        let value = try make()
        record(.value(value))
        return value
      } catch {
        if case ScriptError.exception(let exception) = error {
          record(.error(exception.message))
        } else {
          record(.error("\(error)"))
        }
        throw error
      }
    case .given(let given):
      guard let answer = given.first else {
        throw ScriptError.exception(ScriptException(message: "the recording has no answer to this call"))
      }
      answers = .given(given.dropFirst())
      record(answer)
      switch answer {
      case .value(let value): return value
      case .error(let message): throw ScriptError.exception(ScriptException(message: message))
      }
    }
  }
}
