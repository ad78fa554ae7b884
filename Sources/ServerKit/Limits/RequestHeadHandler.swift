import HTTPTypes
import NIOCore
import NIOHTTP1

/// Refuses heads that others on the way may understand otherwise, before anything is made of them.
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
      // RFC 9112 §3.2.2: the Host field counts for nothing then.
      head.uri = target
      head.headers.replaceOrAdd(name: "Host", value: authority)
    }
    // NIO takes the hyphen away, and the name would go on without it.
    if head.method == .MSEARCH { head.method = .RAW(value: "M-SEARCH") }
    return head
  }
}

/// A request that may mean two things.
struct AmbiguousRequestError: Error, Equatable {
  let status: HTTPResponse.Status
  let reason: String

  init(status: HTTPResponse.Status, reason: String) { (self.status, self.reason) = (status, reason) }

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
    if let host = hosts.first, host.contains(where: { $0 == "," || $0 == " " || $0 == "/" || $0 == "@" }) {
      self.init(status: .badRequest, reason: "the Host field is no host")
      return
    }
    let codings = head.headers[canonicalForm: "transfer-encoding"].map { $0.lowercased() }
    guard !codings.isEmpty else { return nil }
    // RFC 9112 §6.1: a gateway that has both must not choose, and an older version knows none.
    if head.headers.contains(name: "content-length") || head.version != .http1_1 {
      self.init(status: .badRequest, reason: "the request says in two ways how long its body is")
    } else if codings != ["chunked"] {
      self.init(status: .notImplemented, reason: "the only transfer coding that is understood is chunked, once")
    } else {
      return nil
    }
  }
}
