import DiskStorage
import Dispatch
import Foundation
import GRDB
import HTTPTransport
import Logging
import SystemPackage

/// The durable store: SQLite for what is known, files for bytes.
///
/// What is named by the database survives a power failure; bytes are checked whenever they are read. Several processes
/// may use one folder at once.
public final class BundleStore: BundleStoring {
  public let directory: StoreDirectory
  public let quotas: StoreQuotas
  public let readOnlyReason: String?
  /// Where it writes: its own folder, or one of this process in the place of a folder that may not be written.
  let work: StoreDirectory
  private let keeper: DatabaseKeeper
  let blobs: BlobDirectory
  let leases: ReleaseLeases
  let logger: Logger
  /// Seconds since 1970.
  let now: @Sendable () -> Double
  private let committer: Committer?
  private let verified: LRUCache<SHA256Digest, [UInt8]>
  private let session: SessionFolder?
  /// Where locks are waited for. No thread of Swift's tasks waits for one: it may be what its holder waits for.
  private let lockQueue = DispatchQueue(label: "pagekit.store.lock")
  /// In seconds.
  let releaseGrace: Double

  /// Opens the store, making it where there is none.
  ///
  /// - Parameters:
  ///   - memoryCapacity: bytes of checked bundles kept in memory.
  ///   - releaseGrace: how long releases are kept after others took their place, besides the previous one.
  ///   - quotas: how much is kept of each class.
  ///   - allowsReadOnly: a store that is there and may not be written is read, and what is stored in it goes to a
  ///     temporary folder that is removed with the store; ``readOnlyReason`` and one warning in the log say so.
  ///   - now: seconds since 1970.
  /// - Throws: ``StoreError``.
  public init(
    at directory: StoreDirectory, memoryCapacity: Int = 16 << 20, releaseGrace: Duration = .zero,
    quotas: StoreQuotas = StoreQuotas(), allowsReadOnly: Bool = false,
    logger: Logger = Logger(label: "pagekit.store"),
    now: @escaping @Sendable () -> Double = { Date().timeIntervalSince1970 }
  ) throws {
    let opened: Opened
    do {
      opened = try Opened(writing: directory, logger)
    } catch StoreError.notWritable(let path, let reason) where allowsReadOnly && directory.hasStore {
      opened = try Opened(reading: directory, because: "\(path) cannot be written: \(reason)")
      logger.warning(
        "the store \(directory.path) is read only (\(path): \(reason)): what is stored there is used, and nothing is kept"
      )
    }
    self.directory = directory
    self.quotas = quotas
    self.logger = logger
    self.now = now
    (work, keeper, blobs, session) = (opened.work, opened.keeper, opened.blobs, opened.session)
    readOnlyReason = opened.readOnlyReason
    let work = opened.work
    leases = ReleaseLeases(in: work)
    committer = Committer(directory: work, keeper: keeper, now: now)
    verified = LRUCache(capacity: memoryCapacity)
    self.releaseGrace = releaseGrace / .seconds(1)
  }

  /// Opens a store that is there, for reading only.
  ///
  /// - Throws: ``StoreError/absent(path:)`` where there is none.
  public init(reading directory: StoreDirectory, logger: Logger = Logger(label: "pagekit.store")) throws {
    guard directory.hasStore else { throw StoreError.absent(path: directory.path) }
    self.directory = directory
    work = directory
    quotas = StoreQuotas()
    readOnlyReason = "it was opened for reading only"
    keeper = DatabaseKeeper(try StoreDatabase(reading: directory.database.string))
    blobs = BlobDirectory(root: directory.blobs)
    leases = ReleaseLeases(in: directory)
    (committer, session) = (nil, nil)
    verified = LRUCache(capacity: 0)
    releaseGrace = 0
    self.logger = logger
    now = { Date().timeIntervalSince1970 }
  }

  /// The parts of a store that depend on whether its folder may be written.
  private struct Opened {
    let work: StoreDirectory
    let keeper: DatabaseKeeper
    let blobs: BlobDirectory
    var session: SessionFolder?
    var readOnlyReason: String?

    init(writing directory: StoreDirectory, _ logger: Logger) throws {
      let wasStore = directory.isStore
      if !wasStore { try StoreDatabase.refuseForeign(directory.database) }
      try directory.create()
      // Fails here, not half way through a download, where nothing may be written.
      let lock = StoreLock(path: directory.lock)
      try lock.with(.shared) {}
      work = directory
      blobs = BlobDirectory(root: directory.blobs)
      keeper = try DatabaseKeeper(
        Recovery(directory: directory, wasStore: wasStore, blobs: blobs, lock: lock, logger: logger))
    }

    init(reading directory: StoreDirectory, because reason: String) throws {
      let session = try SessionFolder()
      work = StoreDirectory(session.path)
      try work.create()
      do {
        let stored = try StoreDatabase(reading: directory.database.string)
        try stored.copy(to: work.database.string)
      } catch StoreError.absent {
        // Nothing was stored yet.
      }
      keeper = DatabaseKeeper(
        try StoreDatabase(writing: work.database.string, lock: StoreLock(path: work.lock)))
      blobs = BlobDirectory(root: work.blobs, over: directory.blobs)
      self.session = session
      readOnlyReason = reason
    }
  }

