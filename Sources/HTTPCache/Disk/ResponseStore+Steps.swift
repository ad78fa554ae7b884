import Foundation
import GRDB
import HTTPCaching
import HTTPTransport

extension ResponseStore {
  /// Entries of one transaction: a few milliseconds, for which nobody else writes.
  private static let stepSize = 128

  /// Does something with the entries that are chosen now, a few at a time.
  ///
  /// - Parameter step: is given the ids of the entries, and whether it is the first.
  /// - Returns: the sum of what the steps return; `nil` if nothing is chosen.
  func inSteps(
    _ selection: ResponseSelection, _ step: @escaping @Sendable (Database, ArraySlice<Int64>, Bool) throws -> Int
  ) async throws -> Int? {
    var rest = try await queues.write { [index] in
      let (condition, arguments) = selection.condition
      return try index.read { db in
        try Int64.fetchAll(db, sql: "SELECT id FROM response WHERE \(condition)", arguments: arguments)[...]
      }
    }
    var count: Int?
    while !rest.isEmpty {
      let ids = rest.prefix(Self.stepSize)
      let isFirst = count == nil
      let changed = try await queues.write { [self] in try writeWithinCapacity { try step($0, ids, isFirst) } }
      count = (count ?? 0) + changed
      rest = rest.dropFirst(ids.count)
    }
    return count
  }

  package func markStale(_ selection: ResponseSelection, since time: HTTPDate) async throws -> Int {
    try await inSteps(selection) { [self] db, ids, _ in
      var (count, damaged) = (0, RemovedResponses())
      for id in ids {
        guard let row = try ResponseRow.fetch(db, id: id) else { continue }
        count += 1
        let head = row.entry.head.marked(staleSince: time)
        if try head == row.entry.head || rewrite(row, db, head: head) != nil { continue }
        // What cannot be marked must not be used as though it was fresh.
        try damaged.delete(db, id: id)
      }
      try removeFiles(damaged, unnamedIn: db)
      return count
    } ?? 0
  }
}

extension ResponseSelection {
  /// The condition for the table `response`; for a selection by key, also for `kept`.
  var condition: (sql: String, arguments: StatementArguments) {
    switch self {
    case .all: ("1", [])
    case .partition(let partition): Self.beginning(with: partition.text + " ")
    case .prefix(let prefix, let partition): Self.beginning(with: "\(partition.text) \(prefix)")
    case .key(let key): ("key = ?", [key.description])
    case .entries(let ids): ("id IN (\(ids.map(String.init).joined(separator: ",")))", [])
    case .since(let time): ("storedAt >= ?", [time])
    case .stale(let now): ("isKept = 0 AND staleAt <= ?", [now.secondsSinceEpoch])
    case .tags(let tags):
      (
        "id IN (SELECT response FROM tag WHERE tag IN (\(tags.map { _ in "?" }.joined(separator: ","))))",
        StatementArguments(tags)
      )
    }
  }

  /// A range of the index: SQLite compares the bytes of texts, and no byte of UTF-8 is the highest there is.
  private static func beginning(with text: String) -> (String, StatementArguments) {
    var end = Array(text.utf8)
    if let last = end.popLast() { end.append(last &+ 1) }
    return ("key >= ? AND key < CAST(? AS TEXT)", [text, Data(end)])
  }
}
