import Blobs
import Containers
import Dispatch
import Foundation
import GRDB
import HTTPTransport
import Logging
import Releases
import Synchronization
import SystemPackage

/// The durable store of bundles and releases: an SQLite database, and files named by their SHA-256.
///
/// Entries of the database survive a power failure; bytes are checked whenever they are read. Several processes may use
/// one folder at the same time. `PageHost.store` is one.
public final class BundleStore: Sendable {
  /// The store's folder.
  package let directory: StoreDirectory
  package let quotas: StoreQuotas
  /// The reason why the store's folder cannot be written, so that new bytes are lost when the process ends; `nil` for a
  /// writable store.
  public let readOnlyReason: String?
  /// `true` if only releases whose signatures were checked are seen, and no bundle outside of them.
  package let requiresSignatures: Bool
  /// `true` if the status of a source holds its releases back, and goes back to earlier ones.
  let actsOnStatus: Bool
  /// The folder for writing: the store's own, or a temporary one if that cannot be written.
  let work: StoreDirectory
  private let keeper: DatabaseKeeper<StoreDatabase>
  /// `nil` for a database that is never replaced.
  private let recovery: Recovery?
  let blobs: BlobDirectory
  let leases: ReleaseLeases
  let logger: Logger
  /// Returns the time in seconds since 1970.
  let now: @Sendable () -> Double
  private let committer: Committer?
  private let verified: LRUCache<SHA256Digest, [UInt8]>
  private let session: SessionFolder?
  /// The queue that waits for locks. No thread of Swift's tasks waits for one, since the lock's holder may need it.
  private let lockQueue = DispatchQueue(label: "pagekit.store.lock")
  /// The rule for query parameters of the manifest that was asked for last.
  let lastIdentity = Mutex<(manifest: SHA256Digest, rule: PageIdentity?)?>(nil)
  /// Looks at many files.
  let fileQueue = DispatchQueue(label: "pagekit.store.files")
  /// The time for which replaced releases are kept, in seconds.
  let releaseGrace: Double
  /// The number of former releases that are kept.
  let formerReleases: Int
  /// `true` if a release is good when it becomes current, since no opening decides about it.
  let takesAsGood: Bool
  /// Returns the bytes that can still be written to a folder's file system.
  private let freeSpace: @Sendable (FilePath) throws -> Int64

  /// Opens the store, and makes it if it does not exist.
  ///
  /// - Parameters:
  ///   - memoryCapacity: the bytes of checked bundles kept in memory; 16 MiB by default.
  ///   - releaseGrace: how long replaced releases are kept besides the previous one.
  ///   - formerReleases: the number of former releases that are kept, with the previous one.
  ///   - quotas: the limits of each class of content.
  ///   - allowsReadOnly: `true` to read an existing store that cannot be written; new bytes go to a temporary folder
  ///     that is removed with the store. ``readOnlyReason`` and one warning in the log report this.
  ///   - requiresSignatures: `true` to see nothing but releases whose signatures were checked.
  ///   - takesAsGood: `true` if a release is good when it becomes current.
  ///   - actsOnStatus: `false` to switch to each release, although the status holds it back: for a host that passes the
  ///     release and its status on.
  ///   - freeSpace: returns the bytes that can still be written to a folder's file system.
  ///   - now: returns the time in seconds since 1970.
  /// - Throws: ``StoreError``.
  package init(
    at directory: StoreDirectory, memoryCapacity: Int = 16 << 20, releaseGrace: Duration = .zero,
    formerReleases: Int = 1, quotas: StoreQuotas = StoreQuotas(), allowsReadOnly: Bool = false,
    requiresSignatures: Bool = false, takesAsGood: Bool = false, actsOnStatus: Bool = true,
    logger: Logger = Logger(label: "pagekit.store"),
    freeSpace: @escaping @Sendable (FilePath) throws -> Int64 = { try FileSystem.availableBytes(at: $0) },
    now: @escaping @Sendable () -> Double = { Date().timeIntervalSince1970 }
  ) throws {
    let opened: Opened
    do {
      opened = try Opened(writing: directory, logger)
    } catch let error as StoreError where allowsReadOnly && directory.hasStore {
      guard let (path, reason) = error.obstacle else { throw error }
      opened = try Opened(reading: directory, because: "\(path) cannot be written: \(reason)")
      logger.warning(
        "the store \(directory.path) is read only (\(path): \(reason)): what is stored there is used, and nothing is kept"
      )
    }
    self.directory = directory
    self.quotas = quotas
    self.requiresSignatures = requiresSignatures
    self.actsOnStatus = actsOnStatus
    self.logger = logger
    self.now = now
    (work, keeper, recovery) = (opened.work, opened.keeper, opened.recovery)
    (blobs, session) = (opened.blobs, opened.session)
    readOnlyReason = opened.readOnlyReason
    let work = opened.work
    leases = ReleaseLeases(in: work)
    committer = Committer(directory: work, keeper: keeper, now: now)
    verified = LRUCache(capacity: memoryCapacity)
    self.releaseGrace = releaseGrace / .seconds(1)
    self.formerReleases = formerReleases
    self.takesAsGood = takesAsGood
    self.freeSpace = freeSpace
  }

