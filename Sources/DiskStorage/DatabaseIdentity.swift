/// Whose database a file is, by its tables and the migrations that it names.
///
/// Every version of the format adds a migration, so that a newer PageKit's database names all migrations known here and
/// others; a version number alone may be a flipped bit.
package enum DatabaseIdentity: Equatable {
  /// There is nothing in it.
  case empty
  case ours
  /// Written by a newer PageKit.
  case newer
  /// Ours, and not as it was written.
  case damaged(reason: String)
  /// Another program's.
  case foreign

  /// What is found in a file: the names of its tables with their columns, its migrations, and what `expected` has after
  /// so many of them.
  package struct Contents {
    package var columns: [String: Set<String>]
    package var migrations: [String]

    package init(columns: [String: Set<String>], migrations: [String]) {
      (self.columns, self.migrations) = (columns, migrations)
    }
  }

  /// - Parameters:
  ///   - found: what is in the file.
  ///   - known: the migrations known here, in their order.
  ///   - expected: the tables and columns after the last migration that is known.
  package init(of found: Contents, known: [String], expected: [String: Set<String>]) {
    let applied = Set(found.migrations)
    if found.columns.isEmpty, applied.isEmpty {
      self = .empty
    } else if !applied.isEmpty, applied.isSuperset(of: known), applied.count > known.count {
      self = .newer
    } else if applied.isSubset(of: known), !applied.isEmpty {
      // An older one has fewer columns until it is migrated.
      let isComplete =
        applied.count < known.count
        || expected.allSatisfy { table, columns in found.columns[table]?.isSuperset(of: columns) == true }
      self = isComplete ? .ours : .damaged(reason: "it has not the tables that were made")
    } else if !applied.isDisjoint(with: known) || expected.keys.count(where: { found.columns[$0] != nil }) > 1 {
      self = .damaged(reason: "it has not the tables that were made")
    } else {
      self = .foreign
    }
  }
}
