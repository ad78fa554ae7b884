import DiskStorage
import Foundation
import GRDB
import HTTPTransport

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
