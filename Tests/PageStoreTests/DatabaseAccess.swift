import GRDB

@testable import PageStore

extension BundleStore {
  /// SQLite's own word: 2 is FULL.
  func synchronousMode() async throws -> Int? {
    try await write { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
  }

  func setUserVersion(_ version: Int) throws {
    try database.writer?.write { try $0.execute(sql: "PRAGMA user_version = \(version)") }
  }
}
