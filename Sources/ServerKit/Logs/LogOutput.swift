import Foundation
import HTTPTransport
import Logging
import Synchronization

/// The levels from which lines are logged. They may change while the host runs.
package final class LogLevels: Sendable {
  package struct Levels: Hashable, Sendable {
    package var log = Logger.Level.info
    /// The level of the access log; `nil` for that of the log.
    package var access: Logger.Level?

    package init(log: Logger.Level = .info, access: Logger.Level? = nil) { (self.log, self.access) = (log, access) }
  }

  /// Those of the process.
  package static let shared = LogLevels()

  /// Both levels in one number, which each request reads: the second one from 1 on, 0 for none.
  private let state = Atomic<Int>(LogLevels.number(Levels()))

  package init() {}

  package var current: Levels {
    get {
      let (levels, number) = (Logger.Level.allCases, state.load(ordering: .relaxed))
      let access = number >> 8
      return Levels(log: levels[number & 0xFF], access: access > 0 ? levels[access - 1] : nil)
    }
    set { state.store(Self.number(newValue), ordering: .relaxed) }
  }

  /// The level of the access log beside a logger.
  func accessLevel(_ logger: Logger) -> Logger.Level { current.access ?? logger.logLevel }

  private static func number(_ levels: Levels) -> Int {
    func index(_ level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }
    return index(levels.log) | (levels.access.map { index($0) + 1 } ?? 0) << 8
  }
}

extension LogLevels {
  /// Has all loggers write lines to standard error from these levels on. May be called only once in a process.
  package func bootstrap(_ settings: ServerSettings) {
    current = settings.logLevels
    let format = settings.logFormat
    LoggingSystem.bootstrap { label in
      let base: any LogHandler =
        switch format {
        case .text: StreamLogHandler.standardError(label: label)
        case .json: JSONLogHandler(label: label) { FileHandle.standardError.write($0) }
        }
      return HostLogHandler(base, levels: self)
    }
  }
}

/// Passes lines on from the level that the host has now.
struct HostLogHandler: LogHandler {
  private var base: any LogHandler
  private let levels: LogLevels
  private var ownLevel: Logger.Level?

  init(_ base: any LogHandler, levels: LogLevels) {
    self.base = base
    self.levels = levels
    self.base.logLevel = .trace
  }

  /// The host's, unless it is set for a logger.
  var logLevel: Logger.Level {
    get { ownLevel ?? levels.current.log }
    set { ownLevel = newValue }
  }

  var metadata: Logger.Metadata {
    get { base.metadata }
    set { base.metadata = newValue }
  }

  var metadataProvider: Logger.MetadataProvider? {
    get { base.metadataProvider }
    set { base.metadataProvider = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { base[metadataKey: key] }
    set { base[metadataKey: key] = newValue }
  }

  func log(event: LogEvent) {
    // Hummingbird's own line says what the host's line says with its address.
    guard !event.message.description.hasPrefix("Server started and listening on ") else { return }
    base.log(event: event)
  }
}

/// Writes each log line as one JSON object: `time`, `level`, `logger`, `message`, and the metadata beside them.
struct JSONLogHandler: LogHandler {
  let label: String
  var logLevel = Logger.Level.info
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  private let write: @Sendable (Data) -> Void

  init(label: String, write: @escaping @Sendable (Data) -> Void) {
    self.label = label
    self.write = write
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    guard let line = line(event, at: Date()) else { return }
    write(line)
  }

  /// One object and a newline.
  func line(_ event: LogEvent, at now: Date) -> Data? {
    var fields: [String: JSONValue] = [:]
    for (key, value) in (metadataProvider?.get() ?? [:]) { fields[key] = JSONValue(value) }
    for (key, value) in metadata { fields[key] = JSONValue(value) }
    for (key, value) in event.metadata ?? [:] { fields[key] = JSONValue(value) }
    fields["time"] = .string(now.formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true)) + "Z")
    fields["level"] = .string(event.level.rawValue)
    fields["logger"] = .string(label)
    fields["message"] = .string(event.message.description)
    var writer = JSONWriter()
    return writer.write(.object(fields)) ? Data(writer.bytes + [0x0A]) : nil
  }
}

extension JSONValue {
  fileprivate init(_ value: Logger.Metadata.Value) {
    switch value {
    case .string(let text): self = .string(text)
    case .stringConvertible(let number as Int): self = .integer(Int64(number))
    case .stringConvertible(let number as Double): self = .number(number)
    case .stringConvertible(let value): self = .string(value.description)
    case .array(let values): self = .array(values.map { JSONValue($0) })
    case .dictionary(let values): self = .object(values.mapValues { JSONValue($0) })
    }
  }
}

/// Has frequent events logged the first time, and then at intervals with the number of occurrences; each name by itself.
///
/// Events after the last line are in the metrics, and in the log when the next one occurs.
package final class LogThrottles: Sendable {
  /// The limit of names that are counted separately; all further names share one counter.
  package static let limit = 100

  /// The shortest time between two log lines.
  private let interval: Duration
  /// The events since the last line of each name, and its time.
  private let state = Mutex<[String: (count: Int, lastLine: ContinuousClock.Instant?)]>([:])

  package init(every interval: Duration = .seconds(10)) { self.interval = interval }

  /// Records one event.
  ///
  /// - Returns: the number of events since the last log line, including this one; `nil` if no line is due.
  package func count(_ name: String, at now: ContinuousClock.Instant) -> Int? {
    state.withLock { state in
      let name = state.count < Self.limit || state[name] != nil ? name : ""
      let (former, lastLine) = state[name] ?? (0, nil)
      if let lastLine, now - lastLine < interval {
        state[name] = (former + 1, lastLine)
        return nil
      }
      state[name] = (0, now)
      return former + 1
    }
  }
}
