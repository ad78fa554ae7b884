import HTTPCaching
import HTTPTransport
import HTTPTypes
import NIOCore

/// Refuses a connection: answers in plain HTTP if there is no TLS, and closes.
///
/// RFC 6585 §4: 429 Too Many Requests.
final class RefusalHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let isPlain: Bool
  private let fields: HTTPFields

  /// - Parameter fields: further fields of the response.
  init(isPlain: Bool, fields: HTTPFields = [:]) { (self.isPlain, self.fields) = (isPlain, fields) }

  func channelActive(context: ChannelHandlerContext) {
    guard isPlain else { return context.close(promise: nil) }
    let channel = context.channel
    context.writeAndFlush(wrapOutboundOut(Self.answer(fields))).whenComplete { _ in
      channel.close(mode: .all, promise: nil)
    }
  }

  /// The bytes of the answer.
  ///
  /// - Parameter fields: further fields.
  static func answer(_ fields: HTTPFields) -> ByteBuffer {
    let body = #"{"error":"too many connections from this address"}"#
    let lines = fields.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
    return ByteBuffer(
      string: """
        HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\
        Retry-After: 1\r\nDate: \(HTTPDate.now)\r\n\(lines)Connection: close\r\n\r\n\(body)
        """)
  }

  // The bytes of the client are discarded.
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}
