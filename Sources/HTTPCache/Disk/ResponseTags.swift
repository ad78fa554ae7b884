import GRDB
import HTTPTransport

/// The table `tag`: which responses have which tags. Rows go with their response.
enum ResponseTags {
  static func create(_ db: Database) throws {
    try db.execute(
      sql: """
        CREATE TABLE tag (
          tag TEXT NOT NULL,
          response INTEGER NOT NULL REFERENCES response (id) ON DELETE CASCADE,
          PRIMARY KEY (tag, response)) WITHOUT ROWID;
        CREATE INDEX tagByResponse ON tag (response);
        """)
  }

  static func insert(_ db: Database, _ entry: ResponseEntry) throws {
    let tags = entry.head.tags
    guard !tags.isEmpty else { return }
    let statement = try db.cachedStatement(sql: "INSERT INTO tag (tag, response) VALUES (?, ?)")
    for tag in tags { try statement.execute(arguments: [tag, entry.id]) }
  }

  /// After a response got another head.
  static func replace(_ db: Database, _ entry: ResponseEntry) throws {
    try db.cachedStatement(sql: "DELETE FROM tag WHERE response = ?").execute(arguments: [entry.id])
    try insert(db, entry)
  }
}
