import DiskStorage
import GRDB
import HTTPCaching
import HTTPTransport

extension BundleStore {
  /// An entry, and its blob as ``blobRecord(_:)`` reads it.
  private static let entryColumns = """
    entry.*, blob.sha256 AS blobSha256, blob.md5 AS blobMd5, blob.size AS blobSize,
    blob.inode AS blobInode, blob.modified AS blobModified
    """

  package func recordedContents(of release: StoredRelease) async throws -> [StoredBundle] {
    try await records(of: release).map { StoredBundle(bundle: $0.bundle, blob: $0.record?.blob) }
  }

  private func records(of release: StoredRelease) async throws -> [(bundle: PageBundle, record: BlobRecord?)] {
    try await read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT \(Self.entryColumns)
          FROM entry LEFT JOIN blob ON blob.sha256 = entry.blob
          WHERE "release" = ? ORDER BY position
          """, arguments: [release.id]
      ).map { (bundle: try Self.bundle($0), record: try Self.blobRecord($0)) }
    }
  }

  /// Returns the bundles and files of a release in the manifest's order, each with its bytes if they are stored.
  ///
  /// Bytes whose file was removed, or changed since it was written, count as not stored.
  ///
  /// - Throws: ``StoreError``.
  package func contents(of release: StoredRelease) async throws -> [StoredBundle] {
    let rows = try await records(of: release)
    var moved: [BlobRecord] = []
    var isInPlace: [SHA256Digest: Bool] = [:]
    let contents = rows.map { row -> StoredBundle in
      guard let record = row.record else { return StoredBundle(bundle: row.bundle, blob: nil) }
      let known = isInPlace[record.blob.sha256]
      let condition = known == nil ? record.condition(in: blobs) : .untouched
      let isGood = known ?? (condition == .untouched || condition == .touched && (try? blobs.read(record.blob)) != nil)
      isInPlace[record.blob.sha256] = isGood
      if isGood, condition == .touched, let status = FileSystem.status(blobs.path(of: record.blob.sha256)) {
        moved.append(BlobRecord(blob: record.blob, status: status))
      }
      return StoredBundle(bundle: row.bundle, blob: isGood ? record.blob : nil)
    }
    if !moved.isEmpty, isWritable {
      // Files restored from a backup, for example: their bytes are right, so that the next check need not read them.
      try await write { [moved] db in for record in moved { try record.save(db) } }
    }
    return contents
  }

  static func bundle(_ row: Row) throws -> PageBundle {
    let prefetch: String? = row["prefetch"]
    return PageBundle(
      kind: PageBundle.Kind(rawValue: row["kind"]) ?? .file, name: row["name"],
      url: PageURL(normalised: row["url"]), size: row["size"],
      md5: try row.decode(MD5Digest.self, forColumn: "md5"),
      sha256: try row.decode(SHA256Digest?.self, forColumn: "sha256"),
      preload: Manifest.Preload(rawValue: row["preload"]) ?? .launch,
      prefetch: prefetch?.split(separator: "\n").map(String.init) ?? [], isOptional: row["isOptional"])
  }

  static func blobRecord(_ row: Row) throws -> BlobRecord? {
    row["blobSha256"] == nil ? nil : try BlobRecord(row, prefix: "blob")
  }

  package func bundle(at url: PageURL, in release: StoredRelease) async throws -> StoredBundle? {
    try await read { db in
      try Row.fetchOne(
        db,
        sql: """
          SELECT \(Self.entryColumns)
          FROM entry LEFT JOIN blob ON blob.sha256 = entry.blob
          WHERE entry.url = ? AND +entry."release" = ? LIMIT 1
          """, arguments: [url.text, release.id]
      ).map { StoredBundle(bundle: try Self.bundle($0), blob: try Self.blobRecord($0)?.blob) }
    }
  }

  /// Returns the bundle or file at this URL: the incoming release's if its bytes are stored, then the current
  /// release's, then one that no manifest lists.
  ///
  /// - Returns: `nil` if no release lists the URL and no bundle is stored for it.
  /// - Throws: ``StoreError``.
  public func bundle(at url: PageURL) async throws -> StoredBundle? {
    let (found, lastUse) = try await read { db -> (StoredBundle?, Double?) in
      // An incoming release's bytes are the newest verified ones. Without bytes, the current release's entry tells the
      // expected digests.
      let listed = try Row.fetchOne(
        db,
        sql: """
          SELECT \(Self.entryColumns)
          FROM entry
          JOIN "release" ON "release".id = entry."release"
          JOIN source ON source.id = "release".source
          LEFT JOIN blob ON blob.sha256 = entry.blob
          WHERE entry.url = ?
            AND ("release".id = source.current OR "release".activatedAt IS NULL AND source.heldSince IS NULL)
          ORDER BY entry.blob IS NULL, "release".id DESC LIMIT 1
          """, arguments: [url.text])
      let known = try listed.map { StoredBundle(bundle: try Self.bundle($0), blob: try Self.blobRecord($0)?.blob) }
      if let known, known.blob != nil { return (known, nil) }
      guard let unlisted = try Self.unlisted(url, db) else { return (known, nil) }
      return (StoredBundle(bundle: unlisted.candidate.bundle, blob: unlisted.candidate.blob), unlisted.usedAt)
    }
    if let lastUse { await noteUse(of: .unlisted(url), last: lastUse) }
    return found
  }

  package func candidates(at url: PageURL, of source: PageURL?) async throws -> [StoredCandidate] {
    let (found, lastUse) = try await read { db -> ([StoredCandidate], Double?) in
      let listed = try Row.fetchAll(
        db,
        sql: """
          SELECT \(Self.entryColumns),
            "release".id AS releaseID, "release".name AS releaseName, "release".sequence AS releaseSequence,
            "release".digest AS releaseDigest, "release".etag AS releaseETag,
            "release".lastModified AS releaseLastModified, "release".activatedAt AS releaseActivatedAt,
            source.url AS sourceURL, source.current AS currentID, source.previous AS previousID,
            "release".activatedAt IS NOT NULL OR NOT EXISTS (
              SELECT 1 FROM entry AS other WHERE other."release" = "release".id AND other.kind = 'file'
              AND other.blob IS NULL AND NOT other.isOptional AND other.preload <> 'demand') AS hasAllFiles
          FROM entry
          JOIN "release" ON "release".id = entry."release"
          JOIN source ON source.id = "release".source
          LEFT JOIN blob ON blob.sha256 = entry.blob
          WHERE entry.url = ?1 AND (?2 IS NULL OR source.url = ?2)
          AND ("release".activatedAt IS NULL AND source.heldSince IS NULL
               OR "release".id IN (source.current, source.previous))
          ORDER BY "release".id DESC
          """, arguments: [url.text, source?.text]
      ).map { try Self.candidate($0) }
      guard let unlisted = try Self.unlisted(url, db) else { return (listed, nil) }
      // It is used only if no release has bytes.
      return (listed + [unlisted.candidate], listed.contains { $0.blob != nil } ? nil : unlisted.usedAt)
    }
    if let lastUse { await noteUse(of: .unlisted(url), last: lastUse) }
    return found
  }

  private static func candidate(_ row: Row) throws -> StoredCandidate {
    let (id, current, previous): (Int64, Int64?, Int64?) = (row["releaseID"], row["currentID"], row["previousID"])
    return StoredCandidate(
      place: id == current ? .current : id == previous ? .previous : .incoming,
      release: StoredRelease(
        id: id, source: PageURL(normalised: row["sourceURL"]), name: row["releaseName"],
        sequence: row["releaseSequence"], digest: try row.decode(SHA256Digest.self, forColumn: "releaseDigest"),
        validators: Validators(etag: row["releaseETag"], lastModified: row["releaseLastModified"]),
        activatedAt: row["releaseActivatedAt"]),
      bundle: try bundle(row), blob: try blobRecord(row)?.blob, hasAllFiles: row["hasAllFiles"])
  }

  /// A bundle that no manifest lists, and the time of its last use.
  private static func unlisted(
    _ url: PageURL, _ db: Database
  ) throws -> (candidate: StoredCandidate, usedAt: Double)? {
    try Row.fetchOne(
      db,
      sql: """
        SELECT unlisted.usedAt, blob.* FROM unlisted JOIN blob ON blob.sha256 = unlisted.blob WHERE unlisted.url = ?
        """, arguments: [url.text]
    ).map { row in
      let blob = try BlobRecord(row).blob
      let bundle = PageBundle(
        kind: .bundle, name: url.text, url: url, size: blob.size, md5: blob.md5, sha256: blob.sha256)
      return (
        StoredCandidate(place: .unlisted, release: nil, bundle: bundle, blob: blob, hasAllFiles: true), row["usedAt"]
      )
    }
  }
}
