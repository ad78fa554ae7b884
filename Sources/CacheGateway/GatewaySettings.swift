import HTTPTransport
import ServerKit

/// The settings of the gateway.
package struct GatewaySettings: Sendable {
  /// The address and port that it listens on; `nil` for no gateway.
  package var address: (host: String, port: Int)?
  /// The servers behind it; empty without an address.
  package var origins: [OriginSettings] = []

  package init(
    address: (host: String, port: Int)? = nil, origins: [OriginSettings] = []
  ) {
    self.address = address
    self.origins = origins
  }
}

extension SettingKey {
  package static let gateway = Self("gateway")
  package static let origin = Self("origin")
}

extension GatewaySettings {
  /// The rows of the table of settings for the gateway.
  package static let table: [Setting<GatewaySettings>] = [
    Setting(.gateway, help: "The address of the gateway, a shared cache before another server.", valueName: "host:port")
    {
      $1.address = try $0.address(like: "127.0.0.1:8081 or [::1]:8081")
    } show: { settings in
      settings.address.map { "\(SettingText.bracketed($0.host)):\($0.port)" }
    },
    Setting(
      .origin, help: "The server behind the gateway.",
      discussion: "Several, each with its own limits and rules, are given in the file, under origins.", valueName: "url"
    ) { value, settings in
      guard let url = OriginsFile.url(value.text) else { throw value.bad(OriginsFile.expectedURL) }
      settings.origins = [OriginSettings(url: url)]
    } show: {
      $0.origins.first?.url.origin
    },
  ]
}
