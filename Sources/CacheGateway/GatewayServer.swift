import Foundation
import HTTPCaching
import HTTPTransport
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypes
import NIOPosix
import ServerKit
import ServiceLifecycle

/// The gateway's listener, which has the same limits as the host's own.
package struct GatewayServer: Sendable {
  package let gateway: Gateway
  let settings: ServerSettings
  let metrics: HostMetrics
  let logger: Logger
  /// The recorded responses that are replayed to identical request heads: 10,000 and more, whose bytes the origins' caches
  /// have.
  let answers = RecordedResponses(capacity: 24 << 20)
  /// Answers requests on their event loops, if nothing but the origin has to be waited for.
  let prompt: PromptAnswers
  private let common: HostMiddleware
  /// Called with the address that it listens on.
  var whenRunning: @Sendable (SocketAddress?) async -> Void = { _ in }

  package init(
    gateway: Gateway, settings: ServerSettings, metrics: HostMetrics, logger: Logger,
    whenRunning: @escaping @Sendable (SocketAddress?) async -> Void = { _ in }
  ) {
    self.gateway = gateway
    self.settings = settings
    self.metrics = metrics
    self.logger = logger
    self.whenRunning = whenRunning
    common = HostMiddleware(settings, metrics: metrics, route: "gateway", clientsTakeTurns: false)
    prompt = PromptAnswers(common, logger: logger) { gateway.begin($0) }
  }

  /// - Parameter address: the address to listen on.
  package func service(_ address: (host: String, port: Int), tls: TLSReloader?) throws -> any Service {
    let responder = responder
    let connectionLimit = ProcessLimits.current.connections(settings)
    let connections = ConnectionRegister(limit: settings.limits.connectionsPerAddress)
    let server = try HTTPServerBuilder.guarded(
      settings.limits, tls: tls, connections: connections, metrics: metrics, memory: answers,
      ownFields: CacheStatus(.generated, detail: "gateway").added(to: [:]), proxies: settings.proxies,
      readsProxyHeader: settings.readsProxyHeader(.gateway), prompt: prompt
    ).buildServer(
      configuration: ServerConfiguration(
        address: .hostname(address.host, port: address.port), backlog: AcceptErrorHandler.backlog,
        availableConnectionsDelegate: .maximum(connectionLimit, logger: logger)),
      eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger
    ) { request, writer, channel in
      let context = HostRequestContext(
        source: ApplicationRequestContextSource(channel: channel, logger: logger),
        version: await RequestVersion(of: request, on: channel),
        socketBytes: await BytePipe.ofSocket(for: request, on: channel), note: AccessLogNote())
      // Unlike the host's own responses, these have the origin's date.
      let heads = InterimHeads(in: context.version) { channel.writeAndFlush(HTTPResponsePart.head($0), promise: nil) }
      let response = try await InterimHeads.$current.withValue(heads) {
        try await responder.respond(to: request, context: context)
      }
      try await writer.write(response: response.head, body: response.body)
    } onServerRunning: { [logger, whenRunning, metrics] channel in
      await AcceptErrorHandler.add(to: channel, connections: connectionLimit, metrics: metrics, logger: logger)
      logger.notice(
        "The gateway is listening",
        metadata: ["address": "\(channel.localAddress?.hostAndPort ?? "-")", "protocol": tls == nil ? "http" : "https"])
      if tls != nil, channel.localAddress?.isLoopback == true {
        logger.notice("The gateway has the certificate of --tls-cert on loopback too: its clients need https")
      }
      await whenRunning(channel.localAddress)
    }
    return CheckedService(
      base: .listening(server, flag: SettingKey.gateway.flag, address: address),
      origins: gateway.current)
  }

  /// Checks the origins' servers while the gateway is listening.
  private struct CheckedService: Service {
    let base: BackgroundService
    let origins: GatewayOrigins

    func run() async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await check() }
        try await base.run()
        group.cancelAll()
      }
    }

    /// Checks the servers of the present origins. Those of an origin that stays are not interrupted.
    private func check() async {
      await withDiscardingTaskGroup { group in
        var running: [ObjectIdentifier: Task<Void, Never>] = [:]
        while !Task.isCancelled {
          let seen = origins.replacements.count
          let present = Dictionary(origins.routes.origins.map { (ObjectIdentifier($0), $0) }) { first, _ in first }
          for (id, task) in running where present[id] == nil {
            task.cancel()
            running[id] = nil
          }
          for (id, origin) in present where running[id] == nil {
            let task = Task { [checks = origin.checks] in await checks.run() }
            running[id] = task
            group.addTask {
              await withTaskCancellationHandler {
                await task.value
              } onCancel: {
                task.cancel()
              }
            }
          }
          await origins.replacements.wait(beyond: seen)
        }
        for task in running.values { task.cancel() }
      }
    }
  }

  private var responder: some HTTPResponder<HostRequestContext> {
    let router = Router(context: HostRequestContext.self)
    router.add(middleware: common)
    router.add(middleware: CatchAllMiddleware(gateway: gateway))
    return router.buildResponder()
  }

  /// Answers every method and every path: no routes follow it.
  private struct CatchAllMiddleware: RouterMiddleware {
    let gateway: Gateway

    func handle(
      _ request: Request, context: HostRequestContext,
      next: (Request, HostRequestContext) async throws -> Response
    ) async throws -> Response {
      try await gateway.respond(
        to: request, client: context.peer, version: context.version,
        disconnection: context.disconnection, socketBytes: context.socketBytes, note: context.note,
        replay: context.replay, begun: context.begun as? BegunRequest)
    }
  }
}
