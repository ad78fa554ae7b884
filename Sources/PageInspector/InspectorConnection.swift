import Foundation
import HTTPTransport
import NIOCore
import PageRuntime
import Synchronization

/// Runs a session over the web socket of a debugger.
///
/// Messages are taken in turn, and the answer to one is written before the next one is taken: a debugger that reads slowly
/// has its session wait, and not its messages in memory.
package struct InspectorConnection: Sendable {
  /// The largest length of a debugger's message in bytes.
  package static let messageLimit = 4 << 20
  /// The number of times without news after which a debugger that has sent nothing meanwhile is gone.
  private static let silences = 3

  /// Returns the bytes that come over the socket next; `nil` at the end.
  let read: @Sendable () async throws -> ByteBuffer?
  /// Each returns what has happened to the page since its last call; empty after a time without news, and `nil` at the
  /// page's end.
  let news: [@Sendable () async -> [InspectorNews]?]
  /// Answers a question.
  let answer: @Sendable (InspectorQuestion) async -> InspectorAnswer

  package init(
    read: @escaping @Sendable () async throws -> ByteBuffer?,
    news: [@Sendable () async -> [InspectorNews]?],
    answer: @escaping @Sendable (InspectorQuestion) async -> InspectorAnswer
  ) {
    (self.read, self.news, self.answer) = (read, news, answer)
  }

  private enum Input: Sendable {
    case socket(SocketInput)
    case news([InspectorNews])
    case pageEnded
    case answer(InspectorAnswer, Int)
  }

  /// Runs a session until the debugger or the page ends it, or the task is cancelled. The page then keeps nothing for it.
  ///
  /// - Parameter write: writes bytes, and returns when there is room for more.
  /// - Throws: the errors of writing.
  package func run(_ session: InspectorSession, write: (ByteBuffer) async throws -> Void) async throws {
    var session = session
    let inputs = Mailbox<Input>(limit: 16)
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await SocketInput.read(limit: Self.messageLimit, from: read) { await inputs.put(.socket($0)) } }
        for next in news {
          group.addTask {
            while let news = await next(), !Task.isCancelled { await inputs.put(.news(news)) }
            await inputs.put(.pageEnded)
          }
        }
        defer { group.cancelAll() }
        var silences = 0
        while let input = await inputs.next() {
          var actions: [InspectorAction] = []
          switch input {
          case .socket(let input):
            silences = 0
            switch input {
            case .message(.text(let text)): actions = session.receive(Array(text.utf8))
            case .message(.binary(let bytes)): actions = session.receive(bytes)
            case .ping(let answer): try await write(answer)
            case .sign: break
            case .end(let last):
              if let last { try await write(last) }
              return
            }
          case .news(let news):
            for item in news { actions += session.receive(item, at: Date().timeIntervalSince1970 * 1_000) }
            if news.isEmpty {
              silences += 1
              guard silences <= Self.silences else { return }
              try await write(SocketFrames.ping)
            }
          case .pageEnded:
            try await write(SocketFrames.text(InspectorSession.detached))
            return try await write(SocketFrames.close(1000))
          case .answer(let answer, let question): actions = session.receive(answer, to: question)
          }
          for action in actions {
            switch action {
            case .send(let text): try await write(SocketFrames.text(text))
            case .ask(let number, let question):
              group.addTask { await inputs.put(.answer(await answer(question), number)) }
            }
          }
        }
      }
    } catch {
      await release(&session)
      throw error
    }
    await release(&session)
  }

  private func release(_ session: inout InspectorSession) async {
    for case .ask(_, let question) in session.end() {
      let task = Task { _ = await answer(question) }
      await task.value
    }
  }
}

/// Hands values from several tasks to one, which takes them in turn. A task that puts one waits while it is full.
package final class Mailbox<Value: Sendable>: Sendable {
  private struct State {
    var values: [Value] = []
    var putting = WaitList()
    var taking = WaitList()
  }

  private let limit: Int
  private let state = Mutex(State())

  package init(limit: Int) { self.limit = limit }

  /// Adds a value; a task that is cancelled adds none.
  package func put(_ value: Value) async {
    while !Task.isCancelled {
      let waiting: [WaitList.Waiter]? = state.withLock { state in
        guard state.values.count < limit else { return nil }
        state.values.append(value)
        return state.taking.removeAll()
      }
      if let waiting { return waiting.resume() }
      await state.wait(in: \.putting) { $0.values.count < limit }
    }
  }

  /// Takes the next value; `nil` for a task that is cancelled.
  package func next() async -> Value? {
    while !Task.isCancelled {
      let taken: (Value, [WaitList.Waiter])? = state.withLock { state in
        state.values.isEmpty ? nil : (state.values.removeFirst(), state.putting.removeAll())
      }
      if let (value, waiting) = taken {
        waiting.resume()
        return value
      }
      await state.wait(in: \.taking) { !$0.values.isEmpty }
    }
    return nil
  }
}
