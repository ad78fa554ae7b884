import GRDB
import HTTPTransport
import Testing

@testable import HTTPCache

/// What else goes on while the store waits for the disk, or for another process.
struct StoreQueuesTests {
  @Test("while the store waits for another process, other tasks go on")
  func waiting() async throws {
    let fixture = try ResponseFixture()
    let entry = try #require(try await fixture.store([1], for: CacheKey(named: "a")))
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let other = try DatabaseQueue(
      path: fixture.folder.file("cache/responses.sqlite"), configuration: configuration)
    try await other.writeWithoutTransaction { try $0.beginTransaction(.immediate) }
    let waiting = (0..<8).map { _ in Task { try await fixture.store.invalidate([entry.key]) } }
    // Each of these needs one of the threads that all tasks share. The store gives up after ten seconds.
    for _ in 0..<100 { await Task { await Task.yield() }.value }
    try await other.writeWithoutTransaction { try $0.commit() }
    for task in waiting { try await task.value }
  }
}
