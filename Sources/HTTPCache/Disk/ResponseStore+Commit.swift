import Blobs
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import Synchronization
import SystemPackage

extension ResponseStore {
  package func commit(
    _ writer: any ResponseWriting, head: ResponseMetadata, for key: CacheKey, replacing replaced: [ResponseEntry]
  ) async throws -> ResponseEntry? {
    guard let spool = writer as? ResponseSpool, spool.count == head.extent.count else {
      throw StoreError.notWritable(path: directory.cache.string, reason: "the bytes are not all there")
    }
    let entry = ResponseEntry(
      id: ids.next(at: microseconds()), key: key, head: head, digest: try spool.finish(), isKept: false,
      storedAt: options.now())
    guard let sealed = try seal(entry) else { return nil }
    let response = NewResponse(entry: entry, sealed: sealed, spool: spool, replaced: Set(replaced.map(\.id)))
    return try await commits.result(of: response, from: self)
  }

  /// Stores all in one transaction; where that fails, each in one of its own, so that none fails for another's sake.
  func commit(_ batch: [NewResponse]) -> [Result<ResponseEntry?, any Error>] {
    let areMany = batch.reduce(false) { keys.add($1.entry.key) || $0 }
    if areMany { queues.background { [self] in readKeys() } }
    let size = batch.reduce(into: 0 as Int64) { $0 &+= $1.size }
    if batch.count > 1, missingSpace(for: size) <= 0, let entries = try? insert(batch, durably: false) {
      return entries.map { .success($0) }
    }
    return batch.map { response in Result { try commit(response) } }
  }

  private func commit(_ response: NewResponse) throws -> ResponseEntry? {
    let hasRoom = try response.size <= currentCapacity && makeRoom(for: response.size)
    if !hasRoom {
      guard try index.read({ try Self.isKept(response.entry.key, $0) }) else { return nil }
      _ = try makeRoom(for: response.size)
    }
    do {
      return try insert([response], durably: false, hasRoom: hasRoom).first ?? nil
    } catch is MustBeDurable {
      // While no other writer waits for it.
      try response.spool.synchronise()
      return try insert([response], durably: true, hasRoom: hasRoom).first ?? nil
    }
  }

  /// A key is kept, so that the transaction has to reach the disk.
  private struct MustBeDurable: Error {}

  static func isInline(_ count: Int64) -> Bool { count <= inlineLimit }

  /// Stores responses in one transaction.
  ///
  /// - Parameter hasRoom: `false` if the file system has room for those alone that are kept.
  /// - Returns: the entries, in the order of the responses; `nil` for those that are too large.
  /// - Throws: ``MustBeDurable``, ``StoreError``; nothing is stored then.
  private func insert(_ batch: [NewResponse], durably: Bool, hasRoom: Bool = true) throws -> [ResponseEntry?] {
    var batch = batch
    var keptFiles: [Int64] = []
    do {
      let (entries, unneeded) = try index.write(durably: durably) { db in
        for index in batch.indices { try giveFreeID(to: &batch[index], db) }
        var unneeded = RemovedResponses()
        var usedAt = try nextUse(db)
        let entries = try batch.map { response -> ResponseEntry? in
          let isKept = try Self.isKept(response.entry.key, db)
          guard !isKept || durably else { throw MustBeDurable() }
          guard isKept || hasRoom && response.size <= currentCapacity else { return nil }
          let entry = response.entry.with(isKept: isKept)
          try insert(entry, response, usedAt: usedAt, db, &unneeded)
          usedAt += 1
          return entry
        }
        uses.advance(to: usedAt)
        unneeded.add(try evict(db, toFree: 0))
        // One of them may have replaced another, or left no room for it: no files are written that are removed at once.
        let gone = Set(unneeded.ids)
        keptFiles = entries.compactMap { $0 }.filter(\.isKept).map(\.id)
        // At last: nothing is left behind where the database fails.
        for (entry, response) in zip(entries, batch) {
          if let entry, !gone.contains(entry.id) { try place(entry, response) }
        }
        return (entries, unneeded)
      }
      for response in batch { response.spool.discard() }
      removeFiles(unneeded)
      return entries
    } catch {
      for id in keptFiles { FileSystem.remove(directory.files(isKept: true).entry(id)) }
      throw error
    }
  }

