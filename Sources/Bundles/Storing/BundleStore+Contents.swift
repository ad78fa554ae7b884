import Blobs
import GRDB
import HTTPCaching
import HTTPTransport
import Releases

extension BundleStore {
  /// An entry, as ``bundle(_:)`` reads it, and its blob, as ``blobRecord(_:)`` does: the first columns of a row.
  private static let entryColumns = """
    listed.kind, listed.name, listed.url, listed.size, listed.md5, listed.sha256, listed.preload, listed.prefetch,
    listed.isOptional, listed.location, blob.sha256 AS blobSha256, blob.md5 AS blobMd5, blob.size AS blobSize, blob.inode AS blobInode,
    blob.modified AS blobModified
    """

  /// Releases with their entries.
  private static let releaseEntries = """
    FROM "release" CROSS JOIN listed
      ON listed.source = "release".source AND "release".id BETWEEN listed.first AND listed.last
    """
  /// The entries of one release, in the manifest's order by `position`.
  static let ofRelease = "\(releaseEntries) WHERE \"release\".id = ?"
  /// The same, each with its blob if it is stored.
  private static let withBlob = """
    \(releaseEntries) LEFT JOIN blob ON blob.sha256 = listed.blob WHERE "release".id = ?
    """
  /// The entries of all releases with the URL `?1`, each with its blob if it is stored.
  private static let atURL = """
    FROM listed INDEXED BY listedByURL
    JOIN source ON source.id = listed.source
    JOIN "release" ON "release".source = source.id AND "release".id BETWEEN listed.first AND listed.last
    LEFT JOIN blob ON blob.sha256 = listed.blob
    WHERE listed.url = ?1
    """

  /// Releases whose signatures were checked, without the incoming one that the status withholds.
  private static let isTrusted = """
    "release".expiresAt IS NOT NULL AND NOT (
      "release".activatedAt IS NULL AND \(signedCurrent) IS NOT NULL AND source.withheld IS "release".digest)
    """

  /// The condition that a newer release may be used before it is current, as an SQL expression.
  private static func isFollowed(onlySigned: Bool) -> String {
    "(source.heldSince IS NULL OR source.current IS NOT \(current(onlySigned: onlySigned)))"
  }

  /// Returns the same from the database alone, without checking the files.
  package func recordedContents(of release: StoredRelease) async throws -> [StoredBundle] {
    try await records(of: release).map { StoredBundle(bundle: $0.bundle, blob: $0.record?.blob) }
  }

  private func records(of release: StoredRelease) async throws -> [(bundle: PageBundle, record: BlobRecord?)] {
    try await read { db in
      try db.rows(
        """
        SELECT \(Self.entryColumns)
        \(Self.withBlob) ORDER BY position
        """, [release.id]
      ) { (bundle: try Self.bundle($0), record: try Self.blobRecord($0)) }
    }
  }

  /// Returns the bundles and files of a release in the manifest's order, each with its bytes if they are stored.
  ///
  /// Bytes whose file was removed, or changed since it was written, count as not stored.
  ///
  /// - Throws: ``StoreError``.
  package func contents(of release: StoredRelease) async throws -> [StoredBundle] {
    let rows = try await records(of: release)
    let (contents, moved) = try await fileQueue.result { [blobs] in Self.contents(rows, in: blobs) }
    if !moved.isEmpty, isWritable {
      // Files restored from a backup, for example: their bytes are right, so that the next check need not read them.
      try await write { db in for record in moved { try record.save(db) } }
    }
    return contents
  }

  /// - Returns: also the records of files whose bytes are right, and whose status is another than when they were stored.
  private static func contents(
    _ rows: [(bundle: PageBundle, record: BlobRecord?)], in blobs: BlobDirectory
  ) -> (contents: [StoredBundle], moved: [BlobRecord]) {
    let files = blobs.statusReader(followsLinks: false)
    var moved: [BlobRecord] = []
    var isInPlace: [SHA256Digest: Bool] = [:]
    let contents = rows.map { row -> StoredBundle in
      guard let record = row.record else { return StoredBundle(bundle: row.bundle, blob: nil) }
      let known = isInPlace[record.blob.sha256]
      let condition =
        known != nil
        ? .untouched
        : files.map { record.condition($0.status(of: record.blob.sha256)) } ?? record.condition(in: blobs)
      let isGood = known ?? (condition == .untouched || condition == .touched && (try? blobs.read(record.blob)) != nil)
      isInPlace[record.blob.sha256] = isGood
      if isGood, condition == .touched, let status = FileSystem.status(blobs.path(of: record.blob.sha256)) {
        moved.append(BlobRecord(blob: record.blob, status: status))
      }
      return StoredBundle(bundle: row.bundle, blob: isGood ? record.blob : nil)
    }
    return (contents, moved)
  }

