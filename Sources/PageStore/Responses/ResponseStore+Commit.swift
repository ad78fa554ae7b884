import Foundation
import GRDB
import HTTPCaching
import PageCore
import SystemPackage

extension ResponseStore {
  public func commit(
    _ writer: any ResponseWriting, head: ResponseHead, for key: CacheKey, replacing replaced: [ResponseEntry]
  ) async throws -> ResponseEntry? {
    guard let spool = writer as? ResponseSpool, spool.count == head.extent.count else {
      throw StoreError.notWritable(path: directory.cache.string, reason: "the bytes are not all there")
    }
    let isKept = try isKept(key)
    let entry = ResponseEntry(
      id: .random(in: 1...Int64.max), key: key, head: head, digest: try spool.finish(), isKept: isKept,
      storedAt: options.now())
    let isInline = spool.count <= Self.inlineLimit
    let front = try ResponseFront(entry, isInline: isInline).encoded()
    let size = Int64(ResponseFront.headSize(front.count)) + spool.count
    guard isKept || size <= currentCapacity else { return nil }
    try makeRoom(for: size)
    try place(entry, front: front, spool: spool, isInline: isInline)
    let unneeded = try index.write { db in
      var unneeded = RemovedFiles()
      for old in replaced { try unneeded.delete(db, id: old.id) }
      try ResponseRow.insert(
        db, entry, front: front, fileSize: ResponseFront.headSize(front.count) + (isInline ? Int(spool.count) : 0),
        body: isInline ? nil : entry.digest, usedAt: microseconds())
      unneeded.add(try evict(db, toFree: 0))
      return unneeded.except(body: entry.digest, isKept: isKept)
    }
    removeFiles(unneeded)
    return entry
  }

  private func place(_ entry: ResponseEntry, front: [UInt8], spool: ResponseSpool, isInline: Bool) throws {
    let files = directory.files(isKept: entry.isKept)
    let inline = isInline ? try spool.read(at: 0, upTo: Int(spool.count)) : []
    if !isInline, FileSystem.status(files.body(entry.digest))?.size != spool.count {
      if let memory = spool.memory {
        try ResponseFiles.write(
          [memory], to: files.body(entry.digest), by: temporary(), durably: entry.isKept)
      } else {
        if entry.isKept { try spool.synchronise() }
        try ResponseFiles.place(spool.path, at: files.body(entry.digest), durably: entry.isKept)
      }
    }
    try ResponseFiles.write(
      [try ResponseFront.fileHead(front), inline], to: files.entry(entry.id), by: temporary(), durably: entry.isKept)
  }

  func temporary() -> FilePath { directory.partial.appending(UUID().uuidString) }

  private func isKept(_ key: CacheKey) throws -> Bool {
    try index.read { db in
      try Bool.fetchOne(
        db.cachedStatement(sql: "SELECT 1 FROM kept WHERE key = ?"), arguments: [key.description]) ?? false
    }
  }

  public func update(_ entry: ResponseEntry, head: ResponseHead) async throws -> ResponseEntry? {
    guard head.extent.count == entry.head.extent.count else { return nil }
    return try rewrite(id: entry.id) { _ in head }
  }

  public func invalidate(_ keys: [CacheKey]) async throws {
    for key in keys {
      for row in try rows(for: key) {
        _ = try rewrite(id: row.id) { head in
          var head = head
          head.isInvalidated = true
          return head
        }
      }
    }
  }

  /// Gives an entry another head, in its file and in the index.
  private func rewrite(id: Int64, _ change: (ResponseHead) -> ResponseHead) throws -> ResponseEntry? {
    try index.write { db in
      guard let row = try ResponseRow.fetch(db, where: "id = ?", [id]).first, let old = row.entry() else { return nil }
      let entry = ResponseEntry(
        id: id, key: old.key, head: change(old.head), digest: old.digest, isKept: row.isKept, storedAt: old.storedAt)
      let files = directory.files(isKept: row.isKept)
      let isInline = row.body == nil
      let front = try ResponseFront(entry, isInline: isInline).encoded()
      var inline: [UInt8] = []
      if isInline {
        // What cannot be read any more is a miss.
        guard let body = try? StoredResponseBody(old, in: files) else { return nil }
        inline = try body.read(at: 0, upTo: Int(body.count))
      }
      let parts = [try ResponseFront.fileHead(front), inline]
      try ResponseFiles.write(parts, to: files.entry(id), by: temporary(), durably: row.isKept)
      try db.cachedStatement(sql: "UPDATE response SET front = ?, staleAt = ? WHERE id = ?")
        .execute(arguments: [Data(front), entry.head.staleAt, id])
      return entry
    }
  }
}
