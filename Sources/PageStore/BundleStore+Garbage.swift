import Foundation
import GRDB
import PageCore
import SystemPackage

extension BundleStore {
  /// Removes releases that are neither current nor incoming nor viewed by an open page of any process (nor, if the
  /// previous one is kept, that one or one whose place was taken within the store's `releaseGrace`), blobs that nothing
  /// names,
  /// downloads that no process is at and that are not older than a day when the previous release is kept, and, with
  /// everything else, what was quarantined.
  public func collectGarbage(keepingPrevious: Bool, dryRun: Bool) async throws -> GarbageReport {
    try writeHoldingLock(.exclusive) { try collect($0, keepingPrevious: keepingPrevious, dryRun: dryRun) }
  }

  private func collect(_ writer: any DatabaseWriter, keepingPrevious: Bool, dryRun: Bool) throws -> GarbageReport {
    var report = GarbageReport()
    let latest = keepingPrevious && releaseGrace > 0 ? Date().timeIntervalSince1970 - releaseGrace : .infinity
    var reservation: ReleaseLeases.Reservation?
    var hasRemoved = false
    defer { reservation?.end(removing: hasRemoved) }
    let unnamed = try writer.write { db -> [SHA256Digest] in
      var unnamed: [SHA256Digest] = []
      try db.inSavepoint {
        if !keepingPrevious { try db.execute(sql: "UPDATE source SET previous = NULL") }
        let outdated = try Int64.fetchAll(
          db,
          sql: """
            SELECT id FROM "release" WHERE activatedAt IS NOT NULL
            AND id NOT IN (SELECT current FROM source WHERE current IS NOT NULL
                           UNION SELECT previous FROM source WHERE previous IS NOT NULL)
            AND COALESCE(
              (SELECT MIN(later.activatedAt) FROM "release" AS later
               WHERE later.source = "release".source AND later.activatedAt > "release".activatedAt), 0) <= ?
            """, arguments: [latest])
        let free = try leases.reserve(outdated)
        reservation = free
        for id in free.releases { try db.execute(sql: "DELETE FROM \"release\" WHERE id = ?", arguments: [id]) }
        report.releases = free.releases.count
        unnamed = try SHA256Digest.fetchAll(
          db,
          sql: """
            DELETE FROM blob WHERE NOT EXISTS (SELECT 1 FROM entry WHERE entry.blob = blob.sha256)
            AND NOT EXISTS (SELECT 1 FROM unlisted WHERE unlisted.blob = blob.sha256) RETURNING sha256
            """)
        return dryRun ? .rollback : .commit
      }
      return unnamed
    }
    hasRemoved = !dryRun
    let named = Set(try writer.read { try SHA256Digest.fetchAll($0, sql: "SELECT sha256 FROM blob") })
      .subtracting(unnamed)
    for (digest, path) in blobs.all() where !named.contains(digest) {
      report.blobs += 1
      remove(path, dryRun: dryRun, &report)
    }
    for name in FileSystem.names(in: directory.partial) {
      let path = directory.partial.appending(name)
      guard isAbandoned(path, atOnce: !keepingPrevious) else { continue }
      report.partials += 1
      remove(path, dryRun: dryRun, &report)
    }
    if !keepingPrevious {
      for name in FileSystem.names(in: directory.quarantine) {
        report.quarantined += 1
        remove(directory.quarantine.appending(name), dryRun: dryRun, &report)
      }
    }
    return report
  }

  /// Whether no process is at a download; its head and its content go when its wire file has gone.
  private func isAbandoned(_ path: FilePath, atOnce: Bool) -> Bool {
    guard let file = try? FileSystem.open(path, .readOnly) else { return false }
    defer { try? file.close() }
    let stem = path.stem.map { path.removingLastComponent().appending($0) }
    if path.extension == "json" || path.extension == "content", let stem {
      return FileSystem.status(stem) == nil
    }
    guard flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 else { return false }
    let day: Int64 = 86_400 * 1_000_000_000
    let age = Int64(Date().timeIntervalSince1970 * 1e9) - (FileSystem.status(file)?.modified ?? 0)
    return atOnce || age > day
  }

  private func remove(_ path: FilePath, dryRun: Bool, _ report: inout GarbageReport) {
    report.bytes += FileSystem.status(path)?.size ?? 0
    if !dryRun { FileSystem.remove(path) }
  }
}