  /// Returns the stored bytes that other releases of the same source have for entries, newest first, without those that
  /// the release has for the same entry. Their files are not checked.
  package func formerContents(of release: StoredRelease) async throws -> [EntryName: [Blob]] {
    let rows = try await read { db in
      try db.rows(
        """
        SELECT \(Self.entryColumns)
        FROM listed JOIN blob ON blob.sha256 = listed.blob
        WHERE listed.source = (SELECT source FROM "release" WHERE id = ?1) AND NOT ?1 BETWEEN listed.first AND listed.last
        ORDER BY listed.first DESC
        """, [release.id], Self.storedBundle)
    }
    var contents: [EntryName: [Blob]] = [:]
    for row in rows {
      guard let blob = row.blob else { continue }
      let name = EntryName(row.bundle)
      if contents[name]?.contains(blob) != true { contents[name, default: []].append(blob) }
    }
    return contents
  }

  /// Returns the origins that stored bytes may have come from: those of all entries and unlisted bundles with them.
  package func origins(of blob: Blob) async throws -> Set<String> {
    let urls = try await read { db in
      try String.fetchAll(
        db,
        sql: """
          SELECT COALESCE(location, url) FROM listed WHERE blob = ?1 UNION SELECT url FROM unlisted WHERE blob = ?1
          """, arguments: [blob.sha256])
    }
    return Set(urls.lazy.map { PageURL(normalised: $0).origin })
  }

  /// Returns the first bundle in a release's manifest; `nil` if it lists none.
  package func firstBundle(of release: StoredRelease) async throws -> StoredBundle? {
    try await read { db in
      try db.firstRow(
        """
        SELECT \(Self.entryColumns)
        \(Self.withBlob) AND listed.kind = ?2 ORDER BY position LIMIT 1
        """, [release.id, PageBundle.Kind.bundle.rawValue], Self.storedBundle)
    }
  }

  /// The numbers of a release's bundles and files, and the entries that are to be fetched since they are neither stored
  /// nor on demand, in the manifest's order.
  package typealias Stock = (counts: ReleaseCounts, absent: [PageBundle])

  /// Returns what the store has of a release whose files are as they were written. Their bytes are not read.
  ///
  /// - Returns: `nil` if a file is missing or was touched: then ``contents(of:)`` tells what is stored.
  /// - Throws: ``StoreError``.
  package func stock(of release: StoredRelease) async throws -> Stock? {
    guard let files = blobs.statusReader() else { return nil }
    let folders = try files.folders()
    if let checked = try await checked(release), checked.holds(at: now(), folders: folders.state) {
      return (checked.counts, [])
    }
    guard let stock = try await counted(release, files, folders.state) else { return nil }
    let time = now()
    if stock.absent.isEmpty, isWritable, time - Double(folders.modified) / 1e9 > CheckedFiles.settling {
      let checked = CheckedFiles(time: time, folders: folders.state, counts: stock.counts)
      // If it cannot be kept, the next launch looks again.
      try? await write { db in
        try db.execute(
          sql: "UPDATE \"release\" SET checked = ? WHERE id = ?", arguments: [checked.text, release.id])
      }
    }
    return stock
  }

  private func checked(_ release: StoredRelease) async throws -> CheckedFiles? {
    let text = try await readOnce { db in
      try db.firstRow("SELECT checked FROM \"release\" WHERE id = ?", [release.id]) {
        try $0.decode(String?.self, atIndex: 0)
      }
    }
    return (text ?? nil).flatMap { CheckedFiles($0) }
  }

