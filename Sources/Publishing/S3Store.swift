import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes

/// The objects of one location in a store with the interface of Amazon S3.
package struct S3Store: Sendable {
  package let location: S3Location
  /// The URL of its objects; it ends with a slash.
  package let folder: PageURL
  private let transport: any HTTPTransporting
  private let signing: RequestSigning?
  private let retry: RetryPolicy
  private let sleep: @Sendable (Duration) async throws -> Void

  /// - Parameters:
  ///   - transport: sends requests without signing them.
  ///   - sleep: waits between attempts.
  /// - Throws: ``DescribedError``.
  package init(
    _ location: S3Location, access: S3Access, transport: any HTTPTransporting, retry: RetryPolicy = .standard,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) throws {
    self.location = location
    folder = try access.folder(of: location)
    (self.transport, signing) = (transport, access.signing)
    (self.retry, self.sleep) = (retry, sleep)
  }

  /// The properties of an object.
  package struct Properties: Hashable, Sendable {
    package let size: Int64?
    package let etag: String?
    /// The time since it was written, by the store's own clock; `nil` if the store does not tell.
    package let age: Duration?

    /// The MD5 of its bytes, if the tag is one.
    package var md5: MD5Digest? { S3Store.md5(ofTag: etag) }
  }

  /// The MD5 that a tag is; `nil` for a tag in any other form.
  package static func md5(ofTag etag: String?) -> MD5Digest? {
    etag.flatMap { MD5Digest(hex: $0.filter { $0 != "\"" }) }
  }

  /// The condition of a write.
  package enum Condition: Hashable, Sendable {
    case none
    /// There is no such object.
    case isNew
    /// The object still has this tag.
    case unchanged(etag: String)
  }

  /// The bytes of an object that is written.
  package enum Content: Sendable {
    case bytes([UInt8])
    /// The bytes of a file, with their SHA-256.
    case file(path: String, size: Int64, sha256: SHA256Digest)
  }

  /// The time for which caches between the store and devices may keep an object.
  package enum Lifetime: String, Sendable {
    /// It never changes.
    case forever = "public, max-age=31536000, immutable"
    /// It is asked for anew each time.
    case checked = "no-cache"
  }

  /// The time that an upload may take: a store answers a large object only when it has written it.
  private static let limits = TransferLimits(lowSpeedTime: .seconds(60))
  /// The largest size of a response that is not an object, in bytes.
  private static let answerLimit: Int64 = 1 << 20

  /// The object that ``supportsConditions()`` writes to find out.
  package static let conditionCheck = "condition.check"

  // MARK: Objects

  /// Reads an object.
  ///
  /// - Parameter limit: its largest size in bytes.
  /// - Returns: its bytes, and the tag with which it can be replaced on condition, `nil` if the store gives none; `nil` if
  ///   there is no such object.
  /// - Throws: ``ObjectStoreError``, ``TransportError``, `CancellationError`.
  package func object(_ key: String, upTo limit: Int64) async throws -> (bytes: [UInt8], etag: String?)? {
    let url = try url(of: key)
    let (head, bytes) = try await send(.get, url, limit: max(limit, Self.answerLimit))
    switch head.status.code {
    case 200:
      guard Int64(bytes.count) <= limit else { throw TransportError.tooLarge(url: url.text, limit: limit) }
      return (bytes, head.headerFields[.eTag])
    case 404: return nil
    default: throw ObjectStoreError(head, bytes, url: url)
    }
  }

  /// - Returns: `nil` if there is no such object.
  /// - Throws: ``ObjectStoreError``, ``TransportError``, `CancellationError`.
  package func properties(of key: String) async throws -> Properties? {
    let (head, bytes) = try await send(.head, try url(of: key), limit: Self.answerLimit)
    let fields = head.headerFields
    switch head.status.code {
    case 200:
      let dates = [HTTPField.Name.date, .lastModified].map { fields[$0].flatMap { HTTPDate($0, now: .now) } }
      let age = dates[0].flatMap { now in dates[1].map { now.secondsSinceEpoch - $0.secondsSinceEpoch } }
      return Properties(
        size: fields[.contentLength].flatMap { Int64($0) }, etag: fields[.eTag], age: age.map { .seconds($0) })
    case 404: return nil
    default: throw ObjectStoreError(head, bytes, url: try url(of: key))
    }
  }

  /// Writes an object.
  ///
  /// - Parameter type: its media type.
  /// - Returns: its tag; `nil` if the store gives none.
  /// - Throws: ``ObjectStoreError``: ``ObjectStoreError/isConflict`` where the condition does not hold;
  ///   ``TransportError``, `CancellationError`.
  @discardableResult
  package func write(
    _ key: String, _ content: Content, type: String, lifetime: Lifetime, if condition: Condition = .none
  ) async throws -> String? {
    var fields: HTTPFields = [.contentType: type, .cacheControl: lifetime.rawValue]
    switch condition {
    case .none: break
    case .isNew: fields[.ifNoneMatch] = "*"
    case .unchanged(let etag): fields[.ifMatch] = etag
    }
    do {
      return try await put(key, content, fields)
    } catch let error as ObjectStoreError {
      // Ceph 16 compares the tag without its quotes.
      guard error.isConflict, case .unchanged(let etag) = condition, etag.hasPrefix("\""),
        try await properties(of: key)?.etag == etag
      else { throw error }
      fields[.ifMatch] = etag.filter { $0 != "\"" }
      return try await put(key, content, fields)
    }
  }

  private func put(_ key: String, _ content: Content, _ fields: HTTPFields) async throws -> String? {
    let url = try url(of: key)
    let (head, bytes) = try await send(.put, url, fields: fields, content: content, limit: Self.answerLimit)
    guard head.status.kind == .successful else { throw ObjectStoreError(head, bytes, url: url) }
    return head.headerFields[.eTag]
  }

  /// Removes an object; one that is not there is removed too.
  ///
  /// - Throws: ``ObjectStoreError``, ``TransportError``, `CancellationError`.
  package func remove(_ key: String) async throws {
    let url = try url(of: key)
    let (head, bytes) = try await send(.delete, url, limit: Self.answerLimit)
    guard head.status.kind == .successful || head.status == .notFound else {
      throw ObjectStoreError(head, bytes, url: url)
    }
  }

  /// Asks for a list, whose query parameters must be sorted and escaped.
  ///
  /// - Returns: the bytes of the answer, in XML.
  /// - Throws: ``ObjectStoreError``, ``TransportError``, `CancellationError`.
  package func list(query: String) async throws -> [UInt8] {
    // The list is that of the bucket: the location's prefix is one of its parameters.
    let text = folder.text.dropLast(location.prefix.escapedForKey.count)
    guard let url = PageURL("\(text)?\(query)", ignoring: []) else { throw TransportError.invalidURL(folder.text) }
    let (head, bytes) = try await send(.get, url, limit: 16 * Self.answerLimit)
    guard head.status == .ok else { throw ObjectStoreError(head, bytes, url: url) }
    return bytes
  }

  /// Finds out if the store refuses a write whose condition does not hold.
  ///
  /// - Returns: `false` if it ignores conditions, or does not know them.
  /// - Throws: ``ObjectStoreError``, ``TransportError``, `CancellationError`.
  package func supportsConditions() async throws -> Bool {
    let key = Self.conditionCheck
    do {
      try await write(
        key, .bytes([]), type: "text/plain", lifetime: .checked,
        if: .unchanged(etag: "\"\(String(repeating: "0", count: 32))\""))
    } catch let error as ObjectStoreError where error.isConflict || error.status == 404 {
      return true
    } catch let error as ObjectStoreError where error.status == 501 {
      return false
    }
    try await remove(key)
    return false
  }

  // MARK: Requests

  private func url(of key: String) throws -> PageURL {
    let text = folder.text + key.escapedForKey
    // A key such as "a/../b" would be the URL of another object.
    guard let url = PageURL(text, ignoring: []), url.text == text else { throw TransportError.invalidURL(text) }
    return url
  }

  private func send(
    _ method: HTTPRequest.Method, _ url: PageURL, fields: HTTPFields = [:], content: Content? = nil, limit: Int64
  ) async throws -> (HTTPResponse, [UInt8]) {
    guard let head = HTTPRequest(method: method, url: url, fields: fields) else {
      throw TransportError.invalidURL(url.text)
    }
    var limits = Self.limits
    limits.bodyBytes = limit
    return try await retry.run(sleep: sleep) {
      var request = TransportRequest(head, limits: limits)
      try content.map { try request.setBody($0) }
      if let signing { request = try request.signed(by: signing) }
      let response = try await transport.send(request)
      let bytes = try await response.body.collect(upTo: limit)
      if HTTPFault.isTransient(response.head.status.code) { throw HTTPFault(response.head, url: url, now: .now) }
      return (response.head, bytes)
    }
  }
}

