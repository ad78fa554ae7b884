import LivePages
import PageKit
import PageWorkers
import Synchronization

/// A viewer's answer to a question of the page's script.
struct ViewerAnswer: Decodable, Sendable {
  let id: Int
  /// The number of the button, from 0.
  let button: Int
  /// The text that a prompt asks for.
  let text: String?
}

/// The questions of a run of a page, by the module `modal`, that wait for its viewers. The first answer counts.
final class ViewerQuestions: Sendable {
  /// The limit of questions that wait; further ones get the first button at once.
  static let countLimit = 16
  /// The limits of a text and of a button's title, in characters.
  static let (textLimit, titleLimit) = (10_000, 100)
  /// The time after which a question gets its first button.
  private static let patience: Duration = .seconds(600)

  private struct Question {
    let message: PageMessage
    let answer: AsyncStream<ViewerAnswer>.Continuation
  }

  /// Questions of all pages have other ids.
  private static let lastID = Mutex(0)
  private let state = Mutex<(waiting: [Int: Question], hasEnded: Bool)>(([:], false))

  /// Asks the viewers. Without any, the answer is the first button.
  ///
  /// - Parameter live: tells the viewers; `nil` if there can be none.
  func ask(_ message: PageMessage, in live: EventLog?) async -> PageAnswer {
    guard let live, live.watchers > 0, !message.buttons.isEmpty else { return .agreed(to: message) }
    let (answers, answer) = AsyncStream.makeStream(of: ViewerAnswer.self, bufferingPolicy: .bufferingNewest(1))
    let id = Self.lastID.withLock { last in
      last += 1
      return last
    }
    let isAsked = state.withLock { state in
      guard !state.hasEnded, state.waiting.count < Self.countLimit else { return false }
      state.waiting[id] = Question(message: message, answer: answer)
      return true
    }
    guard isAsked else { return .agreed(to: message) }
    live.append(LiveEvent.question, Self.json(id, message))
    let found = try? await within(Self.patience) { () -> ViewerAnswer? in
      for await answer in answers { return answer }
      return nil
    }
    state.withLock { _ = $0.waiting.removeValue(forKey: id) }
    live.append(LiveEvent.answered, JSONValue.object(["id": .integer(Int64(id))]).text)
    guard let answer = found ?? nil else { return .agreed(to: message) }
    return .chosen(button: answer.button, text: answer.text ?? "")
  }

  /// Takes a viewer's answer.
  ///
  /// - Throws: ``PageFailure`` if it fits no question that waits.
  func take(_ answer: ViewerAnswer) throws {
    guard let question = state.withLock({ $0.waiting[answer.id] }) else {
      throw PageFailure.bundle(status: 404, reason: "no question \(answer.id) of the page waits for an answer")
    }
    let count = question.message.buttons.count
    guard (0..<count).contains(answer.button) else {
      throw PageFailure.badRequest("the question has the buttons 0 to \(count - 1), and no button \(answer.button)")
    }
    guard answer.text?.count ?? 0 <= Self.textLimit else {
      throw PageFailure.badRequest(
        "the text has \(answer.text?.count ?? 0) characters, and the limit is \(Self.textLimit)")
    }
    question.answer.yield(answer)
  }

  /// Gives the questions that wait their first buttons: the run has ended.
  func end() {
    let questions = state.withLock { state in
      state.hasEnded = true
      return state.waiting.values
    }
    for question in questions { question.answer.finish() }
  }

  /// The details of ``LiveEvent/question`` of each question that waits, the oldest first.
  var present: [[UInt8]] {
    state.withLock(\.waiting).sorted { $0.key < $1.key }.map { Self.json($0, $1.message) }
  }

  private static func json(_ id: Int, _ message: PageMessage) -> [UInt8] {
    let buttons = message.buttons.map { JSONValue.string(String($0.prefix(titleLimit))) }
    return JSONValue.object([
      "id": .integer(Int64(id)), "kind": .string(message.kind.rawValue),
      "text": .string(String(message.text.prefix(textLimit))), "buttons": .array(buttons),
      "preset": .string(String((message.preset ?? "").prefix(textLimit))),
    ]).text
  }
}
