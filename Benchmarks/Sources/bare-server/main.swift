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

let arguments = CommandLine.arguments
guard arguments.count == 3, let port = Int(arguments[1]) else {
  FileHandle.standardError.write(Data("usage: bare-server PORT 304|ORIGIN\n".utf8))
  exit(64)
}
let origin = arguments[2]
var configuration = CurlTransport.Configuration(connectionsPerHost: 128, connections: 128)
configuration.usesEnvironmentProxies = false
let transport = origin == "304" ? nil : try CurlTransport(configuration)
let authority = String(origin.dropFirst("http://".count))
let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
  .serverChannelOption(.backlog, value: 1024)
  .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
  .childChannelInitializer { channel in
    channel.eventLoop.makeCompletedFuture {
      try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
      if let transport {
        try channel.pipeline.syncOperations.addHandler(PassingHandler(transport, authority))
      } else {
        try channel.pipeline.syncOperations.addHandler(NotModifiedHandler())
      }
    }
  }
  .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
  .bind(host: "127.0.0.1", port: port).get()
try await server.closeFuture.get()
