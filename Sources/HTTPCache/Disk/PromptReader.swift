import CSQLite
import Foundation
import HTTPTransport
import Synchronization
import SystemPackage

/// A connection to the index that reads the rows of a key if the system has their pages in memory: it never waits for the
/// disk.
///
/// `@unchecked Sendable`: ``PromptReaders`` gives it to one caller at a time.
final class PromptReader: @unchecked Sendable {
  /// The columns of a row that makes a ``ResponseRow``, and the bytes that it holds; `nil` if they are in a file.
  typealias Columns = (
    front: [UInt8], isKept: Bool, id: Int64, storedAt: Double, usedAt: Int64, bytes: [UInt8]?
  )

  /// The memory for pages of one connection, in KiB: enough for the inner pages of a large index.
  private static let pageMemory = 4_096
  /// Answers with more variants than this are left to those who may wait.
  private static let variantLimit = 8

  private let database: OpaquePointer
  private let statement: OpaquePointer

  /// `true` if the system supports such reads; they are prepared for the whole process.
  static let areSupported = pk_sqlite_prepare_prompt_reads() != 0

  /// Opens a connection, which may wait for the disk.
  ///
  /// - Returns: `nil` if that fails.
  init?(_ path: String) {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX
    guard sqlite3_open_v2(path, &opened, flags, nil) == SQLITE_OK, let opened else {
      sqlite3_close_v2(opened)
      return nil
    }
    var prepared: OpaquePointer?
    let sql = "SELECT front, isKept, id, storedAt, usedAt, bytes FROM response WHERE key = ?"
    guard
      sqlite3_exec(opened, "PRAGMA cache_size = -\(Self.pageMemory)", nil, nil, nil) == SQLITE_OK,
      sqlite3_prepare_v3(opened, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil) == SQLITE_OK, let prepared
    else {
      sqlite3_close_v2(opened)
      return nil
    }
    (database, statement) = (opened, prepared)
  }

  deinit {
    sqlite3_finalize(statement)
    sqlite3_close_v2(database)
  }

  /// Reads the rows of a key, in any order.
  ///
  /// - Returns: `nil` if the disk or another writer would have to be waited for, or if anything is wrong with the rows.
  func rows(of key: CacheKey) -> [Columns]? {
    pk_sqlite_read_promptly(1)
    defer { pk_sqlite_read_promptly(0) }
    defer { sqlite3_reset(statement) }
    var text = key.description
    let isBound = text.withUTF8 { text in
      text.withMemoryRebound(to: CChar.self) {
        sqlite3_bind_text(statement, 1, $0.baseAddress, Int32(clamping: $0.count), pk_sqlite_transient())
      }
    }
    guard isBound == SQLITE_OK else { return nil }
    var found: [Columns] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_DONE: return found
      case SQLITE_ROW where found.count < Self.variantLimit:
        guard let front = blob(0), number(1), number(2), number(4), isReal(3) else { return nil }
        found.append(
          (
            front, sqlite3_column_int64(statement, 1) != 0, sqlite3_column_int64(statement, 2),
            sqlite3_column_double(statement, 3), sqlite3_column_int64(statement, 4), blob(5)
          ))
      default: return nil
      }
    }
  }

  private func number(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_INTEGER }
  private func isReal(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_FLOAT }

  private func blob(_ column: Int32) -> [UInt8]? {
    guard sqlite3_column_type(statement, column) == SQLITE_BLOB else { return nil }
    let bytes = sqlite3_column_blob(statement, column)
    return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, column))))
  }
}

/// The connections of one index that read without waiting. There are as many as are used at the same time, up to a limit.
final class PromptReaders: Sendable {
  private struct State {
    var free: [PromptReader] = []
    /// The connections that are open, in use or not.
    var count = 0
    var isOpening = false
    /// `true` if the last one could not be opened, so that no other is.
    var hasFailed = false
  }

  private let path: String
  private let limit: Int
  private let state = Mutex(State())

  /// - Parameters:
  ///   - path: the file of the index.
  ///   - limit: the largest number of connections.
  init(_ path: String, limit: Int = 16) { (self.path, self.limit) = (path, limit) }

  /// Reads the rows of a key.
  ///
  /// - Parameter later: runs work that may wait.
  /// - Returns: `nil` if the rows cannot be read without waiting.
  func rows(of key: CacheKey, later: (@escaping @Sendable () -> Void) -> Void) -> [PromptReader.Columns]? {
    let (reader, isMissing) = state.withLock { state -> (PromptReader?, Bool) in
      if let reader = state.free.popLast() { return (reader, false) }
      guard state.count < limit, !state.isOpening, !state.hasFailed else { return (nil, false) }
      state.isOpening = true
      return (nil, true)
    }
    if isMissing { later { [weak self] in self?.open() } }
    guard let reader else { return nil }
    defer { state.withLock { $0.free.append(reader) } }
    return reader.rows(of: key)
  }

  private func open() {
    let reader = PromptReader.areSupported ? PromptReader(path) : nil
    state.withLock { state in
      state.isOpening = false
      guard let reader else {
        state.hasFailed = true
        return
      }
      state.count += 1
      state.free.append(reader)
    }
  }
}
