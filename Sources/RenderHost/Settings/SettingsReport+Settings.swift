import CacheGateway
import HTTPTransport
import ServerKit

extension SettingsReport {
  /// The report of all settings. The origins of the settings' file have a line each, in the place of `--origin`.
  ///
  /// - Parameter sources: the flag, the variable or the file that gave each setting.
  package init(_ settings: Settings, sources: [SettingKey: String] = [:]) {
    var lines = SettingsReport(Settings.table, of: settings, sources: sources).lines
    if sources[.origin] == nil {
      for index in lines.indices where lines[index].key == SettingKey.origin.rawValue { lines[index].value = nil }
      lines += settings.gateway.origins.map(Self.line)
    }
    self.init(lines)
  }

  private static func line(_ origin: OriginSettings) -> Line {
    let places = (origin.hosts.isEmpty ? ["any host"] : origin.hosts) + origin.prefixes
    return Line(
      key: "origins[\(origin.name)]", value: "\(origin.url.origin) for \(places.joined(separator: ", "))",
      source: "file")
  }
}
