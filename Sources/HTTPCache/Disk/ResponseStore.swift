import Blobs
import Dispatch
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging
import Synchronization
import SystemPackage

/// Responses on disk: an index in SQLite, which has short bytes in it, and files for longer ones.
///
/// Everything may go at any time without harm: what is missing, cut or changed is a miss. Only what is kept lies in the
/// durable folder, in files that the index can be made anew from; it is written through to the disk, and taken by no
/// eviction. Several processes may use one folder.
package final class ResponseStore: ResponseStoring {
  /// The limits of a store, its clock, and its view of the file system.
  package struct Options: Sendable {
    /// Bytes of files, those that are kept not counted.
    package var capacity: Int64
    /// If fewer bytes are free on the file system, the store evicts responses.
    package var lowSpace: Int64
    /// Keeps hashes of all keys in memory, so that a request for something that is not stored asks no index: for a store
    /// that answers many requests. Responses of another process are then found a second later.
    package var remembersKeys = false
    /// Keeps connections to the index that read without waiting, for ``ResponseStoring/responsesAtOnce(for:fields:)``.
    package var readsAtOnce = false
    /// How many bytes are free.
    package var availableBytes: @Sendable (_ path: String) -> Int64
    /// Seconds since 1970.
    package var now: @Sendable () -> Double

    /// - Parameters:
    ///   - capacity: bytes of files; 20 MiB by default.
    ///   - lowSpace: bytes free on the file system; 32 MiB by default.
    package init(capacity: Int64 = 20 << 20, lowSpace: Int64 = 32 << 20) {
      self.capacity = capacity
      self.lowSpace = lowSpace
      availableBytes = { (try? FileSystem.availableBytes(at: FilePath($0))) ?? .max }
      now = { Date().timeIntervalSince1970 }
    }
  }

  /// The folders of its files.
  package let directory: ResponseDirectory
  let options: Options
  let index: ResponseIndex
  let logger: Logger
  private let capacity: Atomic<Int64>
  let evictions = Atomic<Int>(0)
  private let session: SessionFolder?
  private let sharedBodies = SharedBodies()
  let queues = StoreQueues()
  let uses: UseRecord
  /// Responses that come while the store is busy go into one transaction: a few milliseconds, for which no other process
  /// writes.
  let commits: Batcher<ResponseStore, NewResponse, ResponseEntry?>
  let ids = ResponseIDs()
  let keys = StoredKeys()
  let freeSpace = FreeSpace()

  /// The most bytes that lie beside the header: in the row of the index, or in the file of a kept response. Longer ones
  /// have a file of their own, which entries with the same bytes share.
  static let inlineLimit = 4 << 10

  /// - Throws: ``StoreError``.
  package convenience init(
    at directory: ResponseDirectory, options: Options = Options(), logger: Logger = Logger(label: "pagekit.responses")
  ) throws {
    try self.init(at: directory, options, session: nil, logger)
  }

  /// Reads what is stored in a folder that may not be written; what is changed is gone with the store.
  ///
  /// - Throws: ``StoreError``.
  package convenience init(
    reading directory: ResponseDirectory, logger: Logger = Logger(label: "pagekit.responses")
  ) throws {
    if let unreadable = directory.unreadable { throw unreadable }
    let session = try SessionFolder()
    try self.init(at: directory.session(in: session.path), Options(), session: session, logger)
  }

  private init(
    at directory: ResponseDirectory, _ options: Options, session: SessionFolder?, _ logger: Logger
  ) throws {
    self.directory = directory
    self.session = session
    self.options = options
    self.logger = logger
    capacity = Atomic(options.capacity)
    index = try ResponseIndex(directory, readsAtOnce: options.readsAtOnce, logger: logger)
    uses = UseRecord(index, queues)
    commits = Batcher(on: queues.writes, limit: 64) { $0.commit($1) }
    sweepDaily()
    if options.remembersKeys { queues.background { [weak self] in self?.readKeys() } }
  }

  var currentCapacity: Int64 { capacity.load(ordering: .relaxed) }

  // MARK: Reading

  package func entries(for key: CacheKey) async throws -> [ResponseEntry] {
    guard keys.mayContain(key) else { return [] }
    return try await queues.read(key) { [index] in try index.read { try ResponseRow.fetch($0, key: key) }.map(\.entry) }
  }

  /// The most bytes that are read together with their entry: reading and checking them takes less time than another
  /// turn on the store's threads.
  static let readAheadLimit: Int64 = 64 << 10

  package func responses(for key: CacheKey, fields: HTTPFields) async throws -> [FoundResponse] {
    guard keys.mayContain(key) else { return [] }
    return try await queues.read(key) { [index, directory, uses] in
      // What was damaged is found, and removed, when it is asked for.
      let (entries, likely, inRow) = try index.read { db in
        let rows = try ResponseRow.fetch(db, key: key, for: fields)
        for row in rows { uses.note(row.usedAt, for: row.id) }
        let entries = rows.map(\.entry)
        let likely = entries.last { $0.head.vary.matches(fields) } ?? entries.last
        return (entries, likely, likely.flatMap { $0.isInRow ? try? ResponseRow.bytes(db, of: $0) : nil })
      }
      var bytes = inRow
      if let likely, !likely.isInRow, likely.head.extent.count <= Self.readAheadLimit,
        let body = try? StoredResponseBody(likely, in: directory.files(isKept: likely.isKept))
      {
        bytes = try? body.read(at: 0, upTo: Int(body.count))
      }
      return entries.map { ($0, $0.id == likely?.id ? bytes : nil) }
    }
  }

  package func responsesAtOnce(for key: CacheKey, fields: HTTPFields) -> [FoundResponse]? {
    guard keys.mayContain(key) else { return [] }
    // Damaged rows are found, and mended, by readers that wait for them.
    guard let rows = index.promptRows(of: key, later: { queues.background($0) }),
      let responses = try? ResponseRow.responses(rows, of: key, for: fields)
    else { return nil }
    for row in rows { uses.note(row.usedAt, for: row.id) }
    return responses
  }

  package func mayHold(_ key: CacheKey) -> Bool { keys.mayContain(key) }

  package func body(of entry: ResponseEntry) async throws -> (any StoredBody)? {
    do {
      guard entry.head.extent.count > StoredResponseBody.memoryLimit else {
        return try await queues.read(entry.key) { [self] in
          // A file is read outside of a transaction.
          guard !entry.isInRow else { return try index.read { try content(of: entry, $0) } }
          return try StoredResponseBody(entry, in: directory.files(isKept: entry.isKept))
        }
      }
      return try await sharedBodies.body(of: entry, in: directory.files(isKept: entry.isKept))
    } catch is StoredResponseBody.Damage {
      return try await queues.write { [self] in try removeDamaged(entry) }
    }
  }

  /// Reads the stored bytes of a response, from its row or from its file.
  ///
  /// - Throws: ``StoredResponseBody/Damage``; ``StoreError`` where that cannot be told.
  func content(of entry: ResponseEntry, _ db: Database) throws -> any StoredBody {
    guard entry.isInRow else { return try StoredResponseBody(entry, in: directory.files(isKept: entry.isKept)) }
    guard let bytes = try ResponseRow.bytes(db, of: entry) else { throw StoredResponseBody.Damage() }
    return BytesBody(bytes)
  }

  package func list() async throws -> [ResponseEntry] {
    try await queues.write { [index, uses] in
      let rows = try index.read { try ResponseRow.fetch($0, where: "1", []) }
      return rows.map { (entry: $0.entry, usedAt: max($0.usedAt, uses.time(of: $0.id) ?? .min)) }
        .sorted { $0.usedAt > $1.usedAt }.map(\.entry)
    }
  }

  package func usage() async throws -> ResponseUsage {
    try await queues.write { [self] in
      try index.read { db in
        var usage = ResponseUsage(capacity: currentCapacity)
        usage.evictions = evictions.load(ordering: .relaxed)
        for row in try Row.fetchAll(db, sql: "SELECT isKept, entries, bytes FROM total") {
          let entries = try row.decode(Int.self, forColumn: "entries")
          let bytes = try row.decode(Int64.self, forColumn: "bytes")
          if try row.decode(Bool.self, forColumn: "isKept") {
            (usage.keptEntries, usage.keptBytes) = (entries, bytes)
          } else {
            (usage.entries, usage.bytes) = (entries, bytes)
          }
        }
        return usage
      }
    }
  }

  package func changeCount() -> Int64 {
    let count = index.foreignChanges()
    if keys.forget(unlessAt: count) { queues.background { [weak self] in self?.readKeys() } }
    return count
  }

  /// Reads the keys anew, one after the other: all of a large store at once would take 200 bytes of memory each. It runs
  /// where all is stored, so that none is missed.
  func readKeys() {
    let found = try? index.read { db in
      let count = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM response") ?? 0
      var filter = KeyFilter(expected: count)
      let cursor = try Row.fetchCursor(db.cachedStatement(sql: "SELECT key FROM response"))
      while let row = try cursor.next() {
        if let key = CacheKey(text: try row.value("key")) { filter.insert(key) }
      }
      return (filter: filter, changes: try index.foreignChanges(db))
    }
    if let found { keys.replace(by: found.filter, foreignChanges: found.changes) }
  }

  // MARK: Writing

  package func writer() throws -> any ResponseWriting { try ResponseSpool(in: directory.partial) }

  package func touch(_ ids: [Int64]) {
    guard !ids.isEmpty else { return }
    let now = microseconds()
    // What cannot be recorded makes room earlier than others.
    queues.background { [uses] in try? uses.record(ids, at: now) }
  }

  package func setCapacity(_ bytes: Int64) async throws {
    capacity.store(bytes, ordering: .relaxed)
    try await queues.write { [self] in
      try index.write { db in try removeFiles(try evict(db, toFree: 0), unnamedIn: db) }
      shrinkLater()
    }
  }

  /// Gives a time of use that is later than every other, whatever the clock does.
  package func synchronize() async throws {
    // A commit that is synchronised takes those before it along.
    try await queues.write { [index] in
      try index.write(isChange: false, durably: true) { try $0.execute(sql: "UPDATE change SET number = number") }
    }
  }

  func nextUse(_ db: Database) throws -> Int64 {
    let time = try ResponseRow.nextUse(db, at: uses.nextUse(microseconds()))
    uses.advance(to: time)
    return time
  }

  func microseconds() -> Int64 { Int64(options.now() * 1e6) }
}

