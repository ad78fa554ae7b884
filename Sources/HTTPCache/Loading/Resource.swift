import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes

/// A response to a resource request, wherever it came from.
///
///     let answer = try await host.resources.response(for: ResourceRequest("https://api.example.com/home.json"))
///     if answer.status == 200 { print(answer.source, try await answer.decoded(as: [Item].self)) }
public struct Resource: Sendable {
  /// The part of the system that answered.
  public enum Source: String, Hashable, Sendable {
    /// The cache, in memory.
    case memory
    /// The cache, on disk.
    case disk
    /// The cache, after the origin confirmed it.
    case revalidated
    /// The network.
    case network
    /// The release's files.
    case release
    /// The URL itself, or a local file.
    case local

    /// Returns `true` if the network was not asked.
    public var isCache: Bool { self == .memory || self == .disk }
  }

  /// After redirects.
  public let url: PageURL?
  /// The head, with `Age` and `Cache-Status`.
  public let response: HTTPResponse
  /// Read once; decoded unless the request keeps the content encoding.
  public let body: Body
  /// The part of the system that answered.
  public let source: Source
  /// Seconds since the origin made it; `nil` if it is not an HTTP response.
  public let age: Int64?
  /// Orders the results for one URL: the larger number is the newer.
  public let generation: UInt64
  /// The cache's own account of what it did. RFC 9211.
  public let cacheStatus: CacheStatus?
  /// Metadata that the app's storage hook attached.
  public let userInfo: [String: String]
  /// The digest of the stored bytes; `nil` if it is not stored.
  let digest: SHA256Digest?
  /// The transfer, if it is coming in and being stored.
  let incoming: IncomingResponse?
  /// Gives the same answer to the same request again; `nil` if that is not allowed.
  package internal(set) var replay: ReplayableResponse?
  /// Seconds for which a stored response may still be used without asking; 0 or less if it has to be asked about.
  var remaining: Int64 = 0

  /// A resource that another process has loaded.
  package init(
    relayed response: HTTPResponse, url: PageURL?, bytes: [UInt8], source: Source, age: Int64?, generation: UInt64
  ) {
    self.init(
      url: url, response: response, body: Body(bytes), source: source, age: age, generation: generation)
  }

  init(
    url: PageURL?, response: HTTPResponse, body: Body, source: Source, age: Int64? = nil,
    generation: UInt64 = 0, cacheStatus: CacheStatus? = nil, userInfo: [String: String] = [:],
    digest: SHA256Digest? = nil, incoming: IncomingResponse? = nil
  ) {
    self.url = url
    self.response = response
    self.body = body
    self.source = source
    self.age = age
    self.generation = generation
    self.cacheStatus = cacheStatus
    self.userInfo = userInfo
    self.digest = digest
    self.incoming = incoming
  }

  /// The response's status; 200 for a file.
  public var status: Int { response.status.code }

  /// Bytes of the body that were stored before it was asked for the rest of them.
  package var resumedAt: Int64 { incoming?.resumedAt ?? 0 }

  /// The whole body, if it is there and not more than a chunk: also one whose end ``body`` gives later, since it is
  /// being stored.
  package var wholeBody: [UInt8]? {
    if let bytes = body.bytesInMemory { return bytes.count <= Body.chunkSize ? bytes : nil }
    return body.isDecoded ? nil : incoming?.wholeBody
  }

  /// The response's fields, without those that describe encoded bytes where the body is given decoded.
  package var fieldsOfBody: HTTPFields {
    guard body.isDecoded else { return response.headerFields }
    return HTTPFields(response.headerFields.filter { !Self.fieldsOfEncodedBytes.contains($0.name.canonicalName) })
  }

  private static let fieldsOfEncodedBytes: Set<String> = [
    "content-encoding", "content-length", "content-md5", "content-digest", "repr-digest",
  ]
}

/// An element of ``ResourceLoader/updates(for:)``.
///
///     for await update in host.resources.updates(for: request) {
///       if case .network(let answer) = update { print("new:", answer.status) }
///     }
public enum ResourceUpdate: Sendable {
  /// A stored response.
  case cached(Resource)
  /// The network's answer, whose bytes differ from what was stored.
  case network(Resource)
  /// The network says, or its bytes show, that what was stored is what there is.
  case notModified(Resource)
  /// The network failed, or answered with an error after something stored was given.
  case failed(LoadFailure)
}

/// The reason why a refresh failed.
public struct LoadFailure: Sendable, CustomStringConvertible {
  /// A `TransportError`, or one of the other errors of ``ResourceLoader/response(for:)``; `nil` if there was a response.
  public let error: (any Error)?
  /// An answer with a status of 400 or more.
  public let answer: Resource?
  /// Orders the results for one URL: the larger number is the newer.
  public let generation: UInt64

  init(error: (any Error)?, answer: Resource?, generation: UInt64) {
    self.error = error
    self.answer = answer
    self.generation = generation
  }

  /// An answer that another process was given.
  package init(relayed answer: Resource) {
    self.init(error: nil, answer: answer, generation: answer.generation)
  }

