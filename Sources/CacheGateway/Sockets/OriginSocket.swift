import HTTPCache
import NIOCore
import NIOHTTP1
import ServerKit

/// A connection to an origin that was asked for a web socket; closed when it is let go of.
final class OriginSocket: Sendable {
  /// The origin's answer.
  let head: HTTPResponseHead
  /// The bytes that it sends: over the web socket if it has agreed to one, otherwise the body of its answer.
  let bytes: BytePipe
  private let channel: any Channel
  private let place: OriginPlace

  /// True if the origin has agreed: only then may anything be sent that is not HTTP.
  var isOpen: Bool { head.status == .switchingProtocols }

  init(_ opening: OriginSocketConnector.Opening, _ place: OriginPlace) {
    (head, bytes, channel) = (opening.head, opening.bytes, opening.channel)
    self.place = place
  }

  deinit { channel.close(promise: nil) }

  /// Returns when the bytes have gone out.
  func write(_ bytes: ByteBuffer) async throws { try await channel.writeAndFlush(bytes) }

  /// Ends the input.
  func closeOutput() {
    let channel = channel
    channel.close(mode: .output).whenFailure { _ in channel.close(promise: nil) }
  }

  func close() { channel.close(promise: nil) }
}

/// Hands what a channel reads to a task, and reads no more than that takes.
final class PipeHandler<Part>: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = Part
  typealias OutboundIn = NIOAny

  enum Piece {
    case bytes(ByteBuffer)
    case end
    case nothing
  }

  private let pipe: BytePipe
  private let piece: (Part) -> Piece
  /// The end of the pipe when its connection ends first.
  private let end: Result<Void, any Error>

  init(_ pipe: BytePipe, endingWith end: Result<Void, any Error>, _ piece: @escaping (Part) -> Piece) {
    (self.pipe, self.end, self.piece) = (pipe, end, piece)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch piece(unwrapInboundIn(data)) {
    case .bytes(let bytes): pipe.receive(bytes)
    case .end: pipe.finish()
    case .nothing: break
    }
  }

  func read(context: ChannelHandlerContext) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    let eventLoop = context.eventLoop
    if pipe.hasRoom(then: { eventLoop.execute { bound.value.0.read(context: bound.value.1) } }) { context.read() }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    pipe.finish(.failure(error))
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    pipe.finish(end)
    context.fireChannelInactive()
  }
}
