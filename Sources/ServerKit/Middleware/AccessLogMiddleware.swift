import HTTPTypes
import Hummingbird
import Logging

/// Logs one line for each request when its response has ended. Requests that are refused under load (429, 503) share
/// one line per interval, with their number.
///
/// The query is left out, since it may be private. The line of a request with an ``AccessLogNote`` also has the host,
/// the query, the version and the fields of the note.
package struct AccessLogMiddleware: RouterMiddleware {
  package typealias Context = HostRequestContext

  /// The statuses of refusals under load.
  private static let refusing: Set<Int> = [429, 503]

  private let refusals = LogThrottles()

  package init() {}

  package func handle(
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
    let details = context.note.map { note in Self.details(note, request.head, context.version) }
    @Sendable func log(
      _ bytes: Int, _ isAborted: Bool, _ start: ContinuousClock.Instant, _ address: String, _ logger: Logger
    ) {
      let milliseconds = (start.duration(to: .now) / .microseconds(100)).rounded() / 10
      var metadata: Logger.Metadata = [
        "method": .string(method), "path": .string(path), "status": .stringConvertible(status),
        "bytes": .stringConvertible(bytes), "ms": .stringConvertible(milliseconds), "address": .string(address),
      ]
      if let details { metadata.merge(details()) { first, _ in first } }
      if isRefused { metadata["times"] = .stringConvertible(times) }
      if isAborted { metadata["aborted"] = "true" }
      logger.log(level: level, "Answered", metadata: metadata)
    }
    response.whenDone { bytes, isAborted in log(bytes, isAborted, start, address, logger) }
    context.replay?.onReplay { event in
      var logger = logger
      logger[metadataKey: RequestIDMiddleware.logKey] = .string(event.requestID)
      log(event.bodyBytes, false, event.started, event.address, logger)
    }
    return response
  }

  private static func details(
    _ note: AccessLogNote, _ head: HTTPRequest, _ version: RequestVersion
  ) -> @Sendable () -> Logger.Metadata {
    let query = head.path?.drop { $0 != "?" }.dropFirst().prefix(512)
    let host = head.authority?.prefix(256)
    return {
      var fields = note.fields
      fields["host"] = host.map(String.init)
      fields["query"] = query.flatMap { $0.isEmpty ? nil : String($0) }
      fields["protocol"] = "HTTP/\(version.rawValue)"
      return fields.mapValues { .string($0) }
    }
  }
}
