import HTTPTransport
import HTTPTypes
import Synchronization

/// The servers of one origin: a request goes to the one whose turn it is, and to another if that cannot be reached.
final class OriginServers: Sendable {
  let urls: [PageURL]
  private let rotation: Mutex<ServerRotation>
  /// The servers that could not be reached a moment ago.
  private let reachability: Reachability

  init(_ settings: OriginSettings) {
    urls = settings.servers
    rotation = Mutex(ServerRotation(count: urls.count, patience: settings.patience.failures))
    reachability = Reachability(settings.patience)
  }

  /// For each server, `true` if checks have found it to be up.
  var areUp: [Bool] { rotation.withLock { $0.health.map(\.isUp) } }

  /// Notes what a check has found.
  ///
  /// - Returns: `true` if the server has come up or gone down with this.
  func checked(_ index: Int, isGood: Bool) -> Bool {
    if isGood { reachability.recordSuccess(urls[index]) }
    return rotation.withLock { $0.checked(index, isGood: isGood) }
  }

  /// Does something with the server whose turn it is, and with the next one where it cannot be reached.
  ///
  /// - Parameters:
  ///   - url: the requested URL, for errors.
  ///   - mayGoOn: returns `true` if another may be tried after that.
  /// - Throws: the error of the last one; ``TransportError/cannotConnect(url:reason:)`` if none is up.
  func first<Value>(
    for url: String, mayGoOn: () -> Bool = { true }, _ body: (PageURL) async throws -> Value
  ) async throws -> Value {
    var failure: (any Error)?
    for index in rotation.withLock({ $0.order() }) {
      let server = urls[index]
      // With a single server, the loader lets it rest.
      guard urls.count == 1 || reachability.admits(server) else { continue }
      do {
        let value = try await body(server)
        reachability.recordSuccess(server)
        return value
      } catch {
        reachability.record(error, for: server)
        // Nothing was sent to a server that could not be connected to.
        guard Reachability.meansAway(error), mayGoOn() else { throw error }
        failure = error
      }
    }
    throw failure ?? TransportError.cannotConnect(url: url, reason: "none of its servers is up")
  }
}

/// Sends each request to one of an origin's servers.
struct ServersTransport: HTTPTransporting {
  let base: any HTTPTransporting
  let servers: OriginServers

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    try await servers.first(for: request.url, mayGoOn: { request.stream?.isTaken != true }) { server in
      var outgoing = request
      let target = HTTPRequest(url: server)
      (outgoing.head.scheme, outgoing.head.authority) = (target?.scheme, target?.authority)
      return try await base.send(outgoing)
    }
  }

  func shutDown() async { await base.shutDown() }
}
