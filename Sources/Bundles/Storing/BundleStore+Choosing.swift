import Blobs
import GRDB
import HTTPTransport
import Releases

/// A person's decisions about sources and their releases.
extension BundleStore {
  /// Returns the releases of a source, newest first; none for an unknown source.
  package func releases(of source: PageURL) async throws -> [ReleaseSummary] {
    try await read { db in
      let row = try Row.fetchOne(db, sql: "SELECT * FROM source WHERE url = ?", arguments: [source.text])
      guard let row else { return [] }
      let (current, previous, heldSince): (Int64?, Int64?, Double?) = try (
        row.value("current"), row.value("previous"), row.value("heldSince")
      )
      return try Row.fetchAll(
        db, sql: "SELECT \(Self.releaseColumns) FROM \"release\" WHERE source = ? ORDER BY id DESC",
        arguments: [try row.value("id") as Int64]
      ).map { row in
        let release = try Self.release(row, of: source)
        let role: ReleaseSummary.Role =
          switch release.id {
          case current: .current
          case previous: .previous
          default: release.activatedAt == nil ? .incoming : .former
          }
        let entries = try Int.fetchOne(
          db, sql: "SELECT COUNT(*) \(Self.ofRelease)", arguments: [release.id])
        return ReleaseSummary(
          release: release, role: role, isHeld: role == .current && heldSince != nil, entries: entries ?? 0,
          missing: try Self.missing(in: release.id, leavingIdle: true, db).count,
          bytes: try Self.bytes(of: release.id, db), bad: try Self.badRelease(release.id, db))
      }
    }
  }

  /// The stored bytes of a release; other releases may share them.
  static func bytes(of release: Int64, _ db: Database) throws -> Int64 {
    try Int64.fetchOne(
      db,
      sql: """
        SELECT COALESCE(SUM(size), 0) FROM blob
        WHERE sha256 IN (SELECT listed.blob \(ofRelease) AND listed.blob IS NOT NULL)
        """, arguments: [release]) ?? 0
  }

  /// Makes a stored release the current one, and keeps it current until ``follow(_:)``, whatever the server has.
  ///
  /// - Parameter release: one of the source's releases, such as ``StoredSource/previous``.
  /// - Throws: ``StoreError/incompleteRelease(name:missing:)``, ``StoreError/badRelease(name:)``,
  ///   ``StoreError/releaseGone(name:)``.
  package func hold(_ release: StoredRelease) async throws {
    // The files are checked: the server is not asked again for the bytes of the current release.
    let disabled = try await disabled(of: release.source)
    let missing = try await contents(of: release).filter { $0.blob == nil && $0.bundle.preload == .launch }
      .filter { !$0.bundle.isOptional && !($0.bundle.kind == .bundle && disabled[$0.bundle.name] != nil) }
      .map(\.bundle.name)
    guard missing.isEmpty else { throw StoreError.incompleteRelease(name: release.name, missing: missing) }
    try await write { [now] db in
      let row = try Row.fetchOne(
        db,
        sql: """
          SELECT source.id, source.current, "release".standing FROM source
          JOIN "release" ON "release".source = source.id WHERE "release".id = ?
          """, arguments: [release.id])
      guard let row else { throw StoreError.releaseGone(name: release.name) }
      guard try Self.standing(row) != .bad else { throw StoreError.badRelease(name: release.name) }
      let (source, current): (Int64, Int64?) = try (row.value("id"), row.value("current"))
      if current != release.id { try Self.makeCurrent(release.id, of: source, at: now(), db) }
      try db.execute(sql: "UPDATE source SET heldSince = ? WHERE id = ?", arguments: [now(), source])
    }
  }

  /// Ends ``hold(_:)``: makes the newest complete release the current one. From then on each new complete release
  /// becomes current.
  ///
  /// - Parameter source: the manifest's URL.
  /// - Returns: the current release; `nil` for an unknown source or one without a release.
  /// - Throws: ``StoreError``.
  package func follow(_ source: PageURL) async throws -> StoredRelease? {
    try await write { [now, requiresSignatures] db in
      let row = try Row.fetchOne(db, sql: "SELECT id, current FROM source WHERE url = ?", arguments: [source.text])
      guard let row else { return }
      let (id, current): (Int64, Int64?) = try (row.value("id"), row.value("current"))
      try db.execute(sql: "UPDATE source SET heldSince = NULL WHERE id = ?", arguments: [id])
      let releases = try Int64.fetchAll(
        db,
        sql: """
          SELECT "release".id FROM "release" JOIN source ON source.id = "release".source
          WHERE source.id = ?1 AND "release".standing <> 'bad'
            AND (NOT ?2 OR "release".expiresAt IS NOT NULL
              AND ("release".id IS source.current OR "release".digest IS NOT source.withheld))
          ORDER BY "release".id DESC
          """, arguments: [id, requiresSignatures])
      let newest = try releases.first { try Self.missing(in: $0, leavingIdle: true, limit: 1, db).isEmpty }
      if let newest, newest != current { try Self.makeCurrent(newest, of: id, at: now(), db) }
    }
    return try await self.source(source)?.current
  }

  /// Removes a source and all its releases. Bytes that only they used are removed by the next garbage collection; a
  /// release that an open page uses is removed after that page has closed.
  ///
  /// - Parameter source: the manifest's URL.
  /// - Returns: `true` if the source was known.
  /// - Throws: ``StoreError``.
  package func forget(_ source: PageURL) async throws -> Bool {
    try await writeHoldingLock(.shared) { [self] writer in
      var reservation: ReleaseLeases.Reservation?
      var hasRemoved = false
      defer { reservation?.end(removing: hasRemoved) }
      let wasKnown = try writer.write { db in
        let id = try Int64.fetchOne(db, sql: "SELECT id FROM source WHERE url = ?", arguments: [source.text])
        guard let id else { return false }
        try db.execute(sql: "DELETE FROM failed WHERE source = ?", arguments: [id])
        try db.execute(
          sql: "UPDATE source SET current = NULL, previous = NULL, heldSince = NULL WHERE id = ?", arguments: [id])
        let releases = try Int64.fetchAll(
          db, sql: "SELECT id FROM \"release\" WHERE source = ?", arguments: [id])
        reservation = try removeUnlessLeased(releases, db)
        // The collector removes the source itself, with the last of its releases.
        return !releases.isEmpty
      }
      hasRemoved = true
      return wasKnown
    }
  }
}

/// A stored release, its role for its source, and how much of it is stored.
package struct ReleaseSummary: Hashable, Sendable {
  package enum Role: String, Hashable, Sendable, Codable {
    case current
    /// The release before the current one.
    case previous
    /// A newer release than the current one that has not become current, or is bad.
    case incoming
    /// An older release than the previous one.
    case former
  }

  package let release: StoredRelease
  package let role: Role
  /// `true` if it stays current whatever the server has.
  package let isHeld: Bool
  /// The number of its bundles and files.
  package let entries: Int
  /// The number of missing bundles and files without which it cannot become current.
  package let missing: Int
  /// The size of its stored bytes; other releases may share them.
  package let bytes: Int64
  /// The reason for which it is bad; `nil` if it is not.
  package let bad: BadRelease?

  package init(
    release: StoredRelease, role: Role, isHeld: Bool, entries: Int, missing: Int, bytes: Int64,
    bad: BadRelease? = nil
  ) {
    self.release = release
    self.role = role
    self.isHeld = isHeld
    self.entries = entries
    self.missing = missing
    self.bytes = bytes
    self.bad = bad
  }
}
