import Logging
import Synchronization

/// Keeps what is logged: a line for each message, with its level.
package final class LogLines: Sendable {
  private let state = Mutex<[String]>([])

  package init() {}

  package var lines: [String] { state.withLock(\.self) }
  package var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

  private struct Handler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.state.withLock { $0.append("\(event.level): \(event.message)") } }
  }
}
