import LivePages
import PageKit
import Testing

@testable import PageWorkers
@testable import RenderHost

/// The questions of a page for its viewers.
@Suite(.timeLimit(.minutes(2))) struct ViewerQuestionsTests {
  private static func confirm(_ text: String) -> PageMessage {
    PageMessage(kind: .confirm, text: text, buttons: ["Yes", "No"])
  }

  /// The events of a page that somebody views.
  private static func viewed() -> EventLog {
    let live = EventLog()
    #expect(live.addWatcher(limit: 1))
    return live
  }

  private static func button(_ answer: PageAnswer) -> Int? {
    if case .chosen(let button, _) = answer { button } else { nil }
  }

  /// Asks a question, which a viewer answers.
  private static func ask(_ text: String, of questions: ViewerQuestions, choosing button: Int) async throws {
    let live = viewed()
    async let answer = questions.ask(confirm(text), in: live)
    guard case .events(let events, _) = await live.next(after: 0, within: .seconds(60)), let event = events.first else {
      Issue.record("no viewer was asked")
      return questions.end()
    }
    let id = try #require(try JSONValue(reading: event.details)["id"].count)
    try questions.take(ViewerAnswer(id: id, button: button, text: nil))
    #expect(await Self.button(answer) == button)
  }

  @Test("a question of a run whose inputs are done again gets its answer once, though there are viewers")
  func formerAnswer() async throws {
    let first = ViewerQuestions()
    try await Self.ask("Delete?", of: first, choosing: 1)
    let second = ViewerQuestions(after: first.answers)
    let live = Self.viewed()
    #expect(await Self.button(second.ask(Self.confirm("Delete?"), in: live)) == 1)
    #expect(live.lastID == 0)
    try await Self.ask("Delete?", of: second, choosing: 0)
  }

  @Test("answers that were not given again yet are kept for the run after")
  func keptAnswers() async throws {
    let first = ViewerQuestions()
    try await Self.ask("Sure?", of: first, choosing: 1)
    try await Self.ask("Delete?", of: first, choosing: 1)
    let second = ViewerQuestions(after: first.answers)
    #expect(await Self.button(second.ask(Self.confirm("Sure?"), in: nil)) == 1)
    let third = ViewerQuestions(after: second.answers)
    for text in ["Delete?", "Sure?"] { #expect(await Self.button(third.ask(Self.confirm(text), in: nil)) == 1) }
  }

  @Test("when the user goes on, viewers are asked, and without viewers the first button counts")
  func goingOn() async throws {
    let first = ViewerQuestions()
    for _ in 1...2 { try await Self.ask("Delete?", of: first, choosing: 1) }
    let second = ViewerQuestions(after: first.answers)
    second.goOn()
    try await Self.ask("Delete?", of: second, choosing: 1)
    #expect(await Self.button(second.ask(Self.confirm("Delete?"), in: nil)) == 0)
  }

  @Test("an answer does not fit a question without its button")
  func fewerButtons() async throws {
    let first = ViewerQuestions()
    try await Self.ask("Delete?", of: first, choosing: 1)
    let second = ViewerQuestions(after: first.answers)
    let question = PageMessage(kind: .confirm, text: "Delete?", buttons: ["Yes"])
    #expect(await Self.button(second.ask(question, in: nil)) == 0)
  }
}
