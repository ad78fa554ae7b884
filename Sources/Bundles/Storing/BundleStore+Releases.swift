import Blobs
import CSQLite
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import Releases
import Synchronization
import SystemPackage

extension BundleStore {
  /// Returns a source and its releases; `nil` before its first manifest was read.
  ///
  /// - Parameter url: the manifest's URL.
  /// - Throws: ``StoreError``.
  package func source(_ url: PageURL) async throws -> StoredSource? {
    let found = try await readOnce { [requiresSignatures] db in
      try Self.source(url, onlySigned: requiresSignatures, db)
    }
    if let found { await recordUse(of: url, in: "source", last: found.usedAt ?? 0) }
    return found
  }

  static func source(_ url: PageURL, onlySigned: Bool, _ db: Database) throws -> StoredSource? {
    try sources(db, where: "source.url = ?", [url.text], onlySigned: onlySigned).first
  }

  /// Returns all sources of the store, sorted by URL.
  ///
  /// - Throws: ``StoreError``.
  package func sources() async throws -> [StoredSource] {
    // A forgotten source may have releases that an open page uses.
    try await read { [requiresSignatures] db in
      try Self.sources(db, where: "TRUE", onlySigned: requiresSignatures).filter { $0.latest != nil }
    }
  }

  private static func sources(
    _ db: Database, where condition: String, _ arguments: StatementArguments = StatementArguments(),
    onlySigned: Bool
  ) throws -> [StoredSource] {
    var sources: [StoredSource] = []
    let current = current(onlySigned: onlySigned)
    let sql = """
      SELECT source.url, \(current) AS current, source.previous, source.usedAt, source.withheld,
        CASE WHEN source.current IS \(current) THEN source.heldSince END AS heldSince, \(releaseColumns)
      FROM source LEFT JOIN "release" ON "release".source = source.id
        AND ("release".id IN (\(current), source.previous) OR "release".activatedAt IS NULL)
      WHERE \(condition) ORDER BY source.url, "release".id
      """
    try db.rows(sql, arguments) { row in
      let url = PageURL(normalised: try row.value("url"))
      if sources.last?.url != url {
        sources.append(
          try StoredSource(
            url: url, heldSince: row.value("heldSince"), usedAt: row.value("usedAt"),
            withheld: onlySigned ? row.value("withheld") : nil))
      }
      guard let id: Int64 = try row.value("id") else { return }
      let release = try release(row, of: url)
      if onlySigned, release.signed == nil { return }
      let last = sources.count - 1
      if id == (try row.value("current") as Int64?) {
        sources[last].current = release
      } else if id == (try row.value("previous") as Int64?) {
        sources[last].previous = release
      }
      if release.activatedAt == nil { sources[last].incoming = release }
    }
    return sources
  }

  static let releaseColumns = """
    "release".id, "release".name, "release".sequence, "release".digest, "release".etag, "release".lastModified,
    "release".activatedAt, "release".signedAt, "release".expiresAt, "release".standing
    """

  static func release(_ row: Row, of source: PageURL) throws -> StoredRelease {
    try StoredRelease(
      id: row.value("id"), source: source, name: row.value("name"), sequence: row.value("sequence"),
      digest: row.value("digest"),
      validators: Validators(etag: row.value("etag"), lastModified: row.value("lastModified")),
      activatedAt: row.value("activatedAt"), signed: signedSpan(row), standing: standing(row))
  }

  /// The columns `signedAt` and `expiresAt`.
  static func signedSpan(_ row: Row) throws -> SignedSpan? {
    guard let expires: Int64 = try row.value("expiresAt") else { return nil }
    let signed: Int64? = try row.value("signedAt")
    return SignedSpan(signed: signed.map { SignedTime(seconds: $0) }, expires: SignedTime(seconds: expires))
  }

  /// Returns the manifest's bytes as the server sent them.
  package func manifestBytes(of release: StoredRelease) async throws -> [UInt8] {
    let data = try await read { db in
      try db.firstRow("SELECT manifest FROM \"release\" WHERE id = ?", [release.id]) {
        try $0.decode(Data.self, atIndex: 0)
      }
    }
    guard let data else { throw StoreError.releaseGone(name: release.name) }
    return Array(data)
  }

