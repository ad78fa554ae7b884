import GRDB

/// Recognises the errors of SQLite that mean a damaged file.
package enum DatabaseDamage {
  /// Returns `true` if an error means that the file is not a database, or not as it was written: the statements are
  /// always the same, so that they cannot be wrong.
  package static func isDamage(_ error: any Error) -> Bool {
    if error is RowDecodingError { return true }
    guard let error = error as? DatabaseError else { return false }
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

  package static func reason(_ error: any Error) -> String {
    (error as? DatabaseError)?.message ?? "it has values that were never written"
  }
}

extension StoreError {
  /// Makes the store's error for an error of SQLite.
  package init(_ error: DatabaseError, path: String) {
    switch error.resultCode {
    case _ where DatabaseDamage.isDamage(error):
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
