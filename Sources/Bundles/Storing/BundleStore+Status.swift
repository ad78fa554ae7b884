import DiskStorage
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import Signing

extension BundleStore {
  /// Returns the status that was published beside a source's manifest: the one that was trusted last, where signatures
  /// are required, and the one that is passed on elsewhere. `nil` if there is none.
  package func status(of source: PageURL) async throws -> PublishedStatus? {
    try await read { [requiresSignatures] db in
      try db.firstRow(
        """
        SELECT bytes, signatures, etag, lastModified FROM status
        WHERE source = (SELECT id FROM source WHERE url = ?) AND isTrusted = ?
        """, [source.text, requiresSignatures]
      ) { row in
        let (bytes, signatures): (Data, Data?) = (try row.value("bytes"), try row.value("signatures"))
        return PublishedStatus(
          bytes: Array(bytes), signatures: signatures.map { Array($0) },
          validators: Validators(etag: try row.value("etag"), lastModified: try row.value("lastModified")))
      }
    }
  }

  /// Replaces the status of a source. One with a lower sequence than the trusted one changes nothing.
  ///
  /// - Parameters:
  ///   - status: `nil` for none.
  ///   - trusted: what the status says; `nil` if its signatures were not checked.
  package func setStatus(_ status: PublishedStatus?, trusted: ReleaseStatus?, of source: PageURL) async throws {
    try await write { [now, requiresSignatures, actsOnStatus] db in
      let id = try Self.id(of: source, now: now(), db)
      let isTrusted = status == nil ? requiresSignatures : trusted != nil
      if isTrusted, let trusted {
        let known = try Int64.fetchOne(db, sql: "SELECT statusSequence FROM source WHERE id = ?", arguments: [id])
        // Another process may have stored a newer one meanwhile.
        if let known, known > trusted.sequence { return }
      }
      try db.execute(sql: "DELETE FROM status WHERE source = ? AND isTrusted = ?", arguments: [id, isTrusted])
      if let status {
        try db.execute(
          sql: """
            INSERT INTO status (source, isTrusted, bytes, signatures, etag, lastModified) VALUES (?, ?, ?, ?, ?, ?)
            """,
          arguments: [
            id, isTrusted, Data(status.bytes), status.signatures.map { Data($0) }, status.validators.etag,
            status.validators.lastModified,
          ])
      }
      guard isTrusted else { return }
      try db.execute(
        sql: "UPDATE source SET statusSequence = ?, withheld = ? WHERE id = ?",
        arguments: [trusted?.sequence, actsOnStatus ? trusted?.withheld : nil, id])
      if actsOnStatus, let earlier = trusted?.rollbackTo {
        try Self.goBack(to: earlier, source: id, at: now(), db)
      }
      try db.execute(sql: "DELETE FROM disabled WHERE source = ?", arguments: [id])
      for item in trusted?.disabled ?? [] {
        try db.execute(
          sql: "INSERT INTO disabled (source, name, message) VALUES (?, ?, ?)",
          arguments: [id, item.bundle, item.message])
      }
    }
  }

  /// Makes an earlier release the current one, if it is complete, its signatures were checked, and the current one is
  /// newer and not held.
  private static func goBack(
    to earlier: ReleaseStatus.Earlier, source: Int64, at now: Double, _ db: Database
  ) throws {
    let found = try Int64.fetchOne(
      db,
      sql: """
        SELECT "release".id FROM "release"
        JOIN source ON source.id = "release".source JOIN "release" AS newer ON newer.id = \(signedCurrent)
        WHERE source.id = ? AND "release".digest = ? AND "release".sequence = ?
          AND (source.heldSince IS NULL OR source.current <> newer.id) AND "release".expiresAt IS NOT NULL AND newer.sequence > "release".sequence
        """, arguments: [source, earlier.sha256, earlier.sequence])
    if let found, try missing(in: found, leavingIdle: true, limit: 1, db).isEmpty {
      try makeCurrent(found, of: source, at: now, db)
      // The publisher's word counts more than what this device has seen.
      try begin(.good, of: found, source: source, db)
    }
  }

  /// Returns the messages of the bundles that a source's publisher has disabled, by the names of the bundles; none where
  /// no signatures are required.
  package func disabled(of source: PageURL) async throws -> [String: String] {
    guard requiresSignatures else { return [:] }
    let rows = try await read { db in
      try db.rows(
        "SELECT name, message FROM disabled WHERE source = (SELECT id FROM source WHERE url = ?)", [source.text]
      ) { (name: try $0.value("name") as String, message: try $0.value("message") as String) }
    }
    return Dictionary(rows.map { ($0.name, $0.message) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the sequence for the next status that this host signs: higher than the last one.
  ///
  /// - Throws: ``StoreError``.
  package func nextStatusSequence(of source: PageURL, atLeast least: Int64) async throws -> Int64 {
    try await write { [now] db in
      let id = try Self.id(of: source, now: now(), db)
      let last = try Int64.fetchOne(db, sql: "SELECT sequence FROM signedStatus WHERE source = ?", arguments: [id])
      let next = max(least, last.map { $0 == .max ? $0 : $0 + 1 } ?? 0)
      try db.execute(
        sql: "INSERT OR REPLACE INTO signedStatus (source, sequence) VALUES (?, ?)", arguments: [id, next])
      return next
    }
  }
}
