import Foundation
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

    fileprivate static let list = allCases.map(\.rawValue).joined(separator: ", ")
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
    /// The time limit of a request's body, from its head or, if that is later, the last answer to an earlier request on.
    package var bodyTime: Duration = .seconds(60)
    /// The time limit of an idle connection: no request arrives on it, and none is answered.
    package var idle: Duration = .seconds(60)

    package init() {}
  }

  package init() {}
}

extension SettingKey {
  package static let listen = Self("listen")
  package static let adminListen = Self("admin-listen")
  package static let publicRoutes = Self("public")
  package static let host = Self("host")
  package static let tlsCert = Self("tls-cert")
  package static let tlsKey = Self("tls-key")
  package static let adminToken = Self("admin-token")
  package static let adminTokenFile = Self("admin-token-file")
  package static let insecureAdmin = Self("insecure-admin")
  package static let trustedProxies = Self("trusted-proxies")
  package static let proxyProtocol = Self("proxy-protocol")
  package static let maxBody = Self("max-body")
  package static let maxHeader = Self("max-header")
  package static let maxURL = Self("max-url")
  package static let maxConnections = Self("max-connections")
  package static let connectionsPerAddress = Self("connections-per-address")
  package static let headTime = Self("head-time")
  package static let bodyTime = Self("body-time")
  package static let idleTime = Self("idle-time")
  package static let shutdownTime = Self("shutdown-time")
  package static let logLevel = Self("log-level")
  package static let accessLogLevel = Self("access-log-level")
  package static let logFormat = Self("log-format")
}

/// The rows of the table of settings for a server.
extension ServerSettings {
  package static let listening: [Setting<ServerSettings>] = [
    Setting(
      .listen, help: "The address of bundles, releases and health, for everybody. (default: 127.0.0.1:8080)",
      valueName: "host:port"
    ) { value, settings in
      (settings.address, settings.port) = try value.address(like: "127.0.0.1:8080 or [::1]:8080")
    } show: {
      "\(SettingText.bracketed($0.address)):\($0.port)"
    },
    Setting(
      .adminListen, help: "The address of pages, dashboard, status, metrics and administration.",
      discussion:
        "Default: that of --listen if it is loopback, else 127.0.0.1 and a free port, which the log names. "
        + "An address beyond loopback requires the admin token.", valueName: "host:port"
    ) { value, settings in
      settings.adminListen = try value.address(like: "127.0.0.1:9090 or [::1]:9090")
    } show: {
      ListenerPlan($0).admin?.address
    },
    Setting(
      .publicRoutes, form: .list,
      help: "Further groups of routes on --listen: \(RouteGroup.guarded.list), separated by commas; may be repeated.",
      valueName: "names"
    ) { value, settings in
      settings.publicRoutes = try value.names(of: RouteGroup.guarded, RouteGroup.guarded.list).union(
        value.isFirst ? [] : settings.publicRoutes)
    } show: { settings in
      let groups = RouteGroup.allCases.filter(settings.publicRoutes.contains)
      return groups.isEmpty ? nil : groups.map(\.rawValue).joined(separator: ", ")
    },
    .list(
      .host, \.hosts,
      help: "A name by which clients call this server, besides localhost and IP addresses; may be repeated.",
      discussion: "Pages, status and administration answer to no other name.", valueName: "name"
    ) { try $0.host() },
  ]

  package static let security: [Setting<ServerSettings>] = [
    .path(
      .tlsCert, \.certificate,
      help: "The certificate and its chain, PEM; enables TLS with HTTP/2, also for the gateway. SIGHUP reads it again.",
      valueName: "file"),
    .path(.tlsKey, \.privateKey, help: "The certificate's key, PEM.", valueName: "file"),
    Setting(
      .adminToken,
      help: "The token for admin routes, and beyond loopback for pages, status and metrics; 16 bytes or more.",
      discussion: "Arguments are visible in ps: prefer RENDERHOST_ADMIN_TOKEN or a file.", valueName: "token",
      isSecret: true
    ) {
      $1.adminTokens = try $0.secrets()
    } show: {
      $0.adminTokens.isEmpty ? nil : $0.adminTokens.joined(separator: "\n")
    },
    Setting(
      .adminTokenFile, help: "A file with the token in it, or several, each on a line. SIGHUP reads it again.",
      valueName: "file", contentOf: .adminToken
    ) {
      $1.adminTokens = try $0.secretsOfFile()
    },
    Setting(
      .insecureAdmin, form: .toggle,
      help: "Let pages, dashboard, status and metrics answer other machines without the token."
    ) {
      $1.allowsInsecureAdmin = try $0.truth()
    } show: {
      "\($0.allowsInsecureAdmin)"
    },
    Setting(
      .trustedProxies, form: .list,
      help: "The addresses of proxies in front, such as 10.0.0.0/8, separated by commas; may be repeated.",
      discussion:
        "Their X-Forwarded-For (or else Forwarded) names the client in the log and where clients take turns, and the "
        + "gateway passes their fields on. From others the gateway replaces X-Forwarded-For, Forwarded and X-Real-IP.",
      valueName: "addresses"
    ) { value, settings in
      let former = value.isFirst ? [] : settings.proxies.ranges
      settings.proxies = TrustedProxies(former + (try value.ranges()))
    } show: {
      $0.proxies.isEmpty ? nil : $0.proxies.ranges.map(\.description).joined(separator: ", ")
    },
    Setting(
      .proxyProtocol, form: .list,
      help: "Listeners where connections of trusted proxies begin with a PROXY header (version 1 or 2): "
        + "\(ProxiedListener.list); may be repeated.",
      discussion: "A connection of a trusted proxy without one is closed there.", valueName: "listeners"
    ) { value, settings in
      settings.proxyListeners = try value.names(of: ProxiedListener.allCases, ProxiedListener.list).union(
        value.isFirst ? [] : settings.proxyListeners)
    } show: { settings in
      let listeners = ProxiedListener.allCases.filter(settings.proxyListeners.contains)
      return listeners.isEmpty ? nil : listeners.map(\.rawValue).joined(separator: ", ")
    },
  ]

