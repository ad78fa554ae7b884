import Logging

/// The settings of a server: its listeners, its limits, its secrets and its log.
package struct ServerSettings: Sendable {
  /// The address to listen on, and the port; 0 for any free one.
  package var address = "127.0.0.1"
  package var port = 8080
  /// The address of pages, dashboard, status, metrics and administration. With `nil` they are on ``address`` if it is
  /// loopback, otherwise on 127.0.0.1 and a free port.
  package var adminListen: (host: String, port: Int)?
  /// The further groups of routes on ``address`` besides bundles, releases and health, if there is another listener.
  package var publicRoutes: Set<RouteGroup> = []
  /// `true` if pages, dashboard, status and metrics may answer other machines without a token.
  package var allowsInsecureAdmin = false
  /// Names by which clients call this server, besides IP addresses, `localhost` and the addresses it listens on.
  package var hosts: [String] = []

  /// The paths of PEM files; both or none are set.
  package var certificate: String?
  package var privateKey: String?
  /// The tokens for admin routes, and for pages, dashboard, status and metrics if other machines can reach them; without
  /// one there are no admin routes. Each of several is accepted, so that they can be changed one after the other.
  package var adminTokens: [String] = []
  /// The proxies in front whose word on their clients counts.
  package var proxies = TrustedProxies()
  /// The listeners on which connections of ``proxies`` begin with a PROXY header.
  package var proxyListeners: Set<ProxiedListener> = []
  package var limits = Limits()
  /// The time limit of requests under way at shutdown.
  package var shutdownTime: Duration = .seconds(30)
  /// The number of open files that are reserved for the rest of the process.
  package var reservedFiles = 64
  /// The number of shares of the remaining files for users other than the listeners of this plan; each listener has one
  /// share.
  package var furtherShares = 0

  package var logLevels = LogLevels.Levels()
  package var logFormat: LogFormat = .text

  /// A listener that a proxy may connect to, by the setting with its address.
  package enum ProxiedListener: String, CaseIterable, Sendable {
    case listen, admin = "admin-listen", gateway
  }

  /// Returns `true` if connections of trusted proxies to a listener begin with a PROXY header.
  package func readsProxyHeader(_ listener: SettingKey) -> Bool {
    ProxiedListener(rawValue: listener.rawValue).map(proxyListeners.contains) ?? false
  }

  /// The format of log lines.
  package enum LogFormat: String, CaseIterable, Sendable {
    case text, json
  }

  /// The limits for clients.
  package struct Limits: Sendable {
    /// The limit of a request's body in bytes.
    package var body = 1 << 20
    /// The limit of all header fields in bytes.
    package var header = 16 << 10
    /// The limit of a URL in bytes.
    package var url = 8 << 10
    /// The limit of connections from one address.
    package var connectionsPerAddress = 64
    /// The limit of connections of each listener; more wait to be accepted. `nil` for as many as the limit of open
    /// files allows, at most 4,096.
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