  public var description: String {
    if let error { error.sentence } else { "\(answer?.url?.text ?? ""): the server answers \(answer?.status ?? 0)" }
  }
}

/// Answers one request in a server's place: what it says is cached as a server's answer would be.
struct ResourceOrigin: Sendable {
  /// Requests of several callers at once are one where the name is the same.
  let name: String
  let respond: @Sendable () async throws -> HandledResponse
}

extension ResourceLoader {
  /// The same as ``updates(for:)`` with something in the server's place. A stored response answers by the request's
  /// behaviour before it is asked, and after it has failed; what it answers is stored as it says.
  ///
  /// A request without a URL that could be cached under is answered, and the answer is not stored.
  ///
  /// - Parameters:
  ///   - name: the name of what answers: requests of several callers at once are one if it is the same.
  ///   - respond: answers a request; what it throws is the caller's failure.
  package func updates(
    for request: ResourceRequest, from name: String,
    _ respond: @escaping @Sendable (ResourceRequest) async throws -> HandledResponse
  ) -> AsyncStream<ResourceUpdate> {
    var handled = request
    handled.origin = ResourceOrigin(name: name) { try await respond(request) }
    return updates(for: handled)
  }
}

/// A stored response that answers the same request again for as long as it is fresh and nothing is stored or removed.
package final class ReplayableResponse: Sendable {
  /// The request fields that answers of the URL are chosen by, in small letters.
  package let chosenBy: Set<String>
  private let validity: CacheValidity
  /// Not retained: what is evicted from memory leaves it.
  private weak let cached: CachedResponse?
  private let cache: ResponseCache
  private let now: @Sendable () -> HTTPDate
  private let made: HTTPDate
  private let remaining: Int64
  private let times: ExchangeTimes
  private let storedUse: @Sendable (HTTPDate) -> StoredUse

  /// - Parameters:
  ///   - found: all variants that it was chosen among.
  ///   - made: when its age was told.
  ///   - remaining: seconds that it was still fresh for.
  ///   - storedUse: which stored responses may be used at a time.
  init(
    _ cached: CachedResponse, among found: [CachedResponse], in cache: ResponseCache, made: HTTPDate, remaining: Int64,
    now: @escaping @Sendable () -> HTTPDate, storedUse: @escaping @Sendable (HTTPDate) -> StoredUse
  ) {
    (validity, self.cache, self.now, self.made, self.remaining) = (cached.validity, cache, now, made, remaining)
    self.cached = cached
    (times, self.storedUse) = (cached.stored.times, storedUse)
    chosenBy = found.reduce(into: []) { $0.formUnion($1.stored.vary.values.keys) }
  }

  /// Seconds by which its `Age` has grown; `nil` if it may not be the answer any more.
  package func age() -> Int64? {
    let now = now()
    let age = now.secondsSinceEpoch &- made.secondsSinceEpoch
    guard age >= 0, age < remaining, validity.isCurrent, cache.isWatched, storedUse(now).mayAnswer(times) else {
      return nil
    }
    return age
  }

  /// The stored bytes, for as long as they are in memory.
  package var bytes: [UInt8]? { cached?.bytes }

  /// It was given again: what was used goes last.
  package func use() { cache.recordUse(of: validity, at: now()) }
}

extension Resource {
  /// The figures of the request whose response this is: the times of its steps, its bytes, the connection and the version
  /// of HTTP. They are complete when the body has been read to its end. `nil` unless the response came from the network.
  ///
  ///     let answer = try await host.resources.response(for: request)
  ///     let bytes = try await answer.data
  ///     if let figures = await answer.transfer { print(figures.firstByte, figures.total, bytes.count) }
  public var transfer: TransferSummary? {
    get async {
      guard source == .network else { return nil }
      return if let incoming { await incoming.summary } else { await body.transferSummary() }
    }
  }

  /// Reads the whole body, and tells how much has come after each chunk.
  ///
  ///     let picture = try await answer.data { received, total in print(received, "of", total ?? 0) }
  ///
  /// - Parameters:
  ///   - limit: the largest number of bytes; 256 MiB by default.
  ///   - progress: gets the bytes so far, and the body's length: `nil` if it is unknown, as it is of a response that came
  ///     with a content encoding.
  /// - Throws: `TransportError`, which is `TransportError.tooLarge` if the body is larger; `ContentError` if the content
  ///   encoding cannot be undone; `StoreError`; `CancellationError`.
  public nonisolated(nonsending) func data(
    upTo limit: Int64 = 256 << 20, progress: (_ received: Int64, _ total: Int64?) -> Void
  ) async throws -> Data {
    let total = fieldsOfBody[.contentLength].flatMap { Int64($0) }
    var data = Data()
    for try await chunk in body {
      guard Int64(data.count) + Int64(chunk.count) <= limit else {
        throw TransportError.tooLarge(url: url?.text ?? "", limit: limit)
      }
      data += chunk
      progress(Int64(data.count), total)
    }
    return data
  }
}