  /// Looks at the files of a release, but for those that an earlier release has too and that were looked at with it.
  ///
  /// - Parameter folders: the present state of the folders.
  /// - Returns: `nil` if one is missing or was touched.
  private func counted(
    _ release: StoredRelease, _ files: BlobDirectory.StatusReader, _ folders: SHA256Digest
  ) async throws -> Stock? {
    try await read { [time = now()] db -> Stock? in
      var counts = ReleaseCounts()
      // An entry on demand may have been taken from what other entries have since then.
      let isCovered = "listed.first <= ?2 AND listed.preload <> 'demand' AND listed.blob IS NOT NULL"
      let covering = try Self.lookedAt(before: release, at: time, folders, db)
      if covering > 0 {
        _ = try db.firstRow(
          """
          SELECT COUNT(*), COALESCE(SUM(listed.kind = 'bundle'), 0) \(Self.ofRelease) AND \(isCovered)
          """, [release.id, covering]
        ) { row in
          let (all, bundles): (Int, Int) = try (row.decode(atIndex: 0), row.decode(atIndex: 1))
          (counts.bundles, counts.storedBundles) = (bundles, bundles)
          (counts.files, counts.storedFiles) = (all - bundles, all - bundles)
        }
      }
      let cursor = try Row.fetchCursor(
        db.cachedStatement(
          sql: """
            SELECT listed.kind, listed.preload, blob.sha256, blob.size, blob.inode, blob.modified
            \(Self.withBlob) AND NOT (\(isCovered))
            """), arguments: [release.id, covering])
      var lacks = false
      // By their places, since a release has tens of thousands.
      while let row = try cursor.next() {
        let digest = try row.decode(SHA256Digest?.self, atIndex: 2)
        counts.count(Self.kind(try row.decode(String.self, atIndex: 0)), isStored: digest != nil)
        if let digest {
          let (size, inode, modified): (Int64, Int64, Int64) = try (
            row.decode(atIndex: 3), row.decode(atIndex: 4), row.decode(atIndex: 5)
          )
          guard files.status(of: digest)?.isUnchanged(size: size, inode: inode, modified: modified) == true else {
            return nil
          }
        } else if Self.preload(try row.decode(String.self, atIndex: 1)) == .demand {
          counts.onDemand += 1
        } else {
          lacks = true
        }
      }
      guard lacks else { return (counts, []) }
      let absent = try db.rows(
        """
        SELECT \(Self.entryColumns)
        \(Self.withBlob) AND listed.blob IS NULL AND listed.preload <> 'demand' ORDER BY position
        """, [release.id], Self.bundle)
      return (counts, absent)
    }
  }

  /// The newest of the source's earlier releases whose files were all looked at while the folders were as they are; 0 if
  /// there is none.
  private static func lookedAt(
    before release: StoredRelease, at time: Double, _ folders: SHA256Digest, _ db: Database
  ) throws -> Int64 {
    let releases = try db.rows(
      """
      SELECT id, checked FROM "release"
      WHERE source = (SELECT source FROM "release" WHERE id = ?1) AND id < ?1 AND checked IS NOT NULL ORDER BY id DESC
      """, [release.id]
    ) { row in (id: try row.decode(Int64.self, atIndex: 0), text: try row.decode(String.self, atIndex: 1)) }
    return releases.first { CheckedFiles($0.text)?.holds(at: time, folders: folders) == true }?.id ?? 0
  }

  /// Returns the references that a release's bundles list for prefetching, each once.
  ///
  /// - Parameter onlyStored: `true` to leave out those of bundles that are not stored.
  package func prefetches(of release: StoredRelease, onlyStored: Bool) async throws -> Set<String> {
    let lists: [String] = try await readOnce { db in
      try db.rows(
        """
        SELECT DISTINCT prefetch FROM listed INDEXED BY listedWithPrefetch
        WHERE source = (SELECT source FROM "release" WHERE id = ?1) AND ?1 BETWEEN first AND last
        AND prefetch IS NOT NULL AND (blob IS NOT NULL OR NOT ?2)
        """, [release.id, onlyStored]
      ) { try $0.value("prefetch") }
    }
    return Set(lists.flatMap(Self.references))
  }

