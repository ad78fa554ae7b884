import GRDB

@testable import Bundles

extension BundleStore {
  /// SQLite's `synchronous` setting; 2 is FULL.
  func synchronousMode() async throws -> Int? {
    try await write { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
  }

  func execute(_ sql: String) async throws {
    try await write { try $0.execute(sql: sql) }
  }
}
