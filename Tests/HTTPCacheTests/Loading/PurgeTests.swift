import HTTPTransport
import HTTPTypes
import PageTesting
import Synchronization
import Testing

@testable import HTTPCache

struct PurgeTests {
  private static func tagged(_ tags: String) -> HTTPFields {
    HTTPField.Name("Surrogate-Key").map { [$0: tags] } ?? [:]
  }

  enum Choice: CaseIterable {
    case key, prefix, tag, all

    func selection(_ fixture: ResourceFixture) throws -> ResponseSelection {
      let key = try fixture.outgoing(fixture.request("/a")).key
      return switch self {
      case .key: .key(key)
      case .prefix: .prefix(String(key.name.dropLast()), in: key.partition)
      case .tag: .tags(["one", "other"])
      case .all: .all
      }
    }
  }

  private func serve(_ fixture: ResourceFixture, _ text: String, _ control: String = "max-age=60") {
    fixture.serve("/a", text, etag: "\"\(text)\"", cacheControl: control, headers: Self.tagged("one two"))
  }

  @Test(arguments: Choice.allCases)
  func whatWasPurgedIsAskedForAgain(_ choice: Choice) async throws {
    try await ResourceFixture.running { fixture in
      serve(fixture, "old")
      fixture.serve("/b", "b", cacheControl: "max-age=60", headers: Self.tagged("three"))
      for path in ["/a", "/b"] { try await fixture.load(path) }
      serve(fixture, "new")
      #expect(
        try await fixture.loader.purge(try choice.selection(fixture)) == (choice == .all || choice == .prefix ? 2 : 1))
      #expect(try await fixture.load("/a").text == "new")
      #expect(fixture.origin.requests(to: "/a").last?.headers[.ifNoneMatch] == nil)
      try await fixture.waitUntilIdle()
    }
  }

  @Test(arguments: Choice.allCases)
  func whatWasAskedBeforeAPurgeIsNotStoredAfterIt(_ choice: Choice) async throws {
    try await ResourceFixture.running { fixture in
      let answered = Mutex(0)
      fixture.origin.respond("/a") { _ in
        let number = answered.withLock { count in
          count += 1
          return count
        }
        var fields = Self.tagged("one")
        fields[.cacheControl] = "max-age=60"
        return OriginResponse(headers: fields, body: (number == 1 ? "old" : "new").utf8)
      }
      fixture.origin.hold("/a")
      let before = Task { try await fixture.load("/a").text }
      try await eventually("the answer was made") { answered.withLock { $0 == 1 } }
      #expect(try await fixture.loader.purge(try choice.selection(fixture)) == 0)
      // Who asks now does not share what was asked before.
      let after = Task { try await fixture.load("/a").text }
      try await fixture.origin.waitForRequests(2, to: "/a")
      fixture.origin.release("/a")
      #expect(try await (before.value, after.value) == ("old", "new"))
      #expect(try await fixture.stored("/a") == "new")
      try await fixture.waitUntilIdle()
    }
  }

  @Test(arguments: [("two", true), ("one", false)])
  func aTagsPurgeHoldsUpOnlyAnswersThatHaveIt(_ tag: String, _ isStored: Bool) async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", cacheControl: "max-age=60", headers: Self.tagged("one"))
      fixture.origin.hold("/a")
      let load = Task { try await fixture.load("/a").text }
      try await fixture.origin.waitForRequests(1, to: "/a")
      try await fixture.loader.purge(.tags([tag]))
      fixture.origin.release("/a")
      #expect(try await load.value == "text")
      try await fixture.waitUntilIdle()
      #expect(try await fixture.stored("/a") == (isStored ? "text" : nil))
    }
  }

  @Test(arguments: Choice.allCases)
  func a304ThatWasAskedForBeforeDoesNotUndoASoftPurge(_ choice: Choice) async throws {
    try await ResourceFixture.running { fixture in
      serve(fixture, "text", "max-age=60")
      try await fixture.load("/a")
      fixture.origin.hold("/a")
      let check = Task { try await fixture.load("/a", .reloadRevalidatingCacheData).source }
      try await fixture.origin.waitForRequests(2, to: "/a")
      #expect(try await fixture.loader.purge(try choice.selection(fixture), isSoft: true) == 1)
      fixture.origin.release("/a")
      #expect(try await check.value == .revalidated)
      #expect(try await fixture.load("/a", .protocolCache).source == .revalidated)
      #expect(fixture.origin.requestCount(path: "/a") == 3)
      try await fixture.load("/a", .protocolCache)
      #expect(fixture.origin.requestCount(path: "/a") == 3, "that one counts")
      try await fixture.waitUntilIdle()
    }
  }

  @Test("An answer whose 304 was overtaken by a purge has the fields of that 304", arguments: Choice.allCases)
  func anOvertaken304GivesItsFields(_ choice: Choice) async throws {
    try await ResourceFixture.running { fixture in
      serve(fixture, "text", "max-age=60")
      try await fixture.load("/a")
      fixture.origin.respond("/a") { _ in
        OriginResponse(status: .notModified, headers: [.eTag: "\"text\"", .cacheControl: "max-age=7"])
      }
      fixture.origin.hold("/a")
      let check = Task { try await fixture.load("/a", .reloadRevalidatingCacheData) }
      try await fixture.origin.waitForRequests(2, to: "/a")
      try await fixture.loader.purge(try choice.selection(fixture), isSoft: true)
      fixture.origin.release("/a")
      let answer = try await check.value
      #expect((answer.text, answer.fields[.cacheControl]) == ("text", "max-age=7"))
      try await fixture.waitUntilIdle()
    }
  }

  @Test(arguments: Choice.allCases, [true, false])
  func whatIsBeingStoredDuringAPurgeIsMetToo(_ choice: Choice, _ isSoft: Bool) async throws {
    try await ResourceFixture.running { fixture in
      let (gate, opener) = AsyncStream.makeStream(of: Void.self)
      let reached = Mutex(false)
      fixture.cache.willCache = { proposal in
        reached.withLock { $0 = true }
        for await _ in gate { break }
        return proposal
      }
      serve(fixture, "text")
      let load = Task { try await fixture.load("/a").text }
      try await eventually("it is being stored") { reached.withLock { $0 } }
      let purge = Task { try await fixture.loader.purge(try choice.selection(fixture), isSoft: isSoft) }
      _ = try? await within(.milliseconds(50)) { try await purge.valueForWaiter() }
      opener.yield()
      opener.finish()
      #expect(try await (load.value, purge.value) == ("text", 1))
      try await fixture.load("/a", .protocolCache)
      #expect(fixture.origin.requestCount(path: "/a") == 2)
      try await fixture.waitUntilIdle()
    }
  }

  @Test func aURLsPurgeMeetsAllItsVariants() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", cacheControl: "max-age=60", headers: [.vary: "Accept-Language"])
      for language in ["de", "en", "fr"] { try await fixture.load("/a", fields: [.acceptLanguage: language]) }
      try await fixture.load("/a?page=2")
      #expect(try await fixture.loader.purge(try Choice.key.selection(fixture)) == 3)
      #expect(try await fixture.stored("/a?page=2") == "text")
    }
  }
}
