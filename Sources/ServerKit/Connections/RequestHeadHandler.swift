import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTP1

/// Reads the heads of a connection of HTTP/1, between its decoder and encoder and all other handlers:
///
/// - Heads that another server on the way might interpret differently are refused before they are processed.
/// - The last request of a connection is marked by `Connection: close` for the following handlers. RFC 9112 §9.3: the
///   option may be one of several, in any case; and an HTTP/1.0 client must ask for a persistent connection, which is not
///   offered here. After a request for another protocol no request is read.
/// - ``RequestBytesHandler`` learns here which bytes come next: only the decoder knows where a head and a body end.
final class RequestHeadHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// The kind of bytes that come next.
  enum Next {
    case head
    /// The limit of a body in bytes.
    case body(Int)
    /// A body of unknown length.
    case chunks
    /// The bytes that a client sends over a web socket.
    case socket(BytePipe)
    /// Bytes that are discarded.
    case nothing
  }

  /// The fields that are kept even if `Connection` lists them.
  private static let kept: Set<String> = ["host", "content-length", "transfer-encoding", "cache-control"]

  private(set) var next = Next.head
  private var afterMessage = Next.head
  /// `true` if the next bytes to be written contain ``OpaqueText``.
  private(set) var writesEscapes = false
  private var isRefused = false
  private var hasLast = false
  /// `true` if the last request has arrived and is an HTTP/1.0 request.
  private(set) var isOld = false
  /// The number of requests, up to the last one, whose answer is incomplete.
  private var underWay = 0

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): return receive(head, data, context)
    case .body(let bytes): if case .body(let count) = next { next = .body(max(count - bytes.readableBytes, 0)) }
    case .end: next = afterMessage
    }
    if !isRefused { context.fireChannelRead(data) }
  }

  private func receive(_ head: HTTPRequestHead, _ data: NIOAny, _ context: ChannelHandlerContext) {
    let (asksForWebSocket, endsHTTP) = (head.asksForWebSocket, head.endsHTTP)
    afterMessage = asksForWebSocket ? .socket(BytePipe()) : endsHTTP ? .nothing : .head
    let length = head.headers.first(name: "content-length").flatMap { Int($0) }
    next = head.headers.contains(name: "transfer-encoding") ? .chunks : .body(length ?? 0)
    guard !isRefused else { return }
    let form = RequestTargetForm(head.uri, head.method)
    if let error = AmbiguousRequestError(head, form) {
      isRefused = true
      return context.fireErrorCaught(error)
    }
    if !hasLast { underWay += 1 }
    let isLast = !head.isKeepAlive || head.version != .http1_1 || endsHTTP
    // Most heads go on as they came.
    guard form != .plain || head.method == .MSEARCH || isLast else { return context.fireChannelRead(data) }
    var head = head
    if case .absolute(let authority, let target) = form {
      // RFC 9112 §3.2.2: the Host field is ignored then.
      head.uri = target
      head.headers.replaceOrAdd(name: "Host", value: authority)
    }
    // NIO's method name has no hyphen, and would be forwarded without it.
    if head.method == .MSEARCH { head.method = .RAW(value: "M-SEARCH") }
    if isLast { markLast(&head, asksForWebSocket) }
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  private func markLast(_ head: inout HTTPRequestHead, _ asksForWebSocket: Bool) {
    if !hasLast { (hasLast, isOld) = (true, head.version != .http1_1) }
    // RFC 9110 §7.6.1: the listed fields end here. Code that forwards the request need not know of it.
    for option in head.headers[canonicalForm: "connection"] where !Self.kept.contains(option.lowercased()) {
      head.headers.remove(name: String(option))
    }
    head.headers.replaceOrAdd(name: "Connection", value: "close")
    // With this Connection field, Upgrade announces that the connection can become a web socket.
    head.headers.remove(name: "Upgrade")
    if asksForWebSocket { head.headers.add(name: "Upgrade", value: "websocket") }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var fields: HTTPHeaders?
    var data = data
    switch unwrapOutboundIn(data) {
    case .head(var head):
      fields = head.headers
      if isOld, underWay == 1, !head.headers.contains(name: "content-length") {
        // RFC 9112 §6.1: HTTP/1.0 has no chunks. The end of the connection ends such a body.
        head.version = .http1_0
        data = wrapOutboundOut(.head(head))
      }
    case .body: break
    case .end(let trailers):
      underWay -= 1
      fields = trailers
    }
    // The encoder writes a head, and the end of a body, at once and in one piece.
    writesEscapes = fields?.contains { OpaqueText.hasEscapes($0.value) } ?? false
    context.write(data, promise: promise)
    writesEscapes = false
  }
}

