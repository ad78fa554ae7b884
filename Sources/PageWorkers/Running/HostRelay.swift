import PageKit
import Synchronization

/// Sends the questions of pages to the daemon, and delivers the answers.
final class HostRelay: Sendable {
  /// A complete answer.
  enum Arrival: Sendable {
    case update(ResourceUpdate)
    case bundle([UInt8])
    case value(String?)
    case keys([String])
    case failed(String)
  }

  private struct Question {
    let continuation: AsyncStream<Arrival>.Continuation
    /// The received pieces of an answer.
    var head: PageAnswer?
    var bytes: [UInt8] = []
  }

  private struct State {
    var questions: [UInt64: Question] = [:]
    var lastID: UInt64 = 0
    /// Set before the first page.
    var bounds = QuestionBounds(count: .max)
  }

  private let socket: WorkerSocket
  private let state = Mutex(State())

  init(_ socket: WorkerSocket) { self.socket = socket }

  /// - Parameter questions: the limit of unanswered questions.
  func limit(questions: Int) { state.withLock { $0.bounds = QuestionBounds(count: questions) } }

  /// The answers of the daemon, up to the last one. Ending the loop cancels the question. One that exceeds the bounds is
  /// not sent, and fails.
  func ask(_ question: PageQuestion, _ payload: [UInt8] = [], page: UInt64) -> AsyncStream<Arrival> {
    let (arrivals, continuation) = AsyncStream.makeStream(of: Arrival.self)
    let (id, refusal) = state.withLock { state in
      state.lastID += 1
      let refusal = state.bounds.admit(state.lastID, bytes: payload.count)
      if refusal == nil { state.questions[state.lastID] = Question(continuation: continuation) }
      return (state.lastID, refusal)
    }
    if let refusal {
      continuation.yield(.failed(refusal))
      continuation.finish()
      return arrivals
    }
    continuation.onTermination = { [weak self] reason in
      guard case .cancelled = reason, let self else { return }
      if state.withLock({ $0.questions.removeValue(forKey: id) }) != nil { socket.post(.drop(question: id)) }
    }
    socket.post(.ask(question: id, page: page, question), payload)
    return arrivals
  }

  /// - Throws: ``RelayedError``.
  func bundle(_ url: PageURL, page: UInt64) async throws -> String {
    for await arrival in ask(.bundle(url: url.text), page: page) {
      switch arrival {
      case .bundle(let bytes): return String(decoding: bytes, as: UTF8.self)
      case .failed(let reason): throw RelayedError(reason)
      default: break
      }
    }
    throw RelayedError("\(url): the daemon did not answer")
  }

  /// Called on the reading thread.
  func receive(_ answer: PageAnswer, _ payload: [UInt8], to id: UInt64) {
    let (continuation, arrival, isLast) = state.withLock {
      state -> (AsyncStream<Arrival>.Continuation?, Arrival?, Bool) in
      if case .end = answer { state.bounds.finish(id) }
      guard var question = state.questions[id] else { return (nil, nil, false) }
      let arrival: Arrival?
      var isLast = false
      switch answer {
      case .update(let update) where !update.hasMore: arrival = .update(update.update(bytes: payload))
      case .bundle(hasMore: false): arrival = .bundle(payload)
      case .update, .bundle:
        (question.head, question.bytes, arrival) = (answer, payload, nil)
      case .piece(let hasMore):
        question.bytes += payload
        arrival = hasMore ? nil : Self.whole(question.head, question.bytes)
        if !hasMore { (question.head, question.bytes) = (nil, []) }
      case .value(let value): arrival = .value(value)
      case .keys(let keys): arrival = .keys(keys)
      case .failed(let reason):
        // A failure may occur within an answer.
        (question.head, question.bytes, arrival) = (nil, [], .failed(reason))
      case .end: (arrival, isLast) = (nil, true)
      }
      state.questions[id] = isLast ? nil : question
      return (question.continuation, arrival, isLast)
    }
    if let arrival { continuation?.yield(arrival) }
    if isLast { continuation?.finish() }
  }

  private static func whole(_ head: PageAnswer?, _ bytes: [UInt8]) -> Arrival? {
    switch head {
    case .update(let update)?: .update(update.update(bytes: bytes))
    case .bundle?: .bundle(bytes)
    default: nil
    }
  }
}

/// An error with the daemon's reason.
struct RelayedError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
