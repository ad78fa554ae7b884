import Blobs
import Foundation
import GRDB
import HTTPTransport
import HTTPTypes
import Logging
import Releases
import Synchronization

/// A release with its signatures in one file: an SQLite archive, whose files `sqlite3 -A` lists and extracts.
///
/// It has `source`, the URL of the manifest; `manifest.json` and the files published beside it; and `content/PATH` for each
/// stored bundle and file. It is as trustworthy as its sender: everything read from it is checked like a response of
/// the source.
package final class ReleaseArchive: Sendable {
  static let sourceName = "source"
  static let manifestName = "manifest.json"
  static func contentName(of path: String) -> String { "content/\(path)" }

  /// The table of SQLite archives.
  private static let schema = "CREATE TABLE sqlar(name TEXT PRIMARY KEY, mode INT, mtime INT, sz INT, data BLOB)"
  /// The mode of a regular file that everybody may read.
  private static let mode = 0o100644

  private let database: DatabaseQueue
  private let path: String

  // MARK: Reading

  /// Opens an archive.
  ///
  /// - Throws: ``ArchiveError``.
  package init(reading path: String) throws {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(path, R_OK) == 0 else {
      throw ArchiveError(path, "cannot be read: there is no such file, or it may not be read")
    }
    var configuration = Configuration()
    configuration.readonly = true
    // No view, trigger or default of a foreign file runs.
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON") }
    self.path = path
    database = try Self.naming(path, "is no archive of a release") {
      // SQLite would take a relative path like `file:a` for a URI.
      let database = try DatabaseQueue(path: URL(fileURLWithPath: path).path, configuration: configuration)
      let found = try database.read {
        try String.fetchAll($0, sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL LIMIT 2")
      }
      guard found == [Self.schema] else { throw ArchiveError(path, "is no archive of a release") }
      return database
    }
  }

  /// Reads a file of the archive; `nil` if it has none of the name.
  ///
  /// - Parameter limit: the largest size in bytes.
  /// - Throws: ``ArchiveError`` if the file is larger, or the archive is damaged.
  package func bytes(of name: String, upTo limit: Int64) throws -> [UInt8]? {
    try Self.naming(path, "is damaged") {
      try database.read { db in
        // The size is in the row's head: a value that is too large is not read.
        let size = try Int64.fetchOne(
          db, sql: "SELECT length(data) FROM sqlar WHERE name = ? AND typeof(data) = 'blob' AND sz = length(data)",
          arguments: [name])
        guard let size else { return nil }
        guard size <= limit else {
          throw ArchiveError(path, "has \(size) bytes of \(name.quotedForMessage), more than the limit of \(limit)")
        }
        return try Data.fetchOne(db, sql: "SELECT data FROM sqlar WHERE name = ?", arguments: [name]).map { Array($0) }
      }
    }
  }

  func has(_ name: String) throws -> Bool {
    try Self.naming(path, "is damaged") {
      try database.read { db in
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM sqlar WHERE name = ?)", arguments: [name]) ?? false
      }
    }
  }

  /// The URL of the manifest that the release is of.
  ///
  /// - Throws: ``ArchiveError`` if the archive names none.
  package func source() throws -> PageURL {
    guard let bytes = try bytes(of: Self.sourceName, upTo: 8192),
      let url = String(validating: bytes, as: UTF8.self).flatMap({ PageURL($0) })
    else { throw ArchiveError(path, "does not name the URL of its manifest") }
    return url
  }

  /// The bytes of the manifest.
  ///
  /// - Throws: ``ArchiveError`` if there is none.
  func manifest(limits: ManifestLimits) throws -> [UInt8] {
    guard let bytes = try bytes(of: Self.manifestName, upTo: limits.manifestBytes) else {
      throw ArchiveError(path, "has no manifest")
    }
    return bytes
  }

  /// Checks that the archive has the bytes of a release, without those on demand.
  ///
  /// - Throws: ``ArchiveError`` that names the first content which is missing or not as the manifest says.
  func check(_ manifest: Manifest, limits: ManifestLimits) throws {
    for (entry, isOptional) in manifest.bundles.map({ ($0, false) })
      + manifest.files.map({ ($0, !manifest.dialect.hasReliableFileDigests) })
    {
      guard let bytes = try bytes(of: Self.contentName(of: entry.path), upTo: limits.fileBytes) else {
        if entry.preload != .launch || isOptional { continue }
        throw ArchiveError(path, "does not have \(entry.path.quotedForMessage), which its manifest lists")
      }
      let expected = ExpectedContent(md5: entry.md5, sha256: entry.sha256, size: entry.size)
      if !isOptional, expected.mismatch(with: try ContentDigests(of: bytes)) != nil {
        throw ArchiveError(path, "has other bytes of \(entry.path.quotedForMessage) than its manifest says")
      }
    }
  }

  // MARK: Writing

  /// Makes an archive of an empty file. The bytes are on disk after ``finish()``.
  private init(making path: String) throws {
    self.path = path
    database = try Self.naming(path, "cannot be written") {
      var configuration = Configuration()
      // An archive that is not finished is removed.
      configuration.prepareDatabase { db in
        try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
      }
      let database = try DatabaseQueue(path: path, configuration: configuration)
      try database.write { try $0.execute(sql: Self.schema) }
      return database
    }
  }

  /// Runs work on the database; what fails in it is a fault of the archive.
  private static func naming<Value>(_ path: String, _ fault: String, _ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as DatabaseError {
      throw ArchiveError(path, "\(fault): \(error.message ?? "\(error.resultCode)")")
    }
  }

  private func add(_ bytes: [UInt8], as name: String) throws {
    try Self.naming(path, "cannot be written") {
      try database.write { db in
        // The same release makes the same file: its times are not written.
        try db.execute(
          sql: "INSERT INTO sqlar VALUES (?, ?, 0, ?, ?)",
          arguments: [name, Self.mode, bytes.count, Data(bytes)])
      }
    }
  }

  private func finish() throws {
    do {
      try database.close()
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
      try file.synchronize()
      try file.close()
    } catch {
      throw ArchiveError(path, "cannot be written: \(error.plainReason)")
    }
  }

  /// The contents that were written to an archive.
  package struct Summary: Hashable, Sendable {
    package var bundles = 0
    package var files = 0
    /// The bytes of all contents.
    package var bytes: Int64 = 0
    package var isSigned = false
    /// The names of entries that are not stored: on demand, idle or optional ones.
    package var leftOut: [String] = []
  }

  /// Writes a stored release to a file, which appears when it is complete.
  ///
  /// - Parameter path: a file there is replaced.
  /// - Throws: ``ArchiveError`` if the release is not complete, or the file cannot be written; ``StoreError``,
  ///   ``BlobError``.
  package static func write(
    _ release: StoredRelease, of store: BundleStore, to path: String, limits: ManifestLimits = .standard
  ) async throws -> Summary {
    var status = stat()
    let exists = stat(path, &status) == 0
    guard !exists || status.st_mode & S_IFMT == S_IFREG else {
      throw ArchiveError(path, "is no regular file, which an archive has to be")
    }
    guard !exists || access(path, W_OK) == 0 else { throw ArchiveError(path, "must not be written") }
    // A link stays, and the file that it leads to is replaced. SQLite takes a relative path like `file:a` for a URI.
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    removeLostDrafts(of: path)
    let draft = "\(path).\(UUID().uuidString.prefix(8)).part"
    defer { unlink(draft) }
    // Locked until the end, so that others see that it is not lost. SQLite's own locks are of another kind.
    let lock = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard lock >= 0 else { throw ArchiveError(path, "cannot be written: \(String(cString: strerror(errno)))") }
    defer { close(lock) }
    flock(lock, LOCK_EX)
    let archive = try ReleaseArchive(making: draft)
    do {
      let summary = try await archive.add(release, of: store, limits)
      try archive.finish()
      guard rename(draft, path) == 0 else {
        throw ArchiveError(path, "cannot be written: \(String(cString: strerror(errno)))")
      }
      return summary
    } catch let error as ArchiveError {
      throw error.naming(path)
    }
  }

  /// Removes the drafts that processes have left which were killed.
  private static func removeLostDrafts(of path: String) {
    let file = URL(fileURLWithPath: path)
    let folder = file.deletingLastPathComponent().path
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let end = name.dropFirst(file.lastPathComponent.count)
      guard name.hasPrefix(file.lastPathComponent), end.hasPrefix("."), end.hasSuffix(".part"),
        end.utf8.count == 14, end.dropFirst().prefix(8).allSatisfy(\.isHexDigit)
      else { continue }
      let draft = "\(folder)/\(name)"
      let lock = open(draft, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard lock >= 0 else { continue }
      if flock(lock, LOCK_EX | LOCK_NB) == 0 { unlink(draft) }
      close(lock)
    }
  }

  private func add(
    _ release: StoredRelease, of store: BundleStore, _ limits: ManifestLimits
  ) async throws -> Summary {
    var summary = Summary()
    let bytes = try await store.manifestBytes(of: release)
    try add(Array(release.source.text.utf8), as: Self.sourceName)
    try add(bytes, as: Self.manifestName)
    if let signatures = try await store.signatures(of: release) {
      summary.isSigned = true
      try add(signatures, as: Self.manifestName + SignatureFile.suffix)
      for root in try await store.roots(of: release.source) {
        let name = PublishedRoot.name(of: root.version)
        try add(root.bytes, as: name)
        if let signatures = root.signatures { try add(signatures, as: name + SignatureFile.suffix) }
      }
    }
    let manifest = try Manifest(reading: bytes, limits: limits)
    let contents = try await store.contents(of: release)
    let entries = manifest.bundles + manifest.files
    guard entries.count == contents.count else { throw StoreError.releaseGone(name: release.name) }
    for (entry, content) in zip(entries, contents) {
      try Task.checkCancellation()
      guard let blob = content.blob else {
        guard content.bundle.preload != .launch || content.bundle.isOptional else {
          throw ArchiveError(
            path, "cannot be written: \(content.bundle.name.quotedForMessage) of release \(release.name) is not stored")
        }
        summary.leftOut.append(content.bundle.name)
        continue
      }
      try add(try await store.bytes(of: blob).bytes, as: Self.contentName(of: entry.path))
      if content.bundle.kind == .bundle { summary.bundles += 1 } else { summary.files += 1 }
      summary.bytes += blob.size
    }
    return summary
  }
}

