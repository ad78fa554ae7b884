/// What each setting is called: `page-time` is `--page-time` as a flag, `RENDERHOST_PAGE_TIME` in the environment and
/// `"page-time"` in the file.
package enum SettingKey: String, CaseIterable, Sendable {
  case listen
  case adminListen = "admin-listen"
  case publicRoutes = "public"
  case host, bundles, manifest, follow, store
  case gateway, origin
  case workers
  case pageTime = "page-time"
  case workerMemory = "worker-memory"
  case maxPages = "max-pages"
  case pageIdle = "page-idle"
  case pageQueue = "page-queue"
  case pageWait = "page-wait"
  case allowOrigin = "allow-origin"
  case framework
  case prelude
  case env
  case tlsCert = "tls-cert"
  case tlsKey = "tls-key"
  case adminToken = "admin-token"
  case adminTokenFile = "admin-token-file"
  case insecureAdmin = "insecure-admin"
  case webhookSecret = "webhook-secret"
  case webhookSecretFile = "webhook-secret-file"
  case maxBody = "max-body"
  case maxHeader = "max-header"
  case maxURL = "max-url"
  case maxConnections = "max-connections"
  case connectionsPerAddress = "connections-per-address"
  case headTime = "head-time"
  case bodyTime = "body-time"
  case idleTime = "idle-time"
  case shutdownTime = "shutdown-time"
  case logLevel = "log-level"
  case logFormat = "log-format"

  /// Takes several values: a repeated flag, commas in the environment, an array in the file.
  var isList: Bool { [.publicRoutes, .host, .allowOrigin, .framework, .prelude, .env].contains(self) }

  /// Is true or false; its flag has no value, and means true.
  var isSwitch: Bool { self == .insecureAdmin }

  /// Is never printed.
  var isSecret: Bool { self == .adminToken || self == .webhookSecret }

  var flag: String { "--\(rawValue)" }
  var variable: String { "RENDERHOST_" + rawValue.uppercased().replacing("-", with: "_") }
}
