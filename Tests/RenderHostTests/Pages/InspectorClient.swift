import Foundation
import HTTPTypes
import PageKit
import PageTesting
import TestSupport

/// A client of the Chrome DevTools Protocol.
final class InspectorClient: Sendable {
  struct Failed: Error, CustomStringConvertible {
    let description: String
  }

  private struct State {
    var messages: [ScriptValue] = []
    var isOpen = false
    /// The code of the close, or the reason why there is no connection.
    var end: String?
    var last = 0
  }

  private let state = Monitor(State())
  private let commands: AsyncStream<WebSocketCommand>.Continuation
  private let run: Task<Void, Never>

  /// Connects to a web socket.
  ///
  /// - Throws: ``Failed`` if it is refused.
  init(_ url: String, fields: HTTPFields = [:]) async throws {
    let (stream, commands) = AsyncStream.makeStream(of: WebSocketCommand.self)
    self.commands = commands
    run = Task { [state] in
      await WebSocketTransport().run(WebSocketRequest(url: url, fields: fields), commands: stream) { event in
        state.change { state in
          switch event {
          case .opened: state.isOpen = true
          case .message(.text(let text)): state.messages.append(ScriptValue(json: text) ?? .null)
          case .message(.binary): break
          case .failed(let reason): state.end = state.end ?? reason
          case .closed(let code, _, _): state.end = state.end ?? "\(code)"
          }
        }
      }
    }
    try await state.wait(within: .seconds(60), until: { $0.isOpen || $0.end != nil })
    if let end = state.read({ $0.isOpen ? nil : $0.end }) { throw Failed(description: end) }
  }

  deinit { run.cancel() }

  func send(_ text: String) { commands.yield(.send(.text(text))) }
  func send(_ bytes: [UInt8]) { commands.yield(.send(.binary(bytes))) }

  /// Sends a request, and returns its result.
  ///
  /// - Parameter session: the session of a target, for a browser.
  /// - Throws: ``Failed`` if the answer is an error.
  @discardableResult
  func ask(_ method: String, _ params: ScriptValue = [:], session: String? = nil) async throws -> ScriptValue {
    let answer = try await answer(to: method, params, session: session)
    guard answer["error"] == .undefined else { throw Failed(description: "\(method): \(answer["error"])") }
    return answer["result"]
  }

  /// Sends a request, and returns its answer.
  func answer(to method: String, _ params: ScriptValue = [:], session: String? = nil) async throws -> ScriptValue {
    let id = state.change { state in
      state.last += 1
      return state.last
    }
    var message: [String: ScriptValue] = ["id": .number(Double(id)), "method": .string(method), "params": params]
    if let session { message["sessionId"] = .string(session) }
    send(ScriptValue.object(message).jsonText)
    try await state.wait(within: .seconds(60), until: { $0.end != nil || $0.messages.contains { $0["id"].int == id } })
    guard let answer = state.read({ $0.messages.last { $0["id"].int == id } }) else {
      throw Failed(description: "\(method): the connection ended: \(state.read { $0.end ?? "" })")
    }
    return answer
  }

  /// Waits for an event.
  func event(_ method: String, where isWanted: @escaping @Sendable (ScriptValue) -> Bool = { _ in true }) async throws
    -> ScriptValue
  {
    @Sendable func found(_ state: State) -> ScriptValue? {
      state.messages.first { $0["method"].string == method && isWanted($0["params"]) }?["params"]
    }
    try await state.wait(within: .seconds(60), until: { $0.end != nil || found($0) != nil })
    guard let event = state.read(found) else { throw Failed(description: "\(method) has not come") }
    return event
  }

  /// Waits until the connection has ended, and returns the close's code.
  func end() async throws -> String {
    try await state.wait(within: .seconds(60), until: { $0.end != nil })
    return state.read { $0.end ?? "" }
  }

  func close() { commands.yield(.close(code: 1000, reason: "")) }
}