  /// The references of the column `prefetch`.
  private static func references(_ list: String) -> [String] { list.split(separator: "\n").map(String.init) }

  private static func kind(_ text: String) -> PageBundle.Kind { PageBundle.Kind(rawValue: text) ?? .file }
  private static func preload(_ text: String) -> Manifest.Preload { Manifest.Preload(rawValue: text) ?? .launch }

  /// By the columns' places, since a release has tens of thousands of entries.
  private static func bundle(_ row: Row) throws -> PageBundle {
    let prefetch: String? = try row.value(at: 7)
    let location: String? = try row.value(at: 9)
    return try PageBundle(
      kind: kind(row.value(at: 0)), name: row.value(at: 1),
      url: PageURL(normalised: row.value(at: 2)), location: location.map(PageURL.init(normalised:)),
      size: row.value(at: 3),
      md5: row.value(at: 4), sha256: row.value(at: 5),
      preload: preload(row.value(at: 6)), prefetch: prefetch.map(references) ?? [],
      isOptional: row.value(at: 8))
  }

  private static func storedBundle(_ row: Row) throws -> StoredBundle {
    try StoredBundle(bundle: bundle(row), blob: blobRecord(row)?.blob)
  }

  private static func blobRecord(_ row: Row) throws -> BlobRecord? {
    let digest: SHA256Digest? = try row.value(at: 10)
    guard let digest else { return nil }
    return try BlobRecord(
      blob: Blob(md5: row.value(at: 11), sha256: digest, size: row.value(at: 12)), inode: row.value(at: 13),
      modified: row.value(at: 14))
  }

  /// Returns the bundle or file that a release lists at this URL.
  package func bundle(at url: PageURL, in release: StoredRelease) async throws -> StoredBundle? {
    try await read { db in
      try db.firstRow(
        """
        SELECT \(Self.entryColumns)
        FROM listed INDEXED BY listedByURL LEFT JOIN blob ON blob.sha256 = listed.blob
        WHERE listed.url = ?1 AND listed.source = (SELECT source FROM "release" WHERE id = ?2)
        AND ?2 BETWEEN listed.first AND listed.last LIMIT 1
        """, [url.text, release.id], Self.storedBundle)
    }
  }

  /// Returns the bundle or file at this URL: the incoming release's if its bytes are stored, then the current
  /// release's, then one that no manifest lists.
  ///
  /// - Returns: `nil` if no release lists the URL and no bundle is stored for it.
  /// - Throws: ``StoreError``.
  public func bundle(at url: PageURL) async throws -> StoredBundle? {
    let (found, lastUse) = try await read { [requiresSignatures] db -> (StoredBundle?, Double?) in
      // An incoming release's bytes are the newest verified ones. Without bytes, the current release's entry tells the
      // expected digests.
      let known = try db.firstRow(
        """
        SELECT \(Self.entryColumns)
        \(Self.atURL)
          AND ("release".id = \(Self.current(onlySigned: requiresSignatures))
            OR "release".activatedAt IS NULL AND \(Self.isFollowed(onlySigned: requiresSignatures)))
          AND "release".standing <> 'bad'
          AND (NOT ?2 OR \(Self.isTrusted))
        ORDER BY listed.blob IS NULL, "release".id DESC LIMIT 1
        """, [url.text, requiresSignatures], Self.storedBundle)
      if let known, known.blob != nil { return (known, nil) }
      guard !requiresSignatures, let unlisted = try Self.unlisted(url, db) else { return (known, nil) }
      return (StoredBundle(bundle: unlisted.candidate.bundle, blob: unlisted.candidate.blob), unlisted.usedAt)
    }
    if let lastUse { await recordUse(of: url, in: "unlisted", last: lastUse) }
    return found
  }

  /// Returns all candidates for this URL: the entries of the source's incoming, current and previous release, newest
  /// first, then the bundle that no manifest lists.
  ///
  /// - Parameter source: the manifest's URL; `nil` for all sources.
  package func candidates(at url: PageURL, of source: PageURL?) async throws -> [StoredCandidate] {
    try await look(at: [url], of: source, withSource: false).candidates.first ?? []
  }

