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
    try await application().runService()
  }

  /// The server with its routes, and the services beside it.
  func application() throws -> some ApplicationProtocol {
    var configuration = HostConfiguration(manifest: try Serving.source(settings), store: settings.store)
    configuration.releaseGrace = ReleaseFeed.grace
    configuration.logger = logger
    let serving = try Serving(settings, host: PageHost(configuration), logger: logger)
    let router = Router(context: HostRequestContext.self)
    serving.add(to: router)
    return Application(
      router: router, configuration: .init(address: .hostname(settings.address, port: settings.port)),
      services: serving.services, logger: logger)
  }
}