  /// Returns `false` if the bytes of a release's manifest show that it has no rollout: the member's name is not in them, also
  /// with escapes.
  package func mayHaveRollout(_ release: StoredRelease) async throws -> Bool {
    try await read { db in
      try Bool.fetchOne(
        db,
        sql: """
          SELECT instr(manifest, CAST('rollout' AS BLOB)) > 0 OR instr(manifest, CAST('\\u' AS BLOB)) > 0
          FROM "release" WHERE id = ?
          """, arguments: [release.id]) ?? false
    }
  }

  /// Registers a manifest as a release, without switching to it. Stored bytes of earlier releases of the same source
  /// are taken over, and those of any source if the manifest gives their SHA-256.
  ///
  /// Registering the same manifest bytes again returns the same release.
  ///
  /// - Parameters:
  ///   - signatures: `nil` for a manifest without.
  ///   - former: the release that the manifest is of, and that was signed at another time; `nil` for a new release.
  package func register(
    _ manifest: Manifest, bytes: [UInt8], bundles: [PageBundle], for source: PageURL, validators: Validators,
    signatures: ManifestSignatures? = nil, renewing former: StoredRelease? = nil
  ) async throws -> StoredRelease {
    let digest = try SHA256Digest(of: bytes)
    if let former, let renewed = try await renew(former, bytes, digest, validators, signatures) { return renewed }
    if let known = try await self.source(source)?.latest, known.digest == digest,
      try await isKnown(signatures, of: known)
    {
      if known.validators != validators { try await setValidators(validators, of: known) }
      let isNamed = manifest.release == known.name || manifest.release == Manifest.unnamed
      return isNamed ? known : try await rename(known, to: manifest.release)
    }
    // The lock keeps blobs from being collected between the check that they exist and the entry that names them.
    return try await writeHoldingLock(.shared) { [self] writer in
      var superseded: [ReleaseLeases.Reservation] = []
      let release = try writer.write { db in
        try Self.register(manifest, bytes, digest, bundles, source, validators, signatures, now(), db) { releases in
          superseded.append(try removeUnlessLeased(releases, db))
        }
      }
      for reservation in superseded { reservation.end(removing: true) }
      return release
    }
  }

  /// Removes releases from the database. Those that an open page uses stay for the collector, marked as replaced.
  func removeUnlessLeased(_ releases: [Int64], _ db: Database) throws -> ReleaseLeases.Reservation {
    let reservation = try leases.reserve(releases)
    for id in releases {
      try db.execute(
        sql: reservation.releases.contains(id)
          ? "DELETE FROM \"release\" WHERE id = ?"
          : "UPDATE \"release\" SET activatedAt = COALESCE(activatedAt, 0) WHERE id = ?",
        arguments: [id])
    }
    return reservation
  }

  /// Renames a release: a name from a separate file may arrive later than the manifest.
  private func rename(_ release: StoredRelease, to name: String) async throws -> StoredRelease {
    try await write { db in
      try db.execute(sql: "UPDATE \"release\" SET name = ? WHERE id = ?", arguments: [name, release.id])
    }
    var renamed = release
    renamed.name = name
    return renamed
  }

  /// Returns the release's own rule for query parameters; `nil` if its manifest has none.
  package func identity(of release: StoredRelease) async throws -> PageIdentity? {
    struct Part: Decodable {
      let identity: PageIdentity?
    }
    if let known = lastIdentity.withLock({ $0?.manifest == release.digest ? $0 : nil }) { return known.rule }
    // Few manifests have the member, and parsing a long one takes time.
    let data = try await readOnce { db in
      try db.firstRow(
        "SELECT manifest FROM \"release\" WHERE id = ? AND instr(manifest, CAST('\"identity\"' AS BLOB)) > 0",
        [release.id]
      ) { try $0.decode(Data.self, atIndex: 0) }
    }
    let rule = data.flatMap { try? JSONDecoder().decode(Part.self, from: $0) }?.identity
    lastIdentity.withLock { $0 = (release.digest, rule) }
    return rule
  }

  /// Protects a release, its entries and their bytes from the garbage collectors of all processes while the result
  /// lives.
  ///
  /// - Throws: ``StoreError/releaseGone(name:)`` if the release was collected already.
  package func lease(_ release: StoredRelease) async throws -> ReleaseLease {
    let lease = isWritable ? try await leases.lease(release.id) : nil
    let generation = generation
    if let lease, lease.protectsRelease(in: generation) { return lease }
    let isThere = try await read { db in
      try db.firstRow("SELECT 1 FROM \"release\" WHERE id = ?", [release.id]) { _ in true }
    }
    guard isThere == true else { throw StoreError.releaseGone(name: release.name) }
    lease?.recordRelease(in: generation)
    return lease ?? ReleaseLease()
  }

