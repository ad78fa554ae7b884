import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

/// What is marked as stale serves only where stale answers may.
struct SoftPurgeTests {
  private func purged(
    _ control: String, memoryOnly: Bool = false, then body: (ResourceFixture) async throws -> Void
  ) async throws {
    try await ResourceFixture.running { fixture in
      if memoryOnly {
        fixture.cache.willCache = { proposal in
          var proposal = proposal
          proposal.storagePolicy = .memoryOnly
          return proposal
        }
      }
      fixture.serve("/a", "old", etag: "\"1\"", cacheControl: control)
      try await fixture.load("/a", .protocolCache)
      #expect(try await fixture.loader.purge(.all, isSoft: true) == 1)
      try await body(fixture)
      try await fixture.waitUntilIdle()
    }
  }

  @Test(arguments: [false, true])
  func itIsAskedAboutBeforeItIsUsed(memoryOnly: Bool) async throws {
    try await purged("max-age=60", memoryOnly: memoryOnly) { fixture in
      let answer = try await fixture.load("/a", .protocolCache)
      #expect((answer.text, answer.source) == ("old", .revalidated))
      #expect(fixture.origin.requests(to: "/a").last?.headers[.ifNoneMatch] == "\"1\"")
      try await fixture.load("/a", .protocolCache)
      #expect(fixture.origin.requestCount(path: "/a") == 2)
    }
  }

  @Test(arguments: [false, true])
  func itServesWhileItIsAskedAboutForAsLongAsItSays(memoryOnly: Bool) async throws {
    try await purged("max-age=60, stale-while-revalidate=30", memoryOnly: memoryOnly) { fixture in
      fixture.time.advance(30)
      fixture.serve("/a", "new", etag: "\"2\"", cacheControl: "max-age=60")
      let stale = try await fixture.load("/a", .protocolCache)
      #expect(stale.text == "old")
      await fixture.loader.finishBackgroundWork()
      let fresh = try await fixture.load("/a", .protocolCache)
      #expect(fresh.text == "new")
    }
    try await purged("max-age=60, stale-while-revalidate=30", memoryOnly: memoryOnly) { fixture in
      fixture.time.advance(31)
      fixture.serve("/a", "new", etag: "\"2\"", cacheControl: "max-age=60")
      let fresh = try await fixture.load("/a", .protocolCache)
      #expect(fresh.text == "new")
    }
  }

  @Test(arguments: [(30, 200), (31, 503)])
  func itServesForAnErrorForAsLongAsItSays(_ seconds: Int64, _ status: Int) async throws {
    try await purged("max-age=60, stale-if-error=30") { fixture in
      fixture.time.advance(seconds)
      fixture.origin.always("/a", .status(503, body: "busy"))
      let answer = try await fixture.load("/a", .protocolCache)
      #expect(answer.status == status)
    }
  }

  @Test func whatIsInMemoryOnlyIsRemovedAndCounted() async throws {
    try await purged("max-age=60", memoryOnly: true) { fixture in
      let counts = [try await fixture.loader.purge(.all), try await fixture.loader.purge(.all)]
      #expect(counts == [1, 0])
      let left = try await fixture.stored("/a")
      #expect(left == nil)
    }
  }
}