extension ResponseEntry {
  /// Its bytes are in its row of the index.
  var isInRow: Bool { !isKept && ResponseStore.isInline(head.extent.count) }
}

/// The threads on which a store of responses blocks, in SQLite, in files and for the locks of other processes, so that
/// those that all tasks share go on.
struct StoreQueues: Sendable {
  let writes = DispatchQueue(label: "pagekit.responses.writes")
  /// Serial ones, since a concurrent one shares its threads with the tasks. Two, so that a long read of one key holds up
  /// half of the others at most.
  private let reads = [
    DispatchQueue(label: "pagekit.responses.reads.0"), DispatchQueue(label: "pagekit.responses.reads.1"),
  ]

  /// Runs work that changes the store or reads all of it; one after the other.
  func write<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await writes.result(body)
  }

  /// Runs work of the same kind without waiting for it.
  func background(_ body: @escaping @Sendable () -> Void) { writes.async(execute: body) }

  /// Runs work that reads an entry of a key.
  func read<Value: Sendable>(
    _ key: CacheKey, _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await reads[abs(key.hashValue % reads.count)].result(body)
  }
}

extension ResponseStore {
  package func setKept(_ isKept: Bool, for key: CacheKey) async throws -> Bool {
    try await queues.write { [self] in
      let (removed, isStored) = try index.write(durably: isKept) { db in
        try db.execute(
          sql: isKept ? "INSERT OR IGNORE INTO kept (key) VALUES (?)" : "DELETE FROM kept WHERE key = ?",
          arguments: [key.description])
        var removed = RemovedResponses()
        for row in try ResponseRow.fetch(db, key: key) where row.isKept != isKept {
          try move(row, db, isKept: isKept, &removed)
        }
        removed.add(try evict(db, toFree: 0))
        return (removed, try !ResponseRow.fetch(db, key: key).isEmpty)
      }
      removeFiles(removed)
      return isStored
    }
  }

