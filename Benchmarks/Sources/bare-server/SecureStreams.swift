import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL

/// A server of HTTP/2 over TLS 1.3 that gives the files of a folder from memory, and a 304 to every conditional request:
/// NIOHTTP2 and NIOSSL with nothing between.
enum SecureStreams {
  /// - Parameter folder: its files are found by the last component of a request's path.
  static func start(port: Int, folder: String, certificate: String, key: String) async throws -> any Channel {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
    configuration.applicationProtocols = ["h2"]
    let context = try NIOSSLContext(configuration: configuration)
    var files: [Substring: ByteBuffer] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      files[name[...]] = ByteBuffer(bytes: try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
    }
    return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { [files] channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandlers([
            NIOSSLServerHandler(context: context),
            NIOHTTP2Handler(mode: .server, connectionConfiguration: .init(), streamConfiguration: .init()),
            StreamAnswers(files),
          ])
        }
      }
      .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
      .bind(host: "127.0.0.1", port: port).get()
  }
}

/// Answers requests on the connection's frames, without a channel for each stream.
private final class StreamAnswers: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  /// Those that renderhost sends with a script.
  private static let fields: HPACKHeaders = {
    var fields: HPACKHeaders = [
      ":status": "200", "etag": "\"599383888f383bb1d8e72c33df3d607b03438624266230a2050c0b49fe35f3e8\"",
      "cache-control": "no-cache", "vary": "Accept-Encoding, Available-Dictionary",
      "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT",
      "content-security-policy":
        "default-src 'none'; img-src 'self' data:; media-src 'self' data:; font-src 'self' data:; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; sandbox",
      "x-content-type-options": "nosniff", "access-control-allow-origin": "*",
      "access-control-expose-headers":
        "ETag, Content-MD5, Repr-Digest, Content-Range, Accept-Ranges, Content-Encoding, Content-Length, Last-Modified",
      "content-type": "text/javascript; charset=utf-8", "accept-ranges": "bytes",
      "repr-digest": "sha-256=:WZODiI84O7HY5ywz3z1gewNDhiQmYjCiBQwLSf418+g=:",
      "content-md5": "j5EcCM6bXLag31HcrxWozg==", "date": "Sun, 06 Nov 1994 08:49:37 GMT",
    ]
    fields.add(name: "x-request-id", value: "3ad9e6da5e89aa74", indexing: .nonIndexable)
    return fields
  }()
  private static let notModified: HPACKHeaders = {
    // A pseudo-header comes before all others.
    var fields: HPACKHeaders = [":status": "304"]
    let left = [":status", "content-type", "accept-ranges", "repr-digest", "content-md5"]
    for (name, value, indexing) in StreamAnswers.fields where !left.contains(name) {
      fields.add(name: name, value: value, indexing: indexing)
    }
    return fields
  }()

  private let files: [Substring: ByteBuffer]

  init(_ files: [Substring: ByteBuffer]) { self.files = files }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    guard case .headers(let request) = frame.payload, request.endStream else { return }
    let name = request.headers.first(name: ":path")?.split(separator: "/").last ?? ""
    let isConditional = request.headers.contains(name: "if-none-match")
    let body = isConditional || request.headers.first(name: ":method") == "HEAD" ? nil : files[name]
    func write(_ payload: HTTP2Frame.FramePayload) {
      context.write(wrapOutboundOut(HTTP2Frame(streamID: frame.streamID, payload: payload)), promise: nil)
    }
    var fields = isConditional ? Self.notModified : Self.fields
    if let body { fields.add(name: "content-length", value: "\(body.readableBytes)") }
    write(.headers(.init(headers: fields, endStream: body == nil)))
    if let body { write(.data(.init(data: .byteBuffer(body), endStream: true))) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.flush()
    context.fireChannelReadComplete()
  }
}
