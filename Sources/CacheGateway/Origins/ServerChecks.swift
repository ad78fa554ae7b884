import HTTPTransport
import HTTPTypes
import Logging

/// Requests a path from the servers of an origin at intervals: servers that fail get no requests, and servers that
/// recover get them at once.
struct ServerChecks: Sendable {
  let settings: OriginSettings
  let servers: OriginServers
  let transport: any HTTPTransporting
  let reachability: Reachability
  let logger: Logger

  /// The bytes of a response that are read, so that its connection can be reused.
  private static let bodyLimit: Int64 = 64 << 10

  /// Runs until it is cancelled.
  func run() async {
    guard let path = settings.healthPath else { return }
    await withTaskGroup(of: Void.self) { group in
      for index in servers.urls.indices {
        group.addTask {
          repeat {
            await check(index, path)
            try? await Task.sleep(for: settings.healthInterval)
          } while !Task.isCancelled
        }
      }
    }
  }

  private func check(_ index: Int, _ path: String) async {
    let url = servers.urls[index]
    let problem = await problem(url, path)
    guard !Task.isCancelled else { return }
    let hasChanged = servers.checked(index, isGood: problem == nil)
    if problem == nil { reachability.recordSuccess(settings.url) }
    guard hasChanged else { return }
    let metadata: Logger.Metadata = ["origin": "\(settings.name)", "server": "\(url.origin)"]
    if let problem {
      logger.warning("A server of an origin is down: \(problem)", metadata: metadata)
    } else {
      logger.notice("A server of an origin is up again", metadata: metadata)
    }
  }

  /// Returns the reason why the server counts as down; `nil` if its answer is a success or a redirect.
  private func problem(_ url: PageURL, _ path: String) async -> String? {
    guard var head = HTTPRequest(url: url, fields: [.userAgent: GatewayFields.pseudonym]) else {
      return "it has no URL"
    }
    head.path = path
    var limits = TransferLimits(connect: settings.connectTime, total: settings.connectTime)
    limits.bodyBytes = Self.bodyLimit
    var request = TransportRequest(head, limits: limits)
    request.addsNothing = true
    do {
      let response = try await transport.send(request)
      let status = response.head.status.code
      guard (200..<400).contains(status) else { return "\(request.url) answers \(status)" }
      _ = try? await response.body.collect(upTo: Self.bodyLimit)
      return nil
    } catch {
      return error.sentence
    }
  }
}