  /// The id of a source, which is added if it is new.
  static func id(of source: PageURL, now: Double, _ db: Database) throws -> Int64 {
    let known = "SELECT id FROM source WHERE url = ?"
    if let id = try Int64.fetchOne(db, sql: known, arguments: [source.text]) { return id }
    try db.execute(sql: "INSERT INTO source (url, usedAt) VALUES (?, ?)", arguments: [source.text, now])
    return db.lastInsertedRowID
  }

  /// - Parameter remove: removes the releases that the new one replaces.
  private static func register(
    _ manifest: Manifest, _ bytes: [UInt8], _ digest: SHA256Digest, _ bundles: [PageBundle], _ source: PageURL,
    _ validators: Validators, _ signatures: ManifestSignatures?, _ now: Double, _ db: Database,
    remove: ([Int64]) throws -> Void
  ) throws -> StoredRelease {
    let sourceID = try id(of: source, now: now, db)
    let known = try Row.fetchOne(
      db, sql: "SELECT id, activatedAt, standing FROM \"release\" WHERE source = ? AND digest = ?",
      arguments: [sourceID, digest])
    let current = try Int64.fetchOne(db, sql: "SELECT current FROM source WHERE id = ?", arguments: [sourceID])
    let knownID: Int64? = known?["id"]
    var standing = try known.map { try Self.standing($0) } ?? .trial
    let id: Int64
    if let knownID, knownID == current {
      // The server has withdrawn the newer releases.
      try remove(
        Int64.fetchAll(
          db, sql: "SELECT id FROM \"release\" WHERE source = ? AND activatedAt IS NULL", arguments: [sourceID]))
      id = knownID
    } else if let knownID, known?["activatedAt"] == nil {
      // Another process has registered it meanwhile.
      id = knownID
    } else {
      if let knownID {
        // The server has gone back to an earlier release: it is registered again, with its stored bytes.
        try db.execute(sql: "UPDATE source SET previous = NULL WHERE previous = ?", arguments: [knownID])
        try db.execute(sql: "UPDATE \"release\" SET digest = randomblob(32) WHERE id = ?", arguments: [knownID])
      }
      try db.execute(
        sql: """
          INSERT INTO "release" (source, name, sequence, manifest, digest, etag, lastModified, registeredAt)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?)
          """,
        arguments: [
          sourceID, manifest.release, manifest.sequence, Data(bytes), digest, validators.etag,
          validators.lastModified, now,
        ])
      id = db.lastInsertedRowID
      try list(bundles, release: id, source: sourceID, db)
      standing = try markIfBad(id, manifest, of: sourceID, db)
      // Older releases that never became complete are obsolete.
      let outdated = try Int64.fetchAll(
        db, sql: "SELECT id FROM \"release\" WHERE source = ? AND activatedAt IS NULL AND id < ?",
        arguments: [sourceID, id])
      try remove(outdated + (knownID.map { [$0] } ?? []))
    }
    try db.execute(
      sql: "UPDATE \"release\" SET etag = ?, lastModified = ? WHERE id = ?",
      arguments: [validators.etag, validators.lastModified, id])
    if let signatures { try set(signatures, of: id, db) }
    return StoredRelease(
      id: id, source: source, name: manifest.release, sequence: manifest.sequence, digest: digest,
      validators: validators, signed: signatures?.checked, standing: standing)
  }

