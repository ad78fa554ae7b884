import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting
import Synchronization
import TestSupport
import Testing

@testable import HTTPCache

/// The implementations that have to behave alike.
enum ResponseStoreKind: CaseIterable, CustomTestStringConvertible {
  case disk
  case memory

  var testDescription: String { self == .disk ? "on disk" : "in memory" }
}

/// The clock and the free space that a store is given.
final class Surroundings: Sendable {
  let now: Mutex<Double>
  /// Bytes free on the file system.
  let available = Mutex<Int64>(.max)

  init(now: Double) { self.now = Mutex(now) }
}

/// A store in a folder of its own, its clock, and short ways to put things into it.
final class ResponseFixture: Sendable {
  let folder: TemporaryDirectory
  let store: any ResponseStoring
  let world: Surroundings
  let log = LogLines()

  init(
    _ kind: ResponseStoreKind = .disk, capacity: Int64 = 20 << 20, now: Double = 1_000_000, remembersKeys: Bool = false,
    readsAtOnce: Bool = false
  ) throws {
    folder = try TemporaryDirectory()
    let world = Surroundings(now: now)
    self.world = world
    switch kind {
    case .memory: store = InMemoryResponseStore(capacity: capacity, now: { world.now.withLock(\.self) })
    case .disk: store = try Self.open(folder, capacity: capacity, world, log, remembersKeys, readsAtOnce)
    }
  }

  private static func open(
    _ folder: TemporaryDirectory, capacity: Int64, _ world: Surroundings, _ log: LogLines, _ remembersKeys: Bool,
    _ readsAtOnce: Bool = false
  ) throws -> ResponseStore {
    var options = ResponseStore.Options(capacity: capacity, lowSpace: 1_000)
    (options.remembersKeys, options.readsAtOnce) = (remembersKeys, readsAtOnce)
    options.now = { world.now.withLock(\.self) }
    options.availableBytes = { _ in world.available.withLock(\.self) }
    return try ResponseStore(
      at: ResponseDirectory(folder.file("cache"), durable: folder.file("durable")), options: options,
      logger: log.logger)
  }

  /// Another store on the same folder, as another process would open it.
  func reopened(capacity: Int64 = 20 << 20, remembersKeys: Bool = false) throws -> ResponseStore {
    try Self.open(folder, capacity: capacity, world, log, remembersKeys)
  }

  var disk: ResponseStore {
    get throws { try #require(store as? ResponseStore) }
  }

  func advance(_ seconds: Double) { world.now.withLock { $0 += seconds } }

  static func head(
    _ count: Int, vary: VaryKey = VaryKey(), extent: Extent? = nil, staleAt: Int64 = .max, fields: HTTPFields = [:]
  ) -> ResponseMetadata {
    let time = HTTPDate(secondsSinceEpoch: 1_000_000)
    return ResponseMetadata(
      status: 200, fields: fields, times: ExchangeTimes(request: time, response: time), vary: vary,
      extent: extent ?? .whole(Int64(count)), staleAt: staleAt, userInfo: ["from": "test"])
  }

  static func fields(_ tags: String) -> HTTPFields {
    guard !tags.isEmpty, let name = HTTPField.Name("Cache-Tag") else { return [:] }
    return [name: tags]
  }

  @discardableResult
  func store(
    _ bytes: [UInt8], for key: CacheKey, of other: (any ResponseStoring)? = nil, vary: VaryKey = VaryKey(),
    extent: Extent? = nil, staleAt: Int64 = .max, tags: String = "", replacing: [ResponseEntry] = []
  ) async throws -> ResponseEntry? {
    let store = other ?? store
    let writer = try store.writer()
    try writer.append(bytes)
    let head = Self.head(bytes.count, vary: vary, extent: extent, staleAt: staleAt, fields: Self.fields(tags))
    return try await store.commit(writer, head: head, for: key, replacing: replacing)
  }

  @discardableResult
  func store(_ text: String, for name: String, of other: (any ResponseStoring)? = nil) async throws -> ResponseEntry {
    try #require(try await store(Array(text.utf8), for: CacheKey(named: name), of: other))
  }

  /// The body that is found under a name; `nil` for a miss.
  func text(_ name: String, of other: (any ResponseStoring)? = nil) async throws -> String? {
    try await bytes(CacheKey(named: name), of: other).map { String(decoding: $0, as: UTF8.self) }
  }

  func bytes(_ key: CacheKey, of other: (any ResponseStoring)? = nil) async throws -> [UInt8]? {
    let store = other ?? store
    guard let entry = try await store.entries(for: key).last, let body = try await store.body(of: entry) else {
      return nil
    }
    return try body.read(at: 0, upTo: .max)
  }

  /// The names of all that is stored, the most recently used first.
  func names(of other: (any ResponseStoring)? = nil) async throws -> [String] {
    try await (other ?? store).list().map { String($0.key.name.dropFirst("key:".count)) }
  }

  func path(of entry: ResponseEntry) throws -> String {
    let files = try disk.directory.files(isKept: entry.isKept)
    return (entry.head.extent.count > ResponseStore.inlineLimit ? files.body(entry.digest) : files.entry(entry.id))
      .string
  }

  /// Everything below a folder that is no folder.
  func files(in subfolder: String) throws -> [String] {
    let root = folder.file(subfolder)
    return try FileManager.default.subpathsOfDirectory(atPath: root).filter { path in
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: root + "/" + path, isDirectory: &isFolder)
      return !isFolder.boolValue
    }.sorted()
  }
}
