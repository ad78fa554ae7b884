import HTTPTransport
import NIOCore
import NIOHTTP1

/// Transforms bytes before HTTP's decoder and after its encoder:
///
/// - Field values are bytes (RFC 9110 §5.5), but the decoder and the encoder treat them as UTF-8. Heads that are not
///   UTF-8 pass unchanged, as ``OpaqueText``.
/// - The bytes after a request for another protocol are not HTTP, and the decoder would buffer them without a limit.
///   Those of a web socket go into a ``BytePipe``; all others are discarded.
///
/// It parses no requests itself. Where a head may begin, it passes bytes to the decoder up to an empty line, and
/// observes the decoder's result.
package final class RequestBytesHandler: ChannelDuplexHandler, RemovableChannelHandler {
  package typealias InboundIn = ByteBuffer
  package typealias InboundOut = ByteBuffer
  package typealias OutboundIn = IOData
  package typealias OutboundOut = IOData

  /// Knows where heads and bodies end.
  private let heads: RequestHeadHandler
  /// `true` if only a line's end, or nothing, has come since the last newline.
  private var isLineEmpty = false
  /// The beginning of a character whose remaining bytes have not arrived.
  private var cut: [UInt8] = []

  private init(_ heads: RequestHeadHandler) { self.heads = heads }

  /// Adds it, and a ``RequestHeadHandler``, to a connection that speaks HTTP/1.
  ///
  /// - Returns: the handler, which stands before all others of HTTP.
  @discardableResult
  package static func add(to pipeline: ChannelPipeline.SynchronousOperations) throws -> RequestBytesHandler {
    let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
    let encoder = try pipeline.handler(type: HTTPResponseEncoder.self)
    let heads = RequestHeadHandler()
    let bytes = RequestBytesHandler(heads)
    try pipeline.addHandler(bytes, position: .before(encoder))
    try pipeline.addHandler(heads, position: .after(decoder))
    return bytes
  }

  /// The bytes that the client sends over the web socket that its last request asks for; `nil` if it asks for none.
  package var socketBytes: BytePipe? { if case .socket(let pipe) = heads.next { pipe } else { nil } }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    while bytes.readableBytes > 0 {
      switch heads.next {
      case .head: passHead(context, &bytes)
      case .body(let count) where count > 0:
        guard let piece = bytes.readSlice(length: min(count, bytes.readableBytes)) else { return }
        context.fireChannelRead(wrapInboundOut(piece))
      case .body, .chunks: return context.fireChannelRead(wrapInboundOut(bytes))
      case .socket(let pipe): return pipe.receive(bytes)
      case .nothing: return
      }
    }
  }

  /// Passes bytes up to an empty line to the decoder.
  private func passHead(_ context: ChannelHandlerContext, _ bytes: inout ByteBuffer) {
    let (count, isWhole, isASCII) = bytes.readableBytesView.withUnsafeBytes { headBytes($0) }
    guard let piece = bytes.readSlice(length: count) else { return }
    if isASCII, cut.isEmpty { return context.fireChannelRead(wrapInboundOut(piece)) }
    let all = cut + piece.readableBytesView
    let (text, left) = OpaqueText.text(of: all, isWhole: isWhole)
    cut = Array(all.suffix(left))
    context.fireChannelRead(wrapInboundOut(context.channel.allocator.buffer(bytes: text)))
  }

  private func headBytes(_ bytes: UnsafeRawBufferPointer) -> (count: Int, isWhole: Bool, isASCII: Bool) {
    var seen: UInt8 = 0
    for (index, byte) in bytes.enumerated() {
      seen |= byte
      if byte == UInt8(ascii: "\n") {
        if isLineEmpty {
          isLineEmpty = false
          return (index + 1, true, seen < 0x80)
        }
        isLineEmpty = true
      } else if byte != UInt8(ascii: "\r") {
        isLineEmpty = false
      }
    }
    return (bytes.count, false, seen < 0x80)
  }

  package func read(context: ChannelHandlerContext) {
    if case .socket(let pipe) = heads.next {
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      let eventLoop = context.eventLoop
      let mayRead = pipe.hasRoom { eventLoop.execute { bound.value.0.read(context: bound.value.1) } }
      guard mayRead else { return }
    }
    context.read()
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // Other handlers must not treat this as the client's disconnection: the origin may still send bytes.
    if let socketBytes, let event = event as? ChannelEvent, event == .inputClosed { return socketBytes.finish() }
    context.fireUserInboundEventTriggered(event)
  }

  package func channelInactive(context: ChannelHandlerContext) {
    socketBytes?.finish(.failure(ChannelError.eof))
    context.fireChannelInactive()
  }

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard heads.writesEscapes, case .byteBuffer(let text) = unwrapOutboundIn(data) else {
      return context.write(data, promise: promise)
    }
    let bytes = context.channel.allocator.buffer(bytes: OpaqueText.bytes(of: text.readableBytesView))
    context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: promise)
  }
}
