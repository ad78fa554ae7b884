import Foundation
import PageCore
import SystemPackage

/// The files of responses: `entries/ab/…`, one each, and `bodies/ab/…` for longer bytes, which several may share.
struct ResponseFiles: Sendable {
  let root: FilePath

  var entries: FilePath { root.appending("entries") }
  var bodies: FilePath { root.appending("bodies") }

  func entry(_ id: Int64) -> FilePath {
    let digits = String(UInt64(bitPattern: id), radix: 16)
    let name = String(repeating: "0", count: 16 - digits.count) + digits
    return entries.appending(String(name.suffix(2))).appending(name)
  }

  func body(_ digest: SHA256Digest) -> FilePath {
    let name = digest.hex
    return bodies.appending(String(name.prefix(2))).appending(name)
  }

  /// Writes a file whole or not at all.
  ///
  /// - Parameter durably: its bytes and its name have reached the disk when this returns.
  static func write(_ parts: [[UInt8]], to path: FilePath, by temporary: FilePath, durably: Bool) throws {
    do {
      try makingFolders(for: temporary) {
        try FileSystem.withFile(
          temporary, .writeOnly, options: [.create, .truncate], permissions: [.ownerReadWrite]
        ) { file in
          for part in parts { try FileSystem.writeAll(part, to: file, path: temporary) }
          if durably { try FileSystem.synchronise(file, path: temporary) }
        }
      }
      try place(temporary, at: path, durably: durably)
    } catch {
      FileSystem.remove(temporary)
      throw error
    }
  }

  /// Gives a file its final name.
  static func place(_ temporary: FilePath, at path: FilePath, durably: Bool) throws {
    try makingFolders(for: path) { try FileSystem.rename(temporary, to: path) }
    if durably { try FileSystem.synchroniseFolder(path.removingLastComponent()) }
  }

  /// Does it once more where the folder was not there: the system may have emptied the cache.
  static func makingFolders(for path: FilePath, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      let folder = path.removingLastComponent()
      guard FileSystem.status(folder) == nil else { throw error }
      try? FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
      try body()
    }
  }

  /// Every file that is named like an entry.
  func allEntries() -> [FilePath] { Self.all(in: entries) }

  func allBodies() -> [FilePath] { Self.all(in: bodies) }

  private static func all(in folder: FilePath) -> [FilePath] {
    FileSystem.names(in: folder).flatMap { name in
      let inner = folder.appending(name)
      return FileSystem.names(in: inner).map { inner.appending($0) }
    }
  }
}
