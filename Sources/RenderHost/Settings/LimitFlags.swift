import ArgumentParser

struct LimitFlags: ParsableArguments, FlagOptions {
  @Option(help: ArgumentHelp("Bytes of a request's body; over it: 413. (default: 1MB)", valueName: "size"))
  var maxBody: String?

  @Option(help: ArgumentHelp("Bytes of a request's header fields; over it: 431. (default: 16KB)", valueName: "size"))
  var maxHeader: String?

  @Option(
    name: .customLong("max-url"), help: ArgumentHelp("Bytes of a URL; over it: 414. (default: 8KB)", valueName: "size"))
  var maxURL: String?

  @Option(
    help: ArgumentHelp(
      "Connections at once, at most what ulimit -n leaves room for; more wait to be accepted. (default: 4096)",
      valueName: "n")
  )
  var maxConnections: String?

  @Option(help: ArgumentHelp("Connections from one address; over it: 429. (default: 64)", valueName: "n"))
  var connectionsPerAddress: String?

  @Option(
    help: ArgumentHelp(
      "How long a client may take for its TLS handshake and first head. (default: 15)", valueName: "seconds"))
  var headTime: String?

  @Option(help: ArgumentHelp("How long a client may take to send a body. (default: 60)", valueName: "seconds"))
  var bodyTime: String?

  @Option(help: ArgumentHelp("How long a connection may be idle. (default: 60)", valueName: "seconds"))
  var idleTime: String?

  @Option(
    help: ArgumentHelp(
      "How long what is under way may take once the daemon is told to stop. (default: 30)", valueName: "seconds"))
  var shutdownTime: String?

  var given: [SettingKey: [String]] {
    Self.collect([
      (.maxBody, maxBody), (.maxHeader, maxHeader), (.maxURL, maxURL), (.maxConnections, maxConnections),
      (.connectionsPerAddress, connectionsPerAddress), (.headTime, headTime), (.bodyTime, bodyTime),
      (.idleTime, idleTime), (.shutdownTime, shutdownTime),
    ])
  }
}

struct LogFlags: ParsableArguments, FlagOptions {
  @Option(
    help: ArgumentHelp(
      "trace, debug, info, notice, warning, error or critical. (default: info)", valueName: "level"))
  var logLevel: String?

  @Option(help: ArgumentHelp("text or json, one line each, to standard error. (default: text)", valueName: "format"))
  var logFormat: String?

  var given: [SettingKey: [String]] { Self.collect([(.logLevel, logLevel), (.logFormat, logFormat)]) }
}
