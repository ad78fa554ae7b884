import Blobs
import Foundation
import HTTPTransport
import Releases
import Synchronization

/// The events in a folder, in all folders below it, and of the folder itself, by inotify(7).
///
/// Symbolic links below the folder are not followed, but for those to files that ``follow(_:)`` names. The folder's own path
/// may be one: its target is watched.
final class DirectoryEvents: Sendable {
  let folder: String
  /// Wakes the reader when ``decision(at:)`` may have changed. Only one reader is supported.
  let signals: AsyncStream<Void>
  private let signal: AsyncStream<Void>.Continuation
  private let descriptor: Int32
  /// Its closing ends the thread.
  private let stopper: Pipe
  /// The paths below the folder by watch, which are `nil` for the folder that contains it; and when it may be scanned.
  private let state = Mutex<(folders: [Int32: String?], activity: FolderActivity, saves: Saves, links: FollowedLinks)>(
    ([:], FolderActivity(), Saves(), FollowedLinks()))

  private static let mask = UInt32(
    IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
      | IN_ATTRIB)
  private static let parentMask = UInt32(IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE)

  /// - Throws: ``DescribedError`` if the system's limit of watches is reached.
  init(_ folder: String) throws {
    self.folder = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else { throw DescribedError.unwatched(folder, code: errno) }
    (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    stopper = Pipe()
    // Events may come at any time, and waiting for them blocks.
    Thread.detachNewThread { [weak self, descriptor, reading = stopper.fileHandleForReading] in
      let stop = reading.fileDescriptor
      while true {
        var waiting = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        waiting.append(pollfd(fd: stop, events: Int16(POLLIN), revents: 0))
        guard poll(&waiting, 2, -1) >= 0 || errno == EINTR, waiting[1].revents == 0, let self else { break }
        if waiting[0].revents != 0 { drain() }
      }
      close(descriptor)
    }
  }

  deinit { stop() }

  func stop() {
    try? stopper.fileHandleForWriting.close()
    signal.finish()
  }

  func decision(at now: ContinuousClock.Instant) -> FolderActivity.Decision {
    state.withLock { $0.activity.decision(at: now) }
  }

  /// Watches every folder that exists now, and forgets those that were removed. It is called before each scan, so that
  /// no change between the scan and the watch is lost.
  ///
  /// - Returns: `true` if folders were added: writers in them may have started before the watch.
  /// - Throws: ``DescribedError`` if a folder cannot be watched; the others are watched.
  func prepareToLook(at now: ContinuousClock.Instant) throws -> Bool {
    state.withLock { $0.activity.look(at: now) }
    var watched: [Int32: String?] = [:]
    var failure: DescribedError?
    func add(_ path: String, mask: UInt32, as name: String?) -> Bool {
      let watch = inotify_add_watch(descriptor, path, mask | UInt32(IN_ONLYDIR))
      if watch < 0 {
        // The parent folder reports files that were removed meanwhile.
        if errno != ENOENT, errno != ENOTDIR { failure = DescribedError.unwatched(path, code: errno) }
        return false
      }
      watched[watch] = .some(name)
      return true
    }
    _ = add(URL(fileURLWithPath: folder).deletingLastPathComponent().path, mask: Self.parentMask, as: nil)
    var left = [""]
    while let path = left.popLast() {
      let full = path.isEmpty ? folder : "\(folder)/\(path)"
      guard add(full, mask: Self.mask | (path.isEmpty ? 0 : UInt32(IN_DONT_FOLLOW)), as: path) else { continue }
      for name in (try? FileManager.default.contentsOfDirectory(atPath: full)) ?? [] where !name.hasPrefix(".") {
        guard FileStatus(ofLink: "\(full)/\(name)")?.isFolder == true else { continue }
        left.append(path.isEmpty ? name : "\(path)/\(name)")
      }
    }
    let (gone, isNew) = state.withLock { state in
      let gone = state.folders.keys.filter { watched[$0] == nil }
      let isNew = watched.keys.contains { state.folders[$0] == nil }
      state.folders = watched
      if isNew { state.activity.record(.changed, at: now) }
      // What writers in these folders do is no longer told, nor that they are done.
      if !gone.isEmpty { state.activity.forgetWriters() }
      return (gone.filter { !state.links.has($0) }, isNew)
    }
    for watch in gone { inotify_rm_watch(descriptor, watch) }
    if let failure { throw failure }
    return isNew
  }

  /// Watches the files that links below the folder lead to, and no others any more. Saves of them are told as saves of their
  /// paths below the folder.
  ///
  /// - Parameter targets: the real paths of the files, by their paths below the folder.
  /// - Returns: the paths that are watched from now on: they may have been saved before.
  func follow(_ targets: [String: String]) -> Set<String> {
    state.withLock { state in
      var links = FollowedLinks()
      for (path, target) in targets.sorted(by: { $0.key < $1.key }) {
        guard let end = target.lastIndex(of: "/") else { continue }
        let (parent, name) = (String(target[..<end]), String(target[target.index(after: end)...]))
        var watch = links.watch(of: parent)
        if watch == nil {
          guard links.hasRoom else { continue }
          watch =
            state.links.watch(of: parent)
            ?? inotify_add_watch(
              descriptor, parent.isEmpty ? "/" : parent, Self.mask | UInt32(IN_ONLYDIR) | UInt32(IN_MASK_ADD))
        }
        if let watch, watch >= 0 { links.add(path, to: watch, parent, name) }
      }
      for watch in state.links.watches where !links.has(watch) && state.folders[watch] == nil {
        inotify_rm_watch(descriptor, watch)
      }
      let former = state.links
      state.links = links
      return Set(targets.keys.filter { links.has(path: $0) && !former.has(path: $0) })
    }
  }

  /// Returns `true` if saves of a file are told.
  ///
  /// - Parameters:
  ///   - path: the path below the folder.
  ///   - isLinked: `true` if there is a link in the path.
  func isWatched(_ path: String, isLinked: Bool) -> Bool {
    let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    return state.withLock { state in
      isLinked ? state.links.has(path: path) : state.folders.values.contains(.some(parent))
    }
  }

  /// Returns `true` if a file is open for writing, so that it may have a part of its bytes.
  ///
  /// - Parameter path: the path below the folder.
  func isBeingWritten(_ path: String) -> Bool { state.withLock { $0.activity.isBeingWritten(path) } }

  /// The files that were saved since the last call: closed after writing, or moved to their names.
  func takeSaves() -> Saves {
    state.withLock { state in
      defer { state.saves = Saves() }
      return state.saves
    }
  }

  // MARK: Reading

  private func drain() {
    let size = 64 << 10
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 8)
    defer { buffer.deallocate() }
    let now = ContinuousClock.now
    var hasNews = false
    while case let count = read(descriptor, buffer.baseAddress, size), count > 0 {
      let records = InotifyRecord.all(in: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      state.withLock { state in
        for record in records {
          let isSave = record.has(IN_CLOSE_WRITE) || record.has(IN_MOVED_TO)
          for path in state.links.paths(of: record) {
            hasNews = true
            if isSave { state.saves.record(.finished(path), isSave: true) }
            if record.has(IN_DELETE) || record.has(IN_MOVED_FROM) {
              state.saves.record(.finished(path), isSave: false)
            }
          }
          if record.has(IN_IGNORED) { state.links.forget(record.watch) }
          if state.links.has(record.watch), state.folders[record.watch] == nil { continue }
          guard let event = event(record, in: state.folders) else { continue }
          state.activity.record(event, at: now)
          hasNews = true
          // The attributes of a file are not its bytes.
          if record.has(IN_ATTRIB), !record.has(IN_ISDIR) { continue }
          state.saves.record(event, isSave: isSave || record.has(IN_CREATE))
        }
      }
    }
    if hasNews { signal.yield() }
  }

  private func event(_ record: InotifyRecord, in folders: [Int32: String?]) -> FolderActivity.Event? {
    if record.has(IN_Q_OVERFLOW) { return .overflow }
    // A watch that was removed, by this class or with its folder, is not news.
    if record.has(IN_IGNORED) { return nil }
    guard let known = folders[record.watch] else { return .changed }
    guard let path = known else {
      // The parent folder also reports its other entries.
      return record.name == URL(fileURLWithPath: folder).lastPathComponent ? .changed : nil
    }
    let file = path.isEmpty ? record.name : "\(path)/\(record.name)"
    if record.name.hasPrefix(".") { return nil }
    if record.has(IN_ISDIR) { return .changed }
    // A link is whole when it is made.
    if record.has(IN_CREATE), FileStatus(ofLink: "\(folder)/\(file)")?.kind == .other { return .finished(file) }
    if record.has(IN_CREATE) || record.has(IN_MODIFY) { return .writing(file) }
    return record.has(IN_ATTRIB) ? .changed : .finished(file)
  }
}

extension DescribedError {
  /// A folder that cannot be watched.
  ///
  /// - Parameter code: of the system's error.
  fileprivate static func unwatched(_ path: String, code: Int32) -> DescribedError {
    let reason = String(cString: strerror(code))
    return DescribedError(
      code == ENOSPC || code == EMFILE
        ? "\(path) cannot be watched (\(reason)): raise fs.inotify.max_user_watches; until then it is polled"
        : "\(path) cannot be watched: \(reason)")
  }
}

/// One `struct inotify_event`, inotify(7).
struct InotifyRecord: Hashable, Sendable {
  let watch: Int32
  let mask: UInt32
  /// The path of the file in the watched folder; empty for the folder itself.
  let name: String

