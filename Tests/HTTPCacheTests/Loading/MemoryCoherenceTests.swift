import Foundation
import HTTPTransport
import PageTesting
import Synchronization
import Testing

@testable import HTTPCache

/// Responses in memory never outlive those on disk that they were read from.
struct MemoryCoherenceTests {
  /// Holds the first body back on its way from the disk, once it was told to. Later ones pass: the change that happens
  /// meanwhile may read the same.
  private final class Barrier: Sendable {
    private struct State {
      var isClosed = false
      var isHolding = false
    }

    private let state = Mutex(State())

    var isHolding: Bool { state.withLock(\.isHolding) }
    func close() { state.withLock { $0.isClosed = true } }
    func open() { state.withLock { $0.isClosed = false } }

    func pass() async {
      let isHeld = state.withLock { state in
        defer { if state.isClosed { state.isHolding = true } }
        return state.isClosed && !state.isHolding
      }
      if isHeld { try? await eventually("it is open") { state.withLock { !$0.isClosed } } }
    }
  }

  /// With something stored on disk and not in memory, which is being read.
  private func whileReading(
    _ change: (ResourceFixture) async throws -> Void, then check: (ResourceFixture) async throws -> Void
  ) async throws {
    let barrier = Barrier()
    var options = ResourceFixture.Options()
    options.wrapStore = { HookedResponseStore(store: $0, beforeBody: { await barrier.pass() }) }
    try await ResourceFixture.running(options) { fixture in
      fixture.serve("/a", "old", etag: "\"1\"", cacheControl: "max-age=60")
      try await fixture.load("/a")
      try fixture.cache.setMemoryCapacity(0, allowingNone: true)
      try fixture.cache.setMemoryCapacity(1 << 20)
      barrier.close()
      let reader = Task { try await fixture.load("/a", .cacheOnly).text }
      try await eventually("it is being read") { barrier.isHolding }
      try await change(fixture)
      barrier.open()
      _ = try? await reader.value
      try await check(fixture)
    }
  }

  @Test func whatIsReadWhileItIsInvalidatedIsNotFreshAfterwards() async throws {
    try await whileReading { fixture in
      await fixture.cache.invalidate([try fixture.outgoing(fixture.request("/a")).key])
    } then: { fixture in
      #expect(try await fixture.load("/a").source == .revalidated)
      try await fixture.waitUntilIdle()
    }
  }

  @Test("a confirmation of a response that was invalidated before it does not make the response fresh")
  func lateConfirmation() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"", cacheControl: "max-age=60")
      try await fixture.load("/a")
      let request = try fixture.outgoing(fixture.request("/a"))
      fixture.cache.releaseMemory()
      let found = try #require(await fixture.cache.responses(for: request.key).first)
      await fixture.cache.invalidate([request.key])
      let confirmed = fixture.cache.confirmed(found, fields: found.entry.head.fields, times: found.entry.head.times)
      #expect(await fixture.cache.body(of: confirmed) != nil)
      #expect(fixture.cache.responseInMemory(for: request.key) == nil)
      #expect(try await fixture.load("/a").source == .revalidated)
      try await fixture.waitUntilIdle()
    }
  }

  @Test func whatIsReadWhileItIsRemovedIsNotThereAfterwards() async throws {
    try await whileReading { fixture in
      try await fixture.cache.removeAll()
    } then: { fixture in
      await #expect(throws: LoadError.self) { try await fixture.load("/a", .cacheOnly) }
    }
  }

  @Test func whatIsReadWhileItIsReplacedDoesNotComeBack() async throws {
    try await whileReading { fixture in
      fixture.serve("/a", "new", etag: "\"2\"", cacheControl: "max-age=60")
      try await fixture.load("/a", .networkOnly)
    } then: { fixture in
      let request = try fixture.outgoing(fixture.request("/a"))
      #expect(await fixture.cache.responses(for: request.key).count == 1)
      #expect(try await fixture.load("/a", .cacheOnly).text == "new")
    }
  }

  @Test func whatWasRemovedWhileItWasConfirmedDoesNotComeBack() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"", cacheControl: "max-age=60")
      try await fixture.load("/a")
      fixture.origin.hold("/a")
      let check = Task { try await fixture.load("/a", .reloadRevalidatingCacheData).source }
      try await fixture.origin.waitForRequests(2, to: "/a")
      try await fixture.cache.removeAll()
      fixture.origin.release("/a")
      #expect(try await check.value == .revalidated)
      await #expect(throws: LoadError.self) { try await fixture.load("/a", .cacheOnly) }
    }
  }

  @Test(arguments: [Fault.status(503, body: "busy"), .normal])
  func whereTheBytesHaveGoneTheOriginIsAskedOnceMore(_ fault: Fault) async throws {
    try await ResourceFixture.running(.init(memoryCapacity: 0)) { fixture in
      fixture.serve(
        "/a", String(repeating: "x", count: 100_000), etag: "\"1\"", cacheControl: "max-age=10, stale-if-error=100")
      try await fixture.load("/a")
      fixture.time.advance(50)
      fixture.origin.always("/a", fault)
      fixture.origin.hold("/a")
      let answer = Task { try await fixture.load("/a").status }
      try await fixture.origin.waitForRequests(2, to: "/a")
      try FileManager.default.removeItem(atPath: fixture.folder.file("responses/responses/bodies"))
      fixture.origin.release("/a")
      #expect(try await answer.value == (fault == .normal ? 200 : 503))
      #expect(fixture.origin.requestCount(path: "/a") == 3)
      try await fixture.waitUntilIdle()
    }
  }
}
