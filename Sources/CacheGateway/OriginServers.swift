import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging
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

  /// The scheme and authority of the only server, if requests are sent to it; `nil` for an origin with several.
  var onlyTarget: HTTPRequest? {
    guard urls.count == 1, rotation.withLock({ $0.health.first?.isUp }) == true else { return nil }
    return targets[0]
  }

  /// Records how a request to the only server ended.
  func ended(_ result: Result<TransportResponse, any Error>) {
    switch result {
    case .success: reachability.recordSuccess(urls[0])
    case .failure(let error): reachability.record(error, for: urls[0])
    }
  }

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
  ///   - mayGoOn: returns `true` if another server may be tried after an error.
  ///   - body: is given the URL of a server, and its scheme and authority.
  /// - Throws: the error of the last server; ``TransportError/cannotConnect(url:reason:)`` if none is up.
  func first<Value>(
    for url: @autoclosure () -> String, mayGoOn: (any Error) -> Bool = { Reachability.meansAway($0) },
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
        if error is ServerBusyError { reachability.recordSuccess(server) }
        guard mayGoOn(error) else { throw error }
        failure = error
      }
    }
    throw failure ?? TransportError.cannotConnect(url: url(), reason: "all of its servers are down")
  }
}

/// A server has answered 503, and another one may be asked.
private struct ServerBusyError: Error {}

/// Sends each request to one of an origin's servers.
///
/// A request that changes nothing is sent to one further server if the first one closes the connection without an
/// answer, or answers 503: one, since the request itself may be the cause.
struct ServersTransport: CallbackTransporting {
  let base: any CallbackTransporting
  let servers: OriginServers

  /// The longest body of a 503 that is kept while another server is asked, in bytes, and the time for it.
  private static let keptBytes: Int64 = 64 << 10
  private static let keepingTime = Duration.seconds(1)

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    var mayRepeat = servers.urls.count > 1 && Self.isRepeatable(request)
    var refusal: TransportResponse?
    do {
      return try await servers.first(for: request.url) { error in
        // Only a failed connection guarantees that nothing was sent to the server.
        if Reachability.meansAway(error) { return request.stream?.isUsed != true }
        guard mayRepeat, error is ServerBusyError || Self.isClosed(error) else { return false }
        mayRepeat = false
        return true
      } _: { _, target in
        var outgoing = request
        (outgoing.head.scheme, outgoing.head.authority) = (target?.scheme, target?.authority)
        let response = try await base.send(outgoing)
        guard mayRepeat, response.head.status == .serviceUnavailable else { return response }
        refusal = try await Self.kept(response)
        throw ServerBusyError()
      }
    } catch let error where !(error is CancellationError) {
      // No other server had an answer.
      if let refusal { return refusal }
      guard error is ServerBusyError else { throw error }
      throw TransportError.closedEarly(url: request.url, received: 0, reason: "it answers 503")
    }
  }

  /// Of an origin with several servers, a task asks one after the other.
  var mayBegin: Bool { servers.onlyTarget != nil && base.mayBegin }

  func begin(
    _ request: TransportRequest, on loop: @escaping EventLoopCall,
    _ receive: @escaping @Sendable (Result<TransportResponse, any Error>) -> Void
  ) -> (@Sendable () -> Void)? {
    guard let target = servers.onlyTarget else { return nil }
    var outgoing = request
    (outgoing.head.scheme, outgoing.head.authority) = (target.scheme, target.authority)
    return base.begin(outgoing, on: loop) { [servers] result in
      servers.ended(result)
      receive(result)
    }
  }

  /// RFC 9110 §9.2.1.
  private static func isRepeatable(_ request: TransportRequest) -> Bool {
    [.get, .head, .options, .trace].contains(request.head.method) && request.stream == nil && request.body.isEmpty
  }

  private static func isClosed(_ error: any Error) -> Bool {
    if case TransportError.closedEarly = error { true } else { false }
  }

  /// The response with its whole body, so that it takes up no connection; `nil` if that is long or slow.
  private static func kept(_ response: TransportResponse) async throws -> TransportResponse? {
    do {
      let body = try await within(keepingTime) { try await response.body.collect(upTo: keptBytes) }
      return body.map { TransportResponse(head: response.head, body: Body($0), version: response.version) }
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      return nil
    }
  }

  func shutDown() async { await base.shutDown() }
}

/// The order of an origin's servers, and the results of their checks, as a value.
struct ServerRotation: Hashable, Sendable {
  /// The results of the checks of one server.
  struct Health: Hashable, Sendable {
    /// The number of consecutive failures.
    private(set) var failures = 0
    private(set) var isUp = true

    /// - Parameter patience: the number of consecutive failures after which it counts as down. One success brings it up
    ///   again.
    /// - Returns: `true` if the state has changed.
    mutating func note(isGood: Bool, patience: Int) -> Bool {
      failures = isGood ? 0 : failures + 1
      let wasUp = isUp
      isUp = isGood || isUp && failures < patience
      return isUp != wasUp
    }
  }

  private(set) var health: [Health]
  private var next = 0
  private let patience: Int

  init(count: Int, patience: Int) {
    health = Array(repeating: Health(), count: count)
    self.patience = patience
  }

  /// Returns the servers that are up, in the order in which a request tries them. Each one is first in turn.
  mutating func order() -> [Int] {
    let start = next
    next = (next + 1) % max(health.count, 1)
    return health.indices.map { (start + $0) % health.count }.filter { health[$0].isUp }
  }

  /// Records the result of a check.
  ///
  /// - Returns: `true` if the state of the server has changed.
  mutating func checked(_ index: Int, isGood: Bool) -> Bool {
    guard health.indices.contains(index) else { return false }
    return health[index].note(isGood: isGood, patience: patience)
  }
}

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

/// Measures the response times of an origin, and adds `Via` to each response, and `Date` to those without one, so that
/// stored responses have them. RFC 9110 §6.6.1, §7.6.3.
struct OriginTransport: CallbackTransporting {
  let base: any CallbackTransporting
  let record: GatewayRecord
  let now: @Sendable () -> HTTPDate

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    let start = ContinuousClock.now
    return completed(try await base.send(request), since: start)
  }

  var mayBegin: Bool { base.mayBegin }

  func begin(
    _ request: TransportRequest, on loop: @escaping EventLoopCall,
    _ receive: @escaping @Sendable (Result<TransportResponse, any Error>) -> Void
  ) -> (@Sendable () -> Void)? {
    let start = ContinuousClock.now
    return base.begin(request, on: loop) { result in receive(result.map { completed($0, since: start) }) }
  }

  private func completed(_ response: TransportResponse, since start: ContinuousClock.Instant) -> TransportResponse {
    var head = response.head
    if !head.headerFields.contains(.date) { head.headerFields[.date] = now().description }
    GatewayFields.addWay(version: response.version ?? "1.1", to: &head.headerFields)
    record.answeredByOrigin(after: ContinuousClock.now - start)
    return TransportResponse(head: head, body: response.body, version: response.version)
  }
}