  /// Gives the response another id if another process has given the same.
  private func giveFreeID(to response: inout NewResponse, _ db: Database) throws {
    while try ResponseRow.isStored(db, id: response.entry.id) {
      let entry = response.entry.with(id: ids.next(at: microseconds()))
      guard let sealed = try seal(entry) else { return }
      response = NewResponse(entry: entry, sealed: sealed, spool: response.spool, replaced: response.replaced)
    }
  }

  /// Returns the bytes of a response's header; `nil` if there would be too many.
  private func seal(_ entry: ResponseEntry) throws -> [UInt8]? {
    try ResponseFileHeader(entry, isInline: Self.isInline(entry.head.extent.count)).sealed()
  }

  private func insert(
    _ entry: ResponseEntry, _ response: NewResponse, usedAt: Int64, _ db: Database, _ unneeded: inout RemovedResponses
  ) throws {
    // Another process may have stored the same meanwhile.
    let only = try ResponseRow.only(db, key: entry.key)
    let found = try only ?? ResponseRow.fetch(db, key: entry.key, chosenBy: entry.head.vary)
    let same = found.filter {
      $0.entry.head.vary == entry.head.vary && (entry.head.extent.isWhole || !$0.entry.head.extent.isWhole)
    }
    for id in response.replaced.union(same.map(\.id)) { try unneeded.delete(db, id: id) }
    try ResponseRow.insert(
      db, entry, sealed: response.sealed, bytes: try response.inlineBytes(), usedAt: usedAt)
    if only == nil, !entry.isKept, !entry.head.vary.values.isEmpty { try evictVariants(of: entry.key, db, &unneeded) }
  }

  /// Writes the files of a response, even if a body with the same name exists: that file may be damaged.
  private func place(_ entry: ResponseEntry, _ response: NewResponse) throws {
    let (files, spool) = (directory.files(isKept: entry.isKept), response.spool)
    let inline = try response.inlineBytes()
    if inline == nil {
      if let memory = spool.memory {
        try files.write([memory], to: files.body(entry.digest))
      } else {
        try files.write(spool, linking: spool.path, to: files.body(entry.digest))
      }
    }
    if entry.isKept { try files.write([response.sealed, inline ?? []], to: files.entry(entry.id)) }
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

  /// Gives an entry another head, in the index and, if it is kept, in its file. Returns `nil` if its bytes have gone.
  func rewrite(_ row: ResponseRow, _ db: Database, head: ResponseMetadata) throws -> ResponseEntry? {
    let old = row.entry
    let entry = old.with(head: head)
    let isInline = row.body == nil
    guard let sealed = try ResponseFileHeader(entry, isInline: isInline).sealed() else { return nil }
    var parts = [sealed]
    if isInline, old.isKept {
      do {
        let body = try content(of: old, db)
        parts.append(try body.read(at: 0, upTo: Int(body.count)))
      } catch is StoredResponseBody.Damage {
        return nil
      }
    }
    try ResponseRow.update(db, entry, sealed: sealed, isInline: isInline)
    if old.isKept {
      let files = directory.files(isKept: true)
      try files.write(parts, to: files.entry(old.id))
    }
    return entry
  }
}

/// A response whose bytes are all there, with its header.
struct NewResponse: Sendable {
  /// Its `isKept` is set when it is stored.
  let entry: ResponseEntry
  /// The header: seal and front.
  let sealed: [UInt8]
  let spool: ResponseSpool
  /// The ids of the entries that it replaces.
  let replaced: Set<Int64>

  /// The bytes of its header and of its body.
  var size: Int64 { Int64(sealed.count) + spool.count }

  /// The bytes of its body, if they are short.
  ///
  /// - Throws: ``StoreError``.
  func inlineBytes() throws -> [UInt8]? {
    ResponseStore.isInline(spool.count) ? try spool.read(at: 0, upTo: Int(spool.count)) : nil
  }
}

/// Gives responses their ids, which grow with the time: rows that are stored one after the other lie side by side in the
/// index. The last bits are random, so that processes with one folder do not give the same.
struct ResponseIDs: ~Copyable, Sendable {
  private static let randomBits = 11

  private let last = Atomic<Int64>(0)

  /// - Parameter now: microseconds since 1970; ids are above 0 until the year 2112.
  func next(at now: Int64) -> Int64 {
    let random = Int64(UniqueNumber.next() >> (64 - Self.randomBits))
    var known = last.load(ordering: .relaxed)
    while true {
      let id = max(now &<< Self.randomBits | random, known &+ 1 &+ random)
      let (isOurs, other) = last.compareExchange(expected: known, desired: id, ordering: .relaxed)
      if isOurs { return id }
      known = other
    }
  }
}
