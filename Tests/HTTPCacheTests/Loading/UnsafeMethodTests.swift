import HTTPTransport
import HTTPTypes
import PageTesting
import Synchronization
import Testing

struct UnsafeMethodTests {
  /// Answers other methods than GET and HEAD with these fields.
  private func accept(_ fixture: ResourceFixture, _ path: String, status: Int = 200, _ fields: HTTPFields = [:]) {
    fixture.origin.respond(path) { request in
      guard request.method == .get else { return OriginResponse(status: .init(code: status), headers: fields) }
      return OriginResponse(
        headers: [.cacheControl: "max-age=60", .eTag: "\"1\""], body: Array("text".utf8))
    }
  }

  private func isAskedAgain(_ fixture: ResourceFixture, _ path: String) async throws -> Bool {
    let before = fixture.origin.requests.count
    try await fixture.load(path, .protocolCache)
    return fixture.origin.requests.count > before
  }

  @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch])
  func aMethodThatChangesThingsInvalidatesItsURL(_ method: HTTPRequest.Method) async throws {
    try await ResourceFixture.running { fixture in
      accept(fixture, "/a")
      try await fixture.load("/a")
      #expect(try await !isAskedAgain(fixture, "/a"))
      try await fixture.load("/a?random=7", method: method, body: "x")
      #expect(fixture.origin.requests.last?.text == "x")
      #expect(try await isAskedAgain(fixture, "/a"))
      #expect(fixture.origin.requests.last?.headers[.ifNoneMatch] == "\"1\"")
    }
  }

  @Test(arguments: [HTTPRequest.Method.options, .trace])
  func aSafeMethodInvalidatesNothing(_ method: HTTPRequest.Method) async throws {
    try await ResourceFixture.running { fixture in
      accept(fixture, "/a")
      try await fixture.load("/a")
      try await fixture.load("/a", method: method)
      #expect(try await !isAskedAgain(fixture, "/a"))
    }
  }

  @Test func anErrorInvalidatesNothing() async throws {
    try await ResourceFixture.running { fixture in
      accept(fixture, "/a", status: 500)
      try await fixture.load("/a")
      #expect(try await fixture.load("/a", method: .post).status == 500)
      #expect(try await !isAskedAgain(fixture, "/a"))
    }
  }

  @Test func locationsOfTheSameOriginAreInvalidatedAndNoOthers() async throws {
    try await ResourceFixture.running { fixture in
      for path in ["/a", "/b", "/c"] { accept(fixture, path) }
      let foreign = fixture.origin.url(for: "/c").replacing("127.0.0.1", with: "localhost")
      for path in ["/a", "/b", foreign] { try await fixture.load(path) }
      accept(fixture, "/form", status: 201, [.location: "/a", .contentLocation: "b"])
      try await fixture.load("/form", method: .post)
      #expect(try await isAskedAgain(fixture, "/a"))
      #expect(try await isAskedAgain(fixture, "/b"))
      accept(fixture, "/form", status: 201, [.location: foreign])
      try await fixture.load("/form", method: .post)
      #expect(try await !isAskedAgain(fixture, foreign))
    }
  }

  @Test func anAnswerToAGetSentBeforeAPostIsNotStoredOverIt() async throws {
    try await ResourceFixture.running { fixture in
      accept(fixture, "/a")
      fixture.origin.hold("/a?random=1")
      let early = Task { try await fixture.load("/a?random=1").text }
      try await fixture.origin.waitForRequests(1, to: "/a?random=1")
      try await fixture.load("/a", method: .post)
      fixture.origin.release("/a?random=1")
      #expect(try await early.value == "text")
      #expect(try await fixture.stored("/a") == nil)
    }
  }

  @Test func whoAsksAfterAPostDoesNotShareWhatWasAskedBeforeIt() async throws {
    try await ResourceFixture.running { fixture in
      let version = Mutex(1)
      fixture.origin.respond("/a") { _ in
        OriginResponse(headers: [.cacheControl: "max-age=60"], body: "v\(version.withLock { $0 })".utf8)
      }
      fixture.origin.respond("/form") { _ in
        version.withLock { $0 += 1 }
        return OriginResponse(status: .created, headers: [.location: "/a"])
      }
      fixture.origin.hold("/a")
      let before = Task { try await fixture.load("/a").text }
      try await fixture.origin.waitForRequests(1, to: "/a")
      try await fixture.load("/form", method: .post)
      let after = Task { try await fixture.load("/a").text }
      try await fixture.origin.waitForRequests(2, to: "/a", within: .seconds(10))
      fixture.origin.release("/a")
      #expect(try await (before.value, after.value) == ("v1", "v2"))
      #expect(try await fixture.stored("/a") == "v2")
      try await fixture.waitUntilIdle()
    }
  }

  @Test func anAnswerThatIsBeingStoredWhileAPostIsAnsweredIsNotFreshAfterwards() async throws {
    try await ResourceFixture.running { fixture in
      let (gate, opener) = AsyncStream.makeStream(of: Void.self)
      let reached = Mutex(false)
      fixture.cache.willCache = { proposal in
        reached.withLock { $0 = true }
        for await _ in gate { break }
        return proposal
      }
      accept(fixture, "/a")
      let get = Task { try await fixture.load("/a").text }
      try await eventually("it is being stored") { reached.withLock { $0 } }
      let post = Task { try await fixture.load("/a", method: .post).status }
      try await fixture.origin.waitForCompletedResponses(2, to: "/a")
      _ = try? await within(.milliseconds(50)) { try await post.valueForWaiter() }
      opener.yield()
      opener.finish()
      #expect(try await (get.value, post.value) == ("text", 200))
      #expect(try await isAskedAgain(fixture, "/a"))
    }
  }

  @Test func anAnswerToAPostThatSaysItIsWhatAGetGivesIsStored() async throws {
    try await ResourceFixture.running { fixture in
      fixture.origin.respond("/a") { _ in
        OriginResponse(headers: [.cacheControl: "max-age=60", .contentLocation: "/a"], body: "posted".utf8)
      }
      #expect(try await fixture.load("/a", method: .post).text == "posted")
      let answer = try await fixture.load("/a")
      #expect((answer.text, answer.source.isCache) == ("posted", true))
      try await fixture.waitUntilIdle()
    }
  }
}

