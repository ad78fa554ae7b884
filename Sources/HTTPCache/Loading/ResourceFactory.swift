import Blobs
import CLinux
import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Synchronization

/// Makes the resources that callers get: of stored responses, of those that come in, and of files.
final class ResourceFactory: Sendable {
  private let cache: ResponseCache
  private let bodyLimit: Int64
  private let localFolder: String?
  private let now: @Sendable () -> HTTPDate
  private let storedUse: @Sendable (HTTPDate) -> StoredUse

  init(_ cache: ResponseCache, _ configuration: ResourceLoader.Configuration) {
    self.cache = cache
    bodyLimit = configuration.bodyLimit
    localFolder = configuration.localFolder
    (now, storedUse) = (configuration.now, configuration.storedUse)
  }

  // MARK: Stored responses

  /// A stored response as the request wants it.
  ///
  /// - Parameters:
  ///   - source: `nil` for where its bytes are.
  ///   - found: the responses that it was chosen among for being fresh; empty if it was chosen for another reason.
  ///   - isStale: `true` if it counts as stale, whatever its lifetime.
  /// - Returns: `nil` if its bytes have gone.
  func stored(
    _ cached: CachedResponse, for request: OutgoingRequest, _ status: CacheStatus, source: Resource.Source? = nil,
    generation: UInt64 = 0, freshAmong found: [CachedResponse] = [], isStale: Bool = false
  ) async -> Resource? {
    let made = response(to: request, from: cached)
    var body = Body([])
    if let range = made.bytes {
      guard let stored = await cache.body(of: cached) else { return nil }
      body = Body(stored, range)
    }
    return resource(
      made, body, of: cached, for: request, status, source: source, generation: generation, freshAmong: found,
      isStale: isStale)
  }

  /// The same without waiting for the disk; `nil` if it has to be asked.
  func storedAtOnce(
    _ cached: CachedResponse, for request: OutgoingRequest, _ status: CacheStatus, freshAmong found: [CachedResponse]
  ) -> Resource? {
    let made = response(to: request, from: cached)
    var body = Body([])
    if let range = made.bytes {
      guard let stored = cache.bodyAtOnce(of: cached) else { return nil }
      body = Body(stored, range)
    }
    return resource(made, body, of: cached, for: request, status, freshAmong: found)
  }

  /// The response from a stored one, with the positions of its bytes there, and when it was made.
  private typealias MadeResponse = (now: HTTPDate, freshness: Freshness, head: HTTPResponse, bytes: Range<Int64>?)

  private func response(to request: OutgoingRequest, from cached: CachedResponse) -> MadeResponse {
    let now = now()
    let freshness = Freshness(of: cached.stored, at: now, rule: request.lifetime)
    let (head, bytes) = cached.stored.response(to: request.head, age: freshness.age)
    return (now, freshness, head, bytes)
  }

  /// - Parameter body: the bytes of the response, as they are stored.
  private func resource(
    _ made: MadeResponse, _ body: Body, of cached: CachedResponse, for request: OutgoingRequest, _ status: CacheStatus,
    source: Resource.Source? = nil, generation: UInt64 = 0, freshAmong found: [CachedResponse], isStale: Bool = false
  ) -> Resource {
    let (head, freshness) = (made.head, made.freshness)
    var status = status
    status.timeToLive = isStale ? min(0, freshness.remaining) : freshness.remaining
    var resource = Resource(
      url: request.url,
      response: HTTPResponse(status: head.status, headerFields: status.added(to: head.headerFields)),
      body: made.bytes == nil ? body : decoded(body, of: head, request),
      source: source ?? (cached.bytes == nil ? .disk : .memory), age: freshness.age,
      generation: generation, cacheStatus: status, userInfo: cached.userInfo, digest: cached.digest)
    if !found.isEmpty, cached.bytes != nil, freshness.isFresh, isReplayable(request) {
      resource.replay = ReplayableResponse(
        cached, among: found, in: cache, made: made.now, remaining: freshness.remaining, now: now, storedUse: storedUse)
    }
    // However young it is, it may not be used without asking.
    let mustAsk = isStale || cached.stored.isInvalidated || cached.stored.control.noCache == .response
    resource.remaining = mustAsk ? min(0, freshness.remaining) : freshness.remaining
    return resource
  }

