import NIOCore
import NIOWebSocket
import PageTesting

/// The server's side of a web socket.
final class ServerSocket: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let path: String
  private let heard: Monitor<SocketServer.Heard>

  init(path: String, _ heard: Monitor<SocketServer.Heard>) {
    self.path = path
    self.heard = heard
  }

  func handlerAdded(context: ChannelHandlerContext) {
    switch path {
    case "/pieces":
      send(.text, "one ", context, fin: false)
      send(.ping, "?", context)
      send(.continuation, "two ", context, fin: false)
      send(.continuation, "three", context)
    case "/bye": close(4001, "done", context)
    case "/drop": context.close(promise: nil)
    case "/large": send(.text, String(repeating: "a", count: 100_000), context)
    case "/masked":
      let frame = WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(string: "no"))
      context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    default: break
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    var bytes = frame.unmaskedData
    switch frame.opcode {
    case .text, .binary:
      heard.change { $0.texts.append(String(buffer: bytes)) }
      guard path == "/echo" || path == "/chat" else { return }
      context.writeAndFlush(
        wrapOutboundOut(WebSocketFrame(fin: true, opcode: frame.opcode, data: bytes)), promise: nil)
    case .pong: heard.change { $0.pongs += 1 }
    case .connectionClose:
      let code = bytes.readInteger(as: UInt16.self).map(Int.init) ?? 1005
      heard.change { $0.closes.append(code) }
      if path == "/echo" || path == "/chat" { close(code == 1005 ? nil : code, "", context) }
      if path != "/deaf" { context.close(promise: nil) }
    default: break
    }
  }

  func channelInactive(context: ChannelHandlerContext) { heard.change { $0.ended += 1 } }

  private func close(_ code: Int?, _ reason: String, _ context: ChannelHandlerContext) {
    var body = ByteBuffer()
    if let code {
      body.writeInteger(UInt16(code))
      body.writeString(reason)
    }
    context.writeAndFlush(
      wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: body)), promise: nil)
  }

  private func send(_ opcode: WebSocketOpcode, _ text: String, _ context: ChannelHandlerContext, fin: Bool = true) {
    context.writeAndFlush(
      wrapOutboundOut(WebSocketFrame(fin: fin, opcode: opcode, data: ByteBuffer(string: text))), promise: nil)
  }
}
