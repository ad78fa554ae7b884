import DiskStorage
import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import ServerKit

/// A shared cache in front of origins: decides with `HTTPCaching`, keeps in stores of its own, asks with libcurl.
package struct Gateway: Sendable {
  package let origins: [GatewayOrigin]
  private let table: OriginTable
  private let isSecure: Bool

  /// - Parameters:
  ///   - store: the folder of all stores.
  ///   - isSecure: `true` if clients are served over TLS.
  /// - Throws: ``StoreError``, ``TransportError``.
  package init(
    _ settings: [OriginSettings], store: StoreDirectory, isSecure: Bool, record: HostRecord, logger: Logger,
    now: @escaping @Sendable () -> HTTPDate = ResourceLoader.Configuration().now
  ) throws {
    origins = try settings.map {
      try GatewayOrigin($0, store: store, record: record, logger: logger, now: now)
    }
    table = OriginTable(settings)
    self.isSecure = isSecure
  }

  /// Empties the caches of all origins.
  ///
  /// - Throws: ``StoreError``.
  package func clear() async throws {
    for origin in origins { try await origin.loader.purge(.all) }
  }

  /// - Parameters:
  ///   - client: its address; `nil` if it is not known.
  ///   - version: in which the request came.
  ///   - disconnection: ends what is under way for it.
  ///   - socketBytes: the client's bytes over the requested web socket; `nil` if it requests none.
  ///   - note: filled in.
  /// - Throws: ``HTTPError`` for what is not forwarded, ``GatewayError``.
  func respond(
    to request: Request, client: String?, version: RequestVersion, disconnection: ClientDisconnection,
    socketBytes: BytePipe? = nil, note: AccessLogNote? = nil
  ) async throws -> Response {
    guard request.method != .connect else {
      throw HTTPError(.notImplemented, message: "the gateway makes no tunnels")
    }
    let limit = MaxForwards(of: request.head)
    var head = request.head
    let (path, host) = (head.path ?? "", head.host)
    if let fault = RequestValidation.fault(in: head, version: version) { throw HTTPError(.badRequest, message: fault) }
    let choice = table.choice(authority: host, path: path)
    // RFC 9110 §7.4: that is seen to before anything is done, and so before it is answered here, too.
    guard choice != .unknownHost else {
      throw HTTPError(
        .misdirectedRequest, message: "no origin of this gateway is called \((host ?? "").quotedForMessage)")
    }
    if limit == .answer || path == "*" && head.method == .options { return TerminalResponse.to(head, version: version) }
    guard path.hasPrefix("/"), !path.contains("#") else {
      throw HTTPError(.badRequest, message: "the request's target is no path")
    }
    guard case .origin(let index) = choice, origins.indices.contains(index) else {
      throw HTTPError(.notFound, message: "no origin is configured for the path \(path.quotedForMessage)")
    }
    limit.apply(to: &head.headerFields)
    let sender = ClientInfo(
      client: ForwardedFields(client: client, host: host, isSecure: isSecure), version: version,
      disconnection: disconnection,
      note: note, trace: TraceParent(continuing: head.headerFields, newID: TraceParent.randomID))
    let request = Request(head: head, body: request.body)
    if let socketBytes {
      return try await origins[index].openSocket(for: request, path: path, from: sender, socketBytes)
    }
    return try await origins[index].respond(to: request, path: path, from: sender)
  }
}
