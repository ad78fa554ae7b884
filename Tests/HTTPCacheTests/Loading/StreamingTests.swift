import Foundation
import HTTPTypes
import PageTesting
import Testing

@testable import HTTPTransport

struct StreamingTests {
  @Test func aLargeBodyThatIsNotStoredAndReadSlowlyDoesNotPileUp() async throws {
    try await ResourceFixture.running { fixture in
      let size = 64 << 20
      fixture.origin.serve("/a", [UInt8](repeating: 7, count: size), headers: [.cacheControl: "no-store"])
      fixture.serve("/b", "text")
      let loaded = try await fixture.loader.response(for: fixture.request("/a"))
      #expect(loaded.body.bytesInMemory == nil)
      var reader = loaded.body.makeAsyncIterator()
      var count = try await reader.next()?.count ?? 0
      // Time for the rest to come, if nothing held it back: a hundred whole exchanges with the same server.
      for _ in 0..<100 { try await fixture.load("/b", .networkOnly) }
      #expect(fixture.origin.bytesSent(path: "/a") < size / 2)
      while let chunk = try await reader.next() { count += chunk.count }
      #expect(count == size)
    }
  }

  @Test func aReaderThatLeavesALargeBodyEndsItsTransfer() async throws {
    try await ResourceFixture.running { fixture in
      fixture.origin.serve("/a", [UInt8](repeating: 7, count: 64 << 20), headers: [.cacheControl: "no-store"])
      for try await _ in try await fixture.loader.response(for: fixture.request("/a")).body { break }
      try await eventually("the transfer has ended", within: .seconds(10)) { fixture.origin.activeRequestCount == 0 }
      #expect(fixture.origin.completedResponses(path: "/a") == 0)
    }
  }

  @Test func withTheDiskFullTheAnswerIsGivenAllTheSameAndNothingIsLeftBehind() async throws {
    var options = ResourceFixture.Options()
    options.wrapStore = { HookedResponseStore(store: $0, room: 100_000) }
    try await ResourceFixture.running(options) { fixture in
      let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
      fixture.origin.serve("/a", bytes, etag: "\"1\"", headers: [.cacheControl: "max-age=60"])
      #expect(try await fixture.load("/a").bytes == bytes)
      try await fixture.waitUntilIdle()
      #expect(try await fixture.stored("/a") == nil)
      // Not what was in memory then: what there is now.
      fixture.serve("/a", "new", cacheControl: "max-age=60")
      #expect(try await fixture.load("/a").text == "new")
      #expect(fixture.origin.requestCount(path: "/a") == 2)
      try await fixture.waitUntilIdle()
    }
  }

  @Test func anAnswerBeyondTheLimitIsRefused() async throws {
    try await ResourceFixture.running { configuration, _ in
      configuration.bodyLimit = 1000
    } _: { fixture in
      fixture.serve("/a", String(repeating: "x", count: 1001))
      fixture.serve("/b", String(repeating: "x", count: 1000))
      await #expect(throws: TransportError.self) { try await fixture.load("/a") }
      #expect(try await fixture.load("/b").bytes.count == 1000)
      #expect(try await fixture.stored("/a") == nil)
      try await fixture.waitUntilIdle()
    }
  }

  @Test func whatIsForEverybodyIsKeptByTheRulesOfSharedCaches() async throws {
    try await ResourceFixture.running { fixture in
      for control in ["private, max-age=60", "public, max-age=60"] {
        fixture.serve("/a", "text", cacheControl: control)
        var request = fixture.request("/a")
        request.partition = .shared
        try await fixture.load(request)
        #expect(try await fixture.load(request).source.isCache == control.hasPrefix("public"))
        #expect(try await fixture.load("/a").source == .network)
        try await fixture.cache.removeAll()
      }
    }
  }

  @Test func usersDoNotSeeEachOthersAnswers() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", cacheControl: "max-age=60")
      for name in ["ann", "bob", "ann bob"] {
        var request = fixture.request("/a")
        request.partition = .user(name)
        #expect(try await fixture.load(request).source == .network)
        #expect(try await fixture.load(request).source.isCache)
      }
      try await fixture.waitUntilIdle()
    }
  }
}
