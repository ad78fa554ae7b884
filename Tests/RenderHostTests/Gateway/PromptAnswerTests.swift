import Foundation
import GRDB
import HTTPTypes
import PageTesting
import Synchronization
import TestServers
import Testing

@testable import CacheGateway
@testable import HTTPCache
@testable import RenderHost
@testable import ServerKit

/// Answers that are made on the event loop, without waiting.
@Suite(.timeLimit(.minutes(2)))
struct PromptAnswerTests {
  private let clock = StandingClock()

  /// A gateway whose origin has an answer of each kind, all of which are stored.
  private func running(
    _ change: (inout Settings) -> Void = { _ in }, lines: Monitor<[Data]>? = nil,
    _ body: (GatewayFixture) async throws -> Void
  ) async throws {
    try await GatewayFixture.running(change, now: { [clock] in clock.now }, lines: lines) { fixture in
      let origin = fixture.origin
      let date = clock.now.description
      origin.serve(
        "/plain", Array("plain~".utf8),
        headers: [
          .cacheControl: "public, max-age=60", .date: date, .eTag: #""one""#, .contentType: "text/plain",
          .lastModified: date,
        ])
      origin.serve("/expires", Array("expires~".utf8), headers: [.expires: "Fri, 01 Jan 2100 00:00:00 GMT"])
      origin.respond("/missing") { _ in
        OriginResponse(status: 404, headers: [.cacheControl: "max-age=60"], body: "missing~".utf8)
      }
      origin.respond("/vary") { request in
        OriginResponse(
          headers: [.cacheControl: "max-age=60", .vary: "Accept-Language"],
          body: ((request.headers[.acceptLanguage] ?? "-") + "~").utf8)
      }
      origin.serve(
        "/swr", Array("swr~".utf8), headers: [.cacheControl: "max-age=5, stale-while-revalidate=600", .date: date])
      origin.serve("/short", Array("short~".utf8), headers: [.cacheControl: "max-age=5", .date: date])
      origin.serve("/empty", [], headers: [.cacheControl: "max-age=60"])
      origin.serve("/long", [UInt8](repeating: 65, count: 200_000), headers: [.cacheControl: "max-age=60"])
      origin.serve("/never", Array("never~".utf8), headers: [.cacheControl: "no-store"])
      for path in ["/plain", "/expires", "/missing", "/swr", "/short", "/empty", "/long", "/vary"] {
        _ = try await fixture.get(path)
      }
      for language in ["de", "en"] { _ = try await fixture.get("/vary", ["Accept-Language: \(language)"]) }
      try await body(fixture)
    }
  }

  private func cache(_ fixture: GatewayFixture) -> ResponseCache { fixture.gateway.origins[0].loader.cache }

  /// Sends a request on a connection that stays open, and returns the answer.
  private func ask(_ fixture: GatewayFixture, _ head: String) async throws -> (answer: String, isPrompt: Bool) {
    let client = try RawClient(port: fixture.port)
    let count = fixture.prompt.count
    client.send(head + "\r\n\r\n")
    return (try await client.readAnswer(isHead: head.hasPrefix("HEAD")), fixture.prompt.count > count)
  }

  /// Sends a request until it is answered at once, from the disk.
  private func promptly(_ fixture: GatewayFixture, _ head: String) async throws -> String {
    let deadline = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < deadline {
      cache(fixture).releaseMemory()
      let (answer, isPrompt) = try await ask(fixture, head)
      if isPrompt { return answer }
    }
    Issue.record("\(head) is not answered at once")
    return ""
  }

  /// The answer by the task of a connection, which every last request of one goes to.
  private func patiently(_ fixture: GatewayFixture, _ head: String) async throws -> String {
    let (answer, isPrompt) = try await ask(fixture, head + "\r\nConnection: close")
    #expect(!isPrompt)
    return answer.replacing("Connection: close\r\n", with: "").replacing("connection: close\r\n", with: "")
  }

  /// The answer without the id of its request.
  private static func withoutID(_ answer: String) -> String {
    answer.components(separatedBy: "\r\n").filter { !$0.lowercased().hasPrefix("x-request-id: ") }
      .joined(separator: "\r\n")
  }

