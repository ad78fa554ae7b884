import DiskStorage
import Foundation
import GRDB
import HTTPTransport

/// A publisher's counts of reports. Each install counts once for a release.
extension BundleStore {
  /// The installs that are counted for a release; the reports of further ones change nothing.
  package static let countedLimit = 1_000_000
  /// The releases whose reports are kept.
  private static let tallyLimit = 16

  /// Counts a report, and halts the release if the bound is reached.
  ///
  /// - Parameters:
  ///   - contents: the identity of the release: ``SHA256Digest/init(ofContents:)``.
  ///   - install: a text that is the install's own.
  /// - Returns: the counts with this report; `nil` if the install was counted before, or the limit is reached.
  /// - Throws: ``StoreError``.
  package func count(
    _ standing: ReleaseStanding, of contents: SHA256Digest, from install: String, bound: HaltBound
  ) async throws -> ReportTally? {
    // The name itself is nobody's business.
    let digest = Data(try SHA256Digest(of: Array(install.utf8)).bytes.prefix(16))
    return try await write { [now] db in
      let id = try Self.tally(of: contents, db)
      let before = try Self.tally(id, db)
      guard before.good + before.bad < Self.countedLimit else { return nil }
      try db.execute(sql: "INSERT OR IGNORE INTO counted (tally, install) VALUES (?, ?)", arguments: [id, digest])
      guard db.changesCount > 0 else { return nil }
      var tally = before
      if standing == .bad { tally.bad += 1 } else { tally.good += 1 }
      if tally.haltedAt == nil, bound.isReached(by: tally) { tally.haltedAt = now() }
      try db.execute(
        sql: "UPDATE tally SET good = ?, bad = ?, haltedAt = ? WHERE id = ?",
        arguments: [tally.good, tally.bad, tally.haltedAt, id])
      return tally
    }
  }

  /// The counts of a release.
  ///
  /// - Throws: ``StoreError``.
  package func tally(of contents: SHA256Digest) async throws -> ReportTally {
    try await read { db in
      let id = try Int64.fetchOne(db, sql: "SELECT id FROM tally WHERE contents = ?", arguments: [contents])
      return try id.map { try Self.tally($0, db) } ?? ReportTally()
    }
  }

  /// Halts a release, or lifts the halt and begins to count anew: a person's decision.
  ///
  /// - Throws: ``StoreError``.
  package func setHalted(_ isHalted: Bool, _ contents: SHA256Digest) async throws {
    try await write { [now] db in
      if !isHalted { try db.execute(sql: "DELETE FROM tally WHERE contents = ?", arguments: [contents]) }
      let id = try Self.tally(of: contents, db)
      if isHalted {
        try db.execute(
          sql: "UPDATE tally SET haltedAt = ? WHERE id = ? AND haltedAt IS NULL", arguments: [now(), id])
      }
    }
  }

  /// Returns the row of a release, which is made if there is none. Beyond the limit the oldest rows are removed.
  private static func tally(of contents: SHA256Digest, _ db: Database) throws -> Int64 {
    if let id = try Int64.fetchOne(db, sql: "SELECT id FROM tally WHERE contents = ?", arguments: [contents]) {
      return id
    }
    try db.execute(sql: "INSERT INTO tally (contents) VALUES (?)", arguments: [contents])
    let id = db.lastInsertedRowID
    try db.execute(
      sql: "DELETE FROM tally WHERE id NOT IN (SELECT id FROM tally ORDER BY id DESC LIMIT \(tallyLimit))")
    return id
  }

  private static func tally(_ id: Int64, _ db: Database) throws -> ReportTally {
    try db.firstRow("SELECT good, bad, haltedAt FROM tally WHERE id = ?", [id]) { row in
      try ReportTally(good: row.value("good"), bad: row.value("bad"), haltedAt: row.value("haltedAt"))
    } ?? ReportTally()
  }
}