/// The reason why an archive cannot be read or written.
package struct ArchiveError: Error, Hashable, CustomStringConvertible {
  private let path: String
  private let reason: String

  init(_ path: String, _ reason: String) { (self.path, self.reason) = (path, reason) }

  package var description: String { "\(path) \(reason)" }

  fileprivate func naming(_ path: String) -> ArchiveError { ArchiveError(path, reason) }
}

/// Answers requests for a release from an archive, so that it is fetched, checked and switched to as from its server.
package struct ArchiveTransport: HTTPTransporting {
  private let archive: ReleaseArchive
  /// The names of the archive's files by the URLs that they answer.
  private let names: [String: String]
  private let source: PageURL
  /// The names of the release's entries that are fetched on demand, and are in the archive.
  package let onDemand: Set<String>

  /// Checks the archive's contents first, so that nothing of a damaged one gets into a store.
  ///
  /// - Parameter source: the URL that the manifest stands for.
  /// - Throws: ``ArchiveError``, ``ManifestError``.
  package init(_ archive: ReleaseArchive, of source: PageURL, limits: ManifestLimits = .standard) throws {
    let manifest = try Manifest(reading: try archive.manifest(limits: limits), limits: limits)
    try archive.check(manifest, limits: limits)
    let entries = manifest.bundles + manifest.files
    var names: [String: String] = [:]
    var onDemand: Set<String> = []
    for (entry, bundle) in zip(entries, try manifest.located(at: source)) {
      let name = ReleaseArchive.contentName(of: entry.path)
      names[bundle.contentURL.text] = name
      if entry.preload == .demand, try archive.has(name) { onDemand.insert(entry.name) }
    }
    names[source.text] = ReleaseArchive.manifestName
    (self.archive, self.names, self.source, self.onDemand) = (archive, names, source, onDemand)
  }

  package func send(_ request: TransportRequest) async throws -> TransportResponse {
    let limit = request.limits.bodyBytes ?? ManifestLimits.standard.fileBytes
    guard request.head.method == .get, let name = name(of: request.url),
      let bytes = try archive.bytes(of: name, upTo: limit)
    else { return TransportResponse(head: HTTPResponse(status: .notFound), body: Body([])) }
    return TransportResponse(
      head: HTTPResponse(status: .ok, headerFields: [.contentLength: String(bytes.count)]), body: Body(bytes))
  }

  /// Files beside the manifest have their own names.
  private func name(of url: String) -> String? {
    if let name = names[url] { return name }
    let folder = source.resolving(".")?.text ?? source.text
    if url == source.appendingToPath(SignatureFile.suffix)?.text {
      return ReleaseArchive.manifestName + SignatureFile.suffix
    }
    guard url.hasPrefix(folder) else { return nil }
    let name = String(url.dropFirst(folder.count))
    return PublishedRoot.version(ofFile: SignatureFile.signedName(of: name)) == nil ? nil : name
  }
}

