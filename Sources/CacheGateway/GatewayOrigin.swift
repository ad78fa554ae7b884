import Blobs
import CurlTransport
import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTPTypes
import ServerKit
import Synchronization

/// One origin behind the gateway, with its own cache.
package final class GatewayOrigin: Sendable {
  let settings: OriginSettings
  /// Scheme, host and port of the first server.
  private let base: String
  let loader: ResourceLoader
  let record: GatewayRecord
  let sockets: OriginSocketConnector
  let servers: OriginServers
  let checks: ServerChecks

  /// - Parameter store: the folder of all stores.
  /// - Throws: ``StoreError``, ``TransportError``.
  init(
    _ settings: OriginSettings, store: StoreDirectory, record: HostRecord, logger: Logger,
    now: @escaping @Sendable () -> HTTPDate, storedUse: @escaping @Sendable (HTTPDate) -> StoredUse
  ) throws {
    self.settings = settings
    base = settings.url.origin
    self.record = GatewayRecord(record, origin: settings, logger: logger)
    servers = OriginServers(settings)
    sockets = try OriginSocketConnector(settings, servers)
    var options = ResponseStore.Options(capacity: settings.disk)
    (options.remembersKeys, options.readsAtOnce) = (true, true)
    let responses = try ResponseStore(at: settings.directory(in: store), options: options, logger: logger)
    let cache = try ResponseCache(
      store: responses, memoryCapacity: settings.memory, freshLimit: Self.freshLimit,
      policy: CachePolicy(mode: .shared, targets: settings.targets), logger: logger)
    let transport = try Self.transport(settings)
    let timed = OriginTransport(
      base: ServersTransport(base: transport, servers: servers), record: self.record, now: now)
    loader = ResourceLoader(
      cache: cache,
      transport: settings.tagLimit > 0 ? ContentTags(transport: timed, limit: settings.tagLimit) : timed,
      reachability: Reachability(settings.patience),
      configuration: Self.configuration(settings, logger, now, storedUse))
    checks = ServerChecks(
      settings: settings, servers: servers, transport: transport, reachability: loader.reachability, logger: logger)
  }

  /// The bytes in memory of answers that nobody has asked for again: they are on disk, too.
  private static let freshLimit = 1 << 20

  private static func transport(_ settings: OriginSettings) throws -> CurlTransport {
    var transport = CurlTransport.Configuration(
      certificateAuthorities: settings.certificateAuthorities, connectionsPerHost: settings.connections + 1,
      // A check must not wait for the end of a request.
      connections: settings.connections + settings.servers.count)
    transport.usesEnvironmentProxies = false
    // Otherwise libcurl would buffer up to 32 MiB of a response that is not being read.
    transport.sharesConnections = false
    return try CurlTransport(transport)
  }

  private static func configuration(
    _ settings: OriginSettings, _ logger: Logger, _ now: @escaping @Sendable () -> HTTPDate,
    _ storedUse: @escaping @Sendable (HTTPDate) -> StoredUse
  ) -> ResourceLoader.Configuration {
    var configuration = ResourceLoader.Configuration()
    configuration.behavior = settings.behavior
    configuration.rules = settings.rules
    configuration.partition = .shared
    configuration.rewriters = []
    configuration.ignoredParameters = []
    configuration.addsNothing = true
    configuration.limits = TransferLimits(
      connect: settings.connectTime, lowSpeedBytesPerSecond: 1, lowSpeedTime: settings.idleTime)
    configuration.bodyLimit = settings.answerLimit
    configuration.transfers = settings.connections
    configuration.waiting = settings.waiting
    configuration.sharingPatience = settings.shareTime
    configuration.logger = logger
    (configuration.now, configuration.storedUse) = (now, storedUse)
    return configuration
  }

  /// `true` if requests are sent to it; `false` after several failed attempts to connect, until one succeeds.
  var isUp: Bool { !loader.reachability.isAway(settings.url) && servers.areUp.contains(true) }

  /// - Parameters:
  ///   - path: the target of the request.
  ///   - sender: the client and how the request arrived.
  /// - Throws: ``GatewayError``, and the errors of the client's body.
  func respond(to request: Request, path: String, from sender: ClientInfo) async throws -> Response {
    var resource = resourceRequest(request.head, path: path, from: sender)
    if let heads = InterimHeads.current { resource.informational = { heads.take($0) } }
    resource.begun = sender.begun
    let body = ForwardedBody(request, version: sender.version)
    resource.stream = body?.stream
    do {
      let loaded = try await sender.disconnection.cancelling { [loader, resource] in
        try await loader.response(for: resource)
      }
      let result = answered(loaded, to: request.head, from: sender)
      var response = response(loaded, to: request.head, result, sender.disconnection).response
      // RFC 9112 §9.3: the unread rest of a body would be taken for the next request.
      if body?.isWhole == false { response.headers[.connection] = "close" }
      return response
    } catch let error where !(error is CancellationError) {
      // An invalid body is an error of the client, not of the origin.
      if let failure = body?.failure { throw failure }
      let fault = GatewayError(
        error, origin: settings.name, url: settings.url.origin + path, closes: body?.isWhole == false)
      record.failed(fault)
      sender.note?.change { $0["cache"] = fault.result.rawValue }
      throw fault
    }
  }

  /// Begins the answer to a request without a body on its event loop.
  ///
  /// - Parameters:
  ///   - path: the target of the request.
  ///   - sender: the client and how the request arrived.
  /// - Returns: `nil` if anything but the origin has to be waited for, so that nothing was done.
  func begin(_ asked: PromptAnswers.Asked, path: String, from sender: ClientInfo) -> PromptAnswers.Beginning? {
    let resource = resourceRequest(asked.head, path: path, from: sender)
    let beginning = loader.begin(resource, on: asked.line.loop) { calls(for: asked, from: sender) }
    switch beginning {
    case .response(let loaded):
      guard loaded.status < 500, loaded.wholeBody != nil else { return nil }
      return answer(loaded, to: asked.head, from: sender).map { .answer($0) }
    case .asked(let cancel): return .asked(cancel: cancel)
    case nil: return nil
    }
  }

  private func calls(for asked: PromptAnswers.Asked, from sender: ClientInfo) -> BegunCalls {
    var informational: (@Sendable (HTTPResponse) -> Void)?
    if let heads = InterimHeads(in: asked.version, to: asked.line.interim) { informational = { heads.take($0) } }
    return (
      informational,
      { [self] begun in
        asked.receive {
          switch begun {
          case .resource(let loaded):
            answer(loaded, to: asked.head, from: sender).map { .answer($0) }
              ?? .longWay(BegunRequest(nil, sender.trace))
          case .unfinished(let exchange): .longWay(BegunRequest(exchange, sender.trace))
          }
        }
      }
    )
  }

  /// - Returns: `nil` if only a task can read the body; nothing was counted then.
  private func answer(_ loaded: Resource, to head: HTTPRequest, from sender: ClientInfo) -> PromptAnswers.Answer? {
    let (response, bytes) = response(loaded, to: head, GatewayResult(loaded), sender.disconnection)
    let length = response.body.contentLength
    let rest = bytes == nil && length != 0 ? loaded.body.callbacks : nil
    guard bytes != nil || length == 0 || rest != nil else { return nil }
    _ = answered(loaded, to: head, from: sender)
    return PromptAnswers.Answer(
      head: response.head, length: length, bytes: bytes.flatMap { $0.readableBytes > 0 ? $0 : nil }, rest: rest)
  }

  /// Returns `false` if ``begin(_:path:from:)`` can do nothing for a GET or HEAD for certain.
  ///
  /// - Parameters:
  ///   - path: the target of the request.
  ///   - client: the client, and the host that it requests.
  func mayBegin(_ head: HTTPRequest, path: String, client: ForwardedFields) -> Bool {
    loader.mayBegin(target(head, path: path, client))
  }

  /// The request by which the stored responses are looked up, and which is sent if none answers.
  private func resourceRequest(_ head: HTTPRequest, path: String, from sender: ClientInfo) -> ResourceRequest {
    var resource = target(head, path: path, sender.client)
    resource.fields = GatewayFields.request(
      head, from: sender.client, settings.forwarding, version: sender.version, codings: settings.codings)
    sender.trace.add(to: &resource.fields)
    sender.note?.change { $0 = ["origin": settings.name, "trace": sender.trace.trace] }
    return resource
  }

  /// The same without its fields.
  private func target(_ head: HTTPRequest, path: String, _ client: ForwardedFields) -> ResourceRequest {
    var resource = ResourceRequest(
      base + path, type: .other, method: head.method, followsRedirects: false, keepsContentEncoding: true)
    resource.target = path
    // RFC 9111 §2: the URI that a client requests includes its host, which may be forwarded to the origin.
    resource.host = settings.forwarding == .none ? "" : client.keyHost(in: head.headerFields)
    resource.clientHost = client.host
    if !PageURL.isNormal(resource.reference) {
      // RFC 3986 §6.2: the URL is equivalent to its normal form, but an origin may distinguish the two.
      (resource.behavior, resource.isStored) = (.networkOnly, false)
    }
    return resource
  }

  /// Counts an answer, notes it for the access log, and offers it to be replayed.
  private func answered(_ loaded: Resource, to head: HTTPRequest, from sender: ClientInfo) -> GatewayResult {
    let result = GatewayResult(loaded)
    record.answered(result)
    sender.note?.change { $0["cache"] = result.rawValue }
    offerReplays(of: loaded, result, to: head, from: sender)
    return result
  }

  /// Lets the gateway's listener answer identical request heads with recorded bytes, for as long as the origins are these.
  private func offerReplays(
    of loaded: Resource, _ result: GatewayResult, to request: HTTPRequest, from sender: ClientInfo
  ) {
    // Its channel may be one whose responses are not recorded.
    guard let context = sender.replay, let replay = loaded.replay,
      !replay.chosenBy.contains(where: Self.isOfClient),
      !request.headerFields.contains(.authorization)
    else { return }
    let (current, generation) = (sender.current, sender.generation)
    context.allow(body: { replay.bytes }, aging: { current.isCurrent(generation) ? replay.age() : nil })
    context.onReplay { [record] event in
      replay.use()
      record.answered(result, replay: event)
    }
  }

  /// The fields that depend on more than the request's head: the client's address, or values made for each request.
  private static func isOfClient(_ name: String) -> Bool {
    ["forwarded", "x-real-ip", "traceparent", "tracestate"].contains(name) || name.hasPrefix("x-forwarded-")
  }

  /// - Returns: the response, and all bytes of its body if they are there.
  private func response(
    _ loaded: Resource, to request: HTTPRequest, _ result: GatewayResult, _ disconnection: ClientDisconnection
  ) -> (response: Response, bytes: ByteBuffer?) {
    let fields = GatewayFields.response(loaded.response.headerFields)
    let status = loaded.response.status
    if settings.tagLimit > 0, request.method == .get,
      let head = HTTPResponse(status: status, headerFields: fields).notModified(for: request.headerFields)
    {
      return (Response(status: head.status, headers: head.headerFields), ByteBuffer())
    }
    // RFC 9110 §6.4.1: these responses have no body.
    if request.method == .head || [204, 304].contains(status.code) {
      return (Response(status: status, headers: fields), ByteBuffer())
    }
    if let whole = loaded.wholeBody {
      record.sent(whole.count, result)
      let bytes = ByteBuffer(bytes: whole)
      return (Response(status: status, headers: fields, body: ResponseBody(byteBuffer: bytes)), bytes)
    }
    let length = fields[.contentLength].flatMap { Int($0) }
    let body = ResponseBody(contentLength: length) { [record] writer in
      let reader = loaded.body.reader()
      while let chunk = try await disconnection.cancelling({ try await reader.nextChunk() }) {
        try await writer.write(ByteBuffer(bytes: chunk))
        record.sent(chunk.count, result)
      }
      let trailers = HopByHopFields.removed(from: await loaded.body.transferSummary().trailers)
      try await writer.finish(trailers.isEmpty ? nil : trailers)
    }
    return (Response(status: status, headers: fields, body: body), nil)
  }
}