  /// The candidates for each of some URLs; a source with its releases; and the messages of the bundles that its publisher
  /// has disabled, by their names.
  typealias PageLook = (candidates: [[StoredCandidate]], source: StoredSource?, disabled: [String: String])

  /// Returns what the store has for the URLs of a page, read at once: as ``candidates(at:of:)``, ``source(_:)`` and
  /// ``disabled(of:)`` return it.
  ///
  /// - Parameters:
  ///   - source: the manifest's URL; `nil` for all sources.
  ///   - withSource: `false` to leave the source out.
  func look(at urls: [PageURL], of source: PageURL?, withSource: Bool) async throws -> PageLook {
    let (found, lastUses) = try await read { [requiresSignatures] db -> (PageLook, [(url: PageURL, last: Double)]) in
      var found: PageLook = ([], nil, [:])
      var lastUses: [(url: PageURL, last: Double)] = []
      for url in urls {
        let (candidates, lastUse) = try Self.candidates(at: url, of: source, onlySigned: requiresSignatures, db)
        found.candidates.append(candidates)
        if let lastUse { lastUses.append((url, lastUse)) }
      }
      if let source {
        if withSource { found.source = try Self.source(source, onlySigned: requiresSignatures, db) }
        if requiresSignatures { found.disabled = try Self.disabled(of: source, db) }
      }
      return (found, lastUses)
    }
    for use in lastUses { await recordUse(of: use.url, in: "unlisted", last: use.last) }
    if let source, let known = found.source { await recordUse(of: source, in: "source", last: known.usedAt ?? 0) }
    return found
  }

  /// The candidates, and the time of the last use of the bundle that no manifest lists, if it is used now.
  private static func candidates(
    at url: PageURL, of source: PageURL?, onlySigned: Bool, _ db: Database
  ) throws -> ([StoredCandidate], Double?) {
    let listed = try db.rows(
      """
      SELECT \(entryColumns),
        "release".id AS releaseID, "release".name AS releaseName, "release".sequence AS releaseSequence,
        "release".digest AS releaseDigest, "release".etag AS releaseETag,
        "release".lastModified AS releaseLastModified, "release".activatedAt AS releaseActivatedAt,
        "release".signedAt AS signedAt, "release".expiresAt AS expiresAt, "release".standing AS standing,
        source.url AS sourceURL, source.previous AS previousID,
        \(current(onlySigned: onlySigned)) AS currentID,
        "release".activatedAt IS NOT NULL OR NOT EXISTS (
          SELECT 1 FROM listed AS other WHERE other.source = source.id
          AND "release".id BETWEEN other.first AND other.last AND other.kind = 'file'
          AND other.blob IS NULL AND NOT other.isOptional AND other.preload <> 'demand') AS hasAllFiles
      \(atURL) AND (?2 IS NULL OR source.url = ?2)
      AND ("release".activatedAt IS NULL AND \(isFollowed(onlySigned: onlySigned))
           OR "release".id IN (currentID, source.previous))
      AND "release".standing <> 'bad'
      AND (NOT ?3 OR \(isTrusted))
      ORDER BY "release".id DESC
      """, [url.text, source?.text, onlySigned], candidate)
    guard !onlySigned, let unlisted = try Self.unlisted(url, db) else { return (listed, nil) }
    // It is used only if no release has bytes.
    return (listed + [unlisted.candidate], listed.contains { $0.blob != nil } ? nil : unlisted.usedAt)
  }

  private static func candidate(_ row: Row) throws -> StoredCandidate {
    let (id, current, previous): (Int64, Int64?, Int64?) = try (
      row.value("releaseID"), row.value("currentID"), row.value("previousID")
    )
    return try StoredCandidate(
      place: id == current ? .current : id == previous ? .previous : .incoming,
      release: StoredRelease(
        id: id, source: PageURL(normalised: row.value("sourceURL")), name: row.value("releaseName"),
        sequence: row.value("releaseSequence"), digest: row.value("releaseDigest"),
        validators: Validators(etag: row.value("releaseETag"), lastModified: row.value("releaseLastModified")),
        activatedAt: row.value("releaseActivatedAt"), signed: signedSpan(row),
        standing: standing(row)),
      bundle: bundle(row), blob: blobRecord(row)?.blob, hasAllFiles: row.value("hasAllFiles"))
  }

