import DiskStorage
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport

/// Builds the index of what is kept anew from what the files themselves say. What was changed since it was written is
/// left out.
struct ResponseRebuild {
  let directory: ResponseDirectory

  /// Bytes of an entry's file.
  private static let fileLimit = 8 << 20

  private struct Found {
    let header: ResponseFileHeader
    let sealed: [UInt8]

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
    let files = directory.files(isKept: true)
    // What was replaced may still be there, where a process was killed.
    let found = files.allEntries().compactMap { read($0, in: files) }
      .sorted { $0.entry.storedAt > $1.entry.storedAt }
    for found in found {
      let entry = found.entry
      guard !ids.contains(entry.id), !places.contains(Place(key: entry.key, vary: entry.head.vary)),
        // Bytes that several share are read for each of them: what is kept is little.
        let body = try? StoredResponseBody(entry, in: files)
      else { continue }
      let bytes = found.header.isInline ? try body.read(at: 0, upTo: Int(body.count)) : nil
      let usedAt = Int64(exactly: (entry.storedAt * 1e6).rounded()) ?? 0
      try ResponseRow.insert(db, entry, sealed: found.sealed, bytes: bytes, usedAt: usedAt)
      try db.execute(sql: "INSERT OR IGNORE INTO kept (key) VALUES (?)", arguments: [entry.key.description])
      ids.insert(entry.id)
      places.insert(Place(key: entry.key, vary: entry.head.vary))
    }
    return ids.count
  }

  /// Reads an entry's file; `nil` if its header is not whole.
  private func read(_ path: StorePath, in files: ResponseFiles) -> Found? {
    guard let data = FileSystem.contents(of: path, upTo: Self.fileLimit, followsLink: files.hasLinks),
      let sealed = ResponseFileHeader.open(data), let header = sealed.header(isKept: true),
      files.entry(header.entry.id) == path
    else { return nil }
    return Found(header: header, sealed: sealed.bytes)
  }
}