  static func isKept(_ key: CacheKey, _ db: Database) throws -> Bool {
    try Bool.fetchOne(
      db.cachedStatement(sql: "SELECT 1 FROM kept WHERE key = ?"), arguments: [key.description]) ?? false
  }

  /// Writes an entry's bytes to where they belong now; the old files go after the index knows.
  private func move(_ row: ResponseRow, _ db: Database, isKept: Bool, _ removed: inout RemovedResponses) throws {
    let (entry, source, target) = (row.entry, directory.files(isKept: !isKept), directory.files(isKept: isKept))
    let moved = entry.with(isKept: isKept)
    let body: any StoredBody
    do {
      body = try content(of: entry, db)
    } catch is StoredResponseBody.Damage {
      return try removed.delete(db, id: entry.id)
    }
    guard let sealed = try ResponseFileHeader(moved, isInline: row.body == nil).sealed() else { return }
    var inline: [UInt8]?
    if let digest = row.body {
      try target.write(body, linking: source.body(digest), to: target.body(digest))
    } else {
      inline = try body.read(at: 0, upTo: Int(body.count))
    }
    if isKept { try target.write([sealed, inline ?? []], to: target.entry(entry.id)) }
    try removed.delete(db, id: entry.id)
    try ResponseRow.insert(db, moved, sealed: sealed, bytes: inline, usedAt: try nextUse(db))
  }
}

extension ResponseStore {
  package func page(after id: Int64, limit: Int) async throws -> (entries: [ResponseEntry], last: Int64?) {
    try await queues.write { [index] in
      // One more tells if there are more.
      let rows = try index.read { try ResponseRow.page($0, after: id, limit: limit + 1) }
      let entries = rows.prefix(limit).compactMap { $0.row?.entry }
      return (entries, rows.count > limit ? rows[limit - 1].id : nil)
    }
  }
}
