import GRDB

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
