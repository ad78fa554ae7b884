import Blobs
import Foundation
import HTTPTransport
import SystemPackage

/// The files of responses: `entries/ab/…`, one for each that is kept, and `bodies/ab/…` for longer bytes, which several
/// may share.
struct ResponseFiles: Sendable {
  let root: StorePath
  /// A second folder, which cannot be written, with the files that are not in `root`.
  let base: StorePath?
  /// Bytes and names have reached the disk before anything else happens.
  let isDurable: Bool

  var entries: StorePath { Self.entries(in: root) }
  var bodies: BlobDirectory { BlobDirectory(root: Self.bodies(in: root), over: base.map(Self.bodies)) }
  /// The folder of files that have no final name yet, on the same file system.
  var partial: StorePath { root.appending("partial") }

  private static func entries(in root: StorePath) -> StorePath { root.appending("entries") }
  private static func bodies(in root: StorePath) -> StorePath { root.appending("bodies") }

  /// The path of a kept response's own file in `root`.
  func entry(_ id: Int64) -> StorePath { Self.entry(id, in: root) }

  private static func entry(_ id: Int64, in root: StorePath) -> StorePath {
    let name = Hex.encode(UInt64(bitPattern: id))
    return entries(in: root).appending(String(name.suffix(2))).appending(name)
  }

  /// The path of a kept response's own file, whether it exists or not.
  func path(ofEntry id: Int64) -> StorePath {
    guard let base, FileSystem.status(entry(id)) == nil else { return entry(id) }
    return Self.entry(id, in: base)
  }

  /// The files that are named like those of kept responses.
  func allEntries() -> [StorePath] {
    [root, base].compactMap { $0 }.flatMap { BlobDirectory.files(in: Self.entries(in: $0)) }
  }

  /// The path of a longer body's file in `root`.
  func body(_ digest: SHA256Digest) -> StorePath { bodies.ownPath(of: digest) }

  // MARK: Writing

  /// Writes a file whole or not at all.
  func write(_ parts: [[UInt8]], to path: StorePath) throws {
    try placing(at: path) { temporary in
      try FileSystem.withFile(
        temporary, .writeOnly, options: [.create, .truncate], permissions: [.ownerReadWrite]
      ) { file in
        for part in parts { try FileSystem.writeAll(part, to: file, path: temporary) }
        if isDurable { try FileSystem.synchronise(file, path: temporary) }
      }
    }
  }

  /// Gives bytes that lie in a file of this file system a second name; where that cannot be, copies them.
  func write(_ body: some StoredBody, linking source: StorePath, to path: StorePath) throws {
    try placing(at: path) { temporary in
      if FileSystem.link(source, to: temporary) {
        guard isDurable else { return }
        try FileSystem.withFile(temporary, .readOnly) { try FileSystem.synchronise($0, path: temporary) }
        return
      }
      try FileSystem.withFile(
        temporary, .writeOnly, options: [.create, .truncate], permissions: [.ownerReadWrite]
      ) { file in
        var position: Int64 = 0
        while position < body.count {
          let piece = try body.read(at: position, upTo: 256 << 10)
          try FileSystem.writeAll(piece, to: file, path: temporary)
          position += Int64(piece.count)
        }
        if isDurable { try FileSystem.synchronise(file, path: temporary) }
      }
    }
  }

  private func placing(at path: StorePath, _ write: (_ temporary: StorePath) throws -> Void) throws {
    let temporary = partial.appending(UUID().uuidString)
    do {
      try Self.makingFolders(for: temporary) { try write(temporary) }
      if FileSystem.status(path)?.kind == .folder {
        try FileSystem.rename(path, to: path.extended(by: ".foreign-\(UUID().uuidString)"))
      }
      try Self.makingFolders(for: path) { try FileSystem.rename(temporary, to: path) }
      // Two names of one file stay both.
      FileSystem.remove(temporary)
      guard isDurable else { return }
      try FileSystem.synchroniseFolder(path.folder)
      // The folder itself may be new.
      try FileSystem.synchroniseFolder(path.folder.folder)
    } catch {
      FileSystem.remove(temporary)
      throw error
    }
  }

  /// Does it once more where the folder was not there, or a link stood in its place: the system may have emptied the
  /// cache, and somebody may have exchanged a folder.
  static func makingFolders(for path: StorePath, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      // Where the folder is there by now, another task may have made it since: that is worth a second try too.
      try? makeFolders(for: path)
      try body()
    }
  }

  private static func makeFolders(for path: StorePath) throws {
    for count in path.folder.names.indices {
      let folder = StorePath(path.root, Array(path.names[...count]))
      guard FileSystem.status(folder)?.kind == .other else { continue }
      try FileSystem.rename(folder, to: folder.extended(by: ".foreign-\(UUID().uuidString)"))
    }
    try FileSystem.makeFolders(path.folder)
  }
}
