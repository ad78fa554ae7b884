import PageTesting
import Testing

@testable import HTTPCache
@testable import HTTPTransport

struct BreakerTests {
  /// A breaker, with seconds for instants.
  private final class Breaker {
    var value = Reachability.Breaker()
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }
    func admits(at seconds: Int) -> Bool { value.admits(at: at(seconds)) }
    func isOnline(at seconds: Int) -> Bool { value.isOnline(at: at(seconds)) }
    func recordFailure(at seconds: Int) { value.recordFailure(at: at(seconds)) }
  }

  /// One that has opened at second 0, for five.
  private var opened: Breaker {
    let breaker = Breaker()
    breaker.recordFailure(at: 0)
    breaker.recordFailure(at: 0)
    return breaker
  }

  @Test func oneFailureDoesNotOpenIt() {
    let breaker = Breaker()
    breaker.recordFailure(at: 0)
    #expect(breaker.isOnline(at: 0))
    #expect(breaker.admits(at: 0))
  }

  @Test func afterTheRestOneMayTryAndTheOthersWaitForIt() {
    let breaker = opened
    for second in 0..<5 {
      #expect(!breaker.isOnline(at: second))
      #expect(!breaker.admits(at: second))
    }
    #expect(breaker.isOnline(at: 5))
    #expect(breaker.admits(at: 5))
    #expect(!breaker.admits(at: 5))
    #expect(!breaker.isOnline(at: 6))
    // What became of it is never heard of: another one may try.
    #expect(breaker.admits(at: 10))
  }

  @Test func theRestGrowsWithEachTryUpToAMinute() {
    let breaker = opened
    var now = 5
    for rest in [10, 20, 40, 60, 60] {
      #expect(breaker.admits(at: now))
      breaker.recordFailure(at: now)
      #expect(!breaker.admits(at: now + rest - 1), "\(rest)")
      #expect(breaker.isOnline(at: now + rest), "\(rest)")
      now += rest
    }
  }

  @Test func whatWasSentBeforeItOpenedDoesNotMakeTheRestLonger() {
    let breaker = opened
    for _ in 0..<20 { breaker.recordFailure(at: 1) }
    #expect(breaker.admits(at: 5))
  }

  @Test func aSuccessClosesIt() {
    let breaker = opened
    breaker.value.recordSuccess()
    #expect(breaker.admits(at: 0))
    #expect(breaker.value == Reachability.Breaker())
  }

  @Test func onlyWhatMeansThatTheOriginIsAwayCounts() throws {
    let url = try #require(PageURL("https://a.com/"))
    let text = url.text
    let away: [any Error] = [
      TransportError.cannotConnect(url: text, reason: ""), TransportError.cannotResolve(url: text, reason: ""),
      TransportError.timedOut(url: text, after: .seconds(1)), TransportError.insecure(url: text, reason: ""),
    ]
    let there: [any Error] = [
      TransportError.closedEarly(url: text, received: 0, reason: ""), TransportError.malformed(url: text, reason: ""),
      TransportError.tooSlow(url: text, bytesPerSecond: 1, over: .seconds(1)), CancellationError(),
    ]
    for (errors, isOnline) in [(away, false), (there, true)] {
      for error in errors {
        let reachability = Reachability()
        for _ in 0..<3 { reachability.record(error, for: url) }
        #expect(reachability.isOnline(url) == isOnline, "\(error)")
      }
    }
  }

  @Test func originsAreOnTheirOwnAndNotRememberedWithoutEnd() throws {
    let reachability = Reachability()
    for number in 0..<3000 {
      let url = try #require(PageURL("https://a\(number).com/"))
      for _ in 0..<2 { reachability.record(TransportError.cannotConnect(url: "", reason: ""), for: url) }
    }
    #expect(!reachability.isOnline(try #require(PageURL("https://a0.com/x"))))
    #expect(reachability.isOnline(try #require(PageURL("https://b.com/"))))
    #expect(reachability.isOnline(try #require(PageURL("https://a2999.com/"))))
  }
}

struct ReachabilityTests {
  @Test func anOfflinePageDoesNotWaitAndOneTryIsMadeAfterTheRest() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", etag: "\"1\"")
      try await fixture.load("/a")
      try await fixture.origin.refuseConnections()
      for _ in 0..<2 { #expect(try await fixture.load("/a").text == "text") }
      #expect(fixture.asked.all.count == 3)
      // Nobody asks now, not even for what is not there.
      for _ in 0..<5 { #expect(try await fixture.load("/a").text == "text") }
      #expect(fixture.asked.all.count == 3)
      await #expect(throws: LoadError.self) { try await fixture.load("/b") }
      #expect(try await fixture.updates(fixture.request("/a", .cacheThenNetwork)) == ["cached: text", "failed"])

      try await fixture.origin.acceptConnections()
      fixture.time.advance(4)
      #expect(try await fixture.load("/a").source.isCache)
      #expect(fixture.origin.requests.count == 1)
      fixture.time.advance(1)
      #expect(try await fixture.load("/a").source == .revalidated)
      #expect(try await fixture.load("/a").source == .revalidated)
    }
  }

  @Test func anHTTPErrorOrACutAnswerDoesNotOpenIt() async throws {
    try await ResourceFixture.running { fixture in
      for path in ["/error", "/cut", "/silent"] { fixture.serve(path, "text") }
      fixture.origin.always("/error", .status(503))
      fixture.origin.always("/cut", .resetAfter(bytes: 1))
      fixture.origin.always("/silent", .closeBeforeHead)
      for path in ["/error", "/cut", "/silent"] {
        for _ in 0..<4 { _ = try? await fixture.load(path, .protocolCache) }
        let url = try fixture.url("/")
        #expect(fixture.loader.reachability.isOnline(url), "\(path)")
      }
    }
  }

  @Test func whoInsistsOnTheNetworkGetsATry() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text")
      try await fixture.origin.refuseConnections()
      for _ in 0..<2 { _ = try? await fixture.load("/a") }
      try await fixture.origin.acceptConnections()
      await #expect(throws: LoadError.self) { try await fixture.load("/a") }
      #expect(try await fixture.load("/a", .networkOnly).text == "text")
      #expect(try await fixture.load("/a", .protocolCache).text == "text")
    }
  }

  @Test func theAppCanSetIt() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", etag: "\"1\"")
      try await fixture.load("/a")
      fixture.loader.reachability.setting = .offline
      #expect(try await fixture.load("/a").source.isCache)
      await #expect(throws: LoadError.self) { try await fixture.load("/a", .networkOnly) }
      #expect(fixture.origin.requests.count == 1)
      fixture.loader.reachability.setting = .online
      try await fixture.origin.refuseConnections()
      for _ in 0..<4 { #expect(try await fixture.load("/a").loaded.cacheStatus?.detail == "origin-failed") }
      fixture.loader.reachability.setting = .observed
      #expect(try await fixture.load("/a").loaded.cacheStatus?.detail == nil)
    }
  }
}
