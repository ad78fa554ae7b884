import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore

/// Writes long bodies as fast as their client reads.
///
/// A write returns before the connection has the bytes, so that a fast producer would fill the memory. Here each piece
/// reaches the connection before the next is written, and a full connection delays that write.
package struct PacedBodyMiddleware: RouterMiddleware {
  /// Bodies up to this length are written at once, longer ones in pieces of at most this length.
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
      // When this task runs, the connection has all earlier bytes. The last piece is not waited for, since the end of
      // the response follows it at once.
      if hasWritten { try await loop.submit {}.get() }
      try await base.write(piece)
      hasWritten = true
    }
  }

  consuming func finish(_ trailers: HTTPFields?) async throws { try await base.finish(trailers) }
}
