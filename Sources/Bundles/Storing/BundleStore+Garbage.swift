import Blobs
import Foundation
import GRDB
import HTTPTransport
import SystemPackage

extension BundleStore {
  /// Removes everything that is no longer needed:
  ///
  /// - releases, except current and incoming ones, those that hosts with keys open while another one is current, those
  ///   that an open page of any process uses, the newest good one while the current one is on trial, and, with `keepingPrevious`, the previous one, those replaced within the store's
  ///   `releaseGrace` and the newest `formerReleases`;
  /// - releases and unlisted bundles that exceed the store's quotas, the least recently used first;
  /// - blobs that no entry names;
  /// - partial downloads that no process uses; with `keepingPrevious` only those older than a day;
  /// - quarantined files, unless `keepingPrevious` is set.
  package func collectGarbage(keepingPrevious: Bool, dryRun: Bool) async throws -> GarbageReport {
    try await collectGarbage(keepingPrevious: keepingPrevious, dryRun: dryRun, quotas: quotas)
  }

  /// Collects garbage with other quotas than the store's.
  package func collectGarbage(
    keepingPrevious: Bool, dryRun: Bool, quotas: StoreQuotas
  ) async throws -> GarbageReport {
    try await collect(keepingPrevious: keepingPrevious, dryRun: dryRun, quotas: quotas, isWhole: true)
  }

  /// Removes what a switch to another release left, and keeps the previous one. The time it takes depends on how much
  /// was left: the folders are searched for files that no entry names only once a day.
  package func collectAfterSwitch() async throws {
    let searched = FileSystem.status(work.searched).map { Double($0.modified) / 1e9 }
    let isDue = searched.map { !(0..<Self.searchInterval).contains(now() - $0) } ?? true
    _ = try await collect(keepingPrevious: true, dryRun: false, quotas: quotas, isWhole: isDue)
    if isDue { try work.make(own: work.searched).close() }
  }

  /// The seconds between two searches of the folders.
  private static let searchInterval: Double = 86_400

  /// - Parameter isWhole: `false` to search no folders for files, and to report no bytes of releases.
  private func collect(
    keepingPrevious: Bool, dryRun: Bool, quotas: StoreQuotas, isWhole: Bool
  ) async throws -> GarbageReport {
    try await writeHoldingLock(.exclusive) { [self] writer in
      var report = GarbageReport()
      var reserved: [ReleaseLeases.Reservation] = []
      var hasRemoved = false
      defer { for reservation in reserved { reservation.end(removing: hasRemoved) } }
      let unnamed = try writer.write { db -> [SHA256Digest] in
        var unnamed: [SHA256Digest] = []
        try db.inSavepoint {
          var kept = try collectReleases(
            keepingPrevious: keepingPrevious, countingBytes: isWhole, db, &report, &reserved)
          if let quota = quotas.releases { try evict(&kept, over: quota, db, &report, &reserved) }
          report.kept += kept.map { .init(name: $0.name, reason: $0.retention.description, bytes: $0.bytes) }
          try db.execute(
            sql: """
              DELETE FROM source WHERE root IS NULL AND trustedSequence IS NULL AND statusSequence IS NULL
                AND NOT EXISTS (SELECT 1 FROM "release" WHERE source = source.id)
                AND NOT EXISTS (SELECT 1 FROM failed WHERE source = source.id)
              """)
          try collectUnlisted(quota: quotas.unlisted, db, &report)
          unnamed = try Self.deleteUnnamedBlobs(db)
          return dryRun ? .rollback : .commit
        }
        return unnamed
      }
      hasRemoved = !dryRun
      if isWhole {
        let named = Set(try writer.read { try SHA256Digest.fetchAll($0, sql: "SELECT sha256 FROM blob") })
          .subtracting(unnamed)
        collectFiles(named: named, keepingPrevious: keepingPrevious, dryRun: dryRun, &report)
      } else {
        for digest in unnamed { remove(blobs.ownPath(of: digest), dryRun: dryRun, &report) }
      }
      if !dryRun {
        let releases = try writer.read { try Int64.fetchAll($0, sql: "SELECT id FROM \"release\"") }
        try leases.removeFiles(exceptOf: Set(releases))
      }
      return report
    }
  }

