import CoreMetrics
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1

/// Handles what all requests of a listener have in common: their ids and clients, the limits, errors as JSON, the metrics
/// and the access log, and responses that are sent as fast as their clients read.
package struct HostMiddleware: RouterMiddleware {
  package typealias Context = HostRequestContext

  let limits: ServerSettings.Limits
  let metrics: HostMetrics
  let requests: RequestMetrics
  let log: AccessLog
  /// The proxies whose clients take turns by their own addresses; none where no client takes turns.
  private let proxies: TrustedProxies

  /// - Parameters:
  ///   - route: the route that all requests are counted under; `nil` for the one that the router has found.
  ///   - clientsTakeTurns: `true` if routes use ``HostRequestContext/client``.
  package init(
    _ settings: ServerSettings, metrics: HostMetrics, route: String? = nil, clientsTakeTurns: Bool = true
  ) {
    (limits, self.metrics) = (settings.limits, metrics)
    requests = RequestMetrics(metrics, route: route)
    log = AccessLog(proxies: settings.proxies)
    proxies = clientsTakeTurns ? settings.proxies : TrustedProxies()
  }

  package func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    if context.followsLast {
      // The client has sent it before it could read the response that closes the connection.
      try? await context.channel.closeFuture.get()
      throw CancellationError()
    }
    // The time on the event loop counts as well, such as that until the origin's error.
    let start = context.started ?? .now
    let id = Context.givenID(request.head, context.replay) ?? Context.newID()
    var context = context
    context.requestID = id
    if !proxies.isEmpty { context.client = proxies.client(of: request.headers, from: context.client) }
    metrics.inFlight.increment()
    var response: Response
    do {
      response = try await limited(request, context, next)
    } catch {
      do { response = try self.response(to: error, request, context) } catch {
        metrics.inFlight.decrement()
        throw error
      }
    }
    response.headers[.requestID] = id
    record(&response, to: request, context, since: start)
    if response.headers[.connection]?.lowercased() == "close" { context.markLast() }
    return response
  }

  /// Has a response counted and logged at its end: at once if its length is known, so that it can be written in one
  /// piece; for a stream after its last byte. Long bodies are paced.
  private func record(
    _ response: inout Response, to request: Request, _ context: Context, since start: ContinuousClock.Instant
  ) {
    let measure = requests.measure(
      method: request.method, route: context.endpointPath, status: response.status.code)
    let line = log.line(
      for: request.head, version: context.version, status: response.status.code, note: context.note, context.logger)
    let done: @Sendable (Int, Bool) -> Void = {
      [metrics, id = context.requestID, peer = context.peer] bytes, isAborted in
      metrics.inFlight.decrement()
      measure(start)
      line?.write(bytes, isAborted: isAborted, since: start, address: peer ?? "-", id: id)
    }
    if let replay = context.replay {
      replay.onReplay { measure($0.started) }
      line?.repeats(with: replay)
    }
    let (body, length, loop) = (response.body, response.body.contentLength, context.channel.eventLoop)
    if let length {
      done(length, false)
      guard length > BodyWriter.pieceSize else { return }
    }
    response.body = ResponseBody(contentLength: length) { writer in
      let count = length == nil ? CounterSeries() : nil
      do {
        try await body.write(BodyWriter(base: writer, loop: loop, count: count))
        if let count { done(Int(count.value), false) }
      } catch {
        if let count { done(Int(count.value), true) }
        throw error
      }
    }
  }

  // MARK: Limits

  /// Checks a request against the limits of its URL, header and body. The error names the limit.
  private func limited(
    _ request: Request, _ context: Context, _ next: (Request, Context) async throws -> Response
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
    let count = CounterSeries()
    request.body = RequestBody(
      asyncSequence: request.body.map { [metrics, limit = limits.body] buffer in
        count.increment(by: Int64(buffer.readableBytes))
        guard count.value <= limit else {
          metrics.refusals("body").increment()
          throw Self.tooLong(limit: limit)
        }
        return buffer
      })
    return try await next(request, context)
  }

  /// Returns the fault of a head of HTTP/2 that its decoder lets pass, in one sentence. ``RequestHeadHandler`` has
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
    return length > limits.body ? ("body", tooLong(limit: limits.body)) : nil
  }

  /// RFC 9110 §15.5.14: the connection may be closed, so that the client stops sending.
  private static func tooLong(limit: Int) -> HTTPError {
    closing(.contentTooLarge, "the body exceeds the limit of \(limit) bytes")
  }

  static func closing(_ status: HTTPResponse.Status, _ reason: String) -> HTTPError {
    HTTPError(status, headers: [.connection: "close"], message: reason)
  }
}

extension Request {
  /// Reads the whole body.
  ///
  /// - Throws: `HTTPError`: 413 if it exceeds the limit, 400 if its chunks are invalid. Both end the connection, whose rest
  ///   is not read.
  package func bytes(upTo limit: Int) async throws -> [UInt8] {
    do {
      return Array(buffer: try await body.collect(upTo: limit))
    } catch is NIOTooManyBytesError {
      throw HostMiddleware.closing(.contentTooLarge, "the body has more than \(limit) bytes")
    } catch is HTTPParserError {
      throw HTTPError.invalidBody
    }
  }
}

extension HTTPError {
  /// RFC 9112 §7.1: after an invalid body the rest of the connection cannot be interpreted.
  static var invalidBody: HTTPError { HostMiddleware.closing(.badRequest, "the request's body is not valid HTTP") }
}

/// Writes a body as fast as its client reads.
///
/// A write returns before the connection has the bytes, so that a fast producer would fill the memory. Here each piece
/// reaches the connection before the next is written, and a full connection delays that write.
private struct BodyWriter: ResponseBodyWriter {
  /// The longest piece. A body of known length that is no longer is written at once.
  static let pieceSize = Body.chunkSize

  var base: any ResponseBodyWriter
  let loop: any EventLoop
  /// Counts the bytes; `nil` for a body of known length.
  let count: CounterSeries?
  private var hasWritten = false

  init(base: any ResponseBodyWriter, loop: any EventLoop, count: CounterSeries?) {
    (self.base, self.loop, self.count) = (base, loop, count)
  }

  mutating func write(_ buffer: ByteBuffer) async throws {
    var rest = buffer
    while rest.readableBytes > 0 {
      guard let piece = rest.readSlice(length: min(rest.readableBytes, Self.pieceSize)) else { return }
      // When this task runs, the connection has all earlier bytes. The last piece is not waited for, since the end of
      // the response follows it at once.
      if hasWritten { try await loop.submit {}.get() }
      try await base.write(piece)
      count?.increment(by: Int64(piece.readableBytes))
      hasWritten = true
    }
  }

  consuming func finish(_ trailers: HTTPFields?) async throws { try await base.finish(trailers) }
}
