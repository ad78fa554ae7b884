import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import ServerKit
import ServiceLifecycle

/// Web sockets through the gateway (RFC 9110 §7.8): the origin is requested on a separate connection, and the bytes of
/// both sides are then forwarded unparsed.
extension GatewayOrigin {
  /// - Parameters:
  ///   - path: the request's target.
  ///   - bytes: the bytes of the client.
  /// - Throws: ``GatewayError``.
  func openSocket(
    for request: Request, path: String, from sender: ClientInfo, _ bytes: BytePipe
  ) async throws -> Response {
    let socket: OriginSocket
    sender.note?.change { $0 = ["origin": settings.name, "trace": sender.trace.trace] }
    do {
      socket = try await sender.disconnection.cancelling { [loader, sockets, settings] in
        let place = try await loader.place(at: settings.url)
        do {
          var fields = GatewayFields.request(
            request.head, from: sender.client, settings.forwarding, version: sender.version)
          sender.trace.add(to: &fields)
          let opening = try await sockets.open(path, fields)
          place.succeeded()
          return OriginSocket(opening, place)
        } catch {
          place.failed(error)
          throw error
        }
      }
    } catch let error where !(error is CancellationError) {
      let fault = GatewayError(error, origin: settings.name, url: settings.url.origin + path)
      record.failed(fault)
      sender.note?.change { $0["cache"] = fault.result.rawValue }
      throw fault
    }
    record.answered(.pass)
    sender.note?.change { $0["cache"] = GatewayResult.pass.rawValue }
    return socket.isOpen ? relay(socket, bytes) : pass(socket, for: sender)
  }

  /// Forwards the bytes of both sides after the origin has switched protocols. RFC 9110 §15.2.2.
  private func relay(_ socket: OriginSocket, _ bytes: BytePipe) -> Response {
    var fields = Self.fields(of: socket.head)
    fields[.connection] = "Upgrade"
    fields[.upgrade] = "websocket"
    let body = ResponseBody { writer in
      try await withGracefulShutdownHandler {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            do {
              while let bytes = try await bytes.next() { try await socket.write(bytes) }
              // The origin may still send bytes.
              socket.closeOutput()
            } catch {
              socket.close()
              throw error
            }
          }
          // RFC 9110 §9.3.6: when one side has ended, its remaining bytes are forwarded, and both connections are
          // closed.
          while let bytes = try await socket.bytes.next() { try await writer.write(bytes) }
          group.cancelAll()
        }
        try await writer.finish(nil)
      } onGracefulShutdown: {
        socket.close()
      }
    }
    return Response(status: .switchingProtocols, headers: fields, body: body)
  }

  /// Forwards the ordinary response of an origin that has not switched. The client's connection ends with it.
  private func pass(_ socket: OriginSocket, for sender: ClientInfo) -> Response {
    var fields = CacheStatus(.forwarded(.upgrade)).added(to: Self.fields(of: socket.head))
    if !fields.contains(.date) { fields[.date] = HTTPDate.now.description }
    fields[.connection] = "close"
    let length = fields[.contentLength].flatMap { Int($0) }
    let limit = settings.answerLimit
    let url = settings.url.origin
    let body = ResponseBody(contentLength: length) { writer in
      var count: Int64 = 0
      while let bytes = try await sender.disconnection.cancelling({ try await socket.bytes.next() }) {
        count += Int64(bytes.readableBytes)
        guard count <= limit else { throw TransportError.tooLarge(url: url, limit: limit) }
        try await writer.write(bytes)
      }
      try await writer.finish(nil)
    }
    return Response(status: .init(code: Int(socket.head.status.code)), headers: fields, body: body)
  }

  /// The fields of an origin's response that are forwarded to the client.
  private static func fields(of head: HTTPResponseHead) -> HTTPFields {
    var fields = HTTPFields()
    for (name, value) in head.headers {
      if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
    }
    fields = GatewayFields.response(fields)
    GatewayFields.addWay(version: head.version == .http1_0 ? "1.0" : "1.1", to: &fields)
    return fields
  }
}

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
