import DiskStorage
import Foundation
import GRDB
import HTTPTransport
import SystemPackage

/// A row of the table `blob`: the blob, and its file's inode and modification time when it was written.
struct BlobRecord {
  let blob: Blob
  let inode: Int64
  /// The file's modification time in nanoseconds since 1970.
  let modified: Int64

  init(blob: Blob, status: FileStatus) {
    self.blob = blob
    inode = Int64(bitPattern: status.inode)
    modified = status.modified
  }

  init(blob: Blob, inode: Int64, modified: Int64) {
    (self.blob, self.inode, self.modified) = (blob, inode, modified)
  }

  init(_ row: Row) throws {
    blob = try Blob(sha256: row.value("sha256"), md5: row.value("md5"), size: row.value("size"))
    inode = try row.value("inode")
    modified = try row.value("modified")
  }

  static func fetch(_ db: Database, where condition: String, _ arguments: [SHA256Digest]) throws -> [BlobRecord] {
    try db.rows("SELECT * FROM blob WHERE \(condition)", StatementArguments(arguments)) { try BlobRecord($0) }
  }

  func save(_ db: Database) throws {
    let statement = try db.cachedStatement(
      sql: """
        INSERT INTO blob (sha256, md5, size, inode, modified, storedAt) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (sha256) DO UPDATE SET inode = excluded.inode, modified = excluded.modified
        """)
    try statement.execute(
      arguments: [blob.sha256, blob.md5, blob.size, inode, modified, Date().timeIntervalSince1970])
  }

  /// The state of the file, as far as it is known without reading it.
  enum Condition {
    case untouched
    /// The file was written, replaced or restored: its bytes must be checked.
    case touched
    case missing
  }

  func condition(in directory: BlobDirectory) -> Condition {
    condition(FileSystem.status(directory.path(of: blob.sha256)))
  }

  /// - Parameter status: the status of the file; `nil` if it does not exist.
  func condition(_ status: FileStatus?) -> Condition {
    // A link, a folder or a FIFO at the path does not count.
    guard let status, status.kind == .file else { return .missing }
    return status.isUnchanged(size: blob.size, inode: inode, modified: modified) ? .untouched : .touched
  }

  /// Returns `true` if the file exists and, if it was touched, still has the right bytes.
  func isInPlace(in directory: BlobDirectory) -> Bool {
    switch condition(in: directory) {
    case .untouched: true
    case .touched: (try? directory.read(blob)) != nil
    case .missing: false
    }
  }
}
