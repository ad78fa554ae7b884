import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging
import Synchronization

/// Checks bytes against what their server says about them: digests, content encodings, and 304 responses.
final class ResponseValidator: Sendable {
  /// Bytes for which a HEAD is worth its round trip.
  private static let largeBody: Int64 = 256 << 10
  private static let rememberedLimit = 10_000

  private let cache: ResponseCache
  private let bodyLimit: Int64
  private let logger: Logger
  /// Keys whose servers answer conditional requests with what they were asked about.
  private let ignoresConditions = Mutex<Set<CacheKey>>([])

  init(_ cache: ResponseCache, bodyLimit: Int64, logger: Logger) {
    self.cache = cache
    self.bodyLimit = bodyLimit
    self.logger = logger
  }

  // MARK: Confirmations

  /// Returns `true` if a 304 carries a digest that the stored bytes do not have. One that came with the bytes says
  /// nothing new.
  func contradicts(_ head: HTTPResponse, _ cached: CachedResponse) async -> Bool {
    var fields = head.headerFields
    for name in ResponseDigest.fieldNames where fields[name] == cached.stored.fields[name] { fields[name] = nil }
    guard case .promised(let expected)? = ResponseDigest(fields, isEncoded: false) else { return false }
    return await differs(cached, from: expected)
  }

  private func differs(_ cached: CachedResponse, from expected: ExpectedContent) async -> Bool {
    if let sha256 = expected.sha256 { return sha256 != cached.digest }
    guard let md5 = expected.md5, let body = await cache.body(of: cached) else { return false }
    do {
      var digester = try Digester.md5()
      for try await chunk in Body(body, 0..<body.count) { digester.update(chunk) }
      return try digester.finish() != md5
    } catch {
      return true
    }
  }

  // MARK: Bytes that have come

  /// Returns `true` if bytes are those that their head promises, and are encoded as it says: what is cut or damaged must
  /// not take the place of something good.
  ///
  /// - Parameter sent: the fields of the message whose bytes have all come; `nil` if it was cut short.
  func isIntact(_ arrival: ResponseCache.Arrival, _ spool: any ResponseWriting, sent: HTTPFields?) -> Bool {
    isAsPromised(arrival, spool, sent: sent) && (!arrival.extent.isWhole || isDecodable(arrival, spool))
  }

  /// Checks `Content-Digest`, which speaks of the bytes of a message, and `Repr-Digest`, which speaks of the whole
  /// representation. RFC 9530 §2, §3. RFC 7231 took `Content-MD5` out of HTTP, since servers disagreed on what it speaks
  /// of.
  private func isAsPromised(
    _ arrival: ResponseCache.Arrival, _ spool: any ResponseWriting, sent: HTTPFields?
  ) -> Bool {
    let promises = [
      sent.flatMap { FieldDigests($0, .contentDigest) },
      arrival.extent.isWhole ? FieldDigests(arrival.fields, ResponseDigest.reprDigest) : nil,
    ].compactMap(\.self)
    guard !promises.isEmpty else { return true }
    let (found, sha512): (ContentDigests, SHA512Digest)
    do {
      var digester = try ContentDigester()
      var longDigester = try Digester.sha512()
      var position: Int64 = 0
      while case let chunk = try spool.read(at: position, upTo: 256 << 10), !chunk.isEmpty {
        digester.update(chunk)
        longDigester.update(chunk)
        position += Int64(chunk.count)
      }
      (found, sha512) = (try digester.finish(), try longDigester.finish())
    } catch {
      logger.warning(
        "a response could not be compared with its digest, and is not stored: \(error.sentence)",
        metadata: ["key": "\(arrival.key)"])
      return false
    }
    let isRight = promises.allSatisfy { promised in
      (promised.md5 ?? found.md5, promised.sha256 ?? found.sha256, promised.sha512 ?? sha512)
        == (found.md5, found.sha256, sha512)
    }
    if !isRight {
      logger.warning(
        "a response does not have the digest that it promises, and is not stored", metadata: ["key": "\(arrival.key)"])
    }
    return isRight
  }

