import DiskStorage
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import SystemPackage

/// Builds the index anew from what the files themselves say. What was changed since it was written is left out.
struct ResponseRebuild {
  let directory: ResponseDirectory

  /// Bytes of an entry's file.
  private static let fileLimit = 8 << 20

  private struct Found {
    let header: ResponseFileHeader
    let sealed: [UInt8]
    let size: Int

    var entry: ResponseEntry { header.entry }
  }

  private struct Place: Hashable {
    let key: CacheKey
    let vary: VaryKey
  }

  /// - Returns: how many responses were found.
  func run(_ db: Database) throws -> Int {
    var ids: Set<Int64> = []
    var places: Set<Place> = []
    for isKept in [true, false] {
      let files = directory.files(isKept: isKept)
      var bodies: [SHA256Digest: Bool] = [:]
      // What was replaced may still be there, where a process was killed.
      let found = files.allEntries().compactMap { read($0, in: files, isKept: isKept) }
        .sorted { $0.entry.storedAt > $1.entry.storedAt }
      for found in found {
        let entry = found.entry
        guard !ids.contains(entry.id), !places.contains(Place(key: entry.key, vary: entry.head.vary)) else { continue }
        if !found.header.isInline {
          let isWhole = bodies[entry.digest] ?? ((try? StoredResponseBody(entry, in: files)) != nil)
          bodies[entry.digest] = isWhole
          guard isWhole else { continue }
        }
        try insert(found, db)
        ids.insert(entry.id)
        places.insert(Place(key: entry.key, vary: entry.head.vary))
      }
    }
    return ids.count
  }

  private func insert(_ found: Found, _ db: Database) throws {
    let entry = found.entry
    let usedAt = Int64(exactly: (entry.storedAt * 1e6).rounded()) ?? 0
    try ResponseRow.insert(
      db, entry, sealed: found.sealed, fileSize: found.size, body: found.header.isInline ? nil : entry.digest,
      usedAt: usedAt)
    guard entry.isKept else { return }
    try db.execute(sql: "INSERT OR IGNORE INTO kept (key) VALUES (?)", arguments: [entry.key.description])
  }

  /// Reads an entry's file; `nil` if it is not whole.
  private func read(_ path: StorePath, in files: ResponseFiles, isKept: Bool) -> Found? {
    guard let data = FileSystem.contents(of: path, upTo: Self.fileLimit, followsLink: files.hasLinks),
      let sealed = ResponseFileHeader.open(data), let header = sealed.header(isKept: isKept),
      files.entry(header.entry.id) == path
    else { return nil }
    if header.isInline, (try? StoredResponseBody(header.entry, in: files)) == nil { return nil }
    return Found(header: header, sealed: sealed.bytes, size: data.count)
  }
}
