import Foundation
import Logging

/// Writes log lines to standard error.
package enum LogOutput {
  /// May be called only once in a process.
  package static func bootstrap(_ settings: ServerSettings) {
    let (level, format) = (settings.logLevel, settings.logFormat)
    LoggingSystem.bootstrap { label in
      var handler: any LogHandler =
        switch format {
        case .text: StreamLogHandler.standardError(label: label)
        case .json: JSONLogHandler(label: label) { FileHandle.standardError.write($0) }
        }
      handler.logLevel = level
      return handler
    }
  }
}
