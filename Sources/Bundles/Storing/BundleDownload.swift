import Blobs
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import Synchronization
import SystemPackage

/// A download into the store, in `partial/`: files for the wire bytes, their head, and the decoded content if it differs.
/// Its name is the expected digest, so that a later process finds it. Used by one task at a time.
///
/// The wire bytes and their head are kept for a later attempt; if they are encoded, the decoded content is written to a
/// second file. No bytes are trusted before they were digested.
package final class BundleDownload: Sendable {
  let directory: StoreDirectory
  private let name: String
  private let state: Mutex<State>

  private struct State {
    /// The wire file: one process at a time writes to a download.
    var wire: LockedFile?
    var content: FileDescriptor?
    var head: DownloadHead?
    /// `true` if the file of the head exists.
    var hasHeadFile = false
    /// The wire bytes that were appended since ``begin(_:)``.
    var received = 0
    var held: (head: DownloadHead, wireBytes: Int64)?
  }

  private static let readSize = 256 << 10
  /// The largest partial download that is continued, in bytes.
  private static let heldLimit: Int64 = 1 << 30
  private static let headLimit = 1 << 20
  /// The wire bytes from which the head is written to its file: a process that is killed before loses them, and most
  /// downloads need no such file.
  static let unheldLimit = 512 << 10

  private init(named name: String, in directory: StoreDirectory, _ state: consuming State) {
    (self.name, self.directory) = (name, directory)
    self.state = Mutex(state)
  }

  /// Opens the download of an earlier attempt or a new one; `nil` if another process uses it.
  static func open(named name: String, in directory: StoreDirectory) throws -> BundleDownload? {
    guard let (file, status) = try openLocked(directory.partial.appending(name), in: directory) else { return nil }
    var state = State(wire: file)
    // A head alone is of no use; one that a crash has left is replaced when the head is written.
    if status.size > 0,
      let text = FileSystem.contents(of: directory.partial.appending(name + ".json"), upTo: headLimit)
    {
      state.hasHeadFile = true
      let head = try? JSONDecoder().decode(DownloadHead.self, from: Data(text))
      if let head, status.size <= heldLimit { state.held = (head, status.size) }
    }
    return BundleDownload(named: name, in: directory, state)
  }

  /// Opens a new download that no other process finds.
  static func makePrivate(named name: String, in directory: StoreDirectory) throws -> BundleDownload {
    let name = "\(name).\(UUID().uuidString)"
    guard let (file, _) = try openLocked(directory.partial.appending(name), in: directory) else {
      throw StoreError.notWritable(path: directory.partial.string, reason: "a new file is locked already")
    }
    return BundleDownload(named: name, in: directory, State(wire: file))
  }

  deinit { close() }

  private var wirePath: StorePath { directory.partial.appending(name) }
  private var headPath: StorePath { directory.partial.appending(name + ".json") }
  private var contentPath: StorePath { directory.partial.appending(name + ".content") }

  /// Returns `nil` if another process has locked the file.
  private static func openLocked(_ path: StorePath, in directory: StoreDirectory) throws -> (LockedFile, FileStatus)? {
    while true {
      guard let file = LockedFile(try directory.open(own: path), at: path) else { return nil }
      // The file may have become a blob, or been collected, between opening and locking.
      guard let status = file.statusInPlace else { continue }
      // The file must not have another name, through which these bytes would get into another folder.
      if FileSystem.nameCount(file.descriptor) == 1 { return (file, status) }
      try directory.putAside(path)
    }
  }

  // MARK: For the fetcher

  /// The head and the number of wire bytes of an earlier attempt; `nil` if there was none.
  package var held: (head: DownloadHead, wireBytes: Int64)? { state.withLock(\.held) }

  /// Passes the held wire bytes to `body`, piece by piece.
  package func readHeld(_ body: ([UInt8]) throws -> Void) throws {
    // Not under the lock: the reader may write the decoded content meanwhile.
    guard let (wire, size) = state.withLock({ state in state.wire.map { ($0, state.held?.wireBytes ?? 0) } }) else {
      return
    }
    var offset: Int64 = 0
    while offset < size {
      let wanted = Int(min(Int64(Self.readSize), size - offset))
      let piece = try [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
        count = try wire.descriptor.read(fromAbsoluteOffset: offset, into: UnsafeMutableRawBufferPointer(buffer))
      }
      guard !piece.isEmpty else { break }
      offset += Int64(piece.count)
      try body(piece)
    }
  }

  /// Begins a new download; the held bytes are dropped.
  package func begin(_ head: DownloadHead) throws {
    try state.withLock { state in
      guard let wire = state.wire else { return }
      // Emptied before the head changes: after a crash in between, no bytes belong to a wrong head.
      try Self.truncate(wire, to: 0)
      removeHead(&state)
      (state.head, state.held, state.received) = (head, nil, 0)
      try openContent(&state)
    }
  }

  private func writeHead(_ state: inout State) throws {
    guard !state.hasHeadFile, let head = state.head else { return }
    let data = try JSONEncoder().encode(head)
    let file = try directory.make(own: headPath)
    try file.closeAfter { try FileSystem.writeAll(Array(data), to: file, path: headPath) }
    state.hasHeadFile = true
  }

  private func removeHead(_ state: inout State) {
    if state.hasHeadFile { FileSystem.remove(headPath) }
    state.hasHeadFile = false
  }

  /// Continues after the held wire bytes; the decoded content is written again from its beginning.
  package func resume() throws {
    try state.withLock { state in
      guard let wire = state.wire, let held = state.held else { return }
      state.head = held.head
      try Self.truncate(wire, to: held.wireBytes)
      try openContent(&state)
    }
  }

  private static func truncate(_ file: LockedFile, to size: Int64) throws {
    do {
      try file.descriptor.resize(to: size)
      try file.descriptor.seek(offset: size, from: .start)
    } catch let error as Errno {
      throw StoreError.notWritable(path: file.path.string, reason: error.description)
    }
  }

  private func openContent(_ state: inout State) throws {
    try? state.content?.close()
    state.content = nil
    guard state.head?.encoding != nil else { return }
    state.content = try directory.make(own: contentPath)
  }

  /// Appends wire bytes.
  package func append(wire bytes: [UInt8]) throws {
    try state.withLock { state in
      guard let wire = state.wire else { return }
      try FileSystem.writeAll(bytes, to: wire.descriptor, path: wire.path)
      state.received += bytes.count
      if state.received >= Self.unheldLimit { try writeHead(&state) }
    }
  }

  /// Appends decoded content; used only if the head has an encoding.
  package func append(content bytes: [UInt8]) throws {
    try state.withLock { state in
      guard let content = state.content else { return }
      try FileSystem.writeAll(bytes, to: content, path: contentPath)
    }
  }

  /// Drops all bytes, since they do not have the expected digests.
  package func discard() {
    state.withLock { state in
      guard let wire = state.wire else { return }
      removeHead(&state)
      FileSystem.remove(contentPath)
      try? Self.truncate(wire, to: 0)
      state.held = nil
      state.head = nil
    }
  }

  /// Ends the use of the download; its bytes stay for a later attempt.
  package func close() {
    state.withLock { state in
      // An empty file is useless; a private one would never be found again.
      let isUseless = state.head == nil && state.held == nil || name.contains(".")
      if let wire = state.wire {
        if isUseless || FileSystem.status(wire.descriptor)?.size == 0 { removeFiles() } else { try? writeHead(&state) }
      }
      try? state.content?.close()
      (state.wire, state.content) = (nil, nil)
    }
  }

  // MARK: For the store

  /// The open file with the content, and its path.
  func content() throws -> (file: FileDescriptor, path: StorePath) {
    try state.withLock { state in
      guard let wire = state.wire else {
        throw StoreError.notWritable(path: wirePath.string, reason: "the download was closed")
      }
      return state.content.map { ($0, contentPath) } ?? (wire.descriptor, wire.path)
    }
  }

  /// Removes the download's files, since its content is in the store.
  ///
  /// - Parameter moved: `true` if the content's file has become the blob; another process may already use its name.
  func finish(moved: Bool) {
    state.withLock { state in
      guard state.wire != nil else { return }
      removeHead(&state)
      if state.content != nil || !moved { FileSystem.remove(wirePath) }
      if state.content != nil, !moved { FileSystem.remove(contentPath) }
      try? state.content?.close()
      (state.wire, state.content) = (nil, nil)
    }
  }

  private func removeFiles() {
    FileSystem.remove(headPath)
    FileSystem.remove(contentPath)
    FileSystem.remove(wirePath)
  }
}

/// The fields of a response's head that a download needs.
package struct DownloadHead: Hashable, Sendable, Codable {
  package var url: PageURL
  package var etag: String?
  package var lastModified: String?
  /// The value of `Content-Encoding`; `nil` if there is none.
  package var encoding: String?
  /// The wire bytes of the whole content, if the server gave them.
  package var wireSize: Int64?
  /// The dictionary that decodes the content; `nil` if none is needed.
  package var dictionary: SHA256Digest?

  package init(
    url: PageURL, etag: String? = nil, lastModified: String? = nil, encoding: String? = nil, wireSize: Int64? = nil,
    dictionary: SHA256Digest? = nil
  ) {
    self.url = url
    self.etag = etag
    self.lastModified = lastModified
    self.encoding = encoding
    self.wireSize = wireSize
    self.dictionary = dictionary
  }

  package var validators: Validators { Validators(etag: etag, lastModified: lastModified) }
}

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
    return try await readOnce { [blobs] db in
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
