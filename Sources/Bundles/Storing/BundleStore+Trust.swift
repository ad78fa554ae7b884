import Blobs
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import Releases

extension BundleStore {
  /// Returns the bytes of the signature file of a release's manifest; `nil` if it has none.
  package func signatures(of release: StoredRelease) async throws -> [UInt8]? {
    try await readOnce { db in
      try db.firstRow("SELECT signatures FROM \"release\" WHERE id = ? AND signatures IS NOT NULL", [release.id]) {
        Array(try $0.decode(Data.self, atIndex: 0))
      }
    }
  }

  func isKnown(_ signatures: ManifestSignatures?, of release: StoredRelease) async throws -> Bool {
    guard let signatures else { return true }
    let known = try await self.signatures(of: release)
    return signatures.isChecked(as: release.signed) && known == signatures.file
  }

  /// Sets the signatures of a release's bytes. A host without keys, which checks none, leaves the times for which they
  /// were checked as they are.
  static func set(_ signatures: ManifestSignatures, of release: Int64, _ db: Database) throws {
    try db.execute(
      sql: "UPDATE \"release\" SET signatures = ? WHERE id = ?", arguments: [Data(signatures.file), release])
    guard let checked = signatures.checked else { return }
    try db.execute(
      sql: "UPDATE \"release\" SET signedAt = ?, expiresAt = ? WHERE id = ?",
      arguments: [checked.signed?.seconds, checked.expires.seconds, release])
  }

  /// The id of the row of `source` that hosts with keys have as their current release, as an SQL expression; `NULL` for
  /// none.
  ///
  /// It is the source's current one if its signatures were checked. If a host without keys, which uses the same store,
  /// has made another one current, it is the one with checked signatures that became current last.
  static let signedCurrent = """
    COALESCE(
      (SELECT signed.id FROM "release" AS signed WHERE signed.id = source.current AND signed.expiresAt IS NOT NULL),
      (SELECT signed.id FROM "release" AS signed
       WHERE source.current IS NOT NULL AND signed.source = source.id AND signed.expiresAt IS NOT NULL
         AND signed.activatedAt > 0 AND signed.standing <> 'bad'
       ORDER BY signed.activatedAt DESC, signed.id DESC LIMIT 1))
    """

  /// The id of the release that is current for this host, as an SQL expression.
  static func current(onlySigned: Bool) -> String { onlySigned ? signedCurrent : "source.current" }

  /// Gives a release its manifest as it was signed or rolled out anew.
  ///
  /// - Returns: `nil` if the bytes are those of a stored manifest, or if their signatures were not checked and those of
  ///   the present ones were: hosts with keys still use these.
  func renew(
    _ release: StoredRelease, _ bytes: [UInt8], _ digest: SHA256Digest, _ validators: Validators,
    _ signatures: ManifestSignatures?
  ) async throws -> StoredRelease? {
    guard release.digest != digest, release.signed == nil || signatures?.checked != nil else { return nil }
    let isRenewed = try await write { db in
      // An earlier release of the source may have these bytes.
      try db.execute(
        sql: "UPDATE OR IGNORE \"release\" SET manifest = ?, digest = ?, etag = ?, lastModified = ? WHERE id = ?",
        arguments: [Data(bytes), digest, validators.etag, validators.lastModified, release.id])
      guard db.changesCount > 0 else { return false }
      if let signatures { try Self.set(signatures, of: release.id, db) }
      return true
    }
    guard isRenewed else { return nil }
    var renewed = release
    (renewed.digest, renewed.validators) = (digest, validators)
    if let signatures { renewed.signed = signatures.checked }
    return renewed
  }

  // MARK: Trust

  /// Returns the root and the sequences that were trusted last for a source.
  package func trustRecord(of source: PageURL) async throws -> TrustRecord {
    let found = try await read { db in
      try db.firstRow("SELECT root, trustedSequence, statusSequence FROM source WHERE url = ?", [source.text]) { row in
        let root: Data? = try row.value("root")
        return try TrustRecord(
          root: root.map { Array($0) }, sequence: row.value("trustedSequence"),
          statusSequence: row.value("statusSequence"))
      }
    }
    return found ?? TrustRecord()
  }

  package func setTrustRecord(_ record: TrustRecord, of source: PageURL) async throws {
    try await write { [now] db in
      try db.execute(
        sql: """
          UPDATE source SET root = ?, trustedSequence = ?,
            statusSequence = CASE WHEN ? IS NULL THEN NULL ELSE statusSequence END
          WHERE id = ?
          """,
        arguments: [
          record.root.map { Data($0) }, record.sequence, record.statusSequence,
          try Self.id(of: source, now: now(), db),
        ])
    }
  }

  // MARK: Roots

  /// Returns the roots that were published beside a source's manifests, oldest first. They are not trusted for that.
  package func roots(of source: PageURL) async throws -> [PublishedRoot] {
    try await read { db in
      try db.rows(
        """
        SELECT version, bytes, signatures FROM root
        WHERE source = (SELECT id FROM source WHERE url = ?) ORDER BY version
        """, [source.text]
      ) { row in
        let (bytes, signatures): (Data, Data?) = (try row.value("bytes"), try row.value("signatures"))
        return PublishedRoot(
          version: try row.value("version"), bytes: Array(bytes), signatures: signatures.map { Array($0) })
      }
    }
  }

  /// Adds roots to those of a source.
  package func add(_ roots: [PublishedRoot], of source: PageURL) async throws {
    try await write { [now] db in
      let id = try Self.id(of: source, now: now(), db)
      for root in roots {
        try db.execute(
          sql: "INSERT OR REPLACE INTO root (source, version, bytes, signatures) VALUES (?, ?, ?, ?)",
          arguments: [id, root.version, Data(root.bytes), root.signatures.map { Data($0) }])
      }
    }
  }
}

extension ManifestSignatures {
  /// Returns `true` if nothing more is known of the signatures than that they were checked for these times.
  fileprivate func isChecked(as known: SignedSpan?) -> Bool { checked == nil || checked == known }
}

/// The root and the sequences that a host trusted last for a source.
package struct TrustRecord: Hashable, Sendable {
  /// The bytes of the newest root; `nil` for the host's own.
  package var root: [UInt8]?
  /// The sequence of the newest trusted manifest; `nil` before the first.
  package var sequence: Int64?
  /// The sequence of the newest trusted status; `nil` before the first. ``BundleStore/setStatus(_:trusted:of:)`` raises
  /// it.
  package var statusSequence: Int64?

  package init(root: [UInt8]? = nil, sequence: Int64? = nil, statusSequence: Int64? = nil) {
    (self.root, self.sequence, self.statusSequence) = (root, sequence, statusSequence)
  }
}

/// The reason why a source's newest release is the one for this host.
package struct SourceChoice: Hashable, Sendable {
  /// The host's ``Audience`` as a text.
  package var audience = ""
  /// The source's manifest, if it names the release's manifest and is not itself that.
  package var manifest: ReleaseStatus.Manifest?

  package init() {}
}

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
    to earlier: ReleaseStatus.Manifest, source: Int64, at now: Double, _ db: Database
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
    return try await readOnce { try Self.disabled(of: source, $0) }
  }

  static func disabled(of source: PageURL, _ db: Database) throws -> [String: String] {
    let rows = try db.rows(
      "SELECT name, message FROM disabled WHERE source = (SELECT id FROM source WHERE url = ?)", [source.text]
    ) { (name: try $0.value("name") as String, message: try $0.value("message") as String) }
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
