import HTTPTypes
import NIOCore
import NIOHTTP1

/// Refuses heads that another server on the way might interpret differently, before they are processed.
final class RequestHeadHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart

  private var isRefused = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isRefused else { return }
    guard case .head(let head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
    let form = RequestTargetForm(head.uri, head.method)
    if let error = AmbiguousRequestError(head, form) {
      isRefused = true
      return context.fireErrorCaught(error)
    }
    guard form != .plain || head.method == .MSEARCH else { return context.fireChannelRead(data) }
    context.fireChannelRead(wrapInboundOut(.head(Self.plain(head, form))))
  }

  private static func plain(_ head: HTTPRequestHead, _ form: RequestTargetForm) -> HTTPRequestHead {
    var head = head
    if case .absolute(let authority, let target) = form {
      // RFC 9112 §3.2.2: the Host field is ignored then.
      head.uri = target
      head.headers.replaceOrAdd(name: "Host", value: authority)
    }
    // NIO's method name has no hyphen, and would be forwarded without it.
    if head.method == .MSEARCH { head.method = .RAW(value: "M-SEARCH") }
    return head
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
