import Blobs
import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
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
    for origin in origins { try await origin.loader.cache.store.synchronize() }
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
  ///   - begun: what ``begin(_:)`` has done for the request.
  /// - Throws: ``HTTPError`` for a request that is not forwarded, ``GatewayError``.
  func respond(
    to request: Request, client: String?, version: RequestVersion, disconnection: ClientDisconnection,
    socketBytes: BytePipe? = nil, note: AccessLogNote? = nil, replay: ReplayContext? = nil, begun: BegunRequest? = nil
  ) async throws -> Response {
    let limit = MaxForwards(of: request.head)
    let routes = current.routes
    guard let origin = try origin(for: request.head, limit, routes) else {
      return Self.terminalResponse(to: request.head, version: version)
    }
    var head = request.head
    limit.apply(to: &head.headerFields)
    let (path, host) = (head.path ?? "", head.host)
    let sender = ClientInfo(
      client: forwardedFields(client, host), version: version, disconnection: disconnection, note: note, replay: replay,
      trace: begun?.trace ?? TraceParent(continuing: head.headerFields, newID: TraceParent.newID), current: current,
      generation: routes.generation, begun: begun?.exchange)
    let request = Request(head: head, body: request.body)
    if let socketBytes { return try await origin.openSocket(for: request, path: path, from: sender, socketBytes) }
    return try await origin.respond(to: request, path: path, from: sender)
  }

  /// Begins the answer to a request without a body on its event loop, as
  /// ``respond(to:client:version:disconnection:socketBytes:note:replay:begun:)`` does with a task: a stored response
  /// answers it, or the origin is asked.
  ///
  /// - Returns: `nil` if anything else has to be waited for, so that nothing was done.
  func begin(_ asked: PromptAnswers.Asked) -> PromptAnswers.Beginning? {
    let head = asked.head
    let (path, client) = (head.path ?? "", forwardedFields(asked.client, head.host))
    let routes = current.routes
    guard let origin = (try? origin(for: head, .unbounded, routes)) ?? nil,
      // All that follows would be done again by the long way.
      origin.mayBegin(head, path: path, client: client)
    else { return nil }
    let sender = ClientInfo(
      client: client, version: asked.version, disconnection: asked.disconnection, note: asked.note,
      replay: asked.replay,
      trace: TraceParent(continuing: head.headerFields, newID: TraceParent.newID), current: current,
      generation: routes.generation)
    return origin.begin(asked, path: path, from: sender)
  }

  private func forwardedFields(_ client: String?, _ host: String?) -> ForwardedFields {
    ForwardedFields(
      client: client, host: host, isSecure: isSecure, isTrusted: client.map { proxies.contains($0) } ?? false)
  }

  /// Returns the origin that a request is for; `nil` if the gateway answers it itself.
  ///
  /// - Throws: ``HTTPError`` for a request that is not forwarded.
  private func origin(
    for head: HTTPRequest, _ limit: MaxForwards, _ routes: GatewayOrigins.Routes
  ) throws -> GatewayOrigin? {
    guard head.method != .connect else {
      throw HTTPError(.notImplemented, message: "the gateway does not support tunnels")
    }
    let (path, host) = (head.path ?? "", head.host)
    if let fault = RequestValidation.fault(in: head) { throw HTTPError(.badRequest, message: fault) }
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

/// The client of a request, and how the request arrived.
struct ClientInfo: Sendable {
  /// The fields that describe the client to the origin.
  let client: ForwardedFields
  /// The HTTP version of the request.
  let version: RequestVersion
  /// The disconnection of the client, which ends the work for it.
  let disconnection: ClientDisconnection
  /// The note for the access log.
  var note: AccessLogNote?
  /// Takes the offer to replay the response; `nil` on channels whose responses are not recorded.
  var replay: ReplayContext?
  /// The trace of the request, as it is sent to the origin.
  let trace: TraceParent
  /// The gateway's origins, and the generation of those that answer.
  let current: GatewayOrigins
  let generation: Int
  /// The outcome of the request on its event loop; `nil` if it was not begun there.
  var begun: BegunExchange?
}

/// A request that was begun on its event loop, and that a task goes on with.
final class BegunRequest: Sendable {
  /// `nil` if the origin is asked again.
  let exchange: BegunExchange?
  /// The trace that was sent to the origin.
  let trace: TraceParent

  init(_ exchange: BegunExchange?, _ trace: TraceParent) { (self.exchange, self.trace) = (exchange, trace) }
}

/// Finds parts of a request's head that are ambiguous, or cannot be forwarded unchanged.
enum RequestValidation {
  /// Returns `nil` for a head without such parts.
  static func fault(in head: HTTPRequest) -> String? {
    if let host = head.host, !isAuthority(host) { return "the request's host is not a valid name or address" }
    // RFC 9113 §8.3.1.
    if let host = head.host?.lowercased(), head.hostFields.contains(where: { $0.lowercased() != host }) {
      return "the request names two hosts"
    }
    if let field = head.headerFields.first(where: { isUnclear($0.value) }) {
      return "the field \(field.name.rawName) has bytes that are not UTF-8, and cannot be forwarded"
    }
    return nil
  }

  /// A replacement character stands for lost bytes, so that two different fields would be the same. The bytes of one
  /// that was received are ``OpaqueText``.
  private static func isUnclear(_ text: String) -> Bool { text.utf8.contains(0xEF) && text.contains("\u{FFFD}") }

  /// RFC 9110 §7.2, RFC 3986 §3.2.2 and §3.2.3.
  static func isAuthority(_ text: String) -> Bool {
    let (host, port) = parts(ofAuthority: text)
    guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
    if host.hasPrefix("["), host.hasSuffix("]") {
      return host.dropFirst().dropLast().utf8.allSatisfy { isHexDigit($0) || $0 == 0x3A || $0 == 0x2E }
    }
    return host.utf8.allSatisfy {
      isLetterOrDigit($0) || "-._~%!$&'()*+,;=".utf8.contains($0)
    }
  }

  /// Splits an authority. An IPv6 address keeps its brackets; the port is empty if there is none.
  static func parts(ofAuthority text: String) -> (host: Substring, port: Substring) {
    let bytes = text.utf8
    guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")), !bytes[colon...].contains(UInt8(ascii: "]")) else {
      return (text[...], "")
    }
    return (text[..<colon], text[bytes.index(after: colon)...])
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
  }
}

