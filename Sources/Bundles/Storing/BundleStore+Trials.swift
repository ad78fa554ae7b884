import Blobs
import Foundation
import GRDB
import HTTPTransport
import Releases

/// The trials of releases, and their results.
extension BundleStore {
  /// The result of one opening.
  package enum TrialResult: Hashable, Sendable {
    /// The page has run for the trial's time.
    case passed
    /// The app said that the release is good.
    case ready
    case failed(TrialFailure)
  }

  /// The effect of a result.
  package enum TrialEffect: Hashable, Sendable {
    /// The release stays on trial, or its trial was over.
    case none
    case good
    /// The release is bad, and `current` is the one that pages open now.
    case bad(BadRelease, current: StoredRelease)
  }

  /// Returns `true` if openings of the release decide whether it is good.
  package func isOnTrial(_ release: StoredRelease) async throws -> Bool {
    try await read { db in
      try db.firstRow(
        """
        SELECT 1 FROM "release" JOIN source ON source.id = "release".source
        WHERE "release".id = ? AND standing = 'trial' AND heldSince IS NULL
        """, [release.id]
      ) { _ in true } ?? false
    }
  }

  /// Records the result of an opening, and decides about the release.
  ///
  /// - Parameters:
  ///   - page: the MD5 of the page's bundle.
  ///   - opening: the name of the opening; its results are recorded once.
  ///   - otherOpenings: the number of other openings of the release that have no tree yet.
  ///   - reports: `true` to keep a report of the end of the trial, to be sent.
  /// - Throws: ``StoreError``.
  package func record(
    _ result: TrialResult, of release: Int64, page: MD5Digest, opening: String, otherOpenings: Int = 0,
    options: ReleaseTrial, reports: Bool = false
  ) async throws -> TrialEffect {
    try await write { [now, requiresSignatures] db in
      guard let found = try Self.trial(of: release, db), found.standing == .trial, !found.isHeld else { return .none }
      guard try Self.record(result, of: release, page: page, opening: opening, db) else { return .none }
      let record = try Self.record(of: release, otherOpenings, db)
      let good = try Self.lastGood(of: found.source, except: release, onlySigned: requiresSignatures, db)
      switch TrialVerdict(after: record, isReady: result == .ready, canGoBack: good != nil, options: options) {
      case .undecided: return .none
      case .good:
        try Self.set(.good, of: release, db)
        if reports {
          let report = ReleaseReport(
            release: found.name, sequence: found.sequence, contents: try Self.contents(of: release, db),
            standing: .good, failures: record.failures)
          try Self.keep(report, of: found.source, db)
        }
        return .good
      case .bad:
        guard let good, case .failed(let failure) = result else { return .none }
        let bad = try Self.makeBad(
          found, because: failure, failures: record.failures, current: good, at: now(), db)
        if reports {
          let report = ReleaseReport(
            release: bad.name, sequence: bad.sequence, contents: bad.contents, standing: .bad, failures: bad.failures,
            failure: failure)
          try Self.keep(report, of: found.source, db)
        }
        guard let current = try Self.current(of: found.source, found.url, onlySigned: requiresSignatures, db) else {
          return .none
        }
        return .bad(bad, current: current)
      }
    }
  }

  /// The newest good release of a release's source; `nil` if there is no other.
  package func lastGood(before release: StoredRelease) async throws -> StoredRelease? {
    try await read { [requiresSignatures] db in
      guard let found = try Self.trial(of: release.id, db),
        let id = try Self.lastGood(of: found.source, except: release.id, onlySigned: requiresSignatures, db)
      else { return nil }
      return try Self.storedRelease(id, of: release.source, db)
    }
  }

  /// The reason for which a release is bad; `nil` if it is not.
  package func badRelease(_ release: StoredRelease) async throws -> BadRelease? {
    try await read { db in try Self.badRelease(release.id, db) }
  }

  static func badRelease(_ release: Int64, _ db: Database) throws -> BadRelease? {
    guard let found = try trial(of: release, db), found.standing == .bad else { return nil }
    let known = try badReleases(of: found.source, found.url, db)
    // To digest the contents of a large release takes time.
    if let named = known.first(where: { $0.name == found.name && $0.sequence == found.sequence }) { return named }
    let contents = try contents(of: release, db)
    return known.first { $0.contents == contents }
      ?? BadRelease(
        source: found.url, name: found.name, sequence: found.sequence, contents: contents, failure: nil, failures: 0,
        since: 0)
  }

  /// The releases of a source that are bad, also those that are not stored any more, the latest first.
  package func badReleases(of source: PageURL) async throws -> [BadRelease] {
    try await read { db in
      let id = try Int64.fetchOne(db, sql: "SELECT id FROM source WHERE url = ?", arguments: [source.text])
      return try id.map { try Self.badReleases(of: $0, source, db) } ?? []
    }
  }

