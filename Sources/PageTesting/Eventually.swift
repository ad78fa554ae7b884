/// A condition that did not become true in time.
package struct TimeoutError: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// Evaluates a condition every 2 ms, and returns when it is true.
///
/// - Parameters:
///   - what: the expectation, for the error.
///   - limit: the longest time to wait.
///   - condition: the condition.
/// - Throws: ``TimeoutError`` after `limit`, and errors of the condition.
package func eventually(
  _ what: String, within limit: Duration = .seconds(60), _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  while !(try await condition()) {
    guard ContinuousClock.now < deadline else { throw TimeoutError("timed out: \(what)") }
    try await Task.sleep(for: .milliseconds(2))
  }
}
