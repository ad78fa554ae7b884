import CacheGateway
import ServerKit
import Synchronization

/// The settings of a running host, of which SIGHUP changes some: the gateway's origins, the tokens, the certificate and the
/// levels of the log. The others take effect when the host is started again.
final class LiveSettings: Sendable {
  /// The settings that change while the host runs.
  static let changing: Set<SettingKey> = [
    .origin, .adminToken, .adminTokenFile, .tlsCert, .tlsKey, .logLevel, .accessLogLevel,
  ]

  private let state: Mutex<SettingsReader.Merged>
  private let read: @Sendable () throws -> SettingsReader.Merged
  private let gateway: Gateway?

  /// - Parameter read: reads all settings again.
  init(
    _ settings: Settings, sources: [SettingKey: String], gateway: Gateway?,
    read: @escaping @Sendable () throws -> SettingsReader.Merged
  ) {
    state = Mutex(SettingsReader.Merged(settings: settings, sources: sources))
    (self.gateway, self.read) = (gateway, read)
  }

  /// The settings as they are now.
  var report: SettingsReport { state.withLock { SettingsReport($0.settings, sources: $0.sources) } }

  /// Reads the settings again, and changes those that can be changed.
  ///
  /// - Parameters:
  ///   - authenticator: accepts the tokens; `nil` without any.
  ///   - tls: has the certificate; `nil` without one.
  /// - Returns: the changes, each in words.
  /// - Throws: ``SettingsError`` and the errors of files; nothing has changed then.
  func reconfigure(
    _ authenticator: AdminAuthenticator?, _ tls: TLSReloader?, levels: LogLevels = .shared
  ) throws -> [String] {
    let former = state.withLock(\.self)
    let next = try read()
    if let problem = next.settings.problems.first { throw SettingsError.combination(problem) }
    try checkPresence(former.settings, next.settings)
    let origins = try gateway?.replacement(by: next.settings.gateway.origins)
    let files = try tls.flatMap { _ in try Self.files(former.settings, next.settings) }
    // All has been read and checked. What can still fail comes first.
    if let files { try tls?.reload(files) }
    try authenticator?.replace(by: next.settings.adminTokens)
    origins?.replace()
    levels.current = next.settings.logLevels
    let applied = Self.applied(next, to: former)
    state.withLock { $0 = applied }
    return Self.changes(from: former.settings, to: applied.settings)
      + [origins?.changes].compactMap(\.self).filter { !$0.isEmpty }.map(\.text)
      + Self.pending(next.settings, applied.settings)
  }

  /// Checks that nothing begins or ends for which listeners and routes are made at the start.
  ///
  /// - Throws: ``SettingsError/combination(_:)``.
  private func checkPresence(_ former: Settings, _ next: Settings) throws {
    func check(_ key: SettingKey, _ was: Bool, _ isGiven: Bool) throws {
      guard was != isGiven else { return }
      throw SettingsError.combination(
        "\(key.flag) was \(was ? "given" : "not given") when the host was started, and is \(isGiven ? "" : "not ")given now: "
          + "start the host again")
    }
    try check(.adminToken, !former.adminTokens.isEmpty, !next.adminTokens.isEmpty)
    try check(.tlsCert, former.certificate != nil, next.certificate != nil)
    try check(.gateway, former.gateway.address != nil, next.gateway.address != nil)
  }

  /// The files of another certificate; `nil` for the same ones.
  private static func files(_ former: Settings, _ next: Settings) throws -> TLSFiles? {
    guard (former.certificate, former.privateKey) != (next.certificate, next.privateKey),
      let certificate = next.certificate, let key = next.privateKey
    else { return nil }
    return TLSFiles(certificate: certificate, privateKey: key)
  }

  private static func applied(_ next: SettingsReader.Merged, to former: SettingsReader.Merged) -> SettingsReader.Merged
  {
    var applied = former
    applied.settings.gateway.origins = next.settings.gateway.origins
    applied.settings.adminTokens = next.settings.adminTokens
    applied.settings.certificate = next.settings.certificate
    applied.settings.privateKey = next.settings.privateKey
    applied.settings.logLevels = next.settings.logLevels
    for key in changing { applied.sources[key] = next.sources[key] }
    return applied
  }

  /// The changed values, without the secrets and the origins.
  private static func changes(from former: Settings, to next: Settings) -> [String] {
    var changes: [String] = []
    for setting in Settings.table where changing.contains(setting.key) && setting.key != .origin {
      let (old, new) = (setting.show(former), setting.show(next))
      guard old != new else { continue }
      if setting.isSecret {
        let count = next.adminTokens.count
        changes.append("\(setting.key.rawValue): \(count == 1 ? "another token is" : "\(count) tokens are") accepted")
      } else {
        changes.append("\(setting.key.rawValue): \(old ?? "-") → \(new ?? "-")")
      }
    }
    return changes
  }

  /// Names the settings that have other values, and need a start.
  private static func pending(_ next: Settings, _ applied: Settings) -> [String] {
    let keys = Settings.table.filter { !changing.contains($0.key) && $0.show(next) != $0.show(applied) }.map(\.key.flag)
    return keys.isEmpty
      ? []
      : ["\(keys.joined(separator: ", ")) \(keys.count == 1 ? "takes" : "take") effect when the host is started again"]
  }
}
