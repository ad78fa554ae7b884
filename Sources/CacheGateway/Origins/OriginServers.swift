import HTTPTransport
import HTTPTypes
import Synchronization

/// The servers of one origin, which take turns. A request that cannot be sent to one of them is sent to the next.
final class OriginServers: Sendable {
  let urls: [PageURL]
  /// The scheme and authority of each server.
  private let targets: [HTTPRequest?]
  private let rotation: Mutex<ServerRotation>
  /// The servers to which a connection failed recently.
  private let reachability: Reachability

  init(_ settings: OriginSettings) {
    urls = settings.servers
    targets = urls.map { HTTPRequest(url: $0) }
    rotation = Mutex(ServerRotation(count: urls.count, patience: settings.patience.failures))
    reachability = Reachability(settings.patience)
  }

  /// The result of the checks for each server; `true` if it is up.
  var areUp: [Bool] { rotation.withLock { $0.health.map(\.isUp) } }

  /// Records the result of a check.
  ///
  /// - Returns: `true` if the state of the server has changed.
  func checked(_ index: Int, isGood: Bool) -> Bool {
    if isGood { reachability.recordSuccess(urls[index]) }
    return rotation.withLock { $0.checked(index, isGood: isGood) }
  }

  /// Runs a body with the server whose turn it is, and with the next one if that cannot be reached.
  ///
  /// - Parameters:
  ///   - url: the requested URL, for errors.
  ///   - mayGoOn: returns `true` if another server may be tried.
  ///   - body: is given the URL of a server, and its scheme and authority.
  /// - Throws: the error of the last server; ``TransportError/cannotConnect(url:reason:)`` if none is up.
  func first<Value>(
    for url: @autoclosure () -> String, mayGoOn: () -> Bool = { true },
    _ body: (PageURL, _ target: HTTPRequest?) async throws -> Value
  ) async throws -> Value {
    var failure: (any Error)?
    for index in rotation.withLock({ $0.order() }) {
      let server = urls[index]
      // A single server's failures are handled by the loader.
      guard urls.count == 1 || reachability.admits(server) else { continue }
      do {
        let value = try await body(server, targets[index])
        reachability.recordSuccess(server)
        return value
      } catch {
        reachability.record(error, for: server)
        // Only a failed connection guarantees that nothing was sent to the server.
        guard Reachability.meansAway(error), mayGoOn() else { throw error }
        failure = error
      }
    }
    throw failure ?? TransportError.cannotConnect(url: url(), reason: "all of its servers are down")
  }
}

/// Sends each request to one of an origin's servers.
struct ServersTransport: HTTPTransporting {
  let base: any HTTPTransporting
  let servers: OriginServers

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    try await servers.first(for: request.url, mayGoOn: { request.stream?.isTaken != true }) { _, target in
      var outgoing = request
      (outgoing.head.scheme, outgoing.head.authority) = (target?.scheme, target?.authority)
      return try await base.send(outgoing)
    }
  }

  func shutDown() async { await base.shutDown() }
}