  package static let limiting: [Setting<ServerSettings>] = [
    .size(.maxBody, \.limits.body, atLeast: 1024, help: "The limit of a request's body; over it: 413. (default: 1MB)"),
    .size(
      .maxHeader, \.limits.header, atLeast: 1024, atMost: 1 << 20,
      help: "The limit of all header fields; over it: 431. (default: 16KB)"),
    .size(
      .maxURL, \.limits.url, atLeast: 256, atMost: 64 << 10, help: "The limit of a URL; over it: 414. (default: 8KB)"),
    Setting(
      .maxConnections,
      help: "The limit of connections, bounded by ulimit -n too; more wait to be accepted. (default: 4096)",
      valueName: "n"
    ) {
      $1.limits.connections = try $0.count(in: 1...1_000_000)
    } show: {
      "\(ProcessLimits.current.connections($0))"
    },
    .count(
      .connectionsPerAddress, \.limits.connectionsPerAddress, in: 1...1_000_000,
      help: "The limit of connections from one address; over it: 429. (default: 64)"),
    .time(
      .headTime, \.limits.headTime, atLeast: .milliseconds(100),
      help: "The time limit of the TLS handshake and the first head. (default: 15)"),
    .time(
      .bodyTime, \.limits.bodyTime, atLeast: .milliseconds(100), help: "The time limit of sending a body. (default: 60)"
    ),
    .time(
      .idleTime, \.limits.idle, atLeast: .milliseconds(100), help: "The time limit of an idle connection. (default: 60)"
    ),
    .time(
      .shutdownTime, \.shutdownTime, atLeast: .zero,
      help: "The time limit of requests under way at shutdown. (default: 30)"),
  ]

  package static let logging: [Setting<ServerSettings>] = [
    Setting(
      .logLevel, help: "trace, debug, info, notice, warning, error or critical. (default: info)", valueName: "level"
    ) { value, settings in
      settings.logLevels.log = try value.level()
    } show: {
      $0.logLevels.log.rawValue
    },
    Setting(
      .accessLogLevel, help: "The same of the access log: info has all answers, warning those from 500 on.",
      discussion: "Default: that of --log-level.", valueName: "level"
    ) { value, settings in
      settings.logLevels.access = try value.level()
    } show: {
      $0.logLevels.access?.rawValue
    },
    Setting(
      .logFormat, help: "text or json, one line each, to standard error. (default: text)", valueName: "format"
    ) { value, settings in
      guard let format = LogFormat(rawValue: value.text) else { throw value.bad("text or json") }
      settings.logFormat = format
    } show: {
      $0.logFormat.rawValue
    },
  ]
}

extension GivenValue {
  fileprivate func level() throws -> Logger.Level {
    guard let level = Logger.Level(rawValue: text) else {
      throw bad("one of \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return level
  }

  /// Reads names, separated by commas.
  ///
  /// - Parameter list: the valid names, for the error.
  fileprivate func names<Name: RawRepresentable<String> & Hashable>(of valid: [Name], _ list: String) throws -> Set<
    Name
  > {
    Set(
      try text.split(separator: ",", omittingEmptySubsequences: false).map { part in
        let text = part.trimmingCharacters(in: .whitespaces)
        guard let name = Name(rawValue: text), valid.contains(name) else {
          throw bad("one or several of \(list)", given: text)
        }
        return name
      })
  }

  /// Reads addresses and ranges, separated by commas.
  fileprivate func ranges() throws -> [AddressRange] {
    try text.split(separator: ",", omittingEmptySubsequences: false).map { part in
      let text = part.trimmingCharacters(in: .whitespaces)
      guard let range = AddressRange(text) else {
        throw bad("addresses or ranges of them, like 10.0.0.0/8 or 2001:db8::/32", given: text)
      }
      return range
    }
  }

  fileprivate func host() throws -> String {
    guard !text.isEmpty, text.utf8.count <= 253,
      text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == ".") })
    else { throw bad("a host name without a port, like pages.example.com") }
    return text
  }
}
