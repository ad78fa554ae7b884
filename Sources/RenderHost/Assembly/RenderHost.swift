import CacheGateway
import Foundation
import Hummingbird
import Logging
import PageKit
import ServerKit
import ServiceLifecycle

/// The daemon: serves bundles and runs pages.
package struct RenderHost: Sendable {
  let settings: Settings
  /// The flag, the variable or the file that gave each setting.
  let sources: [SettingKey: String]
  let logger: Logger
  /// Reads all settings again, at SIGHUP; `nil` for a host whose settings are read once.
  let reread: (@Sendable () throws -> SettingsReader.Merged)?

  package init(_ settings: Settings, logger: Logger = Logger(label: "renderhost")) {
    self.init(settings, sources: [:], logger: logger)
  }

  package init(
    _ settings: Settings, sources: [SettingKey: String], logger: Logger,
    reread: (@Sendable () throws -> SettingsReader.Merged)? = nil
  ) {
    self.settings = settings
    self.reread = reread
    self.sources = sources
    self.logger = logger
  }

  /// Runs until the process is told to stop.
  package func run() async throws {
    let parts = try RenderHostParts(settings, logger: logger)
    let live = reread.map {
      LiveSettings(settings, sources: sources, gateway: parts.gateway?.gateway, read: $0)
    }
    try await HostServer(
      settings: settings, sources: sources, live: live, controls: parts.controls, metrics: parts.record.metrics,
      services: parts.services, logger: logger, gateway: parts.gateway,
      whenRunning: { [locations = parts.pages?.locations] listener, address in
        if listener.isPublic, let port = address?.port { locations?.listens(on: port) }
      }
    ).run(adding: parts.add(to:))
  }
}
