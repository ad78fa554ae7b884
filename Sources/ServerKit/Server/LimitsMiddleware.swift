import CoreMetrics
import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1

/// Checks a request against the limits of its URL, header and body. The error names the limit.
package struct LimitsMiddleware: RouterMiddleware {
  package typealias Context = HostRequestContext

  package let limits: ServerSettings.Limits
  package let metrics: HostMetrics

  package init(
    limits: ServerSettings.Limits, metrics: HostMetrics
  ) {
    self.limits = limits
    self.metrics = metrics
  }

  package func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    // A stream's parent is a connection, whose parent is the listening socket.
    if context.channel.parent?.parent != nil, let fault = Self.fault(in: request.head) {
      metrics.refusals("unclear").increment()
      throw HTTPError(.badRequest, message: fault)
    }
    if let refusal = Self.refusal(request.head, limits) {
      metrics.refusals(refusal.reason).increment()
      throw refusal.error
    }
    // A body with a length was checked with the head, and the decoder ends it there.
    guard request.headers[.contentLength] == nil, request.method != .get, request.method != .head else {
      return try await next(request, context)
    }
    var request = request
    request.body = RequestBody(
      asyncSequence: LimitedBody(base: request.body, limit: limits.body) {
        metrics.refusals("body").increment()
      })
    return try await next(request, context)
  }

  /// Returns what is wrong with a head of HTTP/2 that its decoder lets pass, in one sentence. ``RequestHeadHandler`` has
  /// refused such heads of HTTP/1 before.
  static func fault(in head: HTTPRequest) -> String? {
    // RFC 9113 §8.3.1.
    if head.scheme?.isEmpty == true { return "the request's scheme is empty" }
    guard head.method != .connect else { return nil }
    guard let path = head.path, path.hasPrefix("/") || path == "*" && head.method == .options else {
      return "the request's target is not a path"
    }
    guard let host = head.host else { return "the request names no host" }
    let others = head.hostFields
    if AmbiguousRequestError.isInvalid(host: host) { return "the request's host is not a valid host" }
    if head.authority == nil && others.count > 1 || others.contains(where: { $0.lowercased() != host.lowercased() }) {
      return "the request names two hosts"
    }
    // RFC 9110 §8.6, RFC 9113 §8.1.1.
    guard
      head.headerFields[values: .contentLength].allSatisfy({ text in
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
      })
    else { return "the request's Content-Length is not a number" }
    return nil
  }

  /// Returns the limit that a request's head exceeds, with its error; `nil` if there is none.
  package static func refusal(_ head: HTTPRequest, _ limits: ServerSettings.Limits) -> (
    reason: String, error: HTTPError
  )? {
    let url = head.path?.utf8.count ?? 0
    if url > limits.url {
      // RFC 9110 §15.5.15.
      return ("url", closing(.uriTooLong, "the URL has \(url) bytes, the limit is \(limits.url)"))
    }
    let header = head.headerFields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
    if header > limits.header {
      // RFC 6585 §5.
      let reason = "the header fields have \(header) bytes, the limit is \(limits.header)"
      return ("header", closing(.requestHeaderFieldsTooLarge, reason))
    }
    guard let text = head.headerFields[.contentLength] else { return nil }
    // Of HTTP/1 such a head comes no further than its connection's handler.
    guard let length = Int(text), length >= 0 else {
      return ("unclear", closing(.badRequest, AmbiguousRequestError.badLength))
    }
    return length > limits.body ? ("body", LimitedBody.error(limit: limits.body)) : nil
  }

  static func closing(_ status: HTTPResponse.Status, _ reason: String) -> HTTPError {
    HTTPError(status, headers: [.connection: "close"], message: reason)
  }
}

/// A body that ends with an error if it exceeds its limit.
struct LimitedBody: AsyncSequence, Sendable {
  let base: RequestBody
  let limit: Int
  let whenOver: @Sendable () -> Void

  /// RFC 9110 §15.5.14: the connection may be closed, so that the client stops sending.
  static func error(limit: Int) -> HTTPError {
    LimitsMiddleware.closing(.contentTooLarge, "the body exceeds the limit of \(limit) bytes")
  }

  func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), limit: limit, whenOver: whenOver) }

  struct Iterator: AsyncIteratorProtocol {
    var base: RequestBody.AsyncIterator
    let limit: Int
    let whenOver: @Sendable () -> Void
    var bytes = 0

    mutating func next() async throws -> ByteBuffer? {
      guard let buffer = try await base.next() else { return nil }
      bytes += buffer.readableBytes
      guard bytes <= limit else {
        whenOver()
        throw LimitedBody.error(limit: limit)
      }
      return buffer
    }
  }
}

extension Request {
  /// Reads the whole body.
  ///
  /// - Throws: `HTTPError`: 413 if it exceeds the limit, 400 if its chunks are invalid.
  package func bytes(upTo limit: Int) async throws -> [UInt8] {
    do {
      return Array(buffer: try await body.collect(upTo: limit))
    } catch is NIOTooManyBytesError {
      throw HTTPError(.contentTooLarge, message: "the body has more than \(limit) bytes")
    } catch is HTTPParserError {
      throw HTTPError.invalidBody
    }
  }
}

extension HTTPError {
  /// RFC 9112 §7.1: after an invalid body the rest of the connection cannot be interpreted.
  static var invalidBody: HTTPError { LimitsMiddleware.closing(.badRequest, "the request's body is not valid HTTP") }
}

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