  /// Gives a release a standing by a person's decision. A release that becomes bad is not opened any more: the newest
  /// good one takes its place.
  ///
  /// - Throws: ``StoreError/noGoodRelease(name:)``, ``StoreError/releaseGone(name:)``.
  package func mark(_ release: StoredRelease, as standing: ReleaseStanding) async throws {
    try await write { [now, requiresSignatures] db in
      guard let found = try Self.trial(of: release.id, db) else { throw StoreError.releaseGone(name: release.name) }
      guard standing == .bad else {
        return try Self.begin(standing, of: release.id, source: found.source, db)
      }
      let good = try Self.lastGood(of: found.source, except: release.id, onlySigned: requiresSignatures, db)
      guard let good else {
        throw StoreError.noGoodRelease(name: release.name)
      }
      _ = try Self.makeBad(found, because: nil, failures: 0, current: good, at: now(), db)
    }
  }

  /// Gives a release a standing other than bad, and forgets its failures.
  static func begin(_ standing: ReleaseStanding, of release: Int64, source: Int64, _ db: Database) throws {
    try db.execute(
      sql: "DELETE FROM failed WHERE source = ? AND contents = ?",
      arguments: [source, try contents(of: release, db)])
    try db.execute(sql: "DELETE FROM trial WHERE \"release\" = ?", arguments: [release])
    try set(standing, of: release, db)
  }

  // MARK: Rows

  private struct Trial {
    let id: Int64
    let source: Int64
    let url: PageURL
    let name: String
    let sequence: Int64
    let standing: ReleaseStanding
    let isHeld: Bool
  }

  private static func trial(of release: Int64, _ db: Database) throws -> Trial? {
    try db.firstRow(
      """
      SELECT "release".source, source.url, "release".name, "release".sequence, "release".standing,
        source.heldSince IS NOT NULL AND source.current = "release".id AS isHeld
      FROM "release" JOIN source ON source.id = "release".source WHERE "release".id = ?
      """, [release]
    ) { row in
      try Trial(
        id: release, source: row.value("source"), url: PageURL(normalised: row.value("url")), name: row.value("name"),
        sequence: row.value("sequence"), standing: standing(row), isHeld: row.value("isHeld") ?? false)
    }
  }

  /// The column `standing`.
  static func standing(_ row: Row) throws -> ReleaseStanding {
    ReleaseStanding(rawValue: try row.value("standing")) ?? .trial
  }

  static func set(_ standing: ReleaseStanding, of release: Int64, _ db: Database) throws {
    try db.execute(
      sql: "UPDATE \"release\" SET standing = ? WHERE id = ?", arguments: [standing.rawValue, release])
  }

  /// - Returns: `false` if the opening was recorded before.
  private static func record(
    _ result: TrialResult, of release: Int64, page: MD5Digest, opening: String, _ db: Database
  ) throws -> Bool {
    let hasFailed = if case .failed = result { true } else { false }
    try db.execute(
      sql: """
        INSERT INTO trial ("release", page, failures, hasPassed, opening) VALUES (?1, ?2, ?3, NOT ?3, ?4)
        ON CONFLICT ("release", page) DO UPDATE
        SET failures = failures + ?3, hasPassed = NOT ?3, opening = ?4 WHERE opening <> ?4
        """, arguments: [release, page, hasFailed, opening])
    return db.changesCount > 0
  }

  private static func record(
    of release: Int64, _ otherOpenings: Int, _ db: Database
  ) throws -> TrialVerdict.Record {
    let found: TrialVerdict.Record? = try db.firstRow(
      """
      SELECT COALESCE(SUM(failures), 0) AS failures, COALESCE(SUM(hasPassed), 0) AS passed, COUNT(*) AS pages
      FROM trial WHERE "release" = ?
      """, [release]
    ) { row in
      let (passed, pages): (Int, Int) = try (row.value("passed"), row.value("pages"))
      return try TrialVerdict.Record(
        failures: row.value("failures"), passed: passed, open: pages - passed + otherOpenings)
    }
    return found ?? TrialVerdict.Record()
  }

  /// The newest good release of a source that can become current.
  ///
  /// - Parameter onlySigned: `true` for one whose signatures were checked.
  private static func lastGood(
    of source: Int64, except release: Int64, onlySigned: Bool, _ db: Database
  ) throws -> Int64? {
    let good = try Int64.fetchAll(
      db,
      sql: """
        SELECT id FROM "release" WHERE source = ? AND standing = 'good' AND id <> ?
          AND (NOT ? OR expiresAt IS NOT NULL) ORDER BY id DESC
        """, arguments: [source, release, onlySigned])
    return try good.first { try missing(in: $0, leavingIdle: true, limit: 1, db).isEmpty }
  }