extension OriginSettings {
  /// The folder of its stored responses.
  func directory(in store: StoreDirectory) -> ResponseDirectory {
    ResponseDirectory(store.path + "/gateway/" + name)
  }
}

/// A request's body on its way to the origin: each piece is read from the client after the one before it was sent.
final class ForwardedBody: Sendable {
  private let body: RequestBody
  private let length: Int64?
  private let state = Mutex<(failure: (any Error)?, isWhole: Bool)>((nil, false))

  /// The error that ended the client's body; `nil` if the body was complete or was not read.
  var failure: (any Error)? { state.withLock { $0.failure } }
  /// `true` once the whole body was read.
  var isWhole: Bool { state.withLock { $0.isWhole } }
  /// The body for the request to the origin. It has one reader.
  var stream: RequestStream { RequestStream(Pieces(whole: self), length: length) }

  /// Returns `nil` if the request has no body.
  init?(_ request: Request, version: RequestVersion) {
    let length = request.headers[.contentLength].flatMap { Int64($0) }
    guard length.map({ $0 > 0 }) ?? Self.mayFollow(request, version) else { return nil }
    (body, self.length) = (request.body, length)
  }

  /// Returns `true` if the request may have a body of unknown length.
  private static func mayFollow(_ request: Request, _ version: RequestVersion) -> Bool {
    // RFC 9112 §6.3: with HTTP/1 such a body is chunked. With HTTP/2 a missing body shows only at the end of the
    // stream.
    version == .http2
      ? ![.get, .head, .options, .trace].contains(request.method) : request.headers.contains(.transferEncoding)
  }

