/// What did not come true in time.
public struct TimeoutError: Error, CustomStringConvertible {
  public let description: String
}

/// Returns when a condition is true, which it looks at again and again.
///
/// - Throws: ``TimeoutError`` after `limit`, and what the condition throws.
public func eventually(
  _ what: String, within limit: Duration = .seconds(60), _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  while !(try await condition()) {
    guard ContinuousClock.now < deadline else { throw TimeoutError(description: "in vain: \(what)") }
    try await Task.sleep(for: .milliseconds(2))
  }
}