struct HeadMethodTests {
  @Test func aHeadIsAnsweredFromWhatIsFresh() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", etag: "\"1\"", cacheControl: "max-age=60")
      try await fixture.load("/a")
      let answer = try await fixture.load("/a", method: .head)
      #expect((answer.status, answer.text, answer.fields[.contentLength]) == (200, "", "4"))
      #expect(fixture.origin.requests.count == 1)
    }
  }

  @Test func aHeadFreshensWhatIsStaleAndIsNeverAnsweredBy304() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", etag: "\"1\"", cacheControl: "max-age=10")
      try await fixture.load("/a")
      fixture.time.advance(60)
      #expect(try await fixture.load("/a", method: .head).status == 200)
      #expect(fixture.origin.requests.map(\.method) == [.get, .head])
      #expect(try await fixture.load("/a").source.isCache)
      #expect(fixture.origin.requests.count == 2)
      let own = try await fixture.load("/a", .networkOnly, method: .head, fields: [.ifNoneMatch: "\"1\""])
      #expect(own.status == 304)
    }
  }

  @Test func aHeadThatSpeaksOfOtherContentInvalidates() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", etag: "\"1\"", cacheControl: "max-age=60")
      try await fixture.load("/a")
      fixture.serve("/a", "other", etag: "\"2\"", cacheControl: "max-age=60")
      try await fixture.load("/a", .networkOnly, method: .head)
      #expect(try await fixture.load("/a").text == "other")
      try await fixture.waitUntilIdle()
    }
  }
}
