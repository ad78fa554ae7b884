import Hummingbird
import Logging
import PageKit
import ServiceLifecycle

/// The daemon: serves bundles, and runs pages.
public struct RenderHost: Sendable {
  let settings: Settings
  let logger: Logger

  public init(_ settings: Settings, logger: Logger = Logger(label: "renderhost")) {
    self.settings = settings
    self.logger = logger
  }

  /// Runs until the process is told to stop.
  public func run() async throws {
    let router = Router(context: HostRequestContext.self)
    let application = Application(
      router: router, configuration: .init(address: .hostname(settings.address, port: settings.port)), logger: logger)
    try await application.runService()
  }
}
