import Logging

/// The settings of a server: its listeners, its limits, its secrets and its log.
package struct ServerSettings: Sendable {
  /// The address to listen on, and the port; 0 for any that is free.
  package var address = "127.0.0.1"
  package var port = 8080
  /// The address of pages, dashboard, status, metrics and administration. With `nil` a loopback ``address`` carries them
  /// beside what is for everybody; with any other they are on 127.0.0.1 and a free port.
  package var adminListen: (host: String, port: Int)?
  /// The groups that ``address`` carries besides bundles, releases and health, if there is another listener.
  package var publicRoutes: Set<RouteGroup> = []
  /// True if pages, dashboard, status and metrics may answer other machines without a token.
  package var allowsInsecureAdmin = false
  /// Names by which clients call this server, besides IP addresses, `localhost` and the addresses it listens on.
  package var hosts: [String] = []

  /// PEM files; both or none.
  package var certificate: String?
  package var privateKey: String?
  /// The token of callers of admin routes, and of pages, dashboard, status and metrics where other machines can reach
  /// these; without one there are no admin routes.
  package var adminToken: String?
  package var limits = Limits()
  /// The time limit of requests under way at shutdown.
  package var shutdownTime: Duration = .seconds(30)
  /// Open files that are kept free of clients' connections, for the rest of the process.
  package var reservedFiles = 64
  /// Parts of the other open files that do not go to the listeners of this plan; each listener takes one.
  package var furtherShares = 0

  package var logLevel: Logger.Level = .info
  package var logFormat: LogFormat = .text

  /// The format of log lines.
  package enum LogFormat: String, CaseIterable, Sendable {
    case text, json
  }

  /// The limits that clients are held to.
  package struct Limits: Sendable {
    /// Bytes of a request's body.
    package var body = 1 << 20
    /// Bytes of all header fields.
    package var header = 16 << 10
    /// Bytes of a URL.
    package var url = 8 << 10
    /// Connections from one address.
    package var connectionsPerAddress = 64
    /// Connections of each listener at once; more wait to be accepted. `nil` for as many as the limit of open files
    /// allows, at most 4,096.
    package var connections: Int?
    /// The time limit of the TLS handshake and the first request's head.
    package var headTime: Duration = .seconds(15)
    /// The time limit of a request's body.
    package var bodyTime: Duration = .seconds(60)
    /// The time limit of an idle connection.
    package var idle: Duration = .seconds(60)

    package init() {}
  }

  package init() {}
}
