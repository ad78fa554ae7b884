import HTTPCache
import NIOCore
import NIOHTTP1
import ServerKit

/// A connection to an origin on which a web socket was requested; closed when the value is released.
final class OriginSocket: Sendable {
  /// The head of the origin's response.
  let head: HTTPResponseHead
  /// The bytes that the origin sends: over the web socket if it has switched, otherwise the body of its response.
  let bytes: BytePipe
  private let channel: any Channel
  private let place: OriginPlace

  /// `true` if the origin has switched: only then may bytes that are not HTTP be sent.
  var isOpen: Bool { head.status == .switchingProtocols }

  init(_ opening: OriginSocketConnector.Opening, _ place: OriginPlace) {
    (head, bytes, channel) = (opening.head, opening.bytes, opening.channel)
    self.place = place
  }

  deinit { channel.close(promise: nil) }

  /// Writes bytes and returns when they were sent.
  func write(_ bytes: ByteBuffer) async throws { try await channel.writeAndFlush(bytes) }

  /// Closes the sending side.
  func closeOutput() {
    let channel = channel
    channel.close(mode: .output).whenFailure { _ in channel.close(promise: nil) }
  }

  func close() { channel.close(promise: nil) }
}

/// Forwards the reads of a channel to a task, and reads only as fast as the task.
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
  /// The result of the pipe if the connection ends first.
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
