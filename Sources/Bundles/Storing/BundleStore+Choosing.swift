import DiskStorage
import GRDB
import HTTPTransport

/// What a person decides about sources and their releases.
extension BundleStore {
  /// Every release of a source, newest first; none for a source that is not known.
  public func releases(of source: PageURL) async throws -> [ReleaseSummary] {
    try await read { db in
      let row = try Row.fetchOne(db, sql: "SELECT * FROM source WHERE url = ?", arguments: [source.text])
      guard let row else { return [] }
      let (current, previous, heldSince): (Int64?, Int64?, Double?) = (
        row["current"], row["previous"], row["heldSince"]
      )
      return try Row.fetchAll(
        db, sql: "SELECT \(Self.releaseColumns) FROM \"release\" WHERE source = ? ORDER BY id DESC",
        arguments: [row["id"] as Int64]
      ).map { row in
        let release = try Self.release(row, of: source)
        let role: ReleaseSummary.Role =
          switch release.id {
          case current: .current
          case previous: .previous
          default: release.activatedAt == nil ? .incoming : .former
          }
        let entries = try Int.fetchOne(
          db, sql: "SELECT COUNT(*) FROM entry WHERE \"release\" = ?", arguments: [release.id])
        return ReleaseSummary(
          release: release, role: role, isHeld: role == .current && heldSince != nil, entries: entries ?? 0,
          missing: try Self.missing(in: release.id, leavingIdle: true, db).count,
          bytes: try Self.bytes(of: release.id, db))
      }
    }
  }

  /// The bytes that are there of a release; others may share them.
  static func bytes(of release: Int64, _ db: Database) throws -> Int64 {
    try Int64.fetchOne(
      db,
      sql: """
        SELECT COALESCE(SUM(size), 0) FROM blob
        WHERE sha256 IN (SELECT blob FROM entry WHERE "release" = ? AND blob IS NOT NULL)
        """, arguments: [release]) ?? 0
  }

  /// Switches to a stored release, and stays with it until ``follow(_:)``, whatever the server has.
  ///
  /// - Throws: ``StoreError/incompleteRelease(name:missing:)``, ``StoreError/releaseGone(name:)``.
  public func hold(_ release: StoredRelease) async throws {
    // The files are looked at: nobody asks the server again for what is switched to.
    let missing = try await contents(of: release).filter { $0.blob == nil && $0.bundle.preload == .launch }
      .filter { !$0.bundle.isOptional }.map(\.bundle.name)
    guard missing.isEmpty else { throw StoreError.incompleteRelease(name: release.name, missing: missing) }
    try await write { [now] db in
      let row = try Row.fetchOne(
        db,
        sql: """
          SELECT source.id, source.current FROM source JOIN "release" ON "release".source = source.id
          WHERE "release".id = ?
          """, arguments: [release.id])
      guard let row else { throw StoreError.releaseGone(name: release.name) }
      let (source, current): (Int64, Int64?) = (row["id"], row["current"])
      if current != release.id { try Self.makeCurrent(release.id, of: source, at: now(), db) }
      try db.execute(sql: "UPDATE source SET heldSince = ? WHERE id = ?", arguments: [now(), source])
    }
  }

  /// Lets go of a held release, and switches to the newest one that is complete. From then on the source switches to
  /// each new release again.
  ///
  /// - Returns: the release that is current now; `nil` for a source that is not known or has none.
  public func follow(_ source: PageURL) async throws -> StoredRelease? {
    try await write { [now] db in
      let row = try Row.fetchOne(db, sql: "SELECT id, current FROM source WHERE url = ?", arguments: [source.text])
      guard let row else { return }
      let (id, current): (Int64, Int64?) = (row["id"], row["current"])
      try db.execute(sql: "UPDATE source SET heldSince = NULL WHERE id = ?", arguments: [id])
      let releases = try Int64.fetchAll(
        db, sql: "SELECT id FROM \"release\" WHERE source = ? ORDER BY id DESC", arguments: [id])
      let newest = try releases.first { try Self.missing(in: $0, leavingIdle: true, limit: 1, db).isEmpty }
      if let newest, newest != current { try Self.makeCurrent(newest, of: id, at: now(), db) }
    }
    return try await self.source(source)?.current
  }

  /// Forgets a source with all its releases. The bytes that only they had go with the next collection; releases that
  /// open pages see go with the first one after those.
  ///
  /// - Returns: whether the source was known.
  public func forget(_ source: PageURL) async throws -> Bool {
    try await writeHoldingLock(.shared) { [self] writer in
      var reservation: ReleaseLeases.Reservation?
      var hasRemoved = false
      defer { reservation?.end(removing: hasRemoved) }
      let wasKnown = try writer.write { db in
        let id = try Int64.fetchOne(db, sql: "SELECT id FROM source WHERE url = ?", arguments: [source.text])
        guard let id else { return false }
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
