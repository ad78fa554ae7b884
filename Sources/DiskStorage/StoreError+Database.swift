import GRDB

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
