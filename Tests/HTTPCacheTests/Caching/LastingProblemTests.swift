import HTTPCaching
import TestSupport
import Testing

@testable import Blobs
@testable import HTTPCache
@testable import HTTPTransport

struct LastingProblemTests {
  @Test("a problem is reported once, again for another cause, and ends when it was not met for a while")
  func reports() {
    let problem = LastingProblem()
    let start = ContinuousClock.now
    #expect(!problem.ends(at: start))
    #expect(problem.begins(StoreError.diskFull(path: "/a"), at: start))
    #expect(!problem.begins(StoreError.diskFull(path: "/b"), at: start + .seconds(1)))
    #expect(problem.begins(StoreError.notWritable(path: "/b", reason: "Read-only"), at: start + .seconds(2)))
    // A short file may fit between two long ones.
    #expect(!problem.ends(at: start + .seconds(3)))
    #expect(!problem.begins(StoreError.notWritable(path: "/c", reason: "Read-only"), at: start + .seconds(50)))
    #expect(!problem.ends(at: start + .seconds(100)))
    #expect(problem.ends(at: start + .seconds(50) + LastingProblem.rest))
    #expect(!problem.ends(at: start + .seconds(500)))
    #expect(problem.begins(StoreError.notWritable(path: "/c", reason: "Read-only"), at: start + .seconds(500)))
  }

  @Test("a cache whose disk is full warns once, and keeps what comes in memory")
  func fullDisk() async throws {
    let fixture = try ResponseCacheFixture()
    let log = LogLines()
    let store = HookedResponseStore(
      store: try ResponseStore(at: ResponseDirectory(fixture.folder.file("other")), options: .init(lowSpace: 0)),
      beforeCommit: { throw StoreError.diskFull(path: "/full/\(UniqueNumber.next())") })
    let cache = try ResponseCache(store: store, logger: log.logger)
    for number in 0..<5 {
      let key = try ResponseCacheFixture.key("\(number)")
      let writer = try #require(cache.writer())
      try writer.append([1, 2, 3])
      #expect(await cache.commit(writer, ResponseCacheFixture.arrival(key, count: 3)) != nil)
    }
    #expect(log.lines.count == 1, "\(log.lines)")
    #expect(
      log.lines.first?.hasPrefix("warning: responses cannot be stored, and are passed on: the disk is full") == true)
  }
}
