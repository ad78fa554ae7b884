import Foundation
import FoundationNetworking
import HTTPCacheFoundation
import HTTPTypes
import PageTesting
import Testing

@testable import HTTPCache
@testable import HTTPTransport

struct UpdatesTests {
  @Test func whatIsStoredComesAtOnceAndThenTheNetworksAnswer() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"")
      try await fixture.load("/a")
      fixture.serve("/a", "new", etag: "\"2\"")
      fixture.origin.hold("/a")
      var updates = fixture.loader.updates(for: fixture.request("/a", .cacheThenNetwork)).makeAsyncIterator()
      let first = try #require(await updates.next())
      #expect(try await first.line == "cached: old")
      fixture.origin.release("/a")
      let second = try #require(await updates.next())
      #expect(try await second.line == "network: new")
      #expect(await updates.next() == nil)
      guard case .cached(let cached) = first, case .network(let network) = second else { return }
      #expect(network.generation > cached.generation)
    }
  }

  @Test("a body is decoded from JSON, whether it is stored or comes from the network")
  func bodyAsAValue() async throws {
    struct Item: Decodable, Equatable { let id: Int }
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", #"[{"id": 7}]"#, etag: "\"1\"")
      for behavior in [LoadBehavior.networkOnly, .cacheOnly] {
        let loaded = try await fixture.loader.response(for: fixture.request("/a", behavior))
        #expect(try await loaded.decoded(as: [Item].self) == [Item(id: 7)])
      }
      fixture.serve("/a", "<html>", etag: "\"2\"")
      let page = try await fixture.loader.response(for: fixture.request("/a", .networkOnly))
      await #expect(throws: DecodingError.self) { try await page.decoded(as: [Item].self) }
    }
  }

  @Test(
    "a response from the network has the figures of its request, whether it is stored or not, and a stored one has none"
  )
  func figures() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/kept", "bytes", etag: "\"1\"")
      fixture.origin.serve("/passed", "bytes".utf8, headers: [.cacheControl: "no-store"])
      for path in ["/kept", "/passed"] {
        let loaded = try await fixture.loader.response(for: fixture.request(path, .networkOnly))
        #expect(try await loaded.data.count == 5)
        let figures = try #require(await loaded.transfer)
        #expect(figures.bytesReceived > 5 && figures.bytesSent > 0, "\(path)")
        #expect(figures.firstByte > .zero && figures.total >= figures.firstByte, "\(path)")
        #expect(figures.httpVersion == "1.1", "\(path)")
      }
      let stored = try await fixture.loader.response(for: fixture.request("/kept", .cacheOnly))
      #expect(await stored.transfer == nil)
    }
  }

  @Test("a body that is read with its progress tells each step, to its length")
  func progress() async throws {
    try await ResourceFixture.running { fixture in
      let bytes = [UInt8](repeating: 7, count: 200_000)
      fixture.origin.serve("/a", bytes)
      for _ in 1...2 {
        let loaded = try await fixture.loader.response(for: fixture.request("/a", .automatic))
        var steps: [Int64] = []
        var totals: Set<Int64?> = []
        let data = try await loaded.data { received, total in
          steps.append(received)
          totals.insert(total)
        }
        #expect(data == Data(bytes))
        #expect(steps.count > 1 && steps == steps.sorted() && steps.last == 200_000)
        #expect(totals == [200_000])
      }
      let loaded = try await fixture.loader.response(for: fixture.request("/a", .networkOnly))
      await #expect(throws: TransportError.self) { try await loaded.data(upTo: 1_000) { _, _ in } }
    }
  }

  @Test("stored responses are listed in parts, each once")
  func listing() async throws {
    try await ResourceFixture.running { fixture in
      let paths = (1...5).map { "/list/\($0)" }
      for path in paths {
        fixture.serve(path, "bytes of \(path)", etag: "\"1\"")
        try await fixture.load(path)
        #expect(try await fixture.stored(path) == "bytes of \(path)")
      }
      var listed: [ResponseListing.Entry] = []
      var position: ResponseListing.Position?
      var parts: [Int] = []
      repeat {
        let part = try await fixture.loader.cache.listing(after: position, limit: 2)
        parts.append(part.entries.count)
        listed += part.entries
        position = part.next
      } while position != nil
      #expect(parts == [2, 2, 1])
      #expect(listed.compactMap { $0.url?.text } == paths.map { fixture.origin.url(for: $0) })
      #expect(listed.allSatisfy { $0.status == 200 && $0.size == 16 && $0.isWhole && !$0.isKept })
      // A limit that makes no sense is the nearest that does.
      #expect(try await fixture.loader.cache.listing(limit: -1).entries.count == 1)
    }
  }

  @Test("a request of Foundation's has its URL, method, fields, body and cache policy")
  func foundationRequest() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "bytes", etag: "\"1\"")
      var asked = URLRequest(url: try #require(URL(string: fixture.origin.url(for: "/a"))))
      asked.cachePolicy = .returnCacheDataElseLoad
      asked.setValue("text/plain", forHTTPHeaderField: "Accept")
      let request = try #require(ResourceRequest(asked))
      #expect(request.behavior == .returnCacheDataElseLoad)
      for _ in 1...2 { #expect(try await fixture.loader.response(for: request).data == Data("bytes".utf8)) }
      #expect(fixture.origin.requests.map { $0.headers[.accept] } == ["text/plain"])

      asked.httpMethod = "POST"
      asked.httpBody = Data("sent".utf8)
      asked.cachePolicy = .useProtocolCachePolicy
      let post = try #require(ResourceRequest(asked))
      #expect((post.method, post.body, post.behavior) == (.post, Array("sent".utf8), nil))
    }
  }

  @Test func a304IsNotModified() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"")
      try await fixture.load("/a")
      #expect(
        try await fixture.updates(fixture.request("/a", .cacheThenNetwork)) == ["cached: old", "notModified: old"])
      #expect(fixture.origin.requests.last?.headers[.ifNoneMatch] == "\"1\"")
    }
  }

  @Test func a200WithTheStoredBytesIsNotModifiedToo() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"")
      try await fixture.load("/a")
      fixture.serve("/a", "old", etag: "\"2\"")
      #expect(
        try await fixture.updates(fixture.request("/a", .cacheThenNetwork)) == ["cached: old", "notModified: old"])
    }
  }

  @Test func aFreshAnswerThatNeverChangesIsNotTakenForNews() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"", cacheControl: "max-age=60, immutable")
      try await fixture.load("/a")
      #expect(
        try await fixture.updates(fixture.request("/a", .cacheThenNetwork)) == ["cached: old", "notModified: old"])
      #expect(fixture.origin.requests.count == 1)
    }
  }

  @Test func withTheOriginGoneTheFailureFollows() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"")
      try await fixture.load("/a")
      try await fixture.origin.refuseConnections()
      var failure: LoadFailure?
      for await update in fixture.loader.updates(for: fixture.request("/a", .cacheThenNetwork)) {
        if case .failed(let found) = update { failure = found }
      }
      guard case .cannotConnect? = failure?.error as? TransportError else {
        Issue.record("\(String(describing: failure))")
        return
      }
      #expect(try await fixture.updates(fixture.request("/b", .cacheThenNetwork)) == ["failed"])
    }
  }

  @Test(arguments: ["max-age=0", "max-age=0, stale-if-error=100"])
  func anHTTPErrorIsAFailureWithItsAnswerAndTheGoodEntryStays(_ cacheControl: String) async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"", cacheControl: cacheControl)
      try await fixture.load("/a")
      fixture.origin.always("/a", .status(503, retryAfter: "7", body: "busy"))
      var failure: LoadFailure?
      for await update in fixture.loader.updates(for: fixture.request("/a", .cacheThenNetwork)) {
        if case .failed(let found) = update { failure = found }
      }
      let answer = try #require(failure?.answer)
      #expect(failure?.error == nil)
      #expect((answer.status, answer.response.headerFields[.retryAfter]) == (503, "7"))
      #expect(try await answer.body.collect() == Array("busy".utf8))
      #expect(try await fixture.stored("/a") == "old")
    }
  }

  @Test func aBodyThatIsCutIsAFailure() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"")
      try await fixture.load("/a")
      fixture.serve("/a", String(repeating: "new", count: 1000), etag: "\"2\"")
      fixture.origin.always("/a", .resetAfter(bytes: 100))
      #expect(try await fixture.updates(fixture.request("/a", .cacheThenNetwork)) == ["cached: old", "failed"])
    }
  }

  @Test func endingTheLoopCancelsTheRequestAtTheOrigin() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"")
      try await fixture.load("/a")
      fixture.origin.hold("/a")
      for await _ in fixture.loader.updates(for: fixture.request("/a", .cacheThenNetwork)) {
        try await fixture.origin.waitForRequests(2, to: "/a")
        break
      }
      try await eventually("the request is given up", within: .seconds(10)) { fixture.origin.activeRequestCount == 0 }
      fixture.origin.release("/a")
      try await fixture.waitUntilIdle()
    }
  }

  @Test func behavioursWithOneAnswerGiveOneUpdate() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "one", etag: "\"1\"", cacheControl: "max-age=60")
      #expect(try await fixture.updates(fixture.request("/a")) == ["network: one"])
      #expect(try await fixture.updates(fixture.request("/a")) == ["cached: one"])
      #expect(
        try await fixture.updates(fixture.request("/a", .networkFirst(timeout: .seconds(60)))) == ["notModified: one"])
      #expect(try await fixture.updates(fixture.request("/a", .cacheOnly)) == ["cached: one"])
      #expect(try await fixture.updates(fixture.request("data:,two")) == ["cached: two"])
      #expect(try await fixture.updates(fixture.request("nonsense")) == ["failed"])
      let onlyIfCached = fixture.request("/none", fields: [.cacheControl: "only-if-cached"])
      #expect(try await fixture.updates(onlyIfCached) == ["failed: 504 "])
      try await fixture.waitUntilIdle()
    }
  }
}
