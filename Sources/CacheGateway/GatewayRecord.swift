import CoreMetrics
import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import ServerKit

/// The metrics, failures and log lines of one origin.
///
/// A class, since each recorded response refers to it.
final class GatewayRecord: Sendable {
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
    guard let times = faults.count(fault.reason, at: .now) else { return }
    logger.warning("\(fault.detail)", metadata: ["origin": "\(name)", "times": .stringConvertible(times)])
  }

  /// Records the bytes of a body that were sent to the client.
  func sent(_ bytes: Int, _ result: GatewayResult) {
    if result.isSaved { savedBytes.increment(by: bytes) }
  }

  /// Records the time until the head of a response.
  func answeredByOrigin(after time: Duration) { self.time.recordNanoseconds(Int64(time / .nanoseconds(1))) }
}

extension FailureLog.Kind {
  /// A failed request to an origin behind the gateway.
  package static let origin = Self("origin")
}

/// The result of a request, for metrics and logs.
package enum GatewayResult: String, CaseIterable, Sendable {
  /// A stored response that is fresh.
  case hit
  /// A stored response that is no longer fresh.
  case stale
  /// A stored response that the origin has confirmed.
  case revalidated
  /// The origin's response to an identical request of another client at the same time.
  case collapsed
  /// The origin's response, which is stored.
  case miss
  /// The origin's response, which must not be stored.
  case pass
  /// The origin sent no response.
  case fault
  /// The limit of requests that wait for the origin was reached.
  case busy

  init(_ loaded: Resource) {
    guard let status = loaded.cacheStatus else {
      self = .pass
      return
    }
    switch status.outcome {
    case .hit: self = (status.timeToLive ?? 0) > 0 ? .hit : .stale
    case .forwarded where loaded.source == .revalidated: self = .revalidated
    case .forwarded where status.isCollapsed: self = .collapsed
    case .forwarded, .generated: self = status.isStored ? .miss : .pass
    }
  }

  /// `true` if the origin did not send the body.
  package var isSaved: Bool {
    switch self {
    case .hit, .stale, .revalidated, .collapsed: true
    case .miss, .pass, .fault, .busy: false
    }
  }
}

/// An error of an origin that did not give a response to forward. RFC 9110 §15.6.3 to §15.6.5.
struct GatewayError: Error, HTTPResponseError {
  let status: HTTPResponse.Status
  let result: GatewayResult
  /// The text for the client, which gives only the name of the origin.
  let reason: String
  /// The text for the operator, with the URL but without its query, which may be private.
  let detail: String
  /// `true` if a part of the request's body is unread: the connection must be closed. RFC 9112 §9.3.
  private let closes: Bool

  /// - Parameters:
  ///   - origin: the name of the origin.
  ///   - url: the requested URL.
  init(_ error: any Error, origin: String, url: String, closes: Bool = false) {
    self.closes = closes
    result = if case LoadError.busy = error { .busy } else { .fault }
    // The detail names the server that was requested.
    let query = url.drop { $0 != "?" }
    detail = query.isEmpty ? error.sentence : error.sentence.replacing(query, with: "")
    (status, reason) =
      switch error {
      case TransportError.timedOut, TransportError.tooSlow:
        (.gatewayTimeout, "the origin \(origin) has not answered in time")
      case LoadError.notStored: (.gatewayTimeout, "no stored response may be used, and the origin may not be asked")
      case LoadError.unvalidated:
        (
          .gatewayTimeout,
          "the origin \(origin) cannot be reached, and the stored response may not be used without asking it"
        )
      case LoadError.invalidReference: (.badRequest, "the request's target does not make a valid URL")
      case LoadError.busy:
        (.serviceUnavailable, "too many requests wait for the origin \(origin); try again later")
      case LoadError.offline:
        (.serviceUnavailable, "the origin \(origin) could not be reached a moment ago; try again later")
      case TransportError.cannotConnect, TransportError.cannotResolve, TransportError.insecure:
        (.badGateway, "the origin \(origin) cannot be reached")
      case TransportError.closedEarly:
        (.badGateway, "the origin \(origin) has closed the connection before the end of its answer")
      case TransportError.malformed: (.badGateway, "the answer of the origin \(origin) is not valid HTTP")
      case TransportError.tooLarge, LoadError.tooLarge:
        (.badGateway, "the answer of the origin \(origin) exceeds the limit of this gateway")
      default: (.badGateway, "the origin \(origin) has not answered")
      }
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    var response = Response.error(
      status, reason, CacheStatus(.generated, detail: result.rawValue).added(to: [:]))
    if status == .serviceUnavailable { response.headers[.retryAfter] = "1" }
    if closes { response.headers[.connection] = "close" }
    return response
  }
}
