import Blobs
import GRDB
import HTTPTransport
import SystemPackage

/// The last uses of sources and unlisted bundles, by which they are evicted.
extension BundleStore {
  /// Returns the bundles that no manifest lists, the most recently used first.
  package func unlisted() async throws -> [UnlistedBundle] {
    try await read { db in
      try db.rows(
        """
        SELECT unlisted.url, unlisted.storedAt AS unlistedAt, unlisted.usedAt, blob.*
        FROM unlisted JOIN blob ON blob.sha256 = unlisted.blob ORDER BY unlisted.usedAt DESC, unlisted.url
        """
      ) { row in
        try UnlistedBundle(
          url: PageURL(normalised: row.value("url")), blob: BlobRecord(row).blob, storedAt: row.value("unlistedAt"),
          usedAt: row.value("usedAt"))
      }
    }
  }

  /// The precision of noted uses in seconds, so that not each opening of a page writes to the disk.
  private static let grain: Double = 60

  /// Records that a source or an unlisted bundle is used.
  ///
  /// - Parameters:
  ///   - table: `source` or `unlisted`.
  ///   - last: the time of the last use that was recorded, in seconds since 1970.
  func recordUse(of url: PageURL, in table: StaticString, last: Double) async {
    let now = now()
    guard readOnlyReason == nil, abs(now - last) >= Self.grain else { return }
    // If the use cannot be noted, the older one stays; this is not an error.
    try? await write { db in
      try db.execute(sql: "UPDATE \(table) SET usedAt = ? WHERE url = ?", arguments: [now, url.text])
    }
  }

  /// Removes bundles that no manifest lists if they exceed the quota.
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

  /// The least recently used bundles, as many as exceed the quota; never the most recently used one.
  static func unlistedToEvict(over quota: Int64, _ db: Database) throws -> [(url: String, bytes: Int64)] {
    let rows: [(url: String, bytes: Int64)] = try db.rows(
      """
      SELECT unlisted.url, blob.size FROM unlisted JOIN blob ON blob.sha256 = unlisted.blob
      ORDER BY unlisted.usedAt, unlisted.storedAt, unlisted.url
      """
    ) { try ($0.value("url"), $0.value("size")) }
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
        DELETE FROM blob WHERE NOT EXISTS (SELECT 1 FROM listed WHERE listed.blob = blob.sha256)
        AND NOT EXISTS (SELECT 1 FROM unlisted WHERE unlisted.blob = blob.sha256) RETURNING sha256
        """)
  }

  /// Counts the partial downloads and the quarantined files.
  package func leftovers() -> StoreLeftovers {
    var leftovers = StoreLeftovers()
    for name in FileSystem.names(in: directory.partial) {
      // A download's head and decoded content are separate files.
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

/// A stored bundle that no manifest lists.
package struct UnlistedBundle: Hashable, Sendable {
  package let url: PageURL
  package let blob: Blob
  /// The time at which it was stored, in seconds since 1970.
  package let storedAt: Double
  /// The time at which it was last opened, to the minute, in seconds since 1970.
  package let usedAt: Double

  package init(url: PageURL, blob: Blob, storedAt: Double, usedAt: Double) {
    self.url = url
    self.blob = blob
    self.storedAt = storedAt
    self.usedAt = usedAt
  }
}

/// The files of a store that belong to no release and no bundle.
package struct StoreLeftovers: Hashable, Sendable {
  /// The number of partial downloads, and their bytes.
  package var partials = 0
  package var partialBytes: Int64 = 0
  /// The number of files that were found damaged, and their bytes.
  package var quarantined = 0
  package var quarantinedBytes: Int64 = 0

  package init() {}
}