  /// Returns `true` if the response depends only on its age, and nothing else has to be done for it.
  private func isReplayable(_ request: OutgoingRequest) -> Bool {
    // RFC 9111 §5.2.1, §5.4: these may set bounds of their own to the age.
    request.behavior.refresh == .never && !request.head.headerFields.contains(.cacheControl)
      && !request.head.headerFields.contains { $0.name.canonicalName == "pragma" }
  }

  /// RFC 9111 §5.2.1.7. Nothing was forwarded: RFC 9211 §2.2.
  func gatewayTimeout(_ request: OutgoingRequest, generation: UInt64) -> Resource {
    let status = CacheStatus(.generated, detail: "only-if-cached")
    let fields = status.added(to: [.contentLength: "0", .date: now().description])
    return Resource(
      url: request.url, response: HTTPResponse(status: .gatewayTimeout, headerFields: fields), body: Body([]),
      source: .local, generation: generation, cacheStatus: status)
  }

  // MARK: Responses from the network

  /// A response that is being stored, for one of those who read it.
  ///
  /// - Parameter isCollapsed: it was asked for by another request, so that the fields that are not stored are not given.
  ///   RFC 9211 §2.7, RFC 9111 §5.2.2.4, §5.2.2.7.
  /// - Returns: `nil` if its transfer was given up.
  func incoming(
    _ incoming: IncomingResponse, for request: OutgoingRequest, _ reason: ForwardReason, isCollapsed: Bool
  ) -> Resource? {
    guard let body = incoming.body() else { return nil }
    let status = CacheStatus(.forwarded(reason), isStored: true, isCollapsed: isCollapsed)
    var head = incoming.head
    if isCollapsed { head.headerFields = incoming.pending.request.storagePolicy.restricted(head.headerFields) }
    return received(head, body, request, status, generation: incoming.generation, incoming: incoming)
  }

  /// A response that is not stored.
  ///
  /// - Parameter detail: for `Cache-Status`.
  func unshared(
    _ response: TransportResponse, for request: OutgoingRequest, _ reason: ForwardReason, generation: UInt64,
    detail: String? = nil
  ) -> Resource {
    let status = CacheStatus(.forwarded(reason), detail: detail)
    return received(response.head, response.body, request, status, generation: generation)
  }

  private func received(
    _ head: HTTPResponse, _ body: Body, _ request: OutgoingRequest, _ status: CacheStatus, generation: UInt64,
    incoming: IncomingResponse? = nil
  ) -> Resource {
    var body = body
    body.url = request.url.text
    let now = now()
    let age = Age(of: head.headerFields, times: ExchangeTimes(request: now, response: now)).initial
    return Resource(
      url: request.url, response: HTTPResponse(status: head.status, headerFields: status.added(to: head.headerFields)),
      body: decoded(body, of: head, request), source: .network, age: age, generation: generation, cacheStatus: status,
      incoming: incoming)
  }

  /// The content of stored or received bytes, if they are all there is.
  private func decoded(_ body: Body, of head: HTTPResponse, _ request: OutgoingRequest) -> Body {
    guard !request.keepsContentEncoding, request.method != .head,
      ![.partialContent, .notModified, .noContent].contains(head.status),
      let encoding = head.headerFields[.contentEncoding], !["", "identity"].contains(encoding.lowercased()),
      let decoder = try? ContentDecoder(for: encoding, url: request.url.text, limit: bodyLimit)
    else { return body }
    let content = DecodedBody(body.reader(), decoder)
    var decoded = Body(next: { try await content.next() }, summary: { await body.transferSummary() })
    (decoded.url, decoded.isDecoded) = (body.url, true)
    return decoded
  }

  // MARK: Files

  /// A file of the app: only those in the local folder.
  ///
  /// - Throws: ``LoadError``.
  func localFile(_ url: PageURL) throws -> Resource {
    guard let localFolder, let path = url.filePath else {
      throw LoadError.unreadableFile(url, reason: "local files may not be read")
    }
    let root = URL(fileURLWithPath: localFolder).resolvingSymlinksInPath().path + "/"
    let file = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    guard file.path.hasPrefix(root) else {
      throw LoadError.unreadableFile(url, reason: "it is outside of the folder for local files")
    }
    guard let handle = try? FileHandle(forReadingFrom: file) else {
      throw LoadError.unreadableFile(url, reason: "there is no such file, or it may not be read")
    }
    guard let content = LocalFileBody(handle, path: path) else {
      throw LoadError.unreadableFile(url, reason: "it is no file")
    }
    guard content.count <= bodyLimit else { throw LoadError.tooLarge(url, limit: bodyLimit) }
    return Resource(
      url: url, body: Body(content, 0..<content.count), count: content.count, mediaType: MediaType.of(path: path),
      source: .local)
  }
}

