import DiskStorage
import Foundation
import HTTPTransport
import SystemPackage

extension ResponseDirectory {
  /// The same responses, regions too, in a folder that can be written: indexes are copied, files are linked to. What is
  /// changed there changes nothing here.
  ///
  /// - Throws: ``StoreError``.
  package func linked(into folder: String) throws -> ResponseDirectory {
    let copy = ResponseDirectory(linksIn: folder)
    for source in Set([cache, durable]) {
      // A link counts from the folder that it is in.
      try Self.link(StorePath(FilePath(URL(fileURLWithPath: source.root.string).path), source.names), to: copy.cache)
    }
    return copy
  }

  /// The error for what is here and may not be read; `nil` if all may. Stored responses are their owner's alone to
  /// read, since cookies and credentials may be among them.
  package var unreadable: StoreError? {
    for folder in Set([cache, durable]) {
      for name in ["responses.sqlite", "responses", "kept"] {
        let path = folder.appending(name)
        guard let status = FileSystem.status(path) else { continue }
        if access(path.string, status.isFolder ? R_OK | X_OK : R_OK) != 0 {
          return .notReadable(path: path.string, reason: String(cString: strerror(errno)))
        }
      }
    }
    return nil
  }

  /// The folders that have responses in them.
  private static let folders: Set<String> = ["responses", "kept", "regions"]
  private static let databases: Set<String> = ["responses.sqlite", "responses.sqlite-wal"]

  private static func link(_ source: StorePath, to target: StorePath) throws {
    for name in FileSystem.names(in: source) {
      let (from, to) = (source.appending(name), target.appending(name))
      if databases.contains(name) {
        // Of one that is torn by a writer what is kept is left.
        try? FileManager.default.copyItem(atPath: from.string, toPath: to.string)
        // The copy has the permissions of what may not be written.
        chmod(to.string, 0o600)
      } else if folders.contains(name) {
        try FileSystem.makeFolder(to, permissions: 0o700)
        if name == regions {
          for region in FileSystem.names(in: from) {
            try FileSystem.makeFolder(to.appending(region), permissions: 0o700)
            try link(from.appending(region), to: to.appending(region))
          }
        } else {
          try linkFiles(from, to: to)
        }
      }
    }
  }

  private static func linkFiles(_ source: StorePath, to target: StorePath) throws {
    for name in FileSystem.names(in: source) where name != "partial" {
      let (from, to) = (source.appending(name), target.appending(name))
      if FileSystem.status(from)?.isFolder == true {
        try FileSystem.makeFolder(to, permissions: 0o700)
        try linkFiles(from, to: to)
      } else {
        try? FileManager.default.createSymbolicLink(atPath: to.string, withDestinationPath: from.string)
      }
    }
  }
}
