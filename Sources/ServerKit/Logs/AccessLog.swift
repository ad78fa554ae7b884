import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Synchronization

/// Logs one line for each request when its response has ended. Requests that are refused under load (429, 503) share
/// one line per interval, with their number.
///
/// The query is left out, since it may be private. The line of a request with an ``AccessLogNote`` also has the host,
/// the query, the version and the fields of the note.
struct AccessLog: Sendable {
  /// The statuses of refusals under load.
  private static let refusing: Set<Int> = [429, 503]

  private let refusals = LogThrottles()
  private let proxies: TrustedProxies
  private let levels: LogLevels

  /// - Parameters:
  ///   - proxies: the proxies whose clients are named in the lines.
  ///   - levels: the level from which lines are logged, if the access log has one of its own.
  init(proxies: TrustedProxies = TrustedProxies(), levels: LogLevels = .shared) {
    (self.proxies, self.levels) = (proxies, levels)
  }

  /// Returns the line for a request; `nil` if none is logged.
  func line(
    for head: HTTPRequest, version: RequestVersion, status: Int, note: AccessLogNote?, _ logger: Logger
  ) -> AccessLogLine? {
    let level: Logger.Level = status >= 500 ? .warning : .info
    let least = levels.accessLevel(logger)
    guard level >= least else { return nil }
    var logger = logger
    // Another level is a copy of the logger.
    if least < logger.logLevel { logger.logLevel = least }
    let isRefused = Self.refusing.contains(status)
    guard let times = isRefused ? refusals.count("\(status)", at: .now) : 1 else { return nil }
    return AccessLogLine(
      head, version, status: status, times: isRefused ? times : nil, note: note, proxies: proxies, level: level,
      logger: logger)
  }
}

/// The line of a request in the access log, which is written when its response has ended, and again for each replay.
struct AccessLogLine: Sendable {
  private let method: String
  private let path: String
  private let status: Int
  /// The number of requests that share the line; `nil` if it has one of its own.
  private let times: Int?
  private let details: (@Sendable () -> Logger.Metadata)?
  private let level: Logger.Level
  private let logger: Logger
  private let proxies: TrustedProxies
  /// The fields in which a proxy names its client.
  private let forwarded: HTTPFields

  fileprivate init(
    _ head: HTTPRequest, _ version: RequestVersion, status: Int, times: Int?, note: AccessLogNote?,
    proxies: TrustedProxies, level: Logger.Level, logger: Logger
  ) {
    self.proxies = proxies
    forwarded =
      proxies.isEmpty
      ? [:] : HTTPFields(head.headerFields.filter { TrustedProxies.fieldNames.contains($0.name.canonicalName) })
    method = head.method.rawValue
    path = String(URI(head.path ?? "").path.prefix(512))
    (self.status, self.times, self.level, self.logger) = (status, times, level, logger)
    details = note.map { Self.details($0, head, version) }
  }

  /// - Parameters:
  ///   - address: the address of the other side.
  ///   - id: of the request.
  func write(
    _ bytes: Int, isAborted: Bool, since start: ContinuousClock.Instant, address: String, id: String? = nil
  ) {
    var logger = logger
    if let id { logger[metadataKey: HostRequestContext.idKey] = .string(id) }
    let milliseconds = (start.duration(to: .now) / .microseconds(100)).rounded() / 10
    var metadata: Logger.Metadata = [
      "method": .string(method), "path": .string(path), "status": .stringConvertible(status),
      "bytes": .stringConvertible(bytes), "ms": .stringConvertible(milliseconds),
      "address": .string(proxies.client(of: forwarded, from: address)),
    ]
    if let details { metadata.merge(details()) { first, _ in first } }
    if let times { metadata["times"] = .stringConvertible(times) }
    if isAborted { metadata["aborted"] = "true" }
    logger.log(level: level, "Answered", metadata: metadata)
  }

  /// Writes the line again at each replay.
  func repeats(with replay: ReplayContext) {
    replay.onReplay { event in
      write(event.bodyBytes, isAborted: false, since: event.started, address: event.address, id: event.requestID)
    }
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

/// Further fields for a request's line in the access log, set by the part that answers it.
package final class AccessLogNote: Sendable {
  private let state = Mutex<[String: String]>([:])

  package init() {}

  /// The values by the names of the fields.
  package var fields: [String: String] { state.withLock(\.self) }

  package func change(_ body: (inout [String: String]) -> Void) { state.withLock { body(&$0) } }
}