  func has(_ flag: Int32) -> Bool { mask & UInt32(bitPattern: flag) != 0 }

  /// The records of one read, up to the first incomplete one.
  static func all(in bytes: UnsafeRawBufferPointer) -> [InotifyRecord] {
    let headSize = 16  // wd, mask, cookie and len, of four bytes each
    var records: [InotifyRecord] = []
    var offset = 0
    while offset + headSize <= bytes.count {
      let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
      let end = offset + headSize + length
      guard end <= bytes.count else { break }
      // The name is padded with zeros.
      let name = bytes[(offset + headSize)..<end].prefix { $0 != 0 }
      records.append(
        InotifyRecord(
          watch: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self),
          mask: bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self),
          name: String(decoding: name, as: UTF8.self)))
      offset = end
    }
    return records
  }
}

/// The files that links in a folder lead to, by the watches of the folders that they are in. A pure value.
struct FollowedLinks: Equatable, Sendable {
  /// The largest number of folders that are watched for their sake.
  static let limit = 256

  private struct Folder: Equatable, Sendable {
    let path: String
    /// The paths of the links, by the names of the files that they lead to.
    var links: [String: Set<String>] = [:]
  }

  private var folders: [Int32: Folder] = [:]

  var hasRoom: Bool { folders.count < Self.limit }
  var watches: [Int32] { Array(folders.keys) }

