import ArgumentParser
import CacheGateway
import ServerKit

/// Flags whose values stay texts: the settings' reader parses them together with those of the environment and the file.
///
/// Their help comes from the table of settings. ``given`` finds the setting by the property's name in camel case.
protocol FlagOptions: ParsableArguments {}

extension FlagOptions {
  /// The values that were given on the command line.
  var given: [SettingKey: [String]] {
    var given: [SettingKey: [String]] = [:]
    for child in Mirror(reflecting: self).children {
      let key = SettingKey(Self.name(ofProperty: child.label ?? ""))
      switch child.value {
      case let option as Option<String?>: given[key] = option.wrappedValue.map { [$0] }
      case let option as Option<[String]>: given[key] = option.wrappedValue.isEmpty ? nil : option.wrappedValue
      case let flag as Flag<Bool>: given[key] = flag.wrappedValue ? ["true"] : nil
      default: break
      }
    }
    return given
  }

  /// Returns the setting's name for a property: `page-time` for `_pageTime`.
  private static func name(ofProperty label: String) -> String {
    label.drop { $0 == "_" }.reduce(into: "") { $0 += $1.isUppercase ? "-" + $1.lowercased() : String($1) }
  }
}

extension Option where Value == String? {
  init(_ key: SettingKey) { self.init(name: .customLong(key.rawValue), help: .setting(key)) }
}

extension Option where Value == [String] {
  init(wrappedValue: [String], _ key: SettingKey) {
    self.init(wrappedValue: wrappedValue, name: .customLong(key.rawValue), help: .setting(key))
  }
}

extension Flag where Value == Bool {
  init(wrappedValue: Bool, _ key: SettingKey) {
    self.init(wrappedValue: wrappedValue, name: .customLong(key.rawValue), help: .setting(key))
  }
}

extension ArgumentHelp {
  /// The help of a setting in the table of settings.
  fileprivate static func setting(_ key: SettingKey) -> ArgumentHelp? {
    Settings.setting(key).map { setting in
      let valueName = setting.valueName.isEmpty ? nil : setting.valueName
      return ArgumentHelp(setting.help, discussion: setting.discussion, valueName: valueName)
    }
  }
}

struct ServingFlags: FlagOptions {
  @Option(.bundles) var bundles: String?
  @Option(.manifest) var manifest: String?
  @Option(.releases) var releases: String?
  @Option(.follow) var follow: String?
  @Option(.root) var root: String?
  @Option(.freshFor) var freshFor: String?
  @Option(.signWith) var signWith: String?
  @Option(.publicKey) var publicKey: String?
  @Option(.signedFor) var signedFor: String?
  @Option(.statusSignWith) var statusSignWith: String?
  @Option(.statusPublicKey) var statusPublicKey: String?
  @Option(.statusSignedFor) var statusSignedFor: String?
  @Option(.reportKey) var reportKey: [String] = []
  @Option(.haltPercent) var haltPercent: String?
  @Option(.haltInstalls) var haltInstalls: String?
  @Option(.store) var store: String?
  @Option(.listen) var listen: String?
  @Option(.adminListen) var adminListen: String?
  @Option(.publicRoutes) var `public`: [String] = []
  @Option(.host) var host: [String] = []
}

struct GatewayFlags: FlagOptions {
  @Option(.gateway) var gateway: String?
  @Option(.origin) var origin: String?
}

struct FleetFlags: FlagOptions {
  @Option(.journal) var journal: [String] = []
  @Option(.journalCredentials) var journalCredentials: String?
  @Option(.journalCA) var journalCa: String?
  @Option(.fleet) var fleet: String?
  @Option(.fleetHost) var fleetHost: String?
  @Option(.whenCutOff) var whenCutOff: String?
}

struct PageFlags: FlagOptions {
  @Option(.workers) var workers: String?
  @Option(.pageTime) var pageTime: String?
  @Option(.workerMemory) var workerMemory: String?
  @Option(.maxPages) var maxPages: String?
  @Option(.pageIdle) var pageIdle: String?
  @Option(.pageQueue) var pageQueue: String?
  @Option(.pageWait) var pageWait: String?
  @Option(.allowOrigin) var allowOrigin: [String] = []
  @Option(.framework) var framework: [String] = []
  @Option(.prelude) var prelude: [String] = []
  @Option(.env) var env: [String] = []
}

struct SecurityFlags: FlagOptions {
  @Option(.tlsCert) var tlsCert: String?
  @Option(.tlsKey) var tlsKey: String?
  @Option(.adminToken) var adminToken: String?
  @Option(.adminTokenFile) var adminTokenFile: String?
  @Flag(.insecureAdmin) var insecureAdmin = false
  @Option(.trustedProxies) var trustedProxies: [String] = []
  @Option(.proxyProtocol) var proxyProtocol: [String] = []
  @Option(.webhookSecret) var webhookSecret: String?
  @Option(.webhookSecretFile) var webhookSecretFile: String?
}

struct LimitFlags: FlagOptions {
  @Option(.maxBody) var maxBody: String?
  @Option(.maxHeader) var maxHeader: String?
  @Option(.maxURL) var maxUrl: String?
  @Option(.maxConnections) var maxConnections: String?
  @Option(.connectionsPerAddress) var connectionsPerAddress: String?
  @Option(.headTime) var headTime: String?
  @Option(.bodyTime) var bodyTime: String?
  @Option(.idleTime) var idleTime: String?
  @Option(.shutdownTime) var shutdownTime: String?
}

struct LogFlags: FlagOptions {
  @Option(.logLevel) var logLevel: String?
  @Option(.accessLogLevel) var accessLogLevel: String?
  @Option(.logFormat) var logFormat: String?
}