  private struct Pieces: AsyncSequence, Sendable {
    let whole: ForwardedBody

    func makeAsyncIterator() -> Iterator { Iterator(body: whole.body.makeAsyncIterator(), whole: whole) }

    struct Iterator: AsyncIteratorProtocol {
      var body: RequestBody.AsyncIterator
      let whole: ForwardedBody

      mutating func next() async throws -> [UInt8]? {
        do {
          let piece = try await body.next()
          // After a cancellation, unread pieces may remain.
          if piece == nil, !Task.isCancelled { whole.state.withLock { $0.isWhole = true } }
          return piece.map { Array(buffer: $0) }
        } catch let error where !(error is CancellationError) {
          whole.state.withLock { $0.failure = error }
          throw error
        }
      }
    }
  }
}

/// Forwards interim heads of the origin, such as 103, to the client. RFC 9110 §15.2, RFC 8297.
///
/// They bypass the response's writer and still arrive first: the channel keeps the order of writes, and the head of the
/// final response is written later.
final class InterimHeads: Sendable {
  /// `nil` for a client that gets none.
  ///
  /// The type is a class: with a function type the optimised program crashes at the first request (Swift 6.3).
  @TaskLocal static var current: InterimHeads?

  /// The limit of interim heads for one request; more are dropped.
  private static let limit = 16

  private let send: @Sendable (HTTPResponse) -> Void
  private let count = Atomic<Int>(0)

  /// Returns `nil` if the client's HTTP version has no interim heads.
  ///
  /// - Parameter send: writes a head to the client, on any thread.
  init?(in version: RequestVersion, to send: @escaping @Sendable (HTTPResponse) -> Void) {
    // RFC 9110 §15.2: HTTP/1.0 has no interim heads.
    if version == .http10 { return nil }
    self.send = send
  }

  func take(_ head: HTTPResponse) {
    guard count.wrappingAdd(1, ordering: .relaxed).newValue <= Self.limit else { return }
    let fields = GatewayFields.response(head.headerFields)
    send(HTTPResponse(status: head.status, headerFields: fields))
  }
}