/// A release that was packaged with the app, in an archive: it is stored before anything is opened or asked of the
/// server, unless the store has it or a newer one.
package final class EmbeddedRelease: Sendable {
  private let path: String
  private let source: PageURL
  private let store: BundleStore
  private let trust: ReleaseTrust?
  private let limits: ManifestLimits
  private let logger: Logger
  private let installation = Mutex<Task<Void, Never>?>(nil)

  /// - Parameters:
  ///   - path: the path of the archive.
  ///   - source: the manifest's URL.
  ///   - trust: the keys whose signatures are asked for; `nil` for none.
  package init(
    _ path: String, of source: PageURL, store: BundleStore, trust: ReleaseTrust?, limits: ManifestLimits,
    logger: Logger
  ) {
    (self.path, self.source, self.store) = (path, source, store)
    (self.trust, self.limits, self.logger) = (trust, limits, logger)
  }

  /// Returns when the release is stored, or does not have to be. One that cannot be used is reported in the log.
  package func installed() async {
    let task = installation.withLock { task in
      if let task { return task }
      let begun = Task { [self] in
        do {
          try await install()
        } catch {
          logger.warning("the release that is packaged with the app cannot be used: \(error.sentence)")
        }
      }
      task = begun
      return begun
    }
    await task.value
  }

  private func install() async throws {
    let archive = try ReleaseArchive(reading: path)
    let manifest = try Manifest(reading: try archive.manifest(limits: limits), limits: limits)
    if let stored = try await store.source(source)?.current, stored.sequence >= manifest.sequence { return }
    let transport = try ArchiveTransport(archive, of: source, limits: limits)
    let client = OriginClient(transport)
    let retry = RetryPolicy(attempts: 1)
    // Its signatures were to hold when the app was built. An app that is old is no reason to show nothing.
    let date = manifest.signed.map { Date(timeIntervalSince1970: Double($0.seconds)) }
    let verifier = LaunchVerifier(
      source: source, store: store, client: client, limits: limits,
      trust: trust.map { ReleaseTrust($0.root).withoutStatus }, keepsSignatures: true, retry: retry, logger: logger,
      date: { date ?? Date() })
    let downloader = BundleDownloader(
      store: store,
      fetcher: BundleFetcher(
        client: client, store: store, retry: retry, fileLimit: limits.fileBytes),
      limits: limits)
    let preloader = Preloader(store: store, verifier: verifier, downloader: downloader, logger: logger)
    let report = await preloader.start().report()
    if let failure = report.failures.first { throw ArchiveError(path, "cannot be imported: \(failure.error)") }
    // The app was tried with it.
    if let stored = try await store.source(source)?.current, stored.sequence == manifest.sequence {
      try await store.mark(stored, as: .good)
    }
    guard !transport.onDemand.isEmpty else { return }
    _ = await preloader.withoutPrefetching(PreloadOptions(only: transport.onDemand)).start().report()
  }
}