  private func isDecodable(_ arrival: ResponseCache.Arrival, _ spool: any ResponseWriting) -> Bool {
    guard let encoding = arrival.fields[.contentEncoding], !encoding.isEmpty,
      let decoder = try? ContentDecoder(for: encoding, url: arrival.key.name, limit: bodyLimit)
    else { return true }
    do {
      var position: Int64 = 0
      while case let chunk = try spool.read(at: position, upTo: 64 << 10), !chunk.isEmpty {
        _ = try decoder.decode(chunk)
        position += Int64(chunk.count)
      }
      try decoder.finish()
      return true
    } catch {
      logger.warning("a response is not stored: \(error.sentence)")
      return false
    }
  }

  /// Returns `true` if bytes are of the kind that was asked for, as far as anything of that kind is stored: the login
  /// page of a network must not take the place of a picture, of JSON or of a font.
  func mayReplace(_ request: OutgoingRequest, _ arrival: ResponseCache.Arrival, _ spool: any ResponseWriting) async
    -> Bool
  {
    guard request.origin == nil, arrival.extent.isWhole, arrival.status < 400 else { return true }
    let fields = arrival.request.headerFields
    let former = await cache.responses(for: arrival.key, fields: fields).last {
      $0.stored.extent.isWhole && $0.stored.status < 400 && $0.stored.vary.matches(fields)
    }
    guard let former, let body = await cache.body(of: former) else { return true }
    let asked = ContentKind(askedFor: request.type, accept: request.fields[.accept])
    let (stored, new) = (kind(of: body, former.stored.fields), kind(of: spool, arrival.fields))
    let mayReplace = ContentKind.mayReplace(stored, by: new, askedFor: asked)
    if !mayReplace {
      logger.warning(
        "a response is not stored: its content is of another kind than what is stored",
        metadata: ["key": "\(arrival.key)"])
    }
    return mayReplace
  }

  private func kind(of body: any StoredBody, _ fields: HTTPFields) -> ContentKind? {
    var start = (try? body.read(at: 0, upTo: ContentKind.prefixSize)) ?? []
    if let encoding = fields[.contentEncoding], !["", "identity"].contains(encoding.lowercased()),
      let decoder = try? ContentDecoder(for: encoding, url: "", limit: bodyLimit)
    {
      start = (try? decoder.decode(start)) ?? []
    }
    return ContentKind(type: fields[.contentType], start: start)
  }

  // MARK: Servers that ignore conditions

  /// Remembers servers that answer a conditional request with what it was asked about.
  func recordConditions(
    of request: HTTPRequest, _ head: HTTPResponse, validating cached: CachedResponse?, _ outgoing: OutgoingRequest
  ) {
    guard let cached, outgoing.origin == nil, head.status == .ok, request.isConditional,
      !request.headerFields.contains(.range)
    else {
      return
    }
    let new = Validators(of: head.headerFields)
    let isSame = !new.isEmpty && new == cached.stored.validators
    ignoresConditions.withLock { keys in
      if !isSame {
        keys.remove(outgoing.key)
      } else if keys.count < Self.rememberedLimit {
        keys.insert(outgoing.key)
      }
    }
  }

  /// Returns `true` if a large body must be compared by HEAD first, because the server is known to ignore conditions.
  func needsHead(_ outgoing: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse) -> Bool {
    guard outgoing.origin == nil, outgoing.method == .get, request.isConditional,
      case .whole(let size) = cached.stored.extent, size >= Self.largeBody
    else { return false }
    return ignoresConditions.withLock { $0.contains(outgoing.key) }
  }
}

extension HTTPRequest {
  /// RFC 9110 §13.1.2, §13.1.3.
  var isConditional: Bool {
    [HTTPField.Name.ifNoneMatch, .ifModifiedSince].contains { headerFields.contains($0) }
  }
}