  /// Returns `true` if a watch is of a folder with such a file.
  func has(_ watch: Int32) -> Bool { folders[watch] != nil }

  /// Returns `true` if the file that a link leads to is watched.
  func has(path: String) -> Bool { folders.values.contains { $0.links.values.contains { $0.contains(path) } } }

  /// The watch of a folder; `nil` if there is none.
  func watch(of folder: String) -> Int32? { folders.first { $0.value.path == folder }?.key }

  mutating func add(_ path: String, to watch: Int32, _ folder: String, _ name: String) {
    folders[watch, default: Folder(path: folder)].links[name, default: []].insert(path)
  }

  mutating func forget(_ watch: Int32) { folders[watch] = nil }

  /// The paths of the links to the file that an event is of.
  func paths(of record: InotifyRecord) -> Set<String> { folders[record.watch]?.links[record.name] ?? [] }
}

/// The files of a folder that were saved.
struct Saves: Equatable, Sendable {
  /// Their paths below the folder.
  private(set) var paths: Set<String> = []
  /// The paths of files that were removed or moved away, and not saved after that.
  private(set) var removed: Set<String> = []
  /// `true` if others may have been saved too: folders came or went, or events were lost.
  private(set) var isUnsure = false

  /// The limit of paths that are told apart.
  private static let limit = 10_000

