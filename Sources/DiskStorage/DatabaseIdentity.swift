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
