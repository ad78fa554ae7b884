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

  private let progress: RequestProgress
  /// `true` if only a line's end, or nothing, has come since the last newline.
  private var isLineEmpty = false
  /// The beginning of a character whose remaining bytes have not arrived.
  private var cut: [UInt8] = []

  private init(_ progress: RequestProgress) { self.progress = progress }

  /// Adds the required handlers to a connection that speaks HTTP/1.
  package static func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
    let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
    let encoder = try pipeline.handler(type: HTTPResponseEncoder.self)
    let progress = RequestProgress()
    try pipeline.addHandler(RequestBytesHandler(progress), position: .before(encoder))
    try pipeline.addHandler(RequestProgressHandler(progress), position: .after(decoder))
  }

  /// The bytes that the client sends over the web socket that its last request asks for; `nil` if it asks for none.
  package var socketBytes: BytePipe? { if case .socket(let pipe) = progress.next { pipe } else { nil } }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    while bytes.readableBytes > 0 {
      switch progress.next {
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
    if case .socket(let pipe) = progress.next {
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
    guard progress.writesEscapes, case .byteBuffer(let text) = unwrapOutboundIn(data) else {
      return context.write(data, promise: promise)
    }
    let bytes = context.channel.allocator.buffer(bytes: OpaqueText.bytes(of: text.readableBytesView))
    context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: promise)
  }
}

/// The kind of bytes that come next. Only HTTP's decoder knows where a head and a body end.
private final class RequestProgress {
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

  var next = Next.head
  /// `true` if the next bytes to be written contain ``OpaqueText``.
  var writesEscapes = false
}

/// Observes the progress of HTTP's decoder and encoder.
private final class RequestProgressHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private let progress: RequestProgress
  private var afterMessage = RequestProgress.Next.head

  init(_ progress: RequestProgress) { self.progress = progress }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      afterMessage = head.asksForWebSocket ? .socket(BytePipe()) : head.endsHTTP ? .nothing : .head
      let length = head.headers.first(name: "content-length").flatMap { Int($0) }
      progress.next = head.headers.contains(name: "transfer-encoding") ? .chunks : .body(length ?? 0)
    case .body(let bytes):
      if case .body(let count) = progress.next { progress.next = .body(max(count - bytes.readableBytes, 0)) }
    case .end: progress.next = afterMessage
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let fields: HTTPHeaders? =
      switch unwrapOutboundIn(data) {
      case .head(let head): head.headers
      case .body: nil
      case .end(let trailers): trailers
      }
    // The encoder writes a head, and the end of a body, at once and in one piece.
    progress.writesEscapes = fields?.contains { OpaqueText.hasEscapes($0.value) } ?? false
    context.write(data, promise: promise)
    progress.writesEscapes = false
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
