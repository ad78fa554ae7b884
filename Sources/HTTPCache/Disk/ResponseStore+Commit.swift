import DiskStorage
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import SystemPackage

extension ResponseStore {
  package func commit(
    _ writer: any ResponseWriting, head: ResponseMetadata, for key: CacheKey, replacing replaced: [ResponseEntry]
  ) async throws -> ResponseEntry? {
    guard let spool = writer as? ResponseSpool, spool.count == head.extent.count else {
      throw StoreError.notWritable(path: directory.cache.string, reason: "the bytes are not all there")
    }
    return try await queues.write { [self] in try commit(spool, head, key, replacing: replaced) }
  }

  private func commit(
    _ spool: ResponseSpool, _ head: ResponseMetadata, _ key: CacheKey, replacing replaced: [ResponseEntry]
  ) throws -> ResponseEntry? {
    let digest = try spool.finish()
    while true {
      let isKept = try index.read { try Self.isKept(key, $0) }
      let entry = ResponseEntry(
        id: .random(in: 1...Int64.max), key: key, head: head, digest: digest, isKept: isKept, storedAt: options.now())
      guard let sealed = try ResponseFileHeader(entry, isInline: Self.isInline(spool.count)).sealed() else {
        return nil
      }
      let size = Int64(sealed.count) + spool.count
      guard isKept || size <= currentCapacity else { return nil }
      guard try makeRoom(for: size) || isKept else { return nil }
      if isKept { try spool.synchronise() }
      guard let unneeded = try insert(entry, sealed, spool, replacing: replaced) else { continue }
      spool.discard()
      removeFiles(unneeded)
      return entry
    }
  }

  static func isInline(_ count: Int64) -> Bool { count <= inlineLimit }

  /// - Returns: the files that are not needed any more; `nil` if the key was kept or let go of meanwhile.
  private func insert(
    _ entry: ResponseEntry, _ sealed: [UInt8], _ spool: ResponseSpool, replacing replaced: [ResponseEntry]
  ) throws -> RemovedFiles? {
    let isInline = Self.isInline(spool.count)
    do {
      return try index.write(durably: entry.isKept) { db in
        guard try Self.isKept(entry.key, db) == entry.isKept else { return nil }
        var unneeded = RemovedFiles()
        // Somebody else may have stored the same meanwhile.
        let same = try ResponseRow.fetch(db, key: entry.key).filter {
          $0.entry.head.vary == entry.head.vary && (entry.head.extent.isWhole || !$0.entry.head.extent.isWhole)
        }
        for id in Set(replaced.map(\.id) + same.map(\.id)) { try unneeded.delete(db, id: id) }
        let usedAt = try nextUse(db)
        try ResponseRow.insert(
          db, entry, sealed: sealed, fileSize: sealed.count + (isInline ? Int(spool.count) : 0),
          body: isInline ? nil : entry.digest, usedAt: usedAt)
        unneeded.add(try evict(db, toFree: 0))
        // At last: nothing is left behind where the database fails.
        try place(entry, sealed, spool, isInline: isInline)
        return unneeded
      }
    } catch {
      FileSystem.remove(directory.files(isKept: entry.isKept).entry(entry.id))
      throw error
    }
  }

  /// Writes the files of a response, even if a body with the same name exists: that file may be damaged.
  private func place(_ entry: ResponseEntry, _ sealed: [UInt8], _ spool: ResponseSpool, isInline: Bool) throws {
    let files = directory.files(isKept: entry.isKept)
    if isInline {
      try files.create([sealed, try spool.read(at: 0, upTo: Int(spool.count))], at: files.entry(entry.id))
      return
    }
    if let memory = spool.memory {
      try files.write([memory], to: files.body(entry.digest))
    } else {
      try files.write(spool, linking: spool.path, to: files.body(entry.digest))
    }
    try files.create([sealed], at: files.entry(entry.id))
  }

  // MARK: Changing

  package func update(_ entry: ResponseEntry, head: ResponseMetadata) async throws -> ResponseEntry? {
    guard head.extent.count == entry.head.extent.count else { return nil }
    return try await queues.write { [self] in
      try writeWithinCapacity { db in
        guard let row = try ResponseRow.fetch(db, id: entry.id) else { return nil }
        return try rewrite(row, db, head: head)
      }
    }
  }

  package func invalidate(_ keys: [CacheKey]) async throws {
    try await queues.write { [self] in
      try writeWithinCapacity { db in
        for row in try keys.flatMap({ try ResponseRow.fetch(db, key: $0) }) where !row.entry.head.isInvalidated {
          var head = row.entry.head
          head.isInvalidated = true
          _ = try rewrite(row, db, head: head)
        }
      }
    }
  }

  /// Gives an entry another head, in its file and in the index. Nil where its bytes have gone.
  func rewrite(_ row: ResponseRow, _ db: Database, head: ResponseMetadata) throws -> ResponseEntry? {
    let old = row.entry
    let entry = ResponseEntry(
      id: old.id, key: old.key, head: head, digest: old.digest, isKept: old.isKept, storedAt: old.storedAt)
    let files = directory.files(isKept: old.isKept)
    let isInline = row.body == nil
    guard let sealed = try ResponseFileHeader(entry, isInline: isInline).sealed() else { return nil }
    var parts = [sealed]
    if isInline {
      do {
        let body = try StoredResponseBody(old, in: files)
        parts.append(try body.read(at: 0, upTo: Int(body.count)))
      } catch is StoredResponseBody.Damage {
        return nil
      }
    }
    try ResponseRow.update(db, entry, sealed: sealed, fileSize: parts.reduce(0) { $0 + $1.count })
    try files.write(parts, to: files.entry(old.id))
    return entry
  }
}
