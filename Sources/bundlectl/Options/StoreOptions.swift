import ArgumentParser
import Logging
import PageKit

/// What every command takes.
struct StoreOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "The store's folder.",
      discussion: "Default: $XDG_DATA_HOME/pagekit, or ~/.local/share/pagekit.", valueName: "dir"))
  var store: String?

  @Flag(name: .long, help: "Print one JSON object on standard output; logs go to standard error.")
  var json = false

  @Flag(name: [.short, .long], help: "Log what is done, to standard error.")
  var verbose = false

  var directory: StoreDirectory { store.map { StoreDirectory($0) } ?? .standard() }

  var logger: Logger { Self.logger(isVerbose: verbose) }

  static func logger(isVerbose: Bool) -> Logger {
    let level: Logger.Level = isVerbose ? .debug : .error
    return Logger(label: "bundlectl") { label in
      var handler = StreamLogHandler.standardError(label: label)
      handler.logLevel = level
      return handler
    }
  }
}