  @Test(
    "an answer that is made at once is byte for byte that of the long way",
    arguments: [
      "GET /plain", "HEAD /plain", "GET /expires", "GET /missing", "HEAD /missing", "GET /empty", "GET /vary",
      "GET /vary|Accept-Language: de", "GET /vary|Accept-Language: en", "HEAD /long",
      "GET /plain|If-None-Match: \"one\"", "GET /plain|If-None-Match: \"two\"", "HEAD /plain|If-None-Match: *",
      "GET /plain|If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT", "GET /plain|If-Modified-Since: x",
      "GET /plain|Range: bytes=1-2", "GET /plain|Range: bytes=-1", "GET /plain|Range: bytes=100-",
      "GET /plain|Range: bytes=1-2|If-Range: \"one\"", "GET /plain|Range: bytes=1-2|If-Range: \"two\"",
      "GET /plain|Cache-Control: only-if-cached", "GET /plain|Cache-Control: max-age=50",
      "GET /plain|Cache-Control: min-fresh=50", "GET /short|Cache-Control: max-stale=100",
      "GET /plain|Authorization: Bearer a", "GET /plain|Cookie: a=b", "GET /plain|Connection: keep-alive",
      "GET /plain|X-Request-Id: mine", "GET /plain|Accept-Encoding: gzip, br", "GET /plain|Via: 1.1 other",
    ])
  func sameAnswers(request: String) async throws {
    try await running { fixture in
      clock.advance(by: 7)
      let lines = request.components(separatedBy: "|")
      let head = ([lines[0] + " HTTP/1.1", "Host: api.example.com"] + lines.dropFirst()).joined(separator: "\r\n")
      let count = fixture.origin.requestCount(path: "/*")
      let prompt = try await promptly(fixture, head)
      let onDisk = try await patiently(fixture, head.replacing("\r\nConnection: keep-alive", with: ""))
      #expect(Self.withoutID(prompt) == Self.withoutID(onDisk))
      #expect(prompt.contains("Age: 7"), "\(prompt)")
      #expect(prompt.contains("; hit; ttl=") && fixture.origin.requestCount(path: "/*") == count)
      #expect(prompt.contains("X-Request-Id: mine\r\n") == request.contains("mine"))
      let inMemory = try await ask(fixture, head).answer
      #expect(Self.withoutID(inMemory) == Self.withoutID(prompt))
    }
  }

  @Test(
    "a request that needs more than what is stored takes the long way",
    arguments: [
      "GET /unknown", "GET /short", "GET /swr", "GET /never", "GET /plain|Cache-Control: no-cache",
      "GET /plain|Cache-Control: max-age=3", "GET /plain|Pragma: no-cache", "GET /vary|Accept-Language: fr",
      "GET /short|Cache-Control: only-if-cached", "GET /plain|If-Match: \"one\"", "GET /plain|Connection: close",
      "GET /plain|Expect: 100-continue", "GET /plain|Content-Length: 0",
      "POST /plain|Content-Length: 0", "OPTIONS /plain",
      "GET /long", "GET /a%7Eb", "GET /plain|Upgrade: websocket|Connection: upgrade",
    ])
  func longWay(request: String) async throws {
    try await running { fixture in
      clock.advance(by: 7)
      let lines = request.components(separatedBy: "|")
      let head = ([lines[0] + " HTTP/1.1", "Host: api.example.com"] + lines.dropFirst()).joined(separator: "\r\n")
      _ = try await promptly(fixture, "GET /plain HTTP/1.1\r\nHost: api.example.com")
      for _ in 0..<3 {
        cache(fixture).releaseMemory()
        let (answer, isPrompt) = try await ask(fixture, head)
        #expect(answer.hasPrefix("HTTP/1.1 ") && !isPrompt)
        // A stale answer is replaced by the first request.
        if !request.contains("Cache-Control") { break }
      }
    }
  }

