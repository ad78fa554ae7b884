import CurlTransport
import Foundation
import HTTPCaching
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PageKit
import PageLoading
import PageStore

/// A shared cache in front of one origin: decides with `HTTPCaching`, keeps in a store of its own, asks with libcurl.
struct Gateway: Sendable {
  let loader: ResourceLoader
  let origin: PageURL
  let isSecure: Bool
  let record: HostRecord

  /// Bytes of answers in memory, and on the disk.
  private static let memory = 64 << 20
  private static let disk: Int64 = 4 << 30
  /// Transfers from the origin at once.
  private static let transfers = 128

  /// - Returns: nil where none is wanted.
  /// - Throws: ``StoreError``, ``TransportError``.
  init?(_ settings: Settings, record: HostRecord, logger: Logger) throws {
    guard settings.gateway != nil, let origin = settings.origin else { return nil }
    self.origin = origin
    self.record = record
    isSecure = settings.certificate != nil
    var transport = CurlTransport.Configuration(connectionsPerHost: Self.transfers, connections: Self.transfers * 2)
    transport.usesEnvironmentProxies = false
    // Otherwise libcurl would take in up to 32 MiB of an answer that nobody reads.
    transport.sharesConnections = false
    let cache = try ResponseCache(
      memoryCapacity: Self.memory, diskCapacity: Self.disk,
      directory: ResponseDirectory(settings.store.path + "/gateway"), policy: CachePolicy(mode: .shared), logger: logger
    )
    loader = ResourceLoader(
      cache: cache, transport: try CurlTransport(transport), coding: ContentDecoder(),
      configuration: Self.configuration(logger))
  }

  private static func configuration(_ logger: Logger) -> ResourceLoader.Configuration {
    var configuration = ResourceLoader.Configuration()
    configuration.behavior = .protocolCache
    configuration.partition = .shared
    configuration.rewriters = []
    configuration.ignoredParameters = []
    configuration.addsNothing = true
    configuration.transfers = transfers
    configuration.logger = logger
    return configuration
  }

  /// - Throws: ``HTTPError`` for what is not forwarded.
  func respond(to request: Request, client: String?) async throws -> Response {
    guard request.method != .connect else {
      throw HTTPError(.notImplemented, message: "the gateway makes no tunnels")
    }
    guard let path = request.head.path, path.hasPrefix("/") else {
      throw HTTPError(.badRequest, message: "the request's target is no path")
    }
    var resource = ResourceRequest(
      origin.origin + path, type: .other, method: request.method,
      fields: GatewayFields.request(request.head, client: client, isSecure: isSecure), followsRedirects: false,
      keepsContentEncoding: true)
    resource.target = path
    resource.informational = InterimHeads.current
    let body = ForwardedBody(request)
    resource.stream = body?.stream
    let loaded: Loaded
    do {
      loaded = try await loader.response(for: resource)
    } catch let error where !(error is CancellationError) {
      // What is wrong with the client's body is not the origin's fault.
      throw body?.failure ?? GatewayFault(error)
    }
    record.answered(from: loaded.source)
    return Self.response(loaded, to: request.method)
  }

  private static func response(_ loaded: Loaded, to method: HTTPRequest.Method) -> Response {
    let fields = GatewayFields.response(loaded.response.headerFields)
    let status = loaded.response.status
    // RFC 9110 §6.4.1: these have none.
    if method == .head || [204, 304].contains(status.code) { return Response(status: status, headers: fields) }
    if let bytes = loaded.body.bytesInMemory {
      return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
    let length = fields[.contentLength].flatMap { Int($0) }
    let body = ResponseBody(contentLength: length) { writer in
      for try await chunk in loaded.body { try await writer.write(ByteBuffer(bytes: chunk)) }
      let trailers = HopByHopFields.removed(from: await loaded.body.trailers())
      try await writer.finish(trailers.isEmpty ? nil : trailers)
    }
    return Response(status: status, headers: fields, body: body)
  }
}