  /// A bundle that no manifest lists, and the time of its last use.
  private static func unlisted(
    _ url: PageURL, _ db: Database
  ) throws -> (candidate: StoredCandidate, usedAt: Double)? {
    try db.firstRow(
      """
      SELECT unlisted.usedAt, blob.* FROM unlisted JOIN blob ON blob.sha256 = unlisted.blob WHERE unlisted.url = ?
      """, [url.text]
    ) { row in
      let blob = try BlobRecord(row).blob
      let bundle = PageBundle(
        kind: .bundle, name: url.text, url: url, size: blob.size, md5: blob.md5, sha256: blob.sha256)
      return try (
        StoredCandidate(place: .unlisted, release: nil, bundle: bundle, blob: blob, hasAllFiles: true),
        row.value("usedAt")
      )
    }
  }
}

extension Row {
  /// Reads a column by its place; as ``value(_:)`` it fails for a value of another type, which GRDB's own reader of
  /// texts would convert.
  ///
  /// - Throws: `RowDecodingError`.
  fileprivate func value<Value: DatabaseValueConvertible>(at index: Int) throws -> Value {
    try decode(Value.self, atIndex: index)
  }
}

/// The numbers of a release's bundles and files.
package struct ReleaseCounts: Hashable, Sendable {
  package var bundles = 0
  package var files = 0
  /// The numbers of those that are stored.
  package var storedBundles = 0
  package var storedFiles = 0
  /// The number of bundles and files that are not stored, and are fetched when a page opens them.
  package var onDemand = 0

  package init() {}

  init(_ contents: [StoredBundle]) {
    for item in contents { count(item.bundle.kind, isStored: item.blob != nil) }
  }

  /// The number of all bundles and files.
  var all: Int { bundles + files }
  /// The number of those that are stored.
  var stored: Int { storedBundles + storedFiles }

  mutating func count(_ kind: PageBundle.Kind, isStored: Bool) {
    switch kind {
    case .bundle:
      bundles += 1
      if isStored { storedBundles += 1 }
    case .file:
      files += 1
      if isStored { storedFiles += 1 }
    }
  }
}

/// The result of a look at all files of a complete release, and its time. While the folders of blobs are unchanged since
/// then, no file was added, removed or replaced, and the files need not be looked at again.
struct CheckedFiles: Equatable {
  /// The time for which the folders are believed, in seconds: a file that was changed in place leaves no trace in them.
  static let validity: Double = 86_400
  /// A folder that changed so short a time before the look, in seconds, may change again without another time.
  static let settling: Double = 2

  /// The time of the look, in seconds since 1970.
  let time: Double
  /// Identifies the state of the folders.
  let folders: SHA256Digest
  let counts: ReleaseCounts

  init(time: Double, folders: SHA256Digest, counts: ReleaseCounts) {
    (self.time, self.folders, self.counts) = (time, folders, counts)
  }

  /// Returns `true` if the files are as they were.
  ///
  /// - Parameters:
  ///   - now: the time in seconds since 1970.
  ///   - folders: the present state of the folders.
  func holds(at now: Double, folders: SHA256Digest) -> Bool {
    folders == self.folders && (0..<Self.validity).contains(now - time)
  }

  /// The text in the column `checked`.
  var text: String {
    let numbers = [
      counts.bundles, counts.files, counts.storedBundles, counts.storedFiles, counts.onDemand,
    ]
    return ([folders.hex, String(time)] + numbers.map { String($0) }).joined(separator: " ")
  }

  /// - Parameter text: a text of the column `checked`; `nil` is returned for any other.
  init?(_ text: String) {
    let parts = text.split(separator: " ")
    let numbers = parts.dropFirst(2).compactMap { Int($0) }
    guard parts.count == 7, numbers.count == 5, let folders = SHA256Digest(hex: String(parts[0])),
      let time = Double(parts[1])
    else { return nil }
    var counts = ReleaseCounts()
    (counts.bundles, counts.files) = (numbers[0], numbers[1])
    (counts.storedBundles, counts.storedFiles, counts.onDemand) = (numbers[2], numbers[3], numbers[4])
    self.init(time: time, folders: folders, counts: counts)
  }
}
