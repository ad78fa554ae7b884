import DiskStorage
import HTTPTransport
import Logging

/// The settings as they are shown: every one, its value, and where it came from; secrets are masked.
package struct SettingsReport: Sendable {
  package struct Line: Codable, Equatable, Sendable {
    package var key: String
    package var value: String?
    /// A flag, a variable, a file, or `default`.
    package var source: String
  }

  package let lines: [Line]

  package init(_ settings: Settings, sources: [SettingKey: String] = [:]) {
    lines = Self.settings(settings, sources) + (sources[.origin] == nil ? Self.origins(settings) : [])
  }

  private static func settings(_ settings: Settings, _ sources: [SettingKey: String]) -> [Line] {
    SettingKey.allCases.compactMap { key in
      // Their contents are the secrets beside them.
      if key == .adminTokenFile || key == .webhookSecretFile { return nil }
      let file: SettingKey? = key == .adminToken ? .adminTokenFile : key == .webhookSecret ? .webhookSecretFile : nil
      let source = file.flatMap { sources[$0] } ?? sources[key] ?? "default"
      let value =
        key == .origin && sources[key] == nil ? nil : Self.value(of: key, in: settings)
      return Line(key: key.rawValue, value: value, source: source)
    }
  }

  /// Those of the file.
  private static func origins(_ settings: Settings) -> [Line] {
    settings.origins.map { origin in
      let places = (origin.hosts.isEmpty ? ["any host"] : origin.hosts) + origin.prefixes
      return Line(
        key: "origins[\(origin.name)]", value: "\(origin.url.origin) for \(places.joined(separator: ", "))",
        source: "file")
    }
  }

  /// In columns.
  package var text: String {
    let keys = lines.map(\.key.count).max() ?? 0
    let values = min(48, lines.map { ($0.value ?? "-").count }.max() ?? 0)
    return lines.map { line in
      let value = line.value ?? "-"
      return Self.padded(line.key, keys) + "  " + Self.padded(value, values) + "  " + line.source
    }.joined(separator: "\n")
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func pairs(_ values: [String: String]) -> String? {
    values.isEmpty ? nil : values.map { "\($0)=\($1)" }.sorted().joined(separator: ", ")
  }

  private static func routes(_ groups: Set<RouteGroup>) -> String? {
    groups.isEmpty ? nil : RouteGroup.allCases.filter(groups.contains).map(\.rawValue).joined(separator: ", ")
  }

  private static func value(of key: SettingKey, in settings: Settings) -> String? {
    let limits = settings.limits
    return switch key {
    case .listen: "\(SettingText.bracketed(settings.address)):\(settings.port)"
    case .adminListen: ListenerPlan(settings).admin?.address
    case .publicRoutes: routes(settings.publicRoutes)
    case .host: settings.hosts.isEmpty ? nil : settings.hosts.joined(separator: ", ")
    case .bundles: settings.bundles
    case .manifest: settings.manifest?.text
    case .follow: SettingText.text(settings.follow)
    case .store: settings.store.path
    case .gateway: settings.gateway.map { "\(SettingText.bracketed($0.host)):\($0.port)" }
    case .origin: settings.origins.first?.url.origin
    case .workers: "\(settings.workers)"
    case .pageTime: SettingText.text(settings.pageTime)
    case .workerMemory: "\(settings.workerMemory)"
    case .maxPages: "\(settings.pageLimit)"
    case .pageIdle: SettingText.text(settings.pageIdle)
    case .pageQueue: "\(settings.waitingCalls)"
    case .pageWait: SettingText.text(settings.waitingTime)
    case .allowOrigin: settings.allowedOrigins.isEmpty ? nil : settings.allowedOrigins.joined(separator: ", ")
    case .framework: pairs(settings.frameworks)
    case .prelude: pairs(settings.preludes)
    case .env: pairs(settings.environment)
    case .tlsCert: settings.certificate
    case .tlsKey: settings.privateKey
    case .adminToken, .adminTokenFile: settings.adminToken.map { _ in "********" }
    case .insecureAdmin: "\(settings.allowsInsecureAdmin)"
    case .webhookSecret, .webhookSecretFile: settings.webhookSecret.map { _ in "********" }
    case .maxBody: "\(limits.body)"
    case .maxHeader: "\(limits.header)"
    case .maxURL: "\(limits.url)"
    case .maxConnections: "\(ProcessLimits.current.connections(settings))"
    case .connectionsPerAddress: "\(limits.connectionsPerAddress)"
    case .headTime: SettingText.text(limits.headTime)
    case .bodyTime: SettingText.text(limits.bodyTime)
    case .idleTime: SettingText.text(limits.idle)
    case .shutdownTime: SettingText.text(settings.shutdownTime)
    case .logLevel: settings.logLevel.rawValue
    case .logFormat: settings.logFormat.rawValue
    }
  }
}
