import Foundation
import HTTPTransport
import HTTPTypes

/// An answer that the app makes, or has changed.
///
///     return HandledResponse(
///       fields: [.contentType: "text/plain"], bytes: Array("hello".utf8), storage: .lifetime(.seconds(60)))
public struct HandledResponse: Sendable {
  /// The way in which it may be stored.
  public enum Storage: Hashable, Sendable {
    /// Not stored.
    case none
    /// As its own fields say, by RFC 9111.
    case asTheServerSaid
    /// Stored, and fresh for this duration, in whole seconds. Afterwards it is used only if the handler fails.
    case lifetime(Duration)
    /// Stored, but the handler is asked each time; used only if it fails.
    case askingEachTime
  }

  /// The status, from 200 to 599; others become 500.
  public var status: Int
  /// The header fields.
  public var fields: HTTPFields
  /// The body.
  public var bytes: [UInt8]
  /// The way in which it may be stored.
  public var storage: Storage

  /// A response that may not be stored unless `storage` says otherwise.
  public init(_ status: Int = 200, fields: HTTPFields = [:], bytes: [UInt8] = [], storage: Storage = .none) {
    self.status = status
    self.fields = fields
    self.bytes = bytes
    self.storage = storage
  }

  /// A value as JSON.
  ///
  /// - Throws: `EncodingError`.
  public static func json(_ value: some Encodable, status: Int = 200, storage: Storage = .none) throws -> Self {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return HandledResponse(
      status, fields: [.contentType: "application/json"], bytes: Array(try encoder.encode(value)), storage: storage)
  }

  /// Decodes the body from JSON.
  ///
  /// - Throws: `DecodingError`.
  public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: data)
  }

  /// Decodes the body from JSON.
  ///
  /// - Throws: `DecodingError`.
  @available(*, deprecated, renamed: "decoded(as:)")
  public func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value { try decoded(as: type) }

  /// The body as Foundation's type.
  public var data: Data {
    get { Data(bytes) }
    set { bytes = Array(newValue) }
  }

  /// Its bytes as text; bytes that are not UTF-8 are replaced.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The content of a resource, with its whole body.
  ///
  /// - Throws: `TransportError`; `ContentError` if the content encoding cannot be undone; `StoreError`.
  public init(_ loaded: Resource) async throws {
    self.init(
      loaded.status, fields: loaded.response.headerFields, bytes: try await loaded.body.collect(),
      storage: .asTheServerSaid)
  }
}

extension HandledResponse {
  /// The head of these bytes: without what was said of others, and with what the app says of storing.
  ///
  /// - Parameter date: now, as HTTP writes it.
  func head(at date: String) -> HTTPResponse {
    var head = HTTPResponse(status: .init(code: (200...599).contains(status) ? status : 500), headerFields: fields)
    // The bytes are decoded, and may be others than those that came.
    for name in Self.namesOfBytes + ResponseDigest.fieldNames { head.headerFields[name] = nil }
    head.headerFields[.contentLength] = String(bytes.count)
    let control: String
    switch storage {
    case .asTheServerSaid:
      if !head.headerFields.contains(.date) { head.headerFields[.date] = date }
      return head
    case .none: control = "no-store"
    case .lifetime(let duration): control = "max-age=\(max(0, duration.components.seconds))"
    case .askingEachTime: control = "no-cache"
    }
    head.headerFields = HTTPFields(
      head.headerFields.filter { field in
        let name = field.name.canonicalName
        return !name.hasSuffix("cache-control") && !Self.namesOfAge.contains(name)
      })
    head.headerFields[.cacheControl] = control
    head.headerFields[.date] = date
    return head
  }

  private static let namesOfBytes: [HTTPField.Name] =
    [.contentEncoding, .transferEncoding, .contentRange]
    + [HTTPField.Name("Cache-Status")].compactMap(\.self)
  /// How old it is, and what a server would know it by again.
  private static let namesOfAge: Set<String> = ["age", "expires", "pragma", "date", "etag", "last-modified", "vary"]

  /// As a server would send it.
  func transported(at date: String) -> TransportResponse {
    TransportResponse(head: head(at: date), body: Body(bytes))
  }
}

extension Resource {
  /// Reads the whole body, and decodes it from JSON. The body of a response that comes from the network can be read once.
  ///
  ///     let items = try await host.resources.response(for: request).decoded(as: [Item].self)
  ///
  /// - Throws: `DecodingError`; `TransportError`, also for more than 256 MiB; `ContentError` if the content encoding cannot
  ///   be undone; `StoreError`.
  public func decoded<Value: Decodable>(as type: Value.Type = Value.self) async throws -> Value {
    try JSONDecoder().decode(type, from: await data)
  }

  /// The whole body as Foundation's type. The body of a response that comes from the network can be read once.
  ///
  ///     let picture = try await host.resources.response(for: request).data
  ///
  /// - Throws: `TransportError`, also for more than 256 MiB; `ContentError` if the content encoding cannot be undone;
  ///   `StoreError`.
  public var data: Data {
    get async throws { Data(try await body.collect()) }
  }

  /// An answer that the app made itself.
  ///
  /// - Parameter url: what it answers.
  public init(_ response: HandledResponse, url: PageURL? = nil) {
    var fields = response.fields
    fields[.contentLength] = String(response.bytes.count)
    self.init(
      url: url, response: HTTPResponse(status: .init(code: response.status), headerFields: fields),
      body: Body(response.bytes), source: .local)
  }

  /// The same answer with other bytes and fields.
  public func replaced(by response: HandledResponse) -> Resource {
    var fields = response.fields
    fields[.contentLength] = String(response.bytes.count)
    fields[.contentEncoding] = nil
    return Resource(
      url: url, response: HTTPResponse(status: .init(code: response.status), headerFields: fields),
      body: Body(response.bytes), source: source, age: age, generation: generation, cacheStatus: cacheStatus,
      userInfo: userInfo)
  }
}

extension LoadFailure {
  /// An error of the app's own.
  public init(_ error: any Error) { self.init(error: error, answer: nil, generation: 0) }
}