  var isEmpty: Bool { paths.isEmpty && removed.isEmpty && !isUnsure }

  /// Returns `true` if a file was saved or removed, or a link that stands for a folder in its path.
  func contains(_ path: String) -> Bool {
    var path = path[...]
    while true {
      if paths.contains(String(path)) || removed.contains(String(path)) { return true }
      guard let end = path.lastIndex(of: "/") else { return false }
      path = path[..<end]
    }
  }

  mutating func record(_ event: FolderActivity.Event, isSave: Bool) {
    switch event {
    case .finished(let path) where paths.count + removed.count < Self.limit:
      if isSave {
        paths.insert(path)
        removed.remove(path)
      } else {
        paths.remove(path)
        removed.insert(path)
      }
    case .finished: isUnsure = true
    case .changed, .overflow: isUnsure = true
    case .writing: break
    }
  }
}

/// Decides when a changing folder may be scanned: not during a burst of events, and not while files are being written.
struct FolderActivity: Equatable, Sendable {
  enum Event: Hashable, Sendable {
    /// A file was created or written to, and its writer may continue.
    case writing(String)
    /// A file was closed after writing, moved or removed.
    case finished(String)
    /// Another change, or one of an unknown kind.
    case changed
    /// Events were lost.
    case overflow
  }

  enum Decision: Equatable, Sendable {
    case rest
    case wait(Duration)
    case look
  }

  /// The time without an event after which a burst has ended.
  static let quiet: Duration = .milliseconds(100)
  /// The longest burst: after this time the folder is scanned even if events continue.
  static let patience: Duration = .seconds(2)
  /// The time after which a writer that has a file open without writing is no longer waited for.
  static let writerPatience: Duration = .seconds(10)
  /// The longest time that writers can delay a scan.
  static let writersPatience: Duration = .seconds(60)
  /// The limit of open files that are tracked.
  static let writersLimit = 10_000

  private var first: ContinuousClock.Instant?
  private var last: ContinuousClock.Instant?
  private var writers: [String: ContinuousClock.Instant] = [:]

  mutating func record(_ event: Event, at now: ContinuousClock.Instant) {
    first = first ?? now
    last = now
    switch event {
    case .writing(let path): if writers.count < Self.writersLimit { writers[path] = now }
    case .finished(let path): writers[path] = nil
    case .changed: break
    case .overflow: writers = [:]
    }
  }

  func isBeingWritten(_ path: String) -> Bool { writers[path] != nil }

  /// Waits for none of the files that were being written.
  mutating func forgetWriters() { writers = [:] }

  func decision(at now: ContinuousClock.Instant) -> Decision {
    guard let first, let last else { return .rest }
    var due = min(last + Self.quiet, first + Self.patience)
    if let newest = writers.values.max() {
      // The closing of the file is an event of its own; this limit applies if that event never comes.
      due = max(due, min(newest + Self.writerPatience, first + Self.writersPatience))
    }
    return due <= now ? .look : .wait(due - now)
  }

  /// Starts a scan: later events count as new.
  mutating func look(at now: ContinuousClock.Instant) {
    (first, last) = (nil, nil)
    writers = writers.filter { $0.value + Self.writerPatience > now }
  }
}
