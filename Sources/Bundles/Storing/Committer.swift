import Blobs
import Dispatch
import Foundation
import GRDB
import HTTPTransport
import SystemPackage

/// Makes finished downloads durable and then records them, in batches of those that finished while it was busy.
///
/// The order for each batch: give the file a name in `blobs/`, flush to disk, commit, remove its name in `partial/`. Until
/// then the download's lock tells other processes to wait for it. A crash before the commit leaves a file that no entry
/// names; the next download of these bytes replaces it, or the collector removes it.
final class Committer: Sendable {
  /// The entry that the bytes are recorded for.
  enum CommitTarget: Sendable {
    case listed(release: Int64)
    case unlisted(PageURL)
  }

  private typealias Job = (download: BundleDownload, digests: ContentDigests, target: CommitTarget)

  /// The number of files from which one flush of the file system is cheaper than flushing each file and its folder.
  private static let flushAllFrom = 4

  private let directory: StoreDirectory
  private let blobs: BlobDirectory
  private let keeper: DatabaseKeeper<StoreDatabase>
  /// Returns the time in seconds since 1970.
  private let now: @Sendable () -> Double
  /// Each flush costs nearly the same for one file and for many.
  private let batches = Batcher<Committer, Job, Void>(
    on: DispatchQueue(label: "pagekit.store.commit"), limit: 256, longestPause: .milliseconds(20)
  ) { $0.commit($1) }

  init(directory: StoreDirectory, keeper: DatabaseKeeper<StoreDatabase>, now: @escaping @Sendable () -> Double) {
    self.directory = directory
    self.keeper = keeper
    self.now = now
    blobs = BlobDirectory(root: directory.blobs)
  }

  /// - Parameter queued: called when the download waits for its batch.
  func commit(
    _ download: BundleDownload, digests: ContentDigests, as target: CommitTarget, queued: () -> Void
  ) async throws {
    try await batches.result(of: (download, digests, target), from: self, queued: queued)
  }

  /// Commits the downloads that wait without a pause for others.
  func expectNoMore() { batches.expectNoMore(self) }

  private func commit(_ batch: [Job]) -> [Result<Void, any Error>] {
    do {
      let writer = try keeper.current().writer(of: directory)
      return try StoreLock(path: directory.lock).with(.shared) {
        let known = try knownBlobs(batch, writer)
        var moved: [SHA256Digest: (status: FileStatus, wasMoved: Bool)] = [:]
        var results = batch.map { job in
          Result<Void, any Error> {
            let digest = job.digests.sha256
            guard !known.contains(digest), moved[digest] == nil else { return job.download.finish(moved: false) }
            moved[digest] = try place(job)
          }
        }
        try flush(Array(moved.keys))
        let placed = zip(batch, results).filter { if case .success = $1 { true } else { false } }.map(\.0)
        try writer.write { db in
          for job in placed { try insert(job, status: moved[job.digests.sha256]?.status, db) }
        }
        for (index, job) in batch.enumerated() {
          // The file was kept open until now, so that no other process continued to write to it.
          guard case .success = results[index], let placed = moved[job.digests.sha256] else { continue }
          results[index] = .success(job.download.finish(moved: placed.wasMoved))
        }
        return results
      }
    } catch {
      return batch.map { _ in .failure(error) }
    }
  }

  /// The blobs that the database names and whose files are in place.
  private func knownBlobs(_ batch: [Job], _ writer: any DatabaseWriter) throws -> Set<SHA256Digest> {
    let wanted = Set(batch.map(\.digests.sha256))
    return try writer.read { db in
      let rows = try BlobRecord.fetch(
        db, where: "sha256 IN (\(databaseQuestionMarks(count: wanted.count)))", Array(wanted))
      return Set(rows.filter { $0.isInPlace(in: blobs) }.map(\.blob.sha256))
    }
  }

  /// Gives a download's file a name in `blobs/`.
  ///
  /// - Returns: `wasMoved` is `true` if the file has no name in `partial/` any more: on file systems where a file cannot
  ///   have two.
  private func place(_ job: Job) throws -> (status: FileStatus, wasMoved: Bool) {
    let (file, source) = try job.download.content()
    let target = blobs.path(of: job.digests.sha256)
    // Mostly the name is free, and the folder is there, or missing in a new store; anything else in their place makes the
    // link fail.
    let isLinked =
      try FileSystem.link(source, to: target)
      || (try? FileSystem.makeFolder(target.folder)) != nil && FileSystem.link(source, to: target)
      || directory.repairing {
        try directory.makeWay(for: .folder, at: target.folder)
        try FileSystem.makeFolder(target.folder)
        try directory.makeWay(for: .file, at: target)
        guard !FileSystem.link(source, to: target) else { return true }
        try FileSystem.rename(source, to: target)
        return false
      }
    _ = fchmod(file.rawValue, 0o444)
    guard let status = FileSystem.status(file), status.size == job.digests.size else {
      throw StoreError.notWritable(path: target.string, reason: "its size changed while it was stored")
    }
    return (status: status, wasMoved: !isLinked)
  }

  private func flush(_ moved: [SHA256Digest]) throws {
    guard !moved.isEmpty else { return }
    if moved.count >= Self.flushAllFrom {
      return try FileSystem.synchroniseFileSystem(of: directory.blobs)
    }
    for digest in moved {
      let path = blobs.path(of: digest)
      try FileSystem.withFile(path, .readOnly) { try FileSystem.synchronise($0, path: path) }
    }
    for folder in Set(moved.map { blobs.path(of: $0).folder }).union([directory.blobs]) {
      try FileSystem.synchroniseFolder(folder)
    }
  }

  private func insert(_ job: Job, status: FileStatus?, _ db: Database) throws {
    if let status {
      try BlobRecord(blob: job.digests, status: status).save(db)
    }
    switch job.target {
    case .listed(let release):
      // Without the hint SQLite scans the whole release for each bundle: 250,000 rows for 500 bundles, and hours for
      // 100,000.
      let update = try db.cachedStatement(
        sql: """
          UPDATE listed INDEXED BY listedByMD5 SET blob = ?1
          WHERE md5 = ?3 AND source = (SELECT source FROM "release" WHERE id = ?2) AND ?2 BETWEEN first AND last
          AND (sha256 IS NULL OR sha256 = ?1)
          """)
      try update.execute(arguments: [job.digests.sha256, release, job.digests.md5])
      try db.cachedStatement(sql: "UPDATE \"release\" SET checked = NULL WHERE id = ? AND checked IS NOT NULL")
        .execute(arguments: [release])
    case .unlisted(let url):
      try db.execute(
        sql: "INSERT OR REPLACE INTO unlisted (url, blob, storedAt, usedAt) VALUES (?1, ?2, ?3, ?3)",
        arguments: [url.text, job.digests.sha256, now()])
    }
  }
}
