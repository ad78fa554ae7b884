import HTTPCaching
import HTTPTypes
import PageTesting
import Synchronization
import Testing

@testable import HTTPCache
@testable import HTTPTransport

/// A cache over either store, and short ways to put things into it.
final class ResponseCacheFixture: Sendable {
  enum Kind: CaseIterable, CustomTestStringConvertible {
    case disk
    case memory

    var testDescription: String { self == .disk ? "on disk" : "in memory" }
  }

  static let now = HTTPDate(secondsSinceEpoch: 1_700_000_000)
  let folder: TemporaryDirectory
  let cache: ResponseCache

  init(_ kind: Kind = .disk, memoryCapacity: Int = 1 << 20, diskCapacity: Int64 = 20 << 20) throws {
    folder = try TemporaryDirectory()
    cache = try Self.open(kind, folder, memoryCapacity, diskCapacity)
  }

  private static func open(
    _ kind: Kind, _ folder: TemporaryDirectory, _ memoryCapacity: Int, _ diskCapacity: Int64
  ) throws -> ResponseCache {
    let directory = ResponseDirectory(folder.file("cache"), durable: folder.file("durable"))
    @Sendable func store(_ directory: ResponseDirectory, _ capacity: Int64) throws -> any ResponseStoring {
      if kind == .memory { return InMemoryResponseStore(capacity: capacity) }
      return try ResponseStore(at: directory, options: .init(capacity: capacity, lowSpace: 0))
    }
    return try ResponseCache(
      store: store(directory, diskCapacity), memoryCapacity: memoryCapacity, allowingNone: true,
      regionStores: { try store(directory.region($0), $1) })
  }

  /// Another cache on the same folder, as another process would open it.
  func reopened(memoryCapacity: Int = 1 << 20) throws -> ResponseCache {
    try Self.open(.disk, folder, memoryCapacity, 20 << 20)
  }

  static func key(_ path: String, in partition: CachePartition = .private) throws -> CacheKey {
    CacheKey(try #require(PageURL("http://h/\(path)")), in: partition)
  }

  static func arrival(
    _ key: CacheKey, count: Int, fields: HTTPFields = [:], request: HTTPFields = [:], extent: Extent? = nil
  ) -> ResponseCache.Arrival {
    var fields = fields
    fields[.date] = now.description
    fields[.contentLength] = String(count)
    if fields[.cacheControl] == nil { fields[.cacheControl] = "max-age=60" }
    return ResponseCache.Arrival(
      key: key,
      request: HTTPRequest(method: .get, scheme: "http", authority: "h", path: "/", headerFields: request),
      status: extent.map { $0.isWhole ? 200 : 206 } ?? 200, fields: fields,
      times: ExchangeTimes(request: now, response: now), extent: extent ?? .whole(Int64(count)))
  }

  @discardableResult
  func store(
    _ bytes: [UInt8], for key: CacheKey, fields: HTTPFields = [:], request: HTTPFields = [:],
    of other: ResponseCache? = nil
  ) async throws -> CachedResponse? {
    let cache = other ?? cache
    let writer = try #require(cache.writer())
    try writer.append(bytes)
    let arrival = Self.arrival(key, count: bytes.count, fields: fields, request: request)
    return await cache.commit(writer, arrival)
  }

  func bytes(_ key: CacheKey, of other: ResponseCache? = nil, request: HTTPFields = [:]) async throws -> [UInt8]? {
    let cache = other ?? cache
    guard
      let found = await cache.responses(for: key, fields: request).last(where: { $0.stored.vary.matches(request) })
    else { return nil }
    return try await cache.body(of: found)?.read(at: 0, upTo: .max)
  }
}

/// A store that waits at a point until it is told to go on.
final class HeldStore: ResponseStoring {
  private let store: any ResponseStoring
  private let gate = Mutex<(@Sendable () async -> Void)?>(nil)

  init(_ store: any ResponseStoring) { self.store = store }

  /// Runs something once, between the next reading of a body and its return.
  func afterBody(_ body: @escaping @Sendable () async -> Void) { gate.withLock { $0 = body } }

  func body(of entry: ResponseEntry) async throws -> (any StoredBody)? {
    let body = try await store.body(of: entry)
    let action = gate.withLock { gate in
      defer { gate = nil }
      return gate
    }
    await action?()
    return body
  }

  func entries(for key: CacheKey) async throws -> [ResponseEntry] { try await store.entries(for: key) }
  func list() async throws -> [ResponseEntry] { try await store.list() }
  func usage() async throws -> ResponseUsage { try await store.usage() }
  func changeCount() -> Int64 { store.changeCount() }
  func writer() throws -> any ResponseWriting { try store.writer() }
  func commit(
    _ writer: any ResponseWriting, head: ResponseMetadata, for key: CacheKey, replacing replaced: [ResponseEntry]
  ) async throws -> ResponseEntry? {
    try await store.commit(writer, head: head, for: key, replacing: replaced)
  }
  func update(_ entry: ResponseEntry, head: ResponseMetadata) async throws -> ResponseEntry? {
    try await store.update(entry, head: head)
  }
  func invalidate(_ keys: [CacheKey]) async throws { try await store.invalidate(keys) }
  func markStale(_ selection: ResponseSelection, since time: HTTPDate) async throws -> Int {
    try await store.markStale(selection, since: time)
  }
  func touch(_ ids: [Int64]) { store.touch(ids) }
  func setKept(_ isKept: Bool, for key: CacheKey) async throws -> Bool { try await store.setKept(isKept, for: key) }
  func remove(_ selection: ResponseSelection) async throws -> Int { try await store.remove(selection) }
  func setCapacity(_ bytes: Int64) async throws { try await store.setCapacity(bytes) }
}
