import CoreMetrics
import HTTPTransport
import Logging
import ServerKit

/// The metrics, failures and log lines of one origin.
struct GatewayRecord: Sendable {
  private let answers: [GatewayResult: Counter]
  private let savedBytes: Counter
  private let time: Timer
  private let failures: FailureLog
  private let name: String
  private let logger: Logger
  private let faults = LogThrottles()

  init(_ record: HostRecord, origin settings: OriginSettings, logger: Logger) {
    self.logger = logger
    let (metrics, origin) = (record.metrics, settings.name)
    failures = record.failures
    name = origin
    answers = Dictionary(
      uniqueKeysWithValues: GatewayResult.allCases.map { ($0, metrics.gatewayAnswers(origin: origin, $0)) })
    savedBytes = metrics.gatewaySavedBytes(origin: origin)
    time = metrics.gatewayOriginTime(origin: origin)
  }

  func answered(_ result: GatewayResult) { answers[result]?.increment() }

  func answered(_ result: GatewayResult, replay event: RecordedResponse.ReplayEvent) {
    answered(result)
    sent(event.bodyBytes, result)
  }

  /// Records a failed request. A frequent error is logged at intervals, with one of its URLs.
  func failed(_ fault: GatewayError) {
    answered(fault.result)
    failures.append(.origin, fault.detail, of: name, cause: fault.reason)
    guard let times = faults.note(fault.reason, at: .now) else { return }
    logger.warning("\(fault.detail)", metadata: ["origin": "\(name)", "times": .stringConvertible(times)])
  }

  /// Records the bytes of a body that were sent to the client.
  func sent(_ bytes: Int, _ result: GatewayResult) {
    if result.isSaved { savedBytes.increment(by: bytes) }
  }

  /// Records the time until the head of a response.
  func answeredByOrigin(after time: Duration) { self.time.recordNanoseconds(Int64(time / .nanoseconds(1))) }
}

/// Measures the response times of an origin.
struct TimedTransport: HTTPTransporting {
  let transport: any HTTPTransporting
  let record: GatewayRecord

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    let start = ContinuousClock.now
    let response = try await transport.send(request)
    record.answeredByOrigin(after: ContinuousClock.now - start)
    return response
  }
}

extension FailureLog.Kind {
  /// A failed request to an origin behind the gateway.
  package static let origin = Self("origin")
}
