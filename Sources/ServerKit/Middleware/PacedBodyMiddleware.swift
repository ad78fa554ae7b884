import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore

/// Writes long bodies at their client's pace.
///
/// A write returns before the connection has seen its bytes, so that whatever reads faster than a client would pile up
/// there. Here each piece has reached the connection before the next is written, and a connection that is full makes
/// that write wait.
package struct PacedBodyMiddleware: RouterMiddleware {
  /// Bodies up to this length go out at once, longer ones in pieces of at most so many bytes.
  static let pieceSize = Body.chunkSize

  package init() {}

  package func handle(
    _ request: Request, context: HostRequestContext, next: (Request, HostRequestContext) async throws -> Response
  ) async throws -> Response {
    var response = try await next(request, context)
    let length = response.body.contentLength
    guard length.map({ $0 > Self.pieceSize }) ?? true else { return response }
    response.body = ResponseBody(contentLength: length) { [body = response.body] writer in
      try await body.write(PacedBodyWriter(base: writer, loop: context.channel.eventLoop))
    }
    return response
  }
}

private struct PacedBodyWriter: ResponseBodyWriter {
  var base: any ResponseBodyWriter
  let loop: any EventLoop
  private var hasWritten = false

  init(base: any ResponseBodyWriter, loop: any EventLoop) {
    self.base = base
    self.loop = loop
  }

  mutating func write(_ buffer: ByteBuffer) async throws {
    var rest = buffer
    while rest.readableBytes > 0 {
      guard let piece = rest.readSlice(length: min(rest.readableBytes, PacedBodyMiddleware.pieceSize)) else { return }
      // What was handed to the loop before this is in the connection when it is run. Nothing waits for it after the last
      // piece: the answer's end is to follow at once.
      if hasWritten { try await loop.submit {}.get() }
      try await base.write(piece)
      hasWritten = true
    }
  }

  consuming func finish(_ trailers: HTTPFields?) async throws { try await base.finish(trailers) }
}
