import Blobs
import Foundation
import GRDB
import HTTPTransport
import Releases

/// The reports that this install has not sent yet.
extension BundleStore {
  /// A report that is to be sent.
  package struct KeptReport: Hashable, Sendable {
    fileprivate let source: Int64
    fileprivate let contents: SHA256Digest
    /// The bytes of a ``ReleaseReport``.
    package let body: [UInt8]
  }

  /// The reports of a source that are kept.
  private static let reportLimit = 16

  /// Keeps the report of a release in the place of an earlier one. Beyond ``reportLimit`` an arbitrary one goes.
  static func keep(_ report: ReleaseReport, of source: Int64, _ db: Database) throws {
    try db.execute(
      sql: "INSERT OR REPLACE INTO report (source, contents, body) VALUES (?, ?, ?)",
      arguments: [source, report.contents, Data(try report.encoded())])
    try db.execute(
      sql: """
        DELETE FROM report WHERE source = ?1 AND contents <> ?2 AND contents NOT IN
          (SELECT contents FROM report WHERE source = ?1 AND contents <> ?2 LIMIT \(reportLimit - 1))
        """, arguments: [source, report.contents])
  }

  /// The reports that are to be sent, of a source.
  package func keptReports(of source: PageURL) async throws -> [KeptReport] {
    try await read { db in
      try db.rows(
        "SELECT source, contents, body FROM report WHERE source = (SELECT id FROM source WHERE url = ?)",
        [source.text]
      ) { row in
        let body: Data = try row.value("body")
        return try KeptReport(source: row.value("source"), contents: row.value("contents"), body: Array(body))
      }
    }
  }

  /// Forgets a report that was sent. One that has taken its place meanwhile stays.
  package func forget(_ report: KeptReport) async throws {
    try await write { db in
      try db.execute(
        sql: "DELETE FROM report WHERE source = ? AND contents = ? AND body = ?",
        arguments: [report.source, report.contents, Data(report.body)])
    }
  }
}

/// A publisher's counts of reports. Each install counts once for a release.
extension BundleStore {
  /// The installs that are counted for a release; the reports of further ones change nothing.
  package static let countedLimit = 1_000_000
  /// The releases whose reports are kept, besides those that are halted.
  private static let tallyLimit = 16
  /// The number of halted releases that are kept: a member of the fleet may halt any number of them.
  private static let haltedLimit = 1_024

  /// The report of an install about a release.
  package struct CountedReport: Hashable, Sendable {
    /// The identity of the release: ``SHA256Digest/init(ofContents:)``.
    package var release: SHA256Digest
    package var standing: ReleaseStanding
    /// A text that is the install's own.
    package var install: String

    package init(release: SHA256Digest, standing: ReleaseStanding, install: String) {
      (self.release, self.standing, self.install) = (release, standing, install)
    }
  }

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
    let report = CountedReport(release: contents, standing: standing, install: install)
    let outcome = try await count([report], bound: bound)
    return outcome.isNew == [true] ? outcome.tallies[contents] : nil
  }

  /// Counts reports in one transaction, and halts the releases whose bound is reached.
  ///
  /// - Returns: for each report, `false` if its install was counted before, or the limit is reached; and the counts of the
  ///   releases with these reports.
  /// - Throws: ``StoreError``.
  package func count(
    _ reports: [CountedReport], bound: HaltBound
  ) async throws -> (isNew: [Bool], tallies: [SHA256Digest: ReportTally]) {
    // The name itself is not stored, for the user's privacy.
    let installs = try reports.map { Data(try SHA256Digest(of: Array($0.install.utf8)).bytes.prefix(16)) }
    return try await write { [now] db in
      var tallies: [SHA256Digest: ReportTally] = [:]
      var isNew: [Bool] = []
      for (report, install) in zip(reports, installs) {
        let id = try Self.tallyRow(of: report.release, db)
        var tally = try tallies[report.release] ?? Self.tally(of: report.release, db)
        defer { tallies[report.release] = tally }
        guard tally.good + tally.bad < Self.countedLimit else {
          isNew.append(false)
          continue
        }
        try db.execute(sql: "INSERT OR IGNORE INTO counted (tally, install) VALUES (?, ?)", arguments: [id, install])
        isNew.append(db.changesCount > 0)
        guard db.changesCount > 0 else { continue }
        if report.standing == .bad { tally.bad += 1 } else { tally.good += 1 }
        if tally.haltedAt == nil, bound.isReached(by: tally) { tally.haltedAt = now() }
        try db.execute(
          sql: "UPDATE tally SET good = ?, bad = ?, haltedAt = ? WHERE id = ?",
          arguments: [tally.good, tally.bad, tally.haltedAt, id])
      }
      return (isNew, tallies)
    }
  }

  /// The counts of a release.
  ///
  /// - Throws: ``StoreError``.
  package func tally(of contents: SHA256Digest) async throws -> ReportTally {
    try await read { db in try Self.tally(of: contents, db) }
  }

  /// Halts a release.
  ///
  /// - Parameter otherwise: the manifest that takes its place, if that is known.
  /// - Throws: ``StoreError``.
  package func halt(_ contents: SHA256Digest, otherwise: ManifestReference?) async throws {
    let text = try otherwise.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
    try await write { [now] db in
      try db.execute(
        sql: "UPDATE tally SET haltedAt = COALESCE(haltedAt, ?), otherwise = COALESCE(?, otherwise) WHERE id = ?",
        arguments: [now(), text, try Self.tallyRow(of: contents, db)])
    }
  }

  /// Forgets the counts of a release, and lifts its halt.
  ///
  /// - Throws: ``StoreError``.
  package func forgetTally(of contents: SHA256Digest) async throws {
    try await write { db in
      try db.execute(sql: "DELETE FROM tally WHERE contents = ?", arguments: [contents])
    }
  }

  /// Returns the row of a release, which is made if there is none. Beyond the limits the oldest rows are removed; a halted
  /// release stays so until somebody lifts the halt.
  private static func tallyRow(of contents: SHA256Digest, _ db: Database) throws -> Int64 {
    if let id = try Int64.fetchOne(db, sql: "SELECT id FROM tally WHERE contents = ?", arguments: [contents]) {
      return id
    }
    try db.execute(sql: "INSERT INTO tally (contents) VALUES (?)", arguments: [contents])
    let id = db.lastInsertedRowID
    for (isHalted, limit) in [("haltedAt IS NULL", tallyLimit), ("haltedAt IS NOT NULL", haltedLimit)] {
      try db.execute(
        sql: """
          DELETE FROM tally WHERE \(isHalted)
            AND id NOT IN (SELECT id FROM tally WHERE \(isHalted) ORDER BY id DESC LIMIT \(limit))
          """)
    }
    return id
  }

  private static func tally(of contents: SHA256Digest, _ db: Database) throws -> ReportTally {
    try db.firstRow("SELECT good, bad, haltedAt, otherwise FROM tally WHERE contents = ?", [contents]) { row in
      let text: String? = try row.value("otherwise")
      return try ReportTally(
        good: row.value("good"), bad: row.value("bad"), haltedAt: row.value("haltedAt"),
        otherwise: text.flatMap { try? JSONDecoder().decode(ManifestReference.self, from: Data($0.utf8)) })
    } ?? ReportTally()
  }
}