  /// Makes bundles the entries of a source's newest release. Entries that its predecessor has too stay; the
  /// predecessor's others end with it.
  private static func list(_ bundles: [PageBundle], release: Int64, source: Int64, _ db: Database) throws {
    let lookup = try BlobLookup(source: source, db)
    let statement = try db.cachedStatement(
      sql: """
        SELECT position, kind, name, url, size, md5, sha256, preload, prefetch, isOptional, location, blob FROM listed
        WHERE source = ? AND last = \(Schema.endless) ORDER BY position
        """)
    let open = try Row.fetchCursor(statement, arguments: [source])
    let listed = ListedRow(statement: statement.sqliteStatement)
    // Rows are written when all have been read.
    var ended: [Int] = []
    var new: [Int] = []
    var found: [(position: Int, blob: SHA256Digest)] = []
    var next = 0
    while let row = try open.next() {
      let position = try row.decode(Int.self, atIndex: 0)
      new += next..<max(next, min(position, bundles.count))
      next = max(next, position + 1)
      guard position < bundles.count, listed.has(bundles[position]) else {
        ended.append(position)
        if position < bundles.count { new.append(position) }
        continue
      }
      guard row.hasNull(atIndex: 11) else { continue }
      if let blob = try lookup.blob(of: bundles[position]) { found.append((position, blob)) }
    }
    new += min(next, bundles.count)..<bundles.count
    let end = try db.cachedStatement(
      sql: "UPDATE listed SET last = ? WHERE source = ? AND position = ? AND last = \(Schema.endless)")
    for position in ended { try end.execute(arguments: [release - 1, source, position]) }
    let store = try db.cachedStatement(
      sql: "UPDATE listed SET blob = ? WHERE source = ? AND position = ? AND last = \(Schema.endless)")
    for (position, blob) in found { try store.execute(arguments: [blob, source, position]) }
    let insert = try db.cachedStatement(
      sql: """
        INSERT INTO listed
          (source, first, last, position, kind, name, url, size, md5, sha256, preload, prefetch, blob, isOptional,
            location)
        VALUES (?, ?, \(Schema.endless), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """)
    let blobs = try new.map { try lookup.blob(of: bundles[$0]) }
    for (position, blob) in zip(new, blobs) {
      let bundle = bundles[position]
      try insert.execute(arguments: [
        source, release, position, bundle.kind.rawValue, bundle.name, bundle.url.text, bundle.size, bundle.md5,
        bundle.sha256, bundle.preload.rawValue, bundle.prefetchList, blob, bundle.isOptional,
        bundle.location?.text,
      ])
    }
  }

  /// Finds the stored bytes of new entries.
  private struct BlobLookup {
    private let source: Int64
    private let byDigest: Statement
    /// `nil` if the source has no stored bytes.
    private let byMD5: Statement?

    init(source: Int64, _ db: Database) throws {
      self.source = source
      byDigest = try db.cachedStatement(sql: "SELECT sha256 FROM blob WHERE sha256 = ? AND md5 = ?")
      let mayHave = try Bool.fetchOne(
        db, sql: "SELECT EXISTS (SELECT 1 FROM listed WHERE source = ? AND blob IS NOT NULL)", arguments: [source])
      // An MD5 alone identifies bytes only within one source, so that no other source can provoke a collision.
      byMD5 =
        mayHave == true
        ? try db.cachedStatement(
          sql: """
            SELECT blob FROM listed INDEXED BY listedByMD5
            WHERE md5 = ? AND source = ? AND blob IS NOT NULL LIMIT 1
            """)
        : nil
    }

    func blob(of bundle: PageBundle) throws -> SHA256Digest? {
      if let sha256 = bundle.sha256 {
        return try SHA256Digest.fetchOne(byDigest, arguments: [sha256, bundle.md5])
      }
      return try byMD5.flatMap { try SHA256Digest.fetchOne($0, arguments: [bundle.md5, source]) }
    }
  }

  /// Stores the validators of a release's manifest.
  package func setValidators(_ validators: Validators, of release: StoredRelease) async throws {
    try await write { db in
      try db.execute(
        sql: "UPDATE \"release\" SET etag = ?, lastModified = ? WHERE id = ?",
        arguments: [validators.etag, validators.lastModified, release.id])
    }
  }

  /// Makes the release the source's current one, if every bundle that is not on demand is stored.
  ///
  /// - Parameter leavingIdle: `true` if idle bundles may be missing; they are fetched when they are opened.
  /// - Returns: `true` if the release is current now and was not before.
  package func activate(_ release: StoredRelease, leavingIdle: Bool = false) async throws -> Bool {
    try await write { [now, requiresSignatures, takesAsGood] db in
      let current = Self.current(onlySigned: requiresSignatures)
      // `isUsed`: the release is current for this host, see ``signedCurrent``.
      let found = try db.firstRow(
        """
        SELECT source.id, source.current IS "release".id AS isCurrent, \(current) IS "release".id AS isUsed,
          source.heldSince IS NOT NULL AND source.current IS \(current) AS isHeld, "release".standing,
          \(current) IS NOT NULL AND source.withheld IS "release".digest AS isWithheld
        FROM source JOIN "release" ON "release".source = source.id WHERE "release".id = ?
        """, [release.id]
      ) { row in
        try (
          source: row.value("id") as Int64, isCurrent: row.value("isCurrent") as Bool,
          isUsed: row.value("isUsed") as Bool, isHeld: row.value("isHeld") as Bool, standing: Self.standing(row),
          isWithheld: row.value("isWithheld") as Bool
        )
      }
      guard let found else { throw StoreError.releaseGone(name: release.name) }
      guard !found.isCurrent, !found.isHeld, found.standing != .bad, !(requiresSignatures && found.isWithheld),
        try Self.missing(in: release.id, leavingIdle: leavingIdle, limit: 1, db).isEmpty
      else { return false }
      try Self.makeCurrent(release.id, of: found.source, at: now(), db)
      if takesAsGood, found.standing == .trial { try Self.set(.good, of: release.id, db) }
      return !found.isUsed
    }
  }

