import Foundation
import GRDB
import PageCore
import SystemPackage

/// Builds the index anew from what the files themselves say.
struct ResponseRebuild {
  let directory: ResponseDirectory

  /// - Returns: how many responses were found.
  func run(_ db: Database) throws -> Int {
    var count = 0
    for isKept in [true, false] {
      let files = directory.files(isKept: isKept)
      for path in files.allEntries() {
        guard let found = Self.read(path, isKept: isKept), isInPlace(found.front, files) else { continue }
        let known = try Bool.fetchOne(db, sql: "SELECT 1 FROM response WHERE id = ?", arguments: [found.entry.id])
        guard known == nil else { continue }
        try ResponseRow.insert(
          db, found.entry, front: found.bytes, fileSize: found.size,
          body: found.front.isInline ? nil : found.front.digest, usedAt: Int64(found.entry.storedAt * 1e6))
        if isKept {
          try db.execute(
            sql: "INSERT OR IGNORE INTO kept (key) VALUES (?)", arguments: [found.entry.key.description])
        }
        count += 1
      }
    }
    return count
  }

  private func isInPlace(_ front: ResponseFront, _ files: ResponseFiles) -> Bool {
    front.isInline || FileSystem.status(files.body(front.digest))?.size == front.count
  }

  /// What an entry's file says; nil where it is not whole.
  static func read(
    _ path: FilePath, isKept: Bool
  ) -> (entry: ResponseEntry, front: ResponseFront, bytes: [UInt8], size: Int)? {
    guard let data = FileManager.default.contents(atPath: path.string),
      let (bytes, bodyStart) = ResponseFront.read(Array(data)), let front = try? ResponseFront.decode(bytes),
      let entry = front.entry(isKept: isKept), front.isInline ? Int64(data.count - bodyStart) == front.count : true
    else { return nil }
    return (entry, front, bytes, data.count)
  }
}