  /// Opens an existing store for reading only.
  ///
  /// - Throws: ``StoreError/absent(path:)`` if there is none.
  package init(reading directory: StoreDirectory, logger: Logger = Logger(label: "pagekit.store")) throws {
    guard directory.hasStore else { throw StoreError.absent(path: directory.path) }
    self.directory = directory
    work = directory
    quotas = StoreQuotas()
    (requiresSignatures, actsOnStatus) = (false, false)
    readOnlyReason = "it was opened for reading only"
    keeper = DatabaseKeeper(try StoreDatabase(reading: directory.database.string))
    blobs = BlobDirectory(root: directory.blobs)
    leases = ReleaseLeases(in: directory)
    (recovery, committer, session) = (nil, nil, nil)
    verified = LRUCache(capacity: 0)
    (releaseGrace, formerReleases, takesAsGood) = (0, 1, false)
    self.logger = logger
    freeSpace = { try FileSystem.availableBytes(at: $0) }
    now = { Date().timeIntervalSince1970 }
  }

  /// The parts of a store that depend on whether its folder can be written.
  private struct Opened {
    let work: StoreDirectory
    let keeper: DatabaseKeeper<StoreDatabase>
    var recovery: Recovery?
    let blobs: BlobDirectory
    var session: SessionFolder?
    var readOnlyReason: String?

    init(writing directory: StoreDirectory, _ logger: Logger) throws {
      let wasStore = directory.isStore
      if !wasStore { try StoreDatabase.refuseForeign(directory.database) }
      try directory.create()
      // A folder that cannot be written fails here, not during a download.
      let lock = StoreLock(path: directory.lock)
      try lock.with(.shared) {}
      work = directory
      blobs = BlobDirectory(root: directory.blobs)
      let recovery = Recovery(directory: directory, wasStore: wasStore, blobs: blobs, lock: lock, logger: logger)
      keeper = try recovery.keeper()
      self.recovery = recovery
    }

    init(reading directory: StoreDirectory, because reason: String) throws {
      let session = try SessionFolder()
      work = StoreDirectory(session.path)
      try work.create()
      do {
        let stored = try StoreDatabase(reading: directory.database.string)
        try stored.copy(to: work.database.string)
      } catch StoreError.absent {
        // The store has no content yet.
      }
      keeper = DatabaseKeeper(
        try StoreDatabase(writing: work.database.string, lock: StoreLock(path: work.lock)))
      blobs = BlobDirectory(root: work.blobs, over: directory.blobs)
      self.session = session
      readOnlyReason = reason
    }
  }

