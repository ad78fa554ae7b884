import DiskStorage
import GRDB
import HTTPTransport
import SystemPackage

/// What is there for its use alone: it goes when others need the room.
extension BundleStore {
  /// Every bundle that no manifest lists, the one that was used last first.
  public func unlisted() async throws -> [UnlistedBundle] {
    try await read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT unlisted.url, unlisted.storedAt AS unlistedAt, unlisted.usedAt, blob.*
          FROM unlisted JOIN blob ON blob.sha256 = unlisted.blob ORDER BY unlisted.usedAt DESC, unlisted.url
          """
      ).map { row in
        UnlistedBundle(
          url: PageURL(normalised: row["url"]), blob: try BlobRecord(row).blob, storedAt: row["unlistedAt"],
          usedAt: row["usedAt"])
      }
    }
  }

  enum Use: Sendable {
    case source(PageURL)
    case unlisted(PageURL)
  }

  /// Uses are noted to the minute, so that opening pages does not write to the disk each time.
  private static let grain: Double = 60

  /// - Parameter last: the last use that is noted, in seconds since 1970.
  func noteUse(of use: Use, last: Double) async {
    let now = now()
    guard readOnlyReason == nil, abs(now - last) >= Self.grain else { return }
    // What cannot be noted is an older use, and no reason to fail.
    try? await write { db in
      switch use {
      case .source(let url):
        try db.execute(sql: "UPDATE source SET usedAt = ? WHERE url = ?", arguments: [now, url.text])
      case .unlisted(let url):
        try db.execute(sql: "UPDATE unlisted SET usedAt = ? WHERE url = ?", arguments: [now, url.text])
      }
    }
  }

  /// Removes bundles that no manifest lists where there is more of them than the quota allows.
  func makeRoomForUnlisted() async throws {
    guard let quota = quotas.unlisted else { return }
    let isOver = try await read { db in try Self.unlistedToEvict(over: quota, db).isEmpty == false }
    guard isOver else { return }
    try await writeHoldingLock(.exclusive) { [blobs] writer in
      let gone = try writer.write { db in
        for url in try Self.unlistedToEvict(over: quota, db).map(\.url) {
          try db.execute(sql: "DELETE FROM unlisted WHERE url = ?", arguments: [url])
        }
        return try Self.deleteUnnamedBlobs(db)
      }
      for digest in gone { FileSystem.remove(blobs.ownPath(of: digest)) }
    }
  }

  /// What was used longest ago, as much as there is over the quota; never what was used last.
  static func unlistedToEvict(over quota: Int64, _ db: Database) throws -> [(url: String, bytes: Int64)] {
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT unlisted.url, blob.size FROM unlisted JOIN blob ON blob.sha256 = unlisted.blob
        ORDER BY unlisted.usedAt, unlisted.storedAt, unlisted.url
        """
    ).map { (url: $0["url"] as String, bytes: $0["size"] as Int64) }
    var excess = rows.reduce(0) { $0 + $1.bytes } - quota
    return Array(
      rows.dropLast().prefix { row in
        defer { excess -= row.bytes }
        return excess > 0
      })
  }

  static func deleteUnnamedBlobs(_ db: Database) throws -> [SHA256Digest] {
    try SHA256Digest.fetchAll(
      db,
      sql: """
        DELETE FROM blob WHERE NOT EXISTS (SELECT 1 FROM entry WHERE entry.blob = blob.sha256)
        AND NOT EXISTS (SELECT 1 FROM unlisted WHERE unlisted.blob = blob.sha256) RETURNING sha256
        """)
  }

  /// Downloads that are not complete, and files that were put aside.
  public func leftovers() -> StoreLeftovers {
    var leftovers = StoreLeftovers()
    for name in FileSystem.names(in: directory.partial) {
      // The head and the decoded content lie beside the wire bytes.
      if !name.hasSuffix(".json"), !name.hasSuffix(".content") { leftovers.partials += 1 }
      leftovers.partialBytes += FileSystem.status(directory.partial.appending(name))?.size ?? 0
    }
    for name in FileSystem.names(in: directory.quarantine) {
      leftovers.quarantined += 1
      leftovers.quarantinedBytes += FileSystem.status(directory.quarantine.appending(name))?.size ?? 0
    }
    return leftovers
  }
}