extension TransportRequest {
  /// Takes the bytes of an object as the body, with the digest that the store compares.
  fileprivate mutating func setBody(_ content: S3Store.Content) throws {
    guard let name = HTTPField.Name("x-amz-content-sha256") else { return }
    switch content {
    case .bytes(let bytes):
      body = bytes
      head.headerFields[name] = try SHA256Digest(of: bytes).hex
    case .file(let path, let size, let sha256):
      let file = Result { try FileHandle(forReadingFrom: URL(fileURLWithPath: path)) }
      let chunks = AsyncThrowingStream {
        let data = try file.get().read(upToCount: 256 << 10)
        return data.flatMap { $0.isEmpty ? nil : Array($0) }
      }
      stream = RequestStream(chunks, length: size)
      head.headerFields[name] = sha256.hex
    }
  }
}

/// A response of an object store that is not a success.
package struct ObjectStoreError: Error, Hashable, CustomStringConvertible {
  package let url: PageURL
  package let status: Int
  /// The store's own name of the error, such as `AccessDenied`; `nil` if its answer has none.
  package let code: String?

  init(_ head: HTTPResponse, _ body: [UInt8], url: PageURL) {
    (self.url, status) = (url, head.status.code)
    // Only for people: an answer in any other form has no name.
    let text = String(decoding: body.prefix(4096), as: UTF8.self)
    let code = text.split(separator: "<Code>", maxSplits: 1).dropFirst().first?.prefix { $0 != "<" }
    // It goes to terminals and logs.
    self.code = code.flatMap { code in
      (1...100).contains(code.utf8.count) && code.utf8.allSatisfy { (33...126).contains($0) } ? String(code) : nil
    }
  }

  /// `true` if the condition of a write does not hold: somebody else has written the object.
  package var isConflict: Bool { status == 412 || status == 409 }

  package var description: String {
    let hint = status == 403 ? ": check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION" : ""
    return "\(url): the object store answers \(status)\(code.map { " \($0)" } ?? "")\(hint)"
  }
}
