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
  /// The limit of questions that wait; further ones get the first button at once. A worker has 256 questions of all kinds.
  static let countLimit = 4
  /// The limits of a text and of a button's title, in bytes of UTF-8.
  static let (textLimit, titleLimit) = (10_000, 100)
  /// The time after which a question gets its first button.
  private static let patience: Duration = .seconds(600)
  /// The answers that are remembered.
  private static let givenLimit = 256

  /// An answer that was given, for a run in which the page's inputs are done again.
  struct Given: Sendable {
    /// Of the question.
    private let kind: PageMessage.Kind
    private let text: String
    fileprivate let answer: PageAnswer

    /// - Parameter answer: `nil` if no viewer has answered: the first button counts, and the preset text.
    fileprivate init(_ answer: ViewerAnswer?, to question: PageMessage) {
      (kind, text) = (question.kind, question.text)
      self.answer = answer.map { .chosen(button: $0.button, text: $0.text ?? "") } ?? .agreed(to: question)
    }

    /// `true` if the question is the same, and has the button.
    fileprivate func fits(_ question: PageMessage) -> Bool {
      guard kind == question.kind, text == question.text, case .chosen(let button, _) = answer else { return false }
      return button < max(question.buttons.count, 1)
    }
  }

  private struct Question {
    let json: [UInt8]
    let buttons: Int
    let answer: AsyncStream<ViewerAnswer>.Continuation
  }

  private struct State {
    var waiting: [Int: Question] = [:]
    var hasEnded = false
    /// The answers of this run, the oldest first.
    var given: [Given] = []
    /// Those of the run before that are not given again yet.
    var former: [Given]
  }

  /// Questions of all pages have other ids.
  private static let lastID = Mutex(0)
  private let state: Mutex<State>

  /// - Parameter former: the answers of the run before, whose inputs are done again: until the page's user goes on, a
  ///   question with the same text gets the same answer, so that nothing happens that its user has refused.
  init(after former: [Given] = []) { state = Mutex(State(former: former)) }

  /// The answers for a next run in which the inputs of this one are done again.
  var answers: [Given] { state.withLock { ($0.given + $0.former).suffix(Self.givenLimit) } }

  /// Forgets the answers of the run before: the questions that follow are those of other inputs.
  func goOn() { state.withLock { $0.former = [] } }

  /// Asks the viewers, unless the question was answered in the run before. Without viewers, the first button counts.
  ///
  /// - Parameter live: tells the viewers; `nil` if there can be none.
  func ask(_ message: PageMessage, in live: EventLog?) async -> PageAnswer {
    let question = message.cut(toBytes: Self.textLimit, titles: Self.titleLimit)
    let given: Given
    if let former = former(question) {
      given = former
    } else if let live, live.watchers > 0, !question.buttons.isEmpty {
      given = Given(await answer(to: question, in: live), to: question)
    } else {
      given = Given(nil, to: question)
    }
    state.withLock { state in
      if state.given.count >= Self.givenLimit { state.given.removeFirst() }
      state.given.append(given)
    }
    return given.answer
  }

  private func former(_ question: PageMessage) -> Given? {
    state.withLock { state in
      state.former.firstIndex { $0.fits(question) }.map { state.former.remove(at: $0) }
    }
  }

  /// - Returns: `nil` if there is none in time, or too many questions wait.
  private func answer(to question: PageMessage, in live: EventLog) async -> ViewerAnswer? {
    let (answers, answer) = AsyncStream.makeStream(of: ViewerAnswer.self)
    let id = Self.lastID.withLock { last in
      last += 1
      return last
    }
    let json = Self.json(id, question)
    let isAsked = state.withLock { state in
      guard !state.hasEnded, state.waiting.count < Self.countLimit else { return false }
      state.waiting[id] = Question(json: json, buttons: question.buttons.count, answer: answer)
      return true
    }
    guard isAsked else { return nil }
    live.append(LiveEvent.question, json)
    let found = try? await within(Self.patience) { () -> ViewerAnswer? in
      for await answer in answers { return answer }
      return nil
    }
    state.withLock { _ = $0.waiting.removeValue(forKey: id) }
    live.append(LiveEvent.answered, JSONValue.object(["id": .integer(Int64(id))]).text)
    return found ?? nil
  }

  /// Takes a viewer's answer. The question waits for no other one then.
  ///
  /// - Throws: ``PageFailure`` if it fits no question that waits.
  func take(_ answer: ViewerAnswer) throws {
    let question = try state.withLock { state in
      guard let question = state.waiting[answer.id] else {
        throw PageFailure.bundle(status: 404, reason: "no question \(answer.id) of the page waits for an answer")
      }
      guard (0..<question.buttons).contains(answer.button) else {
        throw PageFailure.badRequest(
          "the question has the buttons 0 to \(question.buttons - 1), and no button \(answer.button)")
      }
      let count = answer.text?.utf8.count ?? 0
      guard count <= Self.textLimit else {
        throw PageFailure.badRequest("the text has \(count) bytes, and the limit is \(Self.textLimit)")
      }
      state.waiting[answer.id] = nil
      return question
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
  var present: [[UInt8]] { state.withLock(\.waiting).sorted { $0.key < $1.key }.map(\.value.json) }

  private static func json(_ id: Int, _ question: PageMessage) -> [UInt8] {
    JSONValue.object([
      "id": .integer(Int64(id)), "kind": .string(question.kind.rawValue), "text": .string(question.text),
      "buttons": .array(question.buttons.map { .string($0) }), "preset": .string(question.preset ?? ""),
    ]).text
  }
}
