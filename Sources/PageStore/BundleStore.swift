import Foundation
import GRDB
import Logging
import PageCore
import SystemPackage

/// The durable store: SQLite for what is known, files for bytes.
///
/// What is named by the database survives a power failure; bytes are checked whenever they are read. Several processes
/// may use one folder at once.
public final class BundleStore: BundleStoring {
  public let directory: StoreDirectory
  let database: StoreDatabase
  let blobs: BlobDirectory
  let leases: ReleaseLeases
  let logger: Logger
  private let committer: Committer?
  private let verified: SecondChanceCache<SHA256Digest, [UInt8]>
  /// In seconds.
  let releaseGrace: Double

  /// Opens the store, making it where there is none.
  ///
  /// - Parameters:
  ///   - memoryCapacity: bytes of checked bundles kept in memory.
  ///   - releaseGrace: how long releases are kept after others took their place, besides the previous one.
  /// - Throws: ``StoreError``.
  public init(
    at directory: StoreDirectory, memoryCapacity: Int = 16 << 20, releaseGrace: Duration = .zero,
    logger: Logger = Logger(label: "pagekit.store")
  ) throws {
    try directory.create()
    // Fails here, not half way through a download, where nothing may be written.
    let lock = StoreLock(path: directory.lock)
    try lock.with(.shared) {}
    self.directory = directory
    blobs = BlobDirectory(root: directory.blobs)
    leases = ReleaseLeases(folder: directory.views)
    database = try Recovery(directory: directory, blobs: blobs, lock: lock, logger: logger).openDatabase()
    committer = database.writer.map { Committer(directory: directory, writer: $0) }
    verified = SecondChanceCache(capacity: memoryCapacity)
    self.releaseGrace = releaseGrace / .seconds(1)
    self.logger = logger
  }

  /// Opens a store that is there, for reading only.
  ///
  /// - Throws: ``StoreError/absent(path:)`` where there is none.
  public init(reading directory: StoreDirectory, logger: Logger = Logger(label: "pagekit.store")) throws {
    guard directory.hasStore else { throw StoreError.absent(path: directory.path) }
    self.directory = directory
    database = try StoreDatabase(reading: directory.database.string)
    blobs = BlobDirectory(root: directory.blobs)
    leases = ReleaseLeases(folder: directory.views)
    committer = nil
    verified = SecondChanceCache(capacity: 0)
    releaseGrace = 0
    self.logger = logger
  }

  /// SQLite's own version.
  public static var databaseVersion: String {
    let number = Database.sqliteLibVersionNumber
    return "\(number / 1_000_000).\(number / 1000 % 1000).\(number % 1000)"
  }

  // MARK: Access to the database

  func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    do {
      return try await database.reader.read(body)
    } catch {
      throw database.storeError(error)
    }
  }

  func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    do {
      return try await writer().write(body)
    } catch {
      throw database.storeError(error)
    }
  }

  /// Writes while no file can be collected; blocks its thread while another process collects.
  func writeHoldingLock<Value>(_ mode: StoreLock.Mode, _ body: (any DatabaseWriter) throws -> Value) throws -> Value {
    let writer = try writer()
    do {
      return try StoreLock(path: directory.lock).with(mode) { try body(writer) }
    } catch {
      throw database.storeError(error)
    }
  }

  private func writer() throws -> any DatabaseWriter {
    guard let writer = database.writer else {
      throw StoreError.notWritable(path: directory.path, reason: "it was opened for reading only")
    }
    return writer
  }

  public func usage() async throws -> (blobs: Int, bytes: Int64) {
    try await read { db in
      let row = try Row.fetchOne(db, sql: "SELECT COUNT(*) AS blobs, TOTAL(size) AS bytes FROM blob")
      return (row?["blobs"] ?? 0, Int64(row?["bytes"] as Double? ?? 0))
    }
  }

  public func availableBytes() throws -> Int64 { try FileSystem.availableBytes(at: directory.root) }

  // MARK: Downloads

  public func download(for expected: ExpectedContent, url: PageURL) throws -> any BundleDownload {
    _ = try writer()
    let name: String
    if let md5 = expected.md5 {
      name = md5.hex
    } else {
      var digester = try Digester.sha256()
      digester.update(Array(url.text.utf8))
      name = "url-" + (try digester.finish()).hex
    }
    return try Download(named: name, in: directory)
  }

  public func add(
    _ download: any BundleDownload, digests: ContentDigests, to release: StoredRelease
  ) async throws -> Blob {
    try await commit(download, digests: digests, as: .listed(release: release.id))
  }

  public func add(_ download: any BundleDownload, digests: ContentDigests, for url: PageURL) async throws -> Blob {
    try await commit(download, digests: digests, as: .unlisted(url))
  }

  private func commit(_ download: any BundleDownload, digests: ContentDigests, as meaning: Committer.Meaning)
    async throws -> Blob
  {
    guard let committer, let download = download as? Download, download.directory == directory else {
      throw StoreError.notWritable(path: directory.path, reason: "the download belongs to another store")
    }
    do {
      try await committer.commit(download, digests: digests, as: meaning)
    } catch {
      throw database.storeError(error)
    }
    return Blob(digests)
  }

  // MARK: Bytes

  public func bytes(of blob: Blob) async throws -> BlobBytes {
    if let bytes = verified[blob.sha256] { return BlobBytes(bytes: bytes, isFromMemory: true) }
    let bytes = try blobs.read(blob)
    verified.insert(bytes, for: blob.sha256, cost: bytes.count)
    return BlobBytes(bytes: bytes, isFromMemory: false)
  }

  /// Whether there is a file for a blob; its bytes are not looked at.
  package func holdsFile(of digest: SHA256Digest) -> Bool { FileSystem.status(blobs.path(of: digest)) != nil }

  public func check(_ blob: Blob) async throws {
    _ = try blobs.read(blob)
  }

  public func quarantine(_ blob: Blob) async throws {
    verified.remove(blob.sha256)
    let target = directory.quarantine.appending("\(blob.sha256.hex)-\(UUID().uuidString)")
    try writeHoldingLock(.shared) { writer in
      // Another process may have mended it meanwhile.
      guard (try? blobs.read(blob)) == nil else { return }
      let source = blobs.path(of: blob.sha256)
      if FileSystem.status(source) != nil { try FileSystem.rename(source, to: target) }
      try writer.write { db in
        try db.execute(sql: "UPDATE entry SET blob = NULL WHERE blob = ?", arguments: [blob.sha256])
        try db.execute(sql: "DELETE FROM unlisted WHERE blob = ?", arguments: [blob.sha256])
        try db.execute(sql: "DELETE FROM blob WHERE sha256 = ?", arguments: [blob.sha256])
      }
    }
    logger.warning("quarantined a damaged blob", metadata: ["blob": "\(blob.sha256)", "to": "\(target)"])
  }
}
