import CurlTransport
import Foundation
import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix

// The peer of the daemon: the same server of SwiftNIO, and the same libcurl, with nothing between.
//
//   bare-server PORT 304      answers every request with one fixed 304
//   bare-server PORT ORIGIN   asks the origin for every request, and passes its response on
//   bare-server PORT nio ORIGIN   the same without libcurl: each client has a connection of SwiftNIO's to the origin

/// Answers every request with one fixed 304.
private final class NotModifiedHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private static let head = HTTPResponseHead(
    version: .http1_1, status: .notModified,
    headers: ["ETag": "\"0123456789abcdef\"", "Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Cache-Control": "no-cache"])

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .end = unwrapInboundIn(data) else { return }
    context.write(wrapOutboundOut(.head(Self.head)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }
}

/// Asks an origin for every request, whose fields it leaves out, and passes the response on.
private final class PassingHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let transport: CurlTransport
  private let authority: String
  private var path = ""

  init(_ transport: CurlTransport, _ authority: String) { (self.transport, self.authority) = (transport, authority) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): path = head.uri
    case .body: break
    case .end:
      var request = TransportRequest(
        HTTPRequest(method: .get, scheme: "http", authority: authority, path: path, headerFields: [:]))
      request.addsNothing = true
      let channel = context.channel
      Task { [transport, request] in
        do {
          let response = try await transport.send(request)
          let body = try await response.body.collect()
          var head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: response.head.status.code))
          for field in response.head.headerFields where field.name != .connection {
            head.headers.add(name: field.name.rawName, value: field.value)
          }
          channel.write(HTTPServerResponsePart.head(head), promise: nil)
          channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
          channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
        } catch {
          channel.close(promise: nil)
        }
      }
    }
  }
}

/// Asks an origin for every request by a connection on the same event loop, and passes its response on. A response to
/// nothing, a connection that ends and an error are not dealt with: it shows what the two protocols cost, and no more.
private final class ForwardingHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart

  private let host: String
  private let port: Int
  private var origin: (any Channel)?

  init(_ authority: String) {
    let parts = authority.split(separator: ":")
    (host, port) = (String(parts[0]), parts.count > 1 ? Int(parts[1]) ?? 80 : 80)
  }

  func channelActive(context: ChannelHandlerContext) {
    let client = context.channel
    let loop = NIOLoopBound(self, eventLoop: context.eventLoop)
    client.setOption(.autoRead, value: false).flatMap { [host, port] in
      ClientBootstrap(group: client.eventLoop)
        .channelOption(.socketOption(.tcp_nodelay), value: 1)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            try channel.pipeline.syncOperations.addHandler(ReturningHandler(client))
          }
        }.connect(host: host, port: port)
    }.whenComplete { result in
      guard case .success(let channel) = result else { return client.close(promise: nil) }
      loop.value.origin = channel
      _ = client.setOption(.autoRead, value: true)
      client.closeFuture.whenComplete { _ in channel.close(promise: nil) }
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      origin?.write(
        HTTPClientRequestPart.head(
          HTTPRequestHead(version: .http1_1, method: .GET, uri: head.uri, headers: ["Host": "\(host):\(port)"])),
        promise: nil)
    case .body: break
    case .end: origin?.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
    }
  }
}

/// Passes responses of an origin on to a client.
private final class ReturningHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart

  private let client: any Channel

  init(_ client: any Channel) { self.client = client }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      var headers = head.headers
      headers.remove(name: "Connection")
      client.write(
        HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: head.status, headers: headers)),
        promise: nil)
    case .body(let bytes): client.write(HTTPServerResponsePart.body(.byteBuffer(bytes)), promise: nil)
    case .end: client.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
    }
  }
}

let arguments = CommandLine.arguments
let isByNIO = arguments.count == 4 && arguments[2] == "nio"
guard arguments.count == 3 || isByNIO, let port = Int(arguments[1]), let origin = arguments.last else {
  FileHandle.standardError.write(Data("usage: bare-server PORT 304|ORIGIN|nio ORIGIN\n".utf8))
  exit(64)
}
var configuration = CurlTransport.Configuration(connectionsPerHost: 128, connections: 128)
configuration.usesEnvironmentProxies = false
let transport = origin == "304" || isByNIO ? nil : try CurlTransport(configuration)
let authority = String(origin.dropFirst("http://".count))
let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
  .serverChannelOption(.backlog, value: 1024)
  .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
  .childChannelInitializer { channel in
    channel.eventLoop.makeCompletedFuture {
      try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
      if let transport {
        try channel.pipeline.syncOperations.addHandler(PassingHandler(transport, authority))
      } else if isByNIO {
        try channel.pipeline.syncOperations.addHandler(ForwardingHandler(authority))
      } else {
        try channel.pipeline.syncOperations.addHandler(NotModifiedHandler())
      }
    }
  }
  .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
  .bind(host: "127.0.0.1", port: port).get()
try await server.closeFuture.get()