/// The number of further hops of a TRACE or OPTIONS request. RFC 9110 §7.6.2.
enum MaxForwards: Equatable {
  /// The request is forwarded unchanged.
  case unbounded
  /// The request is forwarded with this number of further hops.
  case forward(Int64)
  /// The gateway answers the request.
  case answer

  private static let field = HTTPField.Name("Max-Forwards")

  init(of head: HTTPRequest) {
    guard [.trace, .options].contains(head.method), let name = Self.field, let text = head.headerFields[name],
      !text.isEmpty, text.allSatisfy({ ("0"..."9").contains($0) })
    else {
      self = .unbounded
      return
    }
    // A number that overflows becomes the largest one.
    guard let count = Int64(text) else {
      self = .forward(.max)
      return
    }
    self = count == 0 ? .answer : .forward(count - 1)
  }

  func apply(to fields: inout HTTPFields) {
    guard case .forward(let count) = self, let name = Self.field else { return }
    fields[name] = String(count)
  }
}

extension Gateway {
  /// The fields with credentials, which TRACE must not send back.
  private static let secret: Set<HTTPField.Name> = [.authorization, .cookie, .proxyAuthorization]

  /// The gateway's own response to a TRACE or OPTIONS request at its last hop. RFC 9110 §9.3.7, §9.3.8.
  static func terminalResponse(to head: HTTPRequest, version: RequestVersion) -> Response {
    guard head.method == .trace else { return Response(status: .ok, headers: [.contentLength: "0"]) }
    let host = head.authority.map { ["Host: \($0)"] } ?? []
    let fields = head.headerFields.filter { !Self.secret.contains($0.name) }.map { "\($0.name.rawName): \($0.value)" }
    let lines = ["TRACE \(head.path ?? "*") HTTP/\(version.rawValue)"] + host + fields
    let text = lines.joined(separator: "\r\n") + "\r\n\r\n"
    let body = ByteBuffer(bytes: OpaqueText.bytes(of: text.utf8))
    return Response(
      status: .ok, headers: [.contentType: "message/http", .contentLength: "\(body.readableBytes)"],
      body: ResponseBody(byteBuffer: body))
  }
}
