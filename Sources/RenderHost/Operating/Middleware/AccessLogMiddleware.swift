import HTTPTypes
import Hummingbird
import Logging

/// One line for each request, once its answer is done with; for those that are turned away under load (429, 503) one
/// line once in a while, with how many there were.
///
/// The query is left out, because it may hold what is private.
struct AccessLogMiddleware: RouterMiddleware {
  typealias Context = HostRequestContext

  /// Statuses that say: too many, come back later.
  private static let refusing: Set<Int> = [429, 503]

  private let refusals = Recurrences()

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let start = ContinuousClock.now
    var response = try await next(request, context)
    let (status, logger) = (response.status.code, context.logger)
    let level: Logger.Level = status >= 500 ? .warning : .info
    guard level >= logger.logLevel else { return response }
    let isRefused = Self.refusing.contains(status)
    guard let times = isRefused ? refusals.note("\(status)", at: .now) : 1 else { return response }
    let address = context.remoteAddress?.ipAddress ?? "-"
    let (method, path) = (request.method.rawValue, String(request.uri.path.prefix(512)))
    @Sendable func log(
      _ bytes: Int, _ isAborted: Bool, _ start: ContinuousClock.Instant, _ address: String, _ logger: Logger
    ) {
      let milliseconds = (start.duration(to: .now) / .microseconds(100)).rounded() / 10
      var metadata: Logger.Metadata = [
        "method": .string(method), "path": .string(path), "status": .stringConvertible(status),
        "bytes": .stringConvertible(bytes), "ms": .stringConvertible(milliseconds), "address": .string(address),
      ]
      if isRefused { metadata["times"] = .stringConvertible(times) }
      if isAborted { metadata["aborted"] = "true" }
      logger.log(level: level, "Answered", metadata: metadata)
    }
    response.whenDone { bytes, isAborted in log(bytes, isAborted, start, address, logger) }
    RecallSlot.current?.onRecall { again in
      var logger = logger
      logger[metadataKey: RequestIDMiddleware.logKey] = .string(again.requestID)
      log(again.bodyBytes, false, again.started, again.address, logger)
    }
    return response
  }
}
