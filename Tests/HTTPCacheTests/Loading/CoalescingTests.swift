import CurlTransport
import HTTPCaching
import HTTPTypes
import PageTesting
import Synchronization
import Testing

@testable import HTTPCache
@testable import HTTPTransport

struct CoalescingTests {
  @Test func equalRequestsAtOnceAreOneAtTheOrigin() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", cacheControl: "max-age=60")
      fixture.origin.hold("/a")
      let request = fixture.request("/a")
      let tasks = (0..<20).map { _ in Task { try await fixture.load(request) } }
      try await fixture.waitForPassengers(20, request)
      fixture.origin.release("/a")
      var collapsed = 0
      for task in tasks {
        let answer = try await task.value
        #expect(answer.text == "text")
        if answer.loaded.cacheStatus?.isCollapsed == true { collapsed += 1 }
      }
      #expect(collapsed == 19)
      #expect(fixture.origin.requestCount(path: "/a") == 1)
      try await fixture.waitUntilIdle()
    }
  }

  @Test("a request goes out itself if the one that it shares takes too long")
  func slowLeader() async throws {
    try await ResourceFixture.running(configuring: { configuration, _ in
      configuration.sharingPatience = .milliseconds(50)
    }) { fixture in
      fixture.serve("/a", "text", cacheControl: "max-age=60")
      fixture.origin.script("/a", [.stallBeforeHead])
      let request = fixture.request("/a")
      let leader = Task { try await fixture.load(request) }
      try await eventually("the leader is at the origin") { fixture.origin.requestCount(path: "/a") == 1 }
      let followers = (0..<3).map { _ in Task { try await fixture.load(request) } }
      for follower in followers {
        let answer = try await follower.value
        #expect(answer.text == "text")
      }
      #expect((2...4).contains(fixture.origin.requestCount(path: "/a")))
      #expect(try await fixture.load(request).source.isCache)
      leader.cancel()
      await #expect(throws: CancellationError.self) { try await leader.value }
      try await fixture.waitUntilIdle()
    }
  }

  @Test("requests that wait for no other are all answered, one after the other")
  func impatientRequests() async throws {
    try await ResourceFixture.running(configuring: { configuration, _ in
      (configuration.sharingPatience, configuration.transfers) = (.milliseconds(1), 1)
    }) { fixture in
      fixture.serve("/a", "text", cacheControl: "max-age=60")
      fixture.origin.hold("/a")
      let request = fixture.request("/a")
      let tasks = (0..<10).map { _ in Task { try await fixture.load(request).text } }
      try await eventually("the first is at the origin") { fixture.origin.requestCount(path: "/a") == 1 }
      // One of the others goes out itself, and the rest share that one's wait for a place.
      try await eventually("another waits for its place") { fixture.loader.gate.counts.waiting >= 1 }
      fixture.origin.release("/a")
      for task in tasks { #expect(try await task.value == "text") }
      try await fixture.waitUntilIdle()
    }
  }

  @Test("requests that wait for a place share it for as long as that takes")
  func waitingLeader() async throws {
    try await ResourceFixture.running(configuring: { configuration, _ in
      (configuration.sharingPatience, configuration.transfers) = (.milliseconds(1), 1)
    }) { fixture in
      for path in ["/a", "/b"] { fixture.serve(path, "text", cacheControl: "max-age=60") }
      fixture.origin.hold("/b")
      let other = Task { try await fixture.load("/b") }
      try await eventually("the place is taken") { fixture.origin.requestCount(path: "/b") == 1 }
      let request = fixture.request("/a")
      let tasks = (0..<3).map { _ in Task { try await fixture.load(request).text } }
      try await fixture.waitForPassengers(3, request)
      // Ten times what the alarm takes.
      try await Task.sleep(for: .milliseconds(10))
      try await fixture.waitForPassengers(3, request)
      fixture.origin.release("/b")
      for task in tasks { #expect(try await task.value == "text") }
      #expect(try await other.value.text == "text")
    }
  }

  @Test(
    "a shared cache gives the response to several clients only if it may be reused",
    arguments: [("max-age=60", 1), ("max-age=0", 3), ("no-cache", 3), ("max-age=60, no-cache", 3)])
  func reusableForSeveral(_ cacheControl: String, _ requests: Int) async throws {
    try await ResourceFixture.running(.init(mode: .shared)) { fixture in
      fixture.serve("/a", "text", cacheControl: cacheControl)
      fixture.origin.hold("/a")
      let request = fixture.request("/a")
      let tasks = (0..<3).map { _ in Task { try await fixture.load(request).text } }
      try await fixture.waitForPassengers(3, request)
      fixture.origin.release("/a")
      for task in tasks { #expect(try await task.value == "text") }
      #expect(fixture.origin.requestCount(path: "/a") == requests)
    }
  }

  @Test(
    "a field that is not stored goes to the client that asked for it alone",
    arguments: [
      (CachePolicy.Mode.shared, #"no-cache="Set-Cookie", max-age=60"#, 1),
      (.shared, #"private="set-cookie", max-age=60"#, 1), (.shared, "max-age=60", 3),
      (.private, #"no-cache="Set-Cookie", max-age=60"#, 1), (.private, #"private="Set-Cookie", max-age=60"#, 3),
    ])
  func restrictedFields(_ mode: CachePolicy.Mode, _ cacheControl: String, _ count: Int) async throws {
    try await ResourceFixture.running(.init(mode: mode, sharesCookies: true)) { fixture in
      fixture.serve("/a", "text", cacheControl: cacheControl, headers: [.setCookie: "a=b"])
      fixture.origin.hold("/a")
      let request = fixture.request("/a")
      let tasks = (0..<3).map { _ in Task { try await fixture.load(request) } }
      try await fixture.waitForPassengers(3, request)
      fixture.origin.release("/a")
      var answers: [Answer] = []
      for task in tasks { answers.append(try await task.value) }
      #expect(answers.map(\.text) == ["text", "text", "text"])
      #expect(answers.count { $0.fields[.setCookie] == "a=b" } == count)
      #expect(answers.first { $0.loaded.cacheStatus?.isCollapsed == false }?.fields[.setCookie] == "a=b")
      #expect(fixture.origin.requestCount(path: "/a") == 1)
      try await fixture.waitUntilIdle()
      #expect(try await fixture.load(request).fields.contains(.setCookie) == (count == 3))
    }
  }

  @Test(
    "who asks again after the last byte gets what is stored then",
    arguments: [("max-age=60", 1), ("max-age=0", 2)])
  func afterTheLastByte(_ cacheControl: String, _ requests: Int) async throws {
    let (stored, goOn) = AsyncStream.makeStream(of: Void.self)
    var options = ResourceFixture.Options()
    options.wrapStore = { HookedResponseStore(store: $0, beforeCommit: { for await _ in stored {} }) }
    // Also where the disk is busy, the second request waits until the response is stored.
    options.configure = { configuration, _ in configuration.storingPatience = .seconds(60) }
    try await ResourceFixture.running(options) { fixture in
      fixture.serve("/a", "text", cacheControl: cacheControl)
      let first = try await fixture.loader.response(for: fixture.request("/a"))
      var reader = first.body.makeAsyncIterator()
      #expect(try await reader.next()?.count == 4)
      let second = Task { try await fixture.load("/a") }
      // So that it most likely asks before the response is stored.
      for _ in 0..<100 { await Task.yield() }
      goOn.finish()
      let answer = try await second.value
      #expect((answer.text, answer.loaded.cacheStatus?.isCollapsed) == ("text", false))
      #expect(fixture.origin.requestCount(path: "/a") == requests)
    }
  }

  @Test func whoHasReadANewResponseNeverGetsTheOneBeforeIt() async throws {
    let events = Mutex<[String]>([])
    var options = ResourceFixture.Options()
    options.wrapStore = {
      HookedResponseStore(
        store: $0,
        beforeCommit: {
          // So that a reader that does not wait most likely ends before.
          for _ in 0..<100 { await Task.yield() }
          events.withLock { $0.append("stored") }
        })
    }
    try await ResourceFixture.running(options) { fixture in
      fixture.serve("/a", "old", cacheControl: "max-age=60")
      #expect(try await fixture.load("/a").text == "old")
      try await fixture.waitUntilIdle()
      events.withLock { $0 = [] }
      fixture.serve("/a", "new", cacheControl: "max-age=60")
      let response = try await fixture.loader.response(for: fixture.request("/a", fields: [.cacheControl: "no-cache"]))
      var reader = response.body.makeAsyncIterator()
      #expect(try await reader.next() == Array("new".utf8))
      events.withLock { $0.append("read") }
      #expect(events.withLock(\.self) == ["stored", "read"])
      #expect(try await fixture.load("/a").text == "new")
    }
  }

  @Test(
    "a response whose bytes have all come is stored, also if its reader does not wait for the end",
    arguments: [200, 204])
  func readerThatLeavesAtTheLastByte(_ status: Int) async throws {
    let (stored, goOn) = AsyncStream.makeStream(of: Void.self)
    var options = ResourceFixture.Options()
    options.wrapStore = { HookedResponseStore(store: $0, beforeCommit: { for await _ in stored {} }) }
    try await ResourceFixture.running(options) { fixture in
      let bytes: [UInt8] = status == 204 ? [] : [1, 2, 3, 4]
      fixture.origin.respond("/a") { _ in
        OriginResponse(status: .init(code: status), headers: [.cacheControl: "max-age=60"], body: bytes)
      }
      var first: Resource? = try await fixture.loader.response(for: fixture.request("/a"))
      if status == 200 {
        var reader = first?.body.makeAsyncIterator()
        #expect(try await reader?.next()?.count == 4)
      }
      first = nil
      goOn.finish()
      try await fixture.waitUntilIdle()
      #expect(try await fixture.load("/a").source == .memory)
      #expect(fixture.origin.requestCount(path: "/a") == 1)
    }
  }

  @Test("a request that waited for another variant's response gets its own from what is being stored")
  func variantThatIsBeingStored() async throws {
    let (released, release) = AsyncStream.makeStream(of: Void.self)
    let (stored, goOn) = AsyncStream.makeStream(of: Void.self)
    let commits = Atomic(0)
    var options = ResourceFixture.Options(mode: .shared)
    options.wrapStore = {
      HookedResponseStore(
        store: $0,
        beforeCommit: {
          // The second is that of the English response.
          if commits.add(1, ordering: .relaxed).newValue == 2 { for await _ in stored {} }
        })
    }
    options.configure = { configuration, _ in configuration.partition = .shared }
    try await ResourceFixture.running(options) { fixture in
      fixture.origin.respond("/a") { request in
        OriginResponse(
          headers: [.cacheControl: "max-age=60", .vary: "Accept-Language"],
          body: (request.headers[.acceptLanguage] ?? "none").utf8)
      }
      var configuration = ResourceLoader.Configuration()
      configuration.partition = .shared
      // Also on a busy machine the response is stored before a request gives up waiting.
      configuration.storingPatience = .seconds(60)
      let loader = ResourceLoader(
        cache: fixture.cache, transport: HeldTransport(inner: fixture.transport, released: released),
        configuration: configuration)
      @Sendable func request(_ fields: HTTPFields) async throws -> Resource {
        try await loader.response(for: fixture.request("/a", fields: fields))
      }
      let german = Task { try await request([.acceptLanguage: "de"]) }
      let key = try FlightKey(fixture.outgoing(fixture.request("/a")), fixture.outgoing(fixture.request("/a")).head)
      try await eventually("the German response is waited for") { loader.inFlight.passengers(of: key) == 1 }
      let waiting = Task { try await request([.acceptLanguage: "en"]).body.collect() }
      try await eventually("both wait") { loader.inFlight.passengers(of: key) == 2 }
      // Asked for on its own: from now on it is known which field chooses.
      _ = try await request([.acceptLanguage: "fr", .cacheControl: "max-stale=1"]).body.collect()
      let english = try await request([.acceptLanguage: "en"])
      release.finish()
      _ = try await german.value
      for _ in 0..<100 { await Task.yield() }
      goOn.finish()
      #expect(try await waiting.value == Array("en".utf8))
      #expect(try await english.body.collect() == Array("en".utf8))
      #expect(fixture.origin.requestCount(path: "/a") == 3)
      await loader.shutDown()
    }
  }

  @Test("requests for what may not be stored do not wait for one another, until it is stored")
  func unstoredResponses() async throws {
    try await ResourceFixture.running { fixture in
      func ask(_ count: Int, expecting requests: Int) async throws {
        fixture.origin.hold("/a")
        let before = fixture.origin.requestCount(path: "/a")
        let request = fixture.request("/a")
        let tasks = (0..<count).map { _ in Task { try await fixture.loader.response(for: request).body.collect() } }
        try await fixture.origin.waitForRequests(before + requests, to: "/a")
        if requests < count { try await fixture.waitForPassengers(count, request) }
        fixture.origin.release("/a")
        for task in tasks { _ = try await task.value }
        #expect(fixture.origin.requestCount(path: "/a") == before + requests)
      }
      fixture.serve("/a", "text", cacheControl: "no-store")
      try await ask(1, expecting: 1)
      try await ask(3, expecting: 3)
      // Stored without a lifetime: each request asks again, and they share that.
      fixture.serve("/a", "text", cacheControl: "no-cache")
      try await ask(1, expecting: 1)
      try await fixture.waitUntilIdle()
      try await ask(3, expecting: 1)
    }
  }

  /// Sends German requests when it is told to, and all others at once.
  private struct HeldTransport: HTTPTransporting {
    let inner: CurlTransport
    let released: AsyncStream<Void>

    func send(_ request: TransportRequest) async throws -> TransportResponse {
      if request.head.headerFields[.acceptLanguage] == "de" { for await _ in released {} }
      return try await inner.send(request)
    }
  }

  @Test func requestsWithOtherFieldsAreTheirOwn() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text")
      fixture.origin.hold("/a")
      let tasks = ["de", "en"].map { language in
        Task { try await fixture.load("/a", fields: [.acceptLanguage: language]).text }
      }
      try await fixture.origin.waitForRequests(2, to: "/a")
      fixture.origin.release("/a")
      for task in tasks { #expect(try await task.value == "text") }
    }
  }

  @Test func whoWaitsGetsTheBytesWhileTheBodyIsStillComing() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", String(repeating: "x", count: 1000), etag: "\"1\"")
      fixture.origin.always("/a", .stall(afterBytes: 400))
      let first = try await fixture.loader.response(for: fixture.request("/a"))
      var readers = [first.body.makeAsyncIterator()]
      #expect(try await readers[0].next()?.count == 400)
      // One that comes late, in the middle of the body.
      let second = try await fixture.loader.response(for: fixture.request("/a"))
      #expect(second.cacheStatus?.isCollapsed == true)
      readers.append(second.body.makeAsyncIterator())
      #expect(try await readers[1].next()?.count == 400)
      #expect(fixture.origin.requestCount(path: "/a") == 1)
    }
  }

  @Test func cancellingOneDoesNotDisturbTheOthersAndTheLastOneCancelsTheRequest() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text")
      fixture.origin.hold("/a")
      let request = fixture.request("/a")
      let tasks = (0..<3).map { _ in Task { try await fixture.load(request).text } }
      try await fixture.waitForPassengers(3, request)
      tasks[0].cancel()
      await #expect(throws: CancellationError.self) { try await tasks[0].value }
      try await fixture.waitForPassengers(2, request)
      try await fixture.origin.waitForRequests(1, to: "/a")
      #expect(fixture.origin.activeRequestCount == 1)
      for task in tasks { task.cancel() }
      for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
      try await eventually("the request is given up", within: .seconds(10)) { fixture.origin.activeRequestCount == 0 }
      try await fixture.waitUntilIdle()
      // Who comes now is not harmed by that.
      fixture.origin.release("/a")
      #expect(try await fixture.load(request).text == "text")
    }
  }

  @Test func theLastReaderThatLeavesEndsTheTransfer() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", String(repeating: "x", count: 1000))
      fixture.origin.always("/a", .stall(afterBytes: 400))
      var first: Resource? = try await fixture.loader.response(for: fixture.request("/a"))
      var second: Resource? = try await fixture.loader.response(for: fixture.request("/a"))
      #expect((first?.status, second?.status) == (200, 200))
      first = nil
      var reader = second?.body.makeAsyncIterator()
      #expect(try await reader?.next()?.count == 400)
      #expect(fixture.origin.activeRequestCount == 1)
      (second, reader) = (nil, nil)
      try await eventually("the transfer has ended", within: .seconds(10)) { fixture.origin.activeRequestCount == 0 }
      try await fixture.waitUntilIdle()
      #expect(try await fixture.stored("/a") == nil)
      fixture.origin.always("/a", .normal)
      #expect(try await fixture.load("/a").bytes.count == 1000)
    }
  }

  @Test func readersThatComeAndGoAreNeverGivenSomebodyElsesCancellation() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", String(repeating: "x", count: 200_000), cacheControl: "max-age=60")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<300 {
          group.addTask {
            let loaded = try await fixture.loader.response(for: fixture.request("/a", .networkOnly))
            guard number % 3 > 0 else { return }
            #expect(try await loaded.body.collect().count == 200_000)
          }
        }
        try await group.waitForAll()
      }
      try await fixture.waitUntilIdle()
    }
  }

  @Test func aResponseThatMayNotBeStoredGoesToOneAndTheOthersAskForThemselves() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "secret", cacheControl: "no-store")
      fixture.origin.hold("/a")
      let request = fixture.request("/a")
      let tasks = (0..<5).map { _ in Task { try await fixture.load(request).text } }
      try await fixture.waitForPassengers(5, request)
      fixture.origin.release("/a")
      for task in tasks { #expect(try await task.value == "secret") }
      #expect(fixture.origin.requestCount(path: "/a") == 5)
      #expect(try await fixture.stored("/a") == nil)
      try await fixture.waitUntilIdle()
    }
  }

  @Test func aFailureIsEverybodysWhoShares() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text")
      fixture.origin.hold("/a")
      fixture.origin.script("/a", [.closeBeforeHead])
      let request = fixture.request("/a")
      let tasks = (0..<4).map { _ in Task { try await fixture.load(request).text } }
      try await fixture.waitForPassengers(4, request)
      fixture.origin.release("/a")
      for task in tasks { await #expect(throws: TransportError.self) { try await task.value } }
      try await fixture.waitUntilIdle()
    }
  }
}
