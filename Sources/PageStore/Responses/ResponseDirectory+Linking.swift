import Foundation
import PageCore
import SystemPackage

extension ResponseDirectory {
  /// The same responses, regions too, in a folder that can be written: indexes are copied, files are linked to. What is
  /// changed there changes nothing here.
  ///
  /// - Throws: ``StoreError``.
  package func linked(into folder: String) throws -> ResponseDirectory {
    let copy = ResponseDirectory(folder)
    for source in Set([cache, durable]) { try Self.link(source, to: copy.cache) }
    return copy
  }

  /// The folders that have responses in them.
  private static let folders: Set<String> = ["responses", "kept", "regions"]
  private static let databases: Set<String> = ["responses.sqlite", "responses.sqlite-wal"]

  private static func link(_ source: FilePath, to target: FilePath) throws {
    for name in FileSystem.names(in: source) {
      let (from, to) = (source.appending(name), target.appending(name))
      if databases.contains(name) {
        // One that is torn by a writer is made anew from the files.
        try? FileManager.default.copyItem(atPath: from.string, toPath: to.string)
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

  private static func linkFiles(_ source: FilePath, to target: FilePath) throws {
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