  // MARK: Releases

  private struct Found {
    let id: Int64
    let source: Int64
    let name: String
    let usedAt: Double
    let bytes: Int64
    var retention: Retention
  }

  /// - Returns: the releases that stay.
  private func collectReleases(
    keepingPrevious: Bool, countingBytes: Bool, _ db: Database, _ report: inout GarbageReport,
    _ reserved: inout [ReleaseLeases.Reservation]
  ) throws -> [Found] {
    let now = now()
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT "release".id, "release".name, "release".source, source.url, source.usedAt,
          source.current, source.previous, source.heldSince, "release".activatedAt,
          "release".id IS \(Self.signedCurrent) AS isSignedCurrent,
          (SELECT MIN(later.activatedAt) FROM "release" AS later
           WHERE later.source = "release".source AND later.activatedAt > "release".activatedAt) AS replacedAt,
          (SELECT COUNT(*) FROM "release" AS later
           WHERE later.source = "release".source AND later.activatedAt > "release".activatedAt
             AND later.id <> source.current) AS newerFormer,
          "release".id = (SELECT MAX(good.id) FROM "release" AS good
            WHERE good.source = "release".source AND good.standing = 'good')
            AND (SELECT standing FROM "release" AS now WHERE now.id = source.current) = 'trial' AS isGoodForTrial
        FROM "release" JOIN source ON source.id = "release".source ORDER BY source.url, "release".id DESC
        """)
    if !keepingPrevious { try db.execute(sql: "UPDATE source SET previous = NULL") }
    let found = try rows.map { row in
      let (id, current, previous): (Int64, Int64?, Int64?) = try (
        row.value("id"), row.value("current"), row.value("previous")
      )
      let (heldSince, activatedAt, replacedAt): (Double?, Double?, Double?) = try (
        row.value("heldSince"), row.value("activatedAt"), row.value("replacedAt")
      )
      let name: String = try row.value("name")
      let role: ReleaseSummary.Role =
        id == current ? .current : id == previous ? .previous : activatedAt == nil ? .incoming : .former
      let situation = Retention.Input(
        role: role, isHeld: heldSince != nil, replacedFor: replacedAt.map { now - $0 } ?? .infinity,
        grace: releaseGrace, newerFormer: try row.value("newerFormer"), keptFormer: formerReleases,
        keepsPrevious: keepingPrevious, isGoodForTrial: try row.value("isGoodForTrial") ?? false,
        isSignedCurrent: try row.value("isSignedCurrent"))
      let source = PageURL(normalised: try row.value("url"))
      return try (
        Found(
          id: id, source: row.value("source"), name: "release \(name) of \(source.filePath ?? source.text)",
          usedAt: row.value("usedAt"), bytes: countingBytes ? Self.bytes(of: id, db) : 0, retention: .viewed),
        Retention(of: situation)
      )
    }
    let free = try leases.reserve(found.filter { $0.1 == nil }.map(\.0.id))
    reserved.append(free)
    var kept: [Found] = []
    for (release, retention) in found {
      if free.releases.contains(release.id) {
        try db.execute(sql: "DELETE FROM \"release\" WHERE id = ?", arguments: [release.id])
        report.releases += 1
        report.removed.append(.init(name: release.name, reason: "another took its place", bytes: release.bytes))
      } else {
        kept.append(release)
        kept[kept.count - 1].retention = retention ?? .viewed
      }
    }
    return kept
  }

  /// Removes replaced releases, and then the least recently used sources, until the rest is within the quota.
  private func evict(
    _ kept: inout [Found], over quota: Int64, _ db: Database, _ report: inout GarbageReport,
    _ reserved: inout [ReleaseLeases.Reservation]
  ) throws {
    let lastUsed = kept.max { ($0.usedAt, $0.id) < ($1.usedAt, $1.id) }?.source
    func rank(_ found: Found) -> Int? { found.retention.evictionRank(isLastUsed: found.source == lastUsed) }
    let order = kept.filter { rank($0) != nil }.sorted {
      (rank($0) ?? 0, $0.usedAt, $0.id) < (rank($1) ?? 0, $1.usedAt, $1.id)
    }
    for found in order where try Self.bytesOfReleases(db) > quota {
      if found.retention == .current, kept.contains(where: { $0.source == found.source && $0.id != found.id }) {
        continue
      }
      let reservation = try leases.reserve([found.id])
      guard !reservation.releases.isEmpty else { continue }
      reserved.append(reservation)
      try db.execute(
        sql: """
          UPDATE source SET current = NULLIF(current, ?1), previous = NULLIF(previous, ?1) WHERE id = ?2
          """, arguments: [found.id, found.source])
      try db.execute(sql: "DELETE FROM \"release\" WHERE id = ?", arguments: [found.id])
      kept.removeAll { $0.id == found.id }
      report.releases += 1
      report.removed.append(
        .init(name: found.name, reason: "used longest ago, and releases have \(quota) bytes", bytes: found.bytes))
    }
  }

  private static func bytesOfReleases(_ db: Database) throws -> Int64 {
    try Int64.fetchOne(
      db,
      sql: """
        SELECT COALESCE(SUM(size), 0) FROM blob WHERE EXISTS (SELECT 1 FROM listed WHERE listed.blob = blob.sha256)
        """) ?? 0
  }

  // MARK: Bundles outside manifests

  private func collectUnlisted(quota: Int64?, _ db: Database, _ report: inout GarbageReport) throws {
    let evicted = try quota.map { try Self.unlistedToEvict(over: $0, db) } ?? []
    for (url, bytes) in evicted {
      try db.execute(sql: "DELETE FROM unlisted WHERE url = ?", arguments: [url])
      report.removed.append(
        .init(name: url, reason: "in no manifest, and used longest ago", bytes: bytes))
    }
    report.unlisted = evicted.count
    let rest = try Row.fetchAll(
      db,
      sql: """
        SELECT unlisted.url, blob.size FROM unlisted JOIN blob ON blob.sha256 = unlisted.blob ORDER BY unlisted.url
        """)
    report.kept += try rest.map {
      try .init(
        name: $0.value("url"), reason: "in no manifest, within what such bundles may take", bytes: $0.value("size"))
    }
  }

  // MARK: Files

  private func collectFiles(
    named: Set<SHA256Digest>, keepingPrevious: Bool, dryRun: Bool, _ report: inout GarbageReport
  ) {
    for (digest, path) in blobs.all() where digest.map({ !named.contains($0) }) ?? false {
      report.blobs += 1
      remove(path, dryRun: dryRun, &report)
    }
    for name in FileSystem.names(in: work.partial) {
      let path = work.partial.appending(name)
      if let reason = reasonToKeep(download: path, atOnce: !keepingPrevious) {
        let size = FileSystem.status(path)?.size ?? 0
        report.kept.append(.init(name: "download \(name)", reason: reason, bytes: size))
      } else {
        report.partials += 1
        remove(path, dryRun: dryRun, &report)
      }
    }
    for name in FileSystem.names(in: work.quarantine) {
      let path = work.quarantine.appending(name)
      if keepingPrevious {
        let size = FileSystem.status(path)?.size ?? 0
        report.kept.append(.init(name: "quarantined \(name)", reason: "kept for inspection", bytes: size))
      } else {
        report.quarantined += 1
        remove(path, dryRun: dryRun, &report)
      }
    }
  }

  /// Returns `nil` for a download that no process uses. A download's head and content are removed once its wire file is
  /// gone.
  private func reasonToKeep(download path: StorePath, atOnce: Bool) -> String? {
    // A link, a folder or a FIFO is not a download.
    guard FileSystem.status(path)?.kind == .file else { return nil }
    guard let file = try? FileSystem.open(path, .readOnly) else { return "it cannot be opened" }
    defer { try? file.close() }
    let name = path.lastName
    if let suffix = [".json", ".content"].first(where: { name.hasSuffix($0) }) {
      let wire = path.folder.appending(String(name.dropLast(suffix.count)))
      return FileSystem.status(wire) == nil ? nil : "it belongs to a download that is not complete"
    }
    guard flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 else { return "a process is at it" }
    let age = now() - Double(FileSystem.status(file)?.modified ?? 0) / 1e9
    return atOnce || age > 86_400 ? nil : "it can go on where it ended, for a day"
  }

  private func remove(_ path: StorePath, dryRun: Bool, _ report: inout GarbageReport) {
    report.bytes += FileSystem.status(path)?.size ?? 0
    if !dryRun { FileSystem.removeAll(path) }
  }
}

/// The result of a garbage collection: the removed and the remaining items.
package struct GarbageReport: Hashable, Sendable {
  /// An item in the store, and the reason why it stays or goes.
  package struct Item: Hashable, Sendable, Codable {
    /// The item's kind and name, such as `release r1 of https://…`.
    package let name: String
    package let reason: String
    /// The item's bytes; those of a release may be shared with others.
    package let bytes: Int64

    package init(name: String, reason: String, bytes: Int64) {
      self.name = name
      self.reason = reason
      self.bytes = bytes
    }
  }

  /// The number of removed releases.
  package var releases = 0
  /// The number of removed bundles that no manifest lists.
  package var unlisted = 0
  /// The number of removed blobs.
  package var blobs = 0
  /// The number of removed partial downloads.
  package var partials = 0
  /// The number of removed quarantined files.
  package var quarantined = 0
  /// The bytes of all removed files.
  package var bytes: Int64 = 0
  package var removed: [Item] = []
  package var kept: [Item] = []

  package init() {}
}

/// The reason why the garbage collector keeps a release.
enum Retention: Hashable, Sendable {
  case held
  case current
  case incoming
  case previous
  /// The release was replaced within the grace time.
  case recent
  /// The release is among the newest former ones that the store keeps.
  case former
  /// An open page uses the release.
  case viewed
  /// The release is the newest good one, and the current one is on trial.
  case good
  /// Hosts with keys open the release, and a host without keys has made another one current.
  case signed

  /// The state of a release, and the options of the collection.
  struct Input: Hashable, Sendable {
    var role: ReleaseSummary.Role
    var isHeld = false
    /// The seconds since another release replaced it.
    var replacedFor: Double = .infinity
    /// The time for which replaced releases are kept, in seconds.
    var grace: Double = 0
    /// The number of releases that became current after it, and are not current any more.
    var newerFormer = 0
    /// The number of former releases that are kept.
    var keptFormer = 0
    var keepsPrevious = false
    /// `true` for the newest good release of a source whose current one is on trial.
    var isGoodForTrial = false
    /// `true` for the release that is current for hosts with keys.
    var isSignedCurrent = false
  }

  /// Returns `nil` for a release that may be removed.
  init?(of situation: Input) {
    switch situation.role {
    case .current: self = situation.isHeld ? .held : .current
    case .incoming: self = .incoming
    case .previous where situation.isSignedCurrent, .former where situation.isSignedCurrent: self = .signed
    case .previous where situation.keepsPrevious: self = .previous
    case .previous where situation.isGoodForTrial, .former where situation.isGoodForTrial: self = .good
    case .previous, .former:
      guard situation.keepsPrevious else { return nil }
      if situation.replacedFor < situation.grace {
        self = .recent
      } else if situation.newerFormer < situation.keptFormer {
        self = .former
      } else {
        return nil
      }
    }
  }

  /// The rank in the order in which releases are evicted, lowest first; `nil` for a release that is never evicted.
  ///
  /// - Parameter isLastUsed: `true` if its source is the most recently used one.
  func evictionRank(isLastUsed: Bool) -> Int? {
    switch self {
    case .recent, .former: 0
    case .previous, .good: 1
    case .current, .signed: isLastUsed ? nil : 2
    case .held, .incoming, .viewed: nil
    }
  }

  var description: String {
    switch self {
    case .held: "current, and held until \"release follow\""
    case .current: "current"
    case .incoming: "coming in"
    case .previous: "the one before the current one"
    case .viewed: "a page that is open sees it"
    case .good: "good, while the current one is on trial"
    case .signed: "current for hosts with keys"
    case .recent: "replaced a moment ago"
    case .former: "its bytes shorten the downloads of newer ones"
    }
  }
}