  /// The names of missing entries that must be stored before the release can become current. A disabled bundle need not.
  static func missing(in release: Int64, leavingIdle: Bool, limit: Int = -1, _ db: Database) throws -> [String] {
    try String.fetchAll(
      db,
      sql: """
        SELECT listed.name \(ofRelease) AND blob IS NULL AND NOT isOptional AND preload <> 'demand'
        AND NOT (preload = 'idle' AND ?)
        AND NOT (kind = 'bundle' AND EXISTS (
          SELECT 1 FROM disabled WHERE disabled.source = listed.source AND disabled.name = listed.name))
        ORDER BY position LIMIT ?
        """, arguments: [release, leavingIdle, limit])
  }

  /// Makes a release the current one, and ends a hold of the one before.
  static func makeCurrent(_ release: Int64, of source: Int64, at now: Double, _ db: Database) throws {
    try db.execute(
      sql: "UPDATE source SET previous = current, current = ?, heldSince = NULL WHERE id = ?",
      arguments: [release, source])
    try db.execute(sql: "UPDATE \"release\" SET activatedAt = ? WHERE id = ?", arguments: [now, release])
  }
}

extension PageBundle {
  /// The references to prefetch, as the column `prefetch` has them.
  fileprivate var prefetchList: String? { prefetch.isEmpty ? nil : prefetch.joined(separator: "\n") }
}

/// The row of `listed` at which a statement is, whose columns from the second on are kind, name, URL, size, digests,
/// preload, prefetch, isOptional and location. Its values are compared where SQLite has them, since a release has tens of
/// thousands of rows.
private struct ListedRow {
  let statement: SQLiteStatement

  /// Returns `true` if the row has the values of an entry.
  func has(_ bundle: PageBundle) -> Bool {
    isBlob(bundle.md5.bytes, at: 5) && isBlob(bundle.sha256?.bytes, at: 6) && isInteger(bundle.size, at: 4)
      && isText(bundle.url.text, at: 3) && isText(bundle.name, at: 2) && isText(bundle.kind.rawValue, at: 1)
      && isText(bundle.preload.rawValue, at: 7) && isText(bundle.prefetchList, at: 8)
      && isInteger(bundle.isOptional ? 1 : 0, at: 9) && isText(bundle.location?.text, at: 10)
  }

  private func isText(_ text: String?, at column: Int32) -> Bool {
    guard var text else { return isNull(column) }
    guard sqlite3_column_type(statement, column) == SQLITE_TEXT else { return false }
    return text.withUTF8 { has(UnsafeRawBufferPointer($0), at: column, sqlite3_column_text(statement, column)) }
  }

  private func isBlob(_ bytes: [UInt8]?, at column: Int32) -> Bool {
    guard let bytes else { return isNull(column) }
    guard sqlite3_column_type(statement, column) == SQLITE_BLOB else { return false }
    return bytes.withUnsafeBytes { has($0, at: column, sqlite3_column_blob(statement, column)) }
  }

  private func has(_ expected: UnsafeRawBufferPointer, at column: Int32, _ found: UnsafeRawPointer?) -> Bool {
    guard expected.count == Int(sqlite3_column_bytes(statement, column)) else { return false }
    guard let found, let start = expected.baseAddress else { return expected.isEmpty }
    return memcmp(start, found, expected.count) == 0
  }

  private func isInteger(_ number: Int64?, at column: Int32) -> Bool {
    guard let number else { return isNull(column) }
    return sqlite3_column_type(statement, column) == SQLITE_INTEGER && sqlite3_column_int64(statement, column) == number
  }

  private func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }
}