  private static func current(
    of source: Int64, _ url: PageURL, onlySigned: Bool, _ db: Database
  ) throws -> StoredRelease? {
    let id = try Int64.fetchOne(
      db, sql: "SELECT \(current(onlySigned: onlySigned)) FROM source WHERE id = ?", arguments: [source])
    return try id.flatMap { try storedRelease($0, of: url, db) }
  }

  private static func storedRelease(_ id: Int64, of url: PageURL, _ db: Database) throws -> StoredRelease? {
    try db.firstRow("SELECT \(releaseColumns) FROM \"release\" WHERE id = ?", [id]) { try release($0, of: url) }
  }

  /// Marks a release as bad, and puts the good one in its place.
  private static func makeBad(
    _ found: Trial, because failure: TrialFailure?, failures: Int, current good: Int64, at now: Double, _ db: Database
  ) throws -> BadRelease {
    let bad = BadRelease(
      source: found.url, name: found.name, sequence: found.sequence, contents: try contents(of: found.id, db),
      failure: failure, failures: failures, since: now)
    try set(.bad, of: found.id, db)
    try db.execute(
      sql: """
        INSERT OR REPLACE INTO failed (source, contents, name, sequence, kind, page, message, failures, since)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        found.source, bad.contents, bad.name, bad.sequence, failure?.kind.rawValue, failure?.page, failure?.message,
        failures, now,
      ])
    try db.execute(
      sql: """
        DELETE FROM failed WHERE source = ?1 AND contents NOT IN
          (SELECT contents FROM failed WHERE source = ?1 ORDER BY since DESC LIMIT \(badLimit))
        """, arguments: [found.source])
    try db.execute(
      sql: "UPDATE source SET previous = NULL WHERE id = ? AND previous = ?", arguments: [found.source, found.id])
    try db.execute(
      sql: "UPDATE source SET previous = NULL, heldSince = NULL, current = ? WHERE id = ? AND current = ?",
      arguments: [good, found.source, found.id])
    if db.changesCount > 0 {
      // The server's manifest stays known as the one that is newer than the current one, unless there is another.
      try db.execute(
        sql: """
          UPDATE "release" SET activatedAt = NULL WHERE id = ?1 AND NOT EXISTS
            (SELECT 1 FROM "release" AS newer WHERE newer.source = ?2 AND newer.id > ?1 AND newer.activatedAt IS NULL)
          """, arguments: [found.id, found.source])
    }
    return bad
  }

  /// The bad releases that are remembered for a source.
  private static let badLimit = 100

  private static func badReleases(of source: Int64, _ url: PageURL, _ db: Database) throws -> [BadRelease] {
    try db.rows("SELECT * FROM failed WHERE source = ? ORDER BY since DESC", [source]) { row in
      let (kind, page, message): (String?, String?, String?) = try (
        row.value("kind"), row.value("page"), row.value("message")
      )
      let failure = kind.flatMap(TrialFailure.Kind.init).map {
        TrialFailure($0, page: page ?? "", message: message ?? "")
      }
      return try BadRelease(
        source: url, name: row.value("name"), sequence: row.value("sequence"), contents: row.value("contents"),
        failure: failure, failures: row.value("failures"), since: row.value("since"))
    }
  }

  /// The identity of a release: ``SHA256Digest/init(ofContents:)`` of its entries.
  static func contents(of release: Int64, _ db: Database) throws -> SHA256Digest {
    let rows = try Row.fetchAll(
      db, sql: "SELECT listed.kind, listed.name, listed.md5 \(ofRelease)", arguments: [release])
    return try SHA256Digest(
      ofContents: rows.map { row in
        try (row.decode(atIndex: 0), row.decode(atIndex: 1), row.decode(atIndex: 2))
      })
  }

  /// Marks a release that has the contents of a bad one as bad too.
  static func markIfBad(
    _ release: Int64, _ manifest: Manifest, of source: Int64, _ db: Database
  ) throws -> ReleaseStanding {
    let hasBad = try Bool.fetchOne(
      db, sql: "SELECT EXISTS (SELECT 1 FROM failed WHERE source = ?)", arguments: [source])
    guard hasBad == true else { return .trial }
    try db.execute(
      sql: "UPDATE failed SET name = ?, sequence = ? WHERE source = ? AND contents = ?",
      arguments: [manifest.release, manifest.sequence, source, contents(of: release, db)])
    guard db.changesCount > 0 else { return .trial }
    try set(.bad, of: release, db)
    return .bad
  }
}