  /// A folder for what belongs to the store and is not kept; `nil` for a store that may be written.
  package var sessionFolder: String? { session?.path }

  /// Lets go of the bytes that are in memory; they are read from the disk again.
  public func releaseMemory() {
    verified.removeAll()
    (keeper.latest.reader as? DatabasePool)?.releaseMemory()
  }

  /// SQLite's own version.
  public static var databaseVersion: String {
    let number = Database.sqliteLibVersionNumber
    return "\(number / 1_000_000).\(number / 1000 % 1000).\(number % 1000)"
  }

  // MARK: Access to the database

  func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await recovering { try await $0.reader.read(body) }
  }

  func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await recovering { [directory] in try await $0.writer(of: directory).write(body) }
  }

  /// Writes while no file can be collected; waits while another process collects.
  func writeHoldingLock<Value: Sendable>(
    _ mode: StoreLock.Mode, _ body: @escaping @Sendable (any DatabaseWriter) throws -> Value
  ) async throws -> Value {
    try await recovering { [work, directory, lockQueue] database in
      let writer = try database.writer(of: directory)
      return try await lockQueue.result { try StoreLock(path: work.lock).with(mode) { try body(writer) } }
    }
  }

  /// Does something with the database, and once more with another one where it was found damaged.
  private func recovering<Value>(_ body: (StoreDatabase) async throws -> Value) async throws -> Value {
    let database = try await current()
    do {
      return try await body(database)
    } catch  where keeper.canRecover && DatabaseDamage.isDamage(error) {
      let reason = DatabaseDamage.reason(error)
      try await lockQueue.result { [keeper] in try keeper.replace(database, because: reason) }
      let next = try await current()
      do { return try await body(next) } catch { throw next.storeError(error) }
    } catch {
      throw database.storeError(error)
    }
  }

  private func current() async throws -> StoreDatabase {
    if let database = keeper.inPlace { return database }
    return try await lockQueue.result { [keeper] in try keeper.current() }
  }

  /// Tells when the store was found removed, replaced or damaged, and was made anew: it has what can be taken over, and
  /// the rest has to be fetched again.
  package var renewals: AsyncStream<Void> { keeper.renewals.listen() }

  /// Another number for each of the ``renewals``.
  package var generation: Int { keeper.generation }

  /// Whether the database lies where it was opened.
  package var isInPlace: Bool { keeper.inPlace != nil }

  /// Whether the database can be written.
  var isWritable: Bool { keeper.latest.writer != nil }

  public func usage() async throws -> (blobs: Int, bytes: Int64) {
    try await read { db in
      let row = try Row.fetchOne(db, sql: "SELECT COUNT(*) AS blobs, TOTAL(size) AS bytes FROM blob")
      return (row?["blobs"] ?? 0, Int64(row?["bytes"] as Double? ?? 0))
    }
  }

  public func availableBytes() throws -> Int64 { try FileSystem.availableBytes(at: work.root) }

  // MARK: Downloads

  public func download(for expected: ExpectedContent, url: PageURL) throws -> any BundleDownload {
    _ = try (keeper.inPlace ?? keeper.current()).writer(of: directory)
    let name: String
    if let md5 = expected.md5 {
      name = md5.hex
    } else {
      var digester = try Digester.sha256()
      digester.update(Array(url.text.utf8))
      name = "url-" + (try digester.finish()).hex
    }
    return try Download(named: name, in: work)
  }

  public func add(
    _ download: any BundleDownload, digests: ContentDigests, to release: StoredRelease
  ) async throws -> Blob {
    try await commit(download, digests: digests, as: .listed(release: release.id))
  }

  public func add(_ download: any BundleDownload, digests: ContentDigests, for url: PageURL) async throws -> Blob {
    let blob = try await commit(download, digests: digests, as: .unlisted(url))
    // The bytes are stored; what cannot make room now does so with the next.
    try? await makeRoomForUnlisted()
    return blob
  }

  private func commit(_ download: any BundleDownload, digests: ContentDigests, as target: Committer.CommitTarget)
    async throws -> Blob
  {
    guard let committer, let download = download as? Download, download.directory == work else {
      throw StoreError.notWritable(path: directory.path, reason: "the download belongs to another store")
    }
    do {
      try await committer.commit(download, digests: digests, as: target)
    } catch {
      let database = keeper.latest
      if keeper.canRecover, DatabaseDamage.isDamage(error) {
        let reason = DatabaseDamage.reason(error)
        try await lockQueue.result { [keeper] in try keeper.replace(database, because: reason) }
      }
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
    let target = work.quarantine.appending("\(blob.sha256.hex)-\(UUID().uuidString)")
    try await writeHoldingLock(.shared) { [blobs] writer in
      // Another process may have mended it meanwhile.
      guard (try? blobs.read(blob)) == nil else { return }
      let source = blobs.ownPath(of: blob.sha256)
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
