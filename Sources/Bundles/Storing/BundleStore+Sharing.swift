import DiskStorage
import GRDB
import HTTPTransport
import SystemPackage

/// The bytes of an entry, or the download that is to bring them.
package enum BundleClaim: Sendable {
  case stored(Blob)
  case download(BundleDownload)
}

/// Downloads that processes with one store share.
extension BundleStore {
  /// The interval at which another process's download is looked at. A lock cannot be waited for with a deadline.
  private static let interval = Duration.milliseconds(20)
  /// The time without new bytes after which another process's download is not waited for any longer.
  private static let patience = Duration.seconds(5)

  /// Returns the download of a release's entry, as ``download(for:url:)``; or its bytes, if another process has stored
  /// them. Waits for a process that downloads them, as long as bytes arrive.
  ///
  /// - Parameter progress: called when the other process has received bytes.
  package func claim(
    _ expected: ExpectedContent, url: PageURL, of release: StoredRelease, progress: @Sendable () -> Void
  ) async throws -> BundleClaim {
    let name = try Self.downloadName(expected, url)
    let path = work.partial.appending(name)
    var size: Int64?
    var deadline = ContinuousClock.now + Self.patience
    while true {
      if let download = try await openDownload(named: name) {
        // Now no other process downloads it; one may have until just now.
        guard let blob = try await blob(expected, in: release) else { return .download(download) }
        download.discard()
        download.close()
        return .stored(blob)
      }
      let found = FileSystem.status(path)?.size
      if found != size {
        if size != nil { progress() }
        (size, deadline) = (found, .now + Self.patience)
      } else if deadline <= .now {
        return .download(try BundleDownload.makePrivate(named: name, in: work))
      }
      try await Task.sleep(for: Self.interval)
    }
  }

  /// Returns the bytes of a release's entry if they are stored.
  private func blob(_ expected: ExpectedContent, in release: StoredRelease) async throws -> Blob? {
    guard let md5 = expected.md5 else { return nil }
    // Without a file the database need not be asked: of a first preload, for most bundles.
    if let sha256 = expected.sha256, FileSystem.status(blobs.path(of: sha256)) == nil { return nil }
    return try await read { [blobs] db in
      let record = try db.firstRow(
        """
        SELECT blob.* FROM listed INDEXED BY listedByMD5 JOIN blob ON blob.sha256 = listed.blob
        WHERE listed.md5 = ?2 AND listed.source = (SELECT source FROM "release" WHERE id = ?1) AND ?1 BETWEEN first AND last
        AND (listed.sha256 IS NULL OR listed.sha256 = blob.sha256) LIMIT 1
        """, [release.id, md5]
      ) { try BlobRecord($0) }
      guard let record, record.isInPlace(in: blobs), expected.sha256 == nil || expected.sha256 == record.blob.sha256
      else { return nil }
      return record.blob
    }
  }
}
