import DiskStorage
import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import ServerKit

/// A shared cache in front of origins: decides with `HTTPCaching`, stores in its own stores, and fetches with libcurl.
package struct Gateway: Sendable {
  let current: GatewayOrigins
  /// Makes an origin.
  private let make: @Sendable (OriginSettings) throws -> GatewayOrigin
  private let isSecure: Bool
  private let proxies: TrustedProxies

  /// - Parameters:
  ///   - store: the folder of all stores.
  ///   - isSecure: `true` if clients connect over TLS.
  ///   - proxies: the proxies in front that are trusted to name their clients.
  ///   - storedUse: which stored responses may be used at a time.
  /// - Throws: ``StoreError``, ``TransportError``.
  package init(
    _ settings: [OriginSettings], store: StoreDirectory, isSecure: Bool, record: HostRecord, logger: Logger,
    now: @escaping @Sendable () -> HTTPDate = ResourceLoader.Configuration().now,
    proxies: TrustedProxies = TrustedProxies(),
    storedUse: @escaping @Sendable (HTTPDate) -> StoredUse = { _ in .unlimited }
  ) throws {
    make = {
      try GatewayOrigin($0, store: store, record: record, logger: logger, now: now, storedUse: storedUse)
    }
    current = GatewayOrigins(try settings.map(make))
    (self.isSecure, self.proxies) = (isSecure, proxies)
  }

  /// The present origins.
  package var origins: [GatewayOrigin] { current.routes.origins }

  /// Makes the origins that others are to be replaced by; those whose settings are the same go on as they are.
  ///
  /// - Returns: the changes, and what makes them: nothing has changed before it is called.
  /// - Throws: ``StoreError``, ``TransportError``.
  package func replacement(
    by settings: [OriginSettings]
  ) throws -> (changes: GatewayOrigins.Changes, replace: @Sendable () -> Void) {
    let former = origins
    let changes = GatewayOrigins.Changes(from: former.map(\.settings), to: settings)
    let next = try settings.map { settings in
      try former.first { $0.settings.isSame(as: settings) } ?? make(settings)
    }
    return (changes, { [current] in current.replace(by: next) })
  }

  /// Returns when everything that was purged is gone from the disk.
  ///
  /// - Throws: ``StoreError``.
  package func settle() async throws {
    for origin in origins { try await origin.loader.cache.store.settle() }
  }

  /// Origins that did not answer are asked again at once.
  package func forgetFailures() {
    for origin in origins { origin.loader.reachability.forgetFailures() }
  }

  /// Empties the caches of all origins.
  ///
  /// - Throws: ``StoreError``.
  package func clear() async throws {
    for origin in origins { try await origin.loader.purge(.all) }
  }

  /// - Parameters:
  ///   - client: the address of the client; `nil` if it is unknown.
  ///   - version: the HTTP version of the request.
  ///   - disconnection: ends the work for the client.
  ///   - socketBytes: the client's bytes over the requested web socket; `nil` if it requests none.
  ///   - note: receives the fields for the access log.
  ///   - replay: takes the offer to replay the response.
  /// - Throws: ``HTTPError`` for a request that is not forwarded, ``GatewayError``.
  func respond(
    to request: Request, client: String?, version: RequestVersion, disconnection: ClientDisconnection,
    socketBytes: BytePipe? = nil, note: AccessLogNote? = nil, replay: ReplayContext? = nil
  ) async throws -> Response {
    let limit = MaxForwards(of: request.head)
    let routes = current.routes
    guard let origin = try origin(for: request.head, version: version, limit, routes) else {
      return TerminalResponse.to(request.head, version: version)
    }
    var head = request.head
    limit.apply(to: &head.headerFields)
    let (path, host) = (head.path ?? "", head.host)
    let sender = ClientInfo(
      client: forwardedFields(client, host), version: version, disconnection: disconnection, note: note, replay: replay,
      trace: TraceParent(continuing: head.headerFields, newID: TraceParent.newID), current: current,
      generation: routes.generation)
    let request = Request(head: head, body: request.body)
    if let socketBytes { return try await origin.openSocket(for: request, path: path, from: sender, socketBytes) }
    return try await origin.respond(to: request, path: path, from: sender)
  }

  /// Answers a request without a body at once, as ``respond(to:client:version:disconnection:socketBytes:note:replay:)``
  /// does if a stored response answers it.
  ///
  /// - Returns: `nil` if that is not possible without waiting.
  func answerAtOnce(_ asked: PromptAnswers.Asked) -> PromptAnswers.Answer? {
    let head = asked.head
    let (path, client) = (head.path ?? "", forwardedFields(asked.client, head.host))
    let routes = current.routes
    guard let origin = (try? origin(for: head, version: .http11, .unbounded, routes)) ?? nil,
      // All that follows would be done again by the long way.
      origin.mayBeStored(head, path: path, client: client)
    else { return nil }
    let sender = ClientInfo(
      client: client, version: .http11,
      disconnection: asked.disconnection, note: asked.note, replay: asked.replay,
      trace: TraceParent(continuing: head.headerFields, newID: TraceParent.newID), current: current,
      generation: routes.generation)
    return origin.answerAtOnce(head, path: path, from: sender)
  }

  private func forwardedFields(_ client: String?, _ host: String?) -> ForwardedFields {
    ForwardedFields(
      client: client, host: host, isSecure: isSecure, isTrusted: client.map { proxies.contains($0) } ?? false)
  }

  /// Returns the origin that a request is for; `nil` if the gateway answers it itself.
  ///
  /// - Throws: ``HTTPError`` for a request that is not forwarded.
  private func origin(
    for head: HTTPRequest, version: RequestVersion, _ limit: MaxForwards, _ routes: GatewayOrigins.Routes
  ) throws -> GatewayOrigin? {
    guard head.method != .connect else {
      throw HTTPError(.notImplemented, message: "the gateway does not support tunnels")
    }
    let (path, host) = (head.path ?? "", head.host)
    if let fault = RequestValidation.fault(in: head, version: version) { throw HTTPError(.badRequest, message: fault) }
    let choice = routes.table.choice(authority: host, path: path)
    // RFC 9110 §7.4: the host is checked before a request is processed, so also before it is answered here.
    guard choice != .unknownHost else {
      throw HTTPError(
        .misdirectedRequest, message: "this gateway has no origin with the host \((host ?? "").quotedForMessage)")
    }
    if limit == .answer || path == "*" && head.method == .options { return nil }
    guard path.hasPrefix("/"), !path.contains("#") else {
      throw HTTPError(.badRequest, message: "the request's target is not a path")
    }
    guard case .origin(let index) = choice, routes.origins.indices.contains(index) else {
      throw HTTPError(.notFound, message: "no origin is configured for the path \(path.quotedForMessage)")
    }
    return routes.origins[index]
  }
}