extension HTTPRequestHead {
  /// Returns `true` if the decoder may read nothing after this request, since another protocol may begin there. RFC
  /// 9110 §7.8, §9.3.6.
  var endsHTTP: Bool {
    guard method != .CONNECT else { return true }
    return headers.contains(name: "upgrade") && headers["connection"].contains { $0.lowercased().contains("upgrade") }
  }

  /// RFC 6455 §4.1. A request with a body is excluded, since its body could not be told from the socket's bytes.
  var asksForWebSocket: Bool {
    method == .GET && version == .http1_1 && endsHTTP
      && headers[canonicalForm: "upgrade"].contains { $0.lowercased() == "websocket" }
      && headers[canonicalForm: "connection"].contains { $0.lowercased() == "upgrade" }
      && !headers.contains(name: "transfer-encoding") && headers["content-length"].allSatisfy { $0 == "0" }
  }
}

/// A request that has more than one possible meaning.
struct AmbiguousRequestError: Error, Equatable {
  let status: HTTPResponse.Status
  let reason: String

  static let badLength = "the request's Content-Length is not a number of bytes that can be counted"

  init(status: HTTPResponse.Status, reason: String) { (self.status, self.reason) = (status, reason) }

  /// Returns `true` if a text has characters that end a host elsewhere.
  static func isInvalid(host: String) -> Bool {
    host.utf8.contains { byte in
      byte == UInt8(ascii: ",") || byte == UInt8(ascii: " ") || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "@")
    }
  }

  /// Returns `nil` if the head has one meaning.
  init?(_ head: HTTPRequestHead, _ form: RequestTargetForm) {
    if form == .refused {
      self.init(status: .badRequest, reason: "the request's target is neither a path nor an http URL")
      return
    }
    let hosts = head.headers["host"]
    // RFC 9112 §3.2.
    if hosts.count > 1 || hosts.isEmpty && head.version == .http1_1 {
      self.init(status: .badRequest, reason: "the request needs one Host field, and has \(hosts.count)")
      return
    }
    if let host = hosts.first, Self.isInvalid(host: host) {
      self.init(status: .badRequest, reason: "the Host field is not a valid host")
      return
    }
    // The decoder counts up to 2^64-1, and all that follows up to 2^63-1.
    if let length = head.headers.first(name: "content-length"), Int64(length) == nil {
      self.init(status: .badRequest, reason: Self.badLength)
      return
    }
    // As they stand: an empty list, or an empty member of one, is read differently elsewhere.
    let codings = head.headers["transfer-encoding"].map { $0.lowercased() }
    guard !codings.isEmpty else { return nil }
    // RFC 9112 §6.1: a gateway must not choose between the two fields, and older versions have no transfer coding.
    if head.headers.contains(name: "content-length") || head.version != .http1_1 {
      self.init(status: .badRequest, reason: "the request gives the length of its body in two ways")
    } else if codings != ["chunked"] {
      self.init(status: .notImplemented, reason: "the only supported transfer coding is chunked, applied once")
    } else {
      return nil
    }
  }
}

/// The form of a request's target. RFC 9112 §3.2.
enum RequestTargetForm: Equatable {
  /// A path with its query, `*` with OPTIONS, or a host and port with CONNECT.
  case plain
  /// A URL, which means its path at the host that it names.
  case absolute(authority: String, target: String)
  case refused

  init(_ target: String, _ method: HTTPMethod) {
    if target.hasPrefix("/") || target == "*" && method == .OPTIONS || method == .CONNECT {
      self = .plain
      return
    }
    guard let scheme = ["http://", "https://"].first(where: { target.prefix($0.count).lowercased() == $0 }) else {
      self = .refused
      return
    }
    let text = target.dropFirst(scheme.count)
    let authority = text.prefix { !"/?#".contains($0) }
    // RFC 9110 §4.2.1, §4.2.4: a missing host, or a user's name before it, is an error.
    guard !authority.isEmpty, !authority.hasPrefix(":"), !authority.contains("@") else {
      self = .refused
      return
    }
    let rest = String(text.dropFirst(authority.count))
    // RFC 9112 §3.2.4: without a path OPTIONS means the server as a whole.
    let path = rest.isEmpty && method == .OPTIONS ? "*" : rest.hasPrefix("/") ? rest : "/" + rest
    self = .absolute(authority: String(authority), target: path)
  }
}

extension HTTPRequest {
  /// The host that a request names, with its port if there is one. HTTP/2 may have a Host field in place of
  /// `:authority`. RFC 9113 §8.3.1.
  package var host: String? { authority ?? hostFields.first }

  /// The Host fields besides the one that became the authority.
  package var hostFields: [String] { Self.hostField.map { headerFields[values: $0] } ?? [] }

  private static let hostField = HTTPField.Name("Host")
}
