import Foundation
import GRDB
import HTTPTransport

extension Error {
  /// `true` if an error of SQLite means that the file is not a database, or not as it was written: the statements are
  /// always the same, so that they cannot be wrong.
  package var isDatabaseDamage: Bool {
    if self is RowDecodingError { return true }
    guard let error = self as? DatabaseError else { return false }
    switch error.resultCode {
    case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_FORMAT, .SQLITE_TOOBIG:
      return true
    case .SQLITE_IOERR: return error.extendedResultCode == .SQLITE_IOERR_SHORT_READ
    case .SQLITE_ERROR:
      let message = error.message ?? ""
      return ["no such ", "unsupported file format", "malformed"].contains { message.hasPrefix($0) }
        || message.contains("already exists")
    default: return false
    }
  }

  /// The reason why the file is damaged, for messages.
  package var databaseDamage: String {
    (self as? DatabaseError)?.message ?? "it has values that were never written"
  }

  /// Returns the store's error for an error of SQLite, and any other error unchanged.
  ///
  /// - Parameter path: the database's file.
  package func storeError(at path: String) -> any Error {
    (self as? DatabaseError).map { StoreError($0, path: path) } ?? self
  }
}

extension FileSystem {
  /// The files that SQLite makes beside a database.
  package static func logs(of database: StorePath) -> [StorePath] {
    ["-wal", "-shm", "-journal"].map { database.extended(by: $0) }
  }

  /// Makes the log of a database, if it has none: one byte, which SQLite takes for an empty log.
  ///
  /// GRDB writes a transaction where there is no log or an empty one, so that its readers can open it. That would cost a
  /// process which only reads four flushes: two now, and two when SQLite takes the log back as the last process closes
  /// the database.
  package static func makeLog(of database: StorePath) {
    let log = database.extended(by: "-wal")
    guard let size = status(database)?.size, size > 0, status(log) == nil else { return }
    // Without it GRDB writes the transaction.
    makeFileOfZero(log, like: database.lastName)
  }

  /// Renames a database that cannot be used, and removes its log, which belongs to it.
  package static func putAside(database: StorePath, as aside: StorePath) throws {
    try rename(database, to: aside)
    for log in logs(of: database) { remove(log) }
  }
}

extension StoreError {
  fileprivate init(_ error: DatabaseError, path: String) {
    switch error.resultCode {
    case _ where error.isDatabaseDamage:
      self = .damagedDatabase(path: path, reason: error.message ?? "it is no database")
    case .SQLITE_FULL:
      self = .diskFull(path: path)
    case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
      self = .notWritable(path: path, reason: error.message ?? "\(error.resultCode)")
    default:
      self = .database(path: path, reason: error.message ?? "SQLite code \(error.resultCode.rawValue)")
    }
  }
}

/// The origin of a database file, recognised by its tables and its recorded migrations.
///
/// Every version of the format adds a migration, so that a newer PageKit's database contains all known migrations and
/// others. A version number alone might be a flipped bit.
package enum DatabaseIdentity: Equatable {
  /// The database has no content.
  case empty
  /// The database is a PageKit store.
  case ours
  /// The database was written by a newer PageKit.
  case newer
  /// The database is a PageKit store, but damaged.
  case damaged(reason: String)
  /// The database belongs to another program.
  case foreign

  /// The contents of a file: the columns of each table, and the migrations.
  package struct Contents {
    package var columns: [String: Set<String>]
    package var migrations: [String]

    package var isEmpty: Bool { columns.isEmpty && migrations.isEmpty }

    package init(columns: [String: Set<String>], migrations: [String]) {
      (self.columns, self.migrations) = (columns, migrations)
    }
  }

  /// - Parameters:
  ///   - found: the contents of the file.
  ///   - known: the migrations of this version, in their order.
  ///   - expected: the columns of each table after the last known migration.
  package init(of found: Contents, known: [String], expected: [String: Set<String>]) {
    let applied = Set(found.migrations)
    if found.isEmpty {
      self = .empty
    } else if !applied.isEmpty, applied.isSuperset(of: known), applied.count > known.count {
      self = .newer
    } else if applied.isSubset(of: known), !applied.isEmpty {
      // An older database has fewer columns until it is migrated.
      let isComplete =
        applied.count < known.count
        || expected.allSatisfy { table, columns in found.columns[table]?.isSuperset(of: columns) == true }
      self = isComplete ? .ours : .damaged(reason: "it lacks tables of a store")
    } else if !applied.isDisjoint(with: known) || expected.keys.count(where: { found.columns[$0] != nil }) > 1 {
      self = .damaged(reason: "it lacks tables of a store")
    } else {
      self = .foreign
    }
  }
}

extension Database {
  /// Reads the rows of a query. A connection compiles the query's text once.
  ///
  /// - Parameter read: makes a value of a row, which is valid only during the call.
  /// - Throws: `DatabaseError`, and the errors of `read`.
  @discardableResult
  package func rows<Value>(
    _ sql: String, _ arguments: StatementArguments = StatementArguments(), _ read: (Row) throws -> Value
  ) throws -> [Value] {
    let cursor = try Row.fetchCursor(cachedStatement(sql: sql), arguments: arguments)
    var values: [Value] = []
    while let row = try cursor.next() { values.append(try read(row)) }
    return values
  }

  /// Reads the first row of a query; `nil` if it has none. A connection compiles the query's text once.
  ///
  /// - Parameter read: makes a value of the row, which is valid only during the call.
  /// - Throws: `DatabaseError`, and the errors of `read`.
  package func firstRow<Value>(
    _ sql: String, _ arguments: StatementArguments, _ read: (Row) throws -> Value
  ) throws -> Value? {
    let cursor = try Row.fetchCursor(cachedStatement(sql: sql), arguments: arguments)
    return try cursor.next().map(read)
  }
}

extension Row {
  /// Reads a column by its name: a damaged database has values of other types than were written, with which the row's
  /// subscript ends the process.
  ///
  /// - Throws: `RowDecodingError`.
  package func value<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
    try decode(Value.self, forColumn: column)
  }
}

extension MD5Digest: DatabaseValueConvertible {
  /// The digest's bytes as a blob of the database.
  public var databaseValue: DatabaseValue { Data(bytes).databaseValue }

  /// Reads a digest from a blob of the database; `nil` for any other value.
  public static func fromDatabaseValue(_ value: DatabaseValue) -> MD5Digest? {
    Data.fromDatabaseValue(value).flatMap { MD5Digest(bytes: $0) }
  }
}

extension SHA256Digest: DatabaseValueConvertible {
  /// The digest's bytes as a blob of the database.
  public var databaseValue: DatabaseValue { Data(bytes).databaseValue }

  /// Reads a digest from a blob of the database; `nil` for any other value.
  public static func fromDatabaseValue(_ value: DatabaseValue) -> SHA256Digest? {
    Data.fromDatabaseValue(value).flatMap { SHA256Digest(bytes: $0) }
  }
}
