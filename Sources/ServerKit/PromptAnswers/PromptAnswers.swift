import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// Makes answers without waiting, with everything that the middleware of a listener does for its requests: the id, the
/// limits, the metrics and the line in the log.
package final class PromptAnswers: Sendable {
  /// A request that is to be answered at once.
  package struct Asked: Sendable {
    package let head: HTTPRequest
    /// The address of the client; `nil` if it is unknown.
    package let client: String?
    /// Takes the offer to replay the answer.
    package let replay: ReplayContext?
    package let disconnection: ClientDisconnection
    /// `nil` if no line is logged for an answer without an error.
    package let note: AccessLogNote?
  }

  /// An answer, all of which is there.
  package struct Answer: Sendable {
    package var head: HTTPResponse
    /// `nil` for an answer without a body.
    package let body: ByteBuffer?

    /// - Parameters:
    ///   - response: an answer whose body has a known length.
    ///   - body: the bytes of its body; `nil` for none.
    package init(_ response: Response, body: ByteBuffer?) {
      head = response.head
      self.body = body
    }
  }

  private let limits: ServerSettings.Limits
  private let metrics: RequestMetricsMiddleware
  private let log: AccessLogMiddleware
  private let logger: Logger
  private let make: @Sendable (Asked) -> Answer?
  private let made = Atomic<Int>(0)

  /// The number of answers that were made.
  package var count: Int { made.load(ordering: .relaxed) }

  /// - Parameters:
  ///   - metrics: counts the requests of the listener.
  ///   - log: logs them.
  ///   - make: returns `nil` if an answer would have to be waited for, and for errors of servers, which are logged in
  ///     another way; is called on event loops.
  package init(
    limits: ServerSettings.Limits, metrics: RequestMetricsMiddleware, log: AccessLogMiddleware, logger: Logger,
    make: @escaping @Sendable (Asked) -> Answer?
  ) {
    self.limits = limits
    self.metrics = metrics
    self.log = log
    self.logger = logger
    self.make = make
  }

  /// Returns `true` if a request is one of those that are worth a try: without a body, and not the last one of its
  /// connection.
  static func mayAnswer(_ head: HTTPRequest) -> Bool {
    guard head.method == .get || head.method == .head else { return false }
    return head.headerFields.allSatisfy { field in
      switch field.name {
      case .connection: field.value.lowercased() == "keep-alive"
      case .contentLength, .transferEncoding, .upgrade, .expect: false
      default: true
      }
    }
  }

  func answer(
    to head: HTTPRequest, since started: ContinuousClock.Instant, address: String?, replay: ReplayContext?,
    disconnection: ClientDisconnection
  ) -> Answer? {
    guard LimitsMiddleware.refusal(head, limits) == nil else { return nil }
    let note = LogLevels.shared.accessLevel(logger) <= .info ? AccessLogNote() : nil
    let asked = Asked(head: head, client: address, replay: replay, disconnection: disconnection, note: note)
    guard var answer = make(asked) else { return nil }
    made.add(1, ordering: .relaxed)
    let given = RequestIDMiddleware.given(head, replay)
    let id = given ?? RequestIDMiddleware.newID()
    answer.head.headerFields[.requestID] = id
    let count = answer.body?.readableBytes ?? 0
    let line = note.flatMap { note in
      log.line(for: head, version: .http11, status: answer.head.status.code, note: note, logger)
    }
    line?.write(count, isAborted: false, since: started, address: address ?? "-", id: id)
    let measure = metrics.measure(method: head.method, status: answer.head.status.code)
    measure(started)
    if let replay, replay.hasOffer {
      line?.repeats(with: replay)
      replay.onReplay { measure($0.started) }
    }
    return answer
  }
}