extension Resource {
  init(inline data: DataURL) {
    self.init(
      url: nil, body: Body(data.bytes), count: Int64(data.bytes.count), mediaType: data.mediaType, source: .local)
  }

  init(releaseFile bytes: [UInt8], at url: PageURL) {
    let path = url.text.prefix { $0 != "?" }
    self.init(
      url: url, body: Body(bytes), count: Int64(bytes.count), mediaType: MediaType.of(path: String(path)),
      source: .release)
  }

  /// Bytes that are not an HTTP response's, as those of one.
  fileprivate init(url: PageURL?, body: Body, count: Int64, mediaType: String, source: Source) {
    let fields: HTTPFields = [.contentType: mediaType, .contentLength: String(count)]
    let status = source == .release ? CacheStatus(.hit, detail: "release") : nil
    self.init(
      url: url, response: HTTPResponse(status: .ok, headerFields: status?.added(to: fields) ?? fields),
      body: body, source: source, cacheStatus: status)
  }
}

/// Undoes the content encoding of a body, chunk by chunk as it is read. Readers that ask at the same time wait for each
/// other: each piece goes to one of them.
///
/// `@unchecked` since the decoder is not `Sendable`; one caller at a time has the turn.
final class DecodedBody: @unchecked Sendable {
  private let source: BodyReader
  private let decoder: ContentDecoder
  private var hasEnded = false
  private let turns = TransferGate(width: 1)

  init(_ source: BodyReader, _ decoder: ContentDecoder) {
    self.source = source
    self.decoder = decoder
  }

  func next() async throws -> [UInt8]? {
    let turn = try await turns.enter(turns.number(), priority: .normal)
    defer { withExtendedLifetime(turn) {} }
    while !hasEnded {
      guard let chunk = try await source.nextChunk() else {
        hasEnded = true
        try decoder.finish()
        return nil
      }
      let content = try decoder.decode(chunk)
      if !content.isEmpty { return content }
    }
    return nil
  }
}

/// The bytes of a file of the app, read as they are wanted.
final class LocalFileBody: StoredBody {
  /// Bytes that the file had when it was opened.
  let count: Int64
  private let file: FileHandle
  private let path: String

  /// Returns `nil` if it is not a regular file.
  init?(_ file: FileHandle, path: String) {
    var status = stat()
    guard fstat(file.fileDescriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    count = Int64(status.st_size)
    (self.file, self.path) = (file, path)
  }

  /// - Throws: ``StoreError/notReadable(path:reason:)``, also where the file has become shorter.
  func read(at position: Int64, upTo limit: Int) throws -> [UInt8] {
    let wanted = Int(min(Int64(limit), count - position))
    guard wanted > 0 else { return [] }
    let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, filled in
      filled = max(0, pread(file.fileDescriptor, buffer.baseAddress, wanted, off_t(position)))
    }
    guard !bytes.isEmpty else {
      throw StoreError.notReadable(path: path, reason: "it has become shorter while it was read")
    }
    return bytes
  }
}

/// The content of a `data:` URL. RFC 2397.
struct DataURL {
  let mediaType: String
  let bytes: [UInt8]

  /// - Throws: ``LoadError/badDataURL(_:)``.
  init(_ text: String) throws {
    let bytes = text.utf8
    guard let comma = bytes.firstIndex(of: UInt8(ascii: ",")), let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      colon < comma
    else {
      throw LoadError.badDataURL("it has no comma")
    }
    var head = text[bytes.index(after: colon)..<comma]
    let isBase64 = head.lowercased().hasSuffix(";base64")
    if isBase64 { head = head.dropLast(7) }
    mediaType = head.isEmpty ? "text/plain;charset=US-ASCII" : head.hasPrefix(";") ? "text/plain\(head)" : String(head)
    let payload = text[bytes.index(after: comma)...]
    if isBase64 {
      guard let decoded = [UInt8](base64: payload.removingPercentEncoding ?? String(payload)) else {
        throw LoadError.badDataURL("its base64 is damaged")
      }
      self.bytes = decoded
    } else {
      self.bytes = payload.percentDecodedBytes
    }
  }
}
