import HTTPTypes
import Hummingbird
import NIOCore
import PageKit
import ServerKit

/// `/resources`: the pictures and files that a page's elements refer to, for its preview.
struct ResourceRoutes: Sendable {
  let directory: PageDirectory

  /// The limit of one resource in bytes.
  private static let limit: Int64 = 32 << 20

  func add(to router: some RouterMethods<HostRequestContext>) {
    router.get("/resources") { request, _ in
      do {
        return try await answer(request)
      } catch {
        return PageFailure(error, url: "").withoutPaths(directory.locations).response
      }
    }
  }

  private func answer(_ request: Request) async throws -> Response {
    let parameters = request.uri.queryParameters
    guard let reference = parameters["url"].map(String.init), !reference.isEmpty else {
      throw PageFailure.badRequest("give a url")
    }
    let page = try await parameters["page"].asyncMap { try await directory.page(String($0)) }
    var wanted = ResourceRequest(reference, base: page.flatMap { PageURL($0.location) }, type: .image)
    wanted.snapshot = page?.bundle.view
    wanted = try directory.answers.permitted(wanted)
    let loaded: Resource
    do {
      loaded = try await directory.answers.host.resources.response(for: wanted)
    } catch {
      throw PageFailure(error, url: reference)
    }
    directory.record.answered(from: loaded.source, kind: HostRecord.previewKind)
    return Response(
      status: HTTPResponse.Status(code: loaded.status), headers: Self.fields(loaded), body: Self.body(loaded.body))
  }

  /// Streams the resource as fast as its client reads. Beyond the limit the body ends, and its connection is closed.
  private static func body(_ body: Body) -> ResponseBody {
    if let bytes = body.bytesInMemory, bytes.count <= Body.chunkSize {
      return ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
    }
    return ResponseBody { writer in
      let reader = body.reader()
      var count: Int64 = 0
      while let chunk = try await reader.nextChunk() {
        count += Int64(chunk.count)
        guard count <= limit else { throw TransportError.tooLarge(url: body.url, limit: limit) }
        try await writer.write(ByteBuffer(bytes: chunk))
      }
      try await writer.finish(nil)
    }
  }

  /// The media type and the freshness; other fields of the server are not forwarded. The policy keeps a picture with
  /// scripts harmless when it is opened by itself, since it would have this daemon's origin.
  private static func fields(_ loaded: Resource) -> HTTPFields {
    var fields: HTTPFields = [
      .contentSecurityPolicy: "default-src 'none'; style-src 'unsafe-inline'; sandbox", .xContentTypeOptions: "nosniff",
    ]
    for name: HTTPField.Name in [.contentType, .eTag, .lastModified, .cacheControl] {
      fields[name] = loaded.response.headerFields[name]
    }
    return fields
  }
}

extension Optional {
  fileprivate func asyncMap<Result>(_ body: (Wrapped) async throws -> Result) async rethrows -> Result? {
    guard let self else { return nil }
    return try await body(self)
  }
}