  @Test(
    "what was purged, replaced or removed by others is not answered any more", arguments: ["purge", "post", "other"])
  func gone(how: String) async throws {
    try await running { fixture in
      let head = "GET /plain HTTP/1.1\r\nHost: api.example.com"
      #expect(try await promptly(fixture, head).hasSuffix("plain~"))
      fixture.origin.respond("/plain") { _ in
        OriginResponse(headers: [.cacheControl: "max-age=60"], body: "new~".utf8)
      }
      switch how {
      case "purge": _ = try await fixture.gateway.origins[0].loader.purge(.all)
      case "post": _ = try await fixture.get("/plain", method: "POST", body: "x")
      default: try await fixture.otherCache().removeAll()
      }
      cache(fixture).releaseMemory()
      #expect(try await ask(fixture, head).answer.hasSuffix("new~"))
      #expect(try await promptly(fixture, head).hasSuffix("new~"))
    }
  }

  @Test("damaged bytes are not answered; they are asked for again")
  func damage() async throws {
    try await running { fixture in
      let head = "GET /plain HTTP/1.1\r\nHost: api.example.com"
      _ = try await promptly(fixture, head)
      let store = try #require(cache(fixture).store as? ResponseStore)
      try store.index.write { try $0.execute(sql: "UPDATE response SET bytes = x'00'") }
      cache(fixture).releaseMemory()
      let (answer, isPrompt) = try await ask(fixture, head)
      #expect(answer.hasSuffix("plain~") && !isPrompt)
      #expect(fixture.origin.requestCount(path: "/plain") == 2)
      #expect(try await promptly(fixture, head).hasSuffix("plain~"))
    }
  }

  @Test("requests that come at once are answered in their order")
  func order() async throws {
    try await running { fixture in
      let plain = "GET /plain HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
      _ = try await promptly(fixture, "GET /plain HTTP/1.1\r\nHost: api.example.com")
      fixture.origin.serve("/slow", Array("slow~".utf8))
      let last = plain.replacing("com\r\n", with: "com\r\nConnection: close\r\n")
      let client = try await fixture.held("/slow", after: plain, behind: plain + last)
      fixture.origin.release("/slow")
      let answers = try await client.readToEnd().components(separatedBy: "~").dropLast()
      #expect(
        answers.map { $0.components(separatedBy: "\r\n\r\n").last } == ["plain", "slow", "plain", "plain"])
    }
  }

  @Test("an answer that is made at once is counted and logged like one of the long way")
  func records() async throws {
    let lines = Monitor<[Data]>([])
    try await running(lines: lines) { fixture in
      let head = "GET /plain?a=b HTTP/1.1\r\nHost: api.example.com"
      fixture.origin.serve("/plain?a=b", Array("plain~".utf8), headers: [.cacheControl: "max-age=60"])
      _ = try await fixture.get("/plain?a=b")
      func counts() -> [Int64] {
        let requests = fixture.record.metrics.registry.families.first { $0.name == "renderhost_http_requests" }
        let total = requests?.series.values.reduce(Int64(0)) { sum, series in
          if case .counter(let counter) = series { sum + counter.value } else { sum }
        }
        return [fixture.answers(.hit), fixture.report.origins.first?.savedBytes ?? 0, total ?? 0]
      }
      func line() throws -> [String: String] {
        let last = try #require(lines.read { $0.last })
        let object = try #require(try JSONSerialization.jsonObject(with: last) as? [String: Any])
        return object.filter { !["ms", "time", "trace", "hb.request.id"].contains($0.key) }.mapValues { "\($0)" }
      }
      let before = counts()
      _ = try await patiently(fixture, head)
      let (between, longLine) = (counts(), try line())
      var isPrompt = false
      var previous = between
      while !isPrompt {
        previous = counts()
        cache(fixture).releaseMemory()
        isPrompt = try await ask(fixture, head).isPrompt
      }
      #expect(zip(counts(), previous).map { $0 - $1 } == zip(between, before).map { $0 - $1 })
      #expect(try line() == longLine)
    }
  }

  @Test("an answer from memory is recorded, so that it is replayed to the next request")
  func recording() async throws {
    try await running { fixture in
      _ = try await promptly(fixture, "GET /plain HTTP/1.1\r\nHost: api.example.com")
      let client = try RepeatingClient(fixture, "/plain")
      let learned = try await client.learn()
      #expect(RepeatingClient.body(learned) == "plain~")
      let answer = try await client.ask()
      #expect(Self.withoutID(answer) == Self.withoutID(learned))
    }
  }
}
