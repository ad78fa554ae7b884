import Foundation
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

/// Writes log lines to standard error.
package enum LogOutput {
  /// May be called only once in a process.
  package static func bootstrap(_ settings: ServerSettings) {
    LogLevels.shared.current = settings.logLevels
    let format = settings.logFormat
    LoggingSystem.bootstrap { label in
      let base: any LogHandler =
        switch format {
        case .text: StreamLogHandler.standardError(label: label)
        case .json: JSONLogHandler(label: label) { FileHandle.standardError.write($0) }
        }
      return HostLogHandler(base, levels: .shared)
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