  /// The temporary folder of a store that cannot be written; `nil` for a writable one.
  package var sessionFolder: String? { session?.path }

  /// Frees the bytes that are kept in memory; they are read from the disk again when they are needed.
  package func releaseMemory() {
    verified.removeAll()
    (keeper.latest?.reader as? DatabasePool)?.releaseMemory()
  }

  /// SQLite's version.
  package static var databaseVersion: String {
    let number = Database.sqliteLibVersionNumber
    return "\(number / 1_000_000).\(number / 1000 % 1000).\(number % 1000)"
  }

  // MARK: Access to the database

  func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await recovering { try await $0.reader.read(body) }
  }

  /// Reads with one statement, which needs no transaction around it: beginning and ending one takes as long as a short
  /// statement.
  func readOnce<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await recovering { try await $0.reader.unsafeRead(body) }
  }

  func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await recovering { [directory] in try await $0.writer(of: directory).write(body) }
  }

  /// Writes while holding the store's lock, so that no file is collected meanwhile; waits for a running collection.
  func writeHoldingLock<Value: Sendable>(
    _ mode: StoreLock.Mode, _ body: @escaping @Sendable (any DatabaseWriter) throws -> Value
  ) async throws -> Value {
    try await recovering { [work, directory, lockQueue] database in
      let writer = try database.writer(of: directory)
      return try await lockQueue.result { try StoreLock(path: work.lock).with(mode) { try body(writer) } }
    }
  }

  /// Performs an operation on the database, and repeats it with a new database if this one turns out to be damaged.
  private func recovering<Value>(_ body: (StoreDatabase) async throws -> Value) async throws -> Value {
    let database = try await current()
    do {
      return try await body(database)
    } catch {
      guard try await replace(database, ifDamagedBy: error) else { throw error.storeError(at: work.database.string) }
      let next = try await current()
      do { return try await body(next) } catch { throw error.storeError(at: work.database.string) }
    }
  }

  /// Puts the database aside and opens a new one, if an error shows that it is damaged.
  private func replace(_ database: StoreDatabase, ifDamagedBy error: any Error) async throws -> Bool {
    guard let recovery, error.isDatabaseDamage else { return false }
    let reason = error.databaseDamage
    try await lockQueue.result { [keeper] in
      try keeper.replace(database, holding: recovery.lock) { try recovery.putAside(reason) }
    }
    return true
  }

  private func current() async throws -> StoreDatabase {
    if let database = keeper.inPlace { return database }
    return try await lockQueue.result { [keeper] in try keeper.current() }
  }

  /// Announces each time that the store was found removed, replaced or damaged and was made again: it contains the
  /// files that were found, and the rest must be fetched again.
  package var renewals: AsyncStream<Void> { keeper.renewals.listen() }

  /// A number that changes with each of the ``renewals``.
  package var generation: Int { keeper.generation }

  /// `true` if the database's file is the one that was opened.
  package var isInPlace: Bool { keeper.inPlace != nil }

  /// `true` if the database can be written.
  var isWritable: Bool { keeper.latest?.writer != nil }

  /// Returns the id of this store, which decides about rollouts: 32 random hexadecimal digits, made when it is first asked
  /// for.
  package func installID() async throws -> String {
    let known = try await read { try String.fetchOne($0, sql: "SELECT id FROM install") }
    if let known { return known }
    return try await write { db in
      // Another process may have made it meanwhile.
      if let known = try String.fetchOne(db, sql: "SELECT id FROM install") { return known }
      let id = Hex.encode((0..<16).map { _ in UInt8.random(in: 0...(.max)) })
      try db.execute(sql: "INSERT INTO install (id) VALUES (?)", arguments: [id])
      return id
    }
  }

  /// Returns how a source's newest release was chosen.
  package func choice(of source: PageURL) async throws -> SourceChoice {
    let found = try await readOnce { db in
      try db.firstRow("SELECT audience, chosenBy, chosenBySequence FROM source WHERE url = ?", [source.text]) { row in
        var choice = SourceChoice()
        choice.audience = try row.value("audience")
        if let digest: SHA256Digest = try row.value("chosenBy"), let sequence: Int64 = try row.value("chosenBySequence")
        {
          choice.manifest = .init(sequence: sequence, sha256: digest)
        }
        return choice
      }
    }
    return found ?? SourceChoice()
  }

  package func setChoice(_ choice: SourceChoice, of source: PageURL) async throws {
    try await write {
      try $0.execute(
        sql: "UPDATE source SET audience = ?, chosenBy = ?, chosenBySequence = ? WHERE url = ?",
        arguments: [choice.audience, choice.manifest?.sha256, choice.manifest?.sequence, source.text])
    }
  }

  /// Returns the number of blobs and their total size in bytes.
  package func usage() async throws -> (blobs: Int, bytes: Int64) {
    try await read { db in
      try db.firstRow("SELECT COUNT(*) AS blobs, COALESCE(SUM(size), 0) AS bytes FROM blob", []) {
        try (blobs: $0.value("blobs"), bytes: $0.value("bytes"))
      } ?? (0, 0)
    }
  }

  /// Returns the bytes that can still be written to the store's file system.
  package func availableBytes() throws -> Int64 { try freeSpace(work.root) }

  // MARK: Downloads

  /// Returns a download that continues an earlier one of the same content, also of a process that was killed.
  package func download(for expected: ExpectedContent, url: PageURL) async throws -> BundleDownload {
    let name = try Self.downloadName(expected, url)
    return try await openDownload(named: name) ?? BundleDownload.makePrivate(named: name, in: work)
  }

  /// Opens a download in a store that can be written; `nil` if another process uses it.
  func openDownload(named name: String) async throws -> BundleDownload? {
    _ = try await current().writer(of: directory)
    return try BundleDownload.open(named: name, in: work)
  }

  /// The name by which other processes find the download too.
  static func downloadName(_ expected: ExpectedContent, _ url: PageURL) throws -> String {
    if let md5 = expected.md5 { return md5.hex }
    return "url-" + (try SHA256Digest(of: Array(url.text.utf8))).hex
  }

  /// Makes a finished download durable, and then records it as the bytes of the release's entries with these digests.
  ///
  /// Returns when a power failure can no longer undo it.
  ///
  /// - Parameter queued: called when the download waits for that, with others that came at the same time.
  package func add(
    _ download: BundleDownload, digests: ContentDigests, to release: StoredRelease, queued: () -> Void = {}
  ) async throws -> Blob {
    try await commit(download, digests: digests, as: .listed(release: release.id), queued: queued)
  }

  /// Makes a finished download durable, and then records it as a bundle that no manifest lists.
  ///
  /// - Parameter queued: as for one that a release lists.
  package func add(
    _ download: BundleDownload, digests: ContentDigests, for url: PageURL, queued: () -> Void = {}
  ) async throws -> Blob {
    let blob = try await commit(download, digests: digests, as: .unlisted(url), queued: queued)
    // The bytes are stored; room that cannot be made now is made with the next bundle.
    try? await makeRoomForUnlisted()
    return blob
  }

  /// Makes the finished downloads that wait durable now: no others will come for the time being.
  func expectNoMoreDownloads() { committer?.expectNoMore() }

  private func commit(
    _ download: BundleDownload, digests: ContentDigests, as target: Committer.CommitTarget, queued: () -> Void
  ) async throws -> Blob {
    guard let committer, download.directory == work else {
      throw StoreError.notWritable(path: directory.path, reason: "the download belongs to another store")
    }
    do {
      try await committer.commit(download, digests: digests, as: target, queued: queued)
    } catch {
      if let database = keeper.latest { _ = try await replace(database, ifDamagedBy: error) }
      throw error.storeError(at: work.database.string)
    }
    return digests
  }

  // MARK: Bytes

  /// Returns the bytes of a blob, checked against its SHA-256. The bytes that were checked last are kept in memory.
  ///
  /// - Throws: ``BlobError``.
  package func bytes(of blob: Blob) async throws -> (bytes: [UInt8], isFromMemory: Bool) {
    if let bytes = verified[blob.sha256] { return (bytes: bytes, isFromMemory: true) }
    let bytes = try blobs.read(blob)
    verified.insert(bytes, for: blob.sha256, cost: bytes.count)
    return (bytes: bytes, isFromMemory: false)
  }

  /// Returns `true` if a blob's file exists; its bytes are not read.
  package func holdsFile(of digest: SHA256Digest) -> Bool { FileSystem.status(blobs.path(of: digest)) != nil }

  /// Reads and checks a blob's file, even if its bytes are in memory.
  ///
  /// - Throws: ``BlobError``.
  package func check(_ blob: Blob) async throws {
    _ = try blobs.read(blob)
  }

  /// Returns the bytes of a stored bundle or file, checked against their SHA-256.
  ///
  /// - Returns: `nil` if they are not stored.
  /// - Throws: ``BlobError`` if the file is missing or its bytes were changed; `StoreError`.
  public func bytes(of bundle: StoredBundle) async throws -> [UInt8]? {
    guard let blob = bundle.blob else { return nil }
    return try await bytes(of: blob).bytes
  }

  /// Reads the file of a stored bundle or file, and checks its bytes, even if they are in memory. Does nothing if they
  /// are not stored.
  ///
  /// - Throws: ``BlobError`` if the file is missing or its bytes were changed; `StoreError`.
  public func check(_ bundle: StoredBundle) async throws {
    if let blob = bundle.blob { try await check(blob) }
  }

  /// Moves damaged bytes to the quarantine folder; entries that had them count as not stored.
  package func quarantine(_ blob: Blob) async throws {
    verified.remove(blob.sha256)
    let target = work.quarantine.appending("\(blob.sha256.hex)-\(UUID().uuidString)")
    try await writeHoldingLock(.shared) { [blobs] writer in
      // Another process may have restored it meanwhile.
      guard (try? blobs.read(blob)) == nil else { return }
      let source = blobs.ownPath(of: blob.sha256)
      if FileSystem.status(source) != nil { try FileSystem.rename(source, to: target) }
      try writer.write { db in
        try db.execute(sql: "UPDATE \"release\" SET checked = NULL")
        try db.execute(sql: "UPDATE listed SET blob = NULL WHERE blob = ?", arguments: [blob.sha256])
        try db.execute(sql: "DELETE FROM unlisted WHERE blob = ?", arguments: [blob.sha256])
        try db.execute(sql: "DELETE FROM blob WHERE sha256 = ?", arguments: [blob.sha256])
      }
    }
    logger.warning("quarantined a damaged blob", metadata: ["blob": "\(blob.sha256)", "to": "\(target)"])
  }
}

/// The limits of each class of content in a store, in bytes. The least recently used content is removed first.
public struct StoreQuotas: Hashable, Sendable {
  /// The limit for releases; `nil`, the default, for no limit. A held release, an incoming one, and the current one of
  /// the most recently used source stay in any case.
  public var releases: Int64?
  /// The limit for bundles that no manifest lists, without the most recently used one; 64 MiB by default, `nil` for no
  /// limit.
  public var unlisted: Int64?
  /// The limit for responses on disk that are not marked as kept, in the cache that a host makes; 20 MiB by default.
  public var responses: Int64

  /// Makes quotas with the given values.
  public init(releases: Int64? = nil, unlisted: Int64? = 64 << 20, responses: Int64 = 20 << 20) {
    self.releases = releases
    self.unlisted = unlisted
    self.responses = responses
  }
}
