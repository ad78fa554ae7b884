import Foundation
import HTTPTypes
import PageTesting
import Testing

@testable import HTTPTransport

/// Validators and digests of servers are not believed blindly.
struct ValidatorBeliefTests {
  private static let wrongMD5 = Data(repeating: 7, count: 16).base64EncodedString()
  private static let wrongSHA = "sha-256=:\(Data(repeating: 7, count: 32).base64EncodedString()):"

  private func name(_ text: String) throws -> HTTPField.Name { try #require(HTTPField.Name(text)) }

  private func reprDigest(_ text: String) throws -> String {
    "sha-256=:\(Data(try ContentDigests(of: Array(text.utf8)).sha256.bytes).base64EncodedString()):"
  }

  @Test func a304WithAnotherETagIsAskedAgainWithoutConditions() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"")
      try await fixture.load("/a")
      fixture.serve("/a", "new", etag: "\"2\"")
      fixture.origin.script("/a", [.always304])
      #expect(try await fixture.load("/a").text == "new")
      #expect(fixture.origin.requests.map { $0.headers[.ifNoneMatch] } == [nil, "\"1\"", nil])
      #expect(fixture.origin.requests.last?.headers[.cacheControl] == "no-cache")
      #expect(try await fixture.stored("/a") == "new")
    }
  }

  /// RFC 9111 §4.1.
  @Test(
    "a response that is confirmed with a Vary answers only requests like the confirmed one",
    arguments: [HTTPRequest.Method.get, .head])
  func varyOfAConfirmation(_ confirming: HTTPRequest.Method) async throws {
    try await ResourceFixture.running { fixture in
      fixture.origin.respond("/a") { request in
        let language = request.headers[.acceptLanguage] ?? "none"
        var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"\(language)\""]
        let confirms = request.headers[.ifNoneMatch] == "\"de\"" || request.method == .head
        if confirms || language != "de" { fields[.vary] = "Accept-Language" }
        return request.headers[.ifNoneMatch] == "\"de\""
          ? OriginResponse(status: .notModified, headers: fields)
          : OriginResponse(headers: fields, body: language.utf8)
      }
      func load(_ language: String, method: HTTPRequest.Method = .get) async throws -> Answer {
        try await fixture.load("/a", method: method, fields: [.acceptLanguage: language])
      }
      #expect(try await load("de").text == "de")
      fixture.time.advance(61)
      try await _ = load("de", method: confirming)
      let french = try await load("fr")
      #expect((french.text, french.source) == ("fr", .network))
      let german = try await load("de")
      #expect((german.text, german.source.isCache) == ("de", true))
    }
  }

  @Test(arguments: [("Repr-Digest", wrongSHA), ("Content-MD5", wrongMD5)])
  func a304WhoseDigestIsNotThatOfTheStoredBytesIsAskedAgain(_ field: String, _ digest: String) async throws {
    try await ResourceFixture.running(.init(memoryCapacity: 0)) { fixture in
      fixture.serve("/a", "old", etag: "\"1\"")
      try await fixture.load("/a")
      fixture.serve("/a", "new", etag: "\"1\"", headers: [try name(field): digest])
      fixture.origin.script("/a", [.always304])
      #expect(try await fixture.load("/a").text == "new")
      #expect(fixture.origin.requestCount(path: "/a") == 3)
      try await fixture.waitUntilIdle()
    }
  }

  @Test func a304WithTheDigestOfTheStoredBytesIsBelieved() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"", headers: [try name("Repr-Digest"): try reprDigest("old")])
      try await fixture.load("/a")
      #expect(try await fixture.load("/a").source == .revalidated)
      #expect(fixture.origin.requestCount(path: "/a") == 2)
    }
  }

  @Test func aServerThatOnlyAnswers304IsAFailureAndIsAskedTwiceAtMost() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"")
      try await fixture.load("/a")
      fixture.serve("/a", "new", etag: "\"1\"", headers: [try name("Repr-Digest"): Self.wrongSHA])
      fixture.origin.always("/a", .always304)
      await #expect(throws: TransportError.self) { try await fixture.load("/a", .reloadRevalidatingCacheData) }
      #expect(fixture.origin.requestCount(path: "/a") == 3)
      #expect(try await fixture.load("/a").text == "old")
      try await fixture.waitUntilIdle()
    }
  }

  @Test func anAnswerWhoseReprDigestIsWrongIsNotStored() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/sha", "text", headers: [try name("Repr-Digest"): Self.wrongSHA])
      fixture.serve("/md5", "text", headers: [try name("Content-MD5"): Self.wrongMD5])
      fixture.serve("/right", "text", headers: [try name("Repr-Digest"): try reprDigest("text")])
      for path in ["/sha", "/md5", "/right"] { #expect(try await fixture.load(path).text == "text") }
      #expect(try await fixture.stored("/sha") == nil)
      // What Content-MD5 speaks of servers never agreed on.
      #expect(try await fixture.stored("/md5") == "text")
      #expect(try await fixture.stored("/right") == "text")
    }
  }

  /// RFC 9530 §2.
  @Test("a response whose Content-Digest is wrong is not stored")
  func contentDigest() async throws {
    try await ResourceFixture.running { fixture in
      func digest(_ text: String) throws -> String {
        var digester = try Digester.sha512()
        digester.update(Array(text.utf8))
        return "sha-512=:\(Data(try digester.finish().bytes).base64EncodedString()):"
      }
      let rows = [
        ("/wrong", Self.wrongSHA, false), ("/right", try reprDigest("text"), true),
        ("/right-512", try digest("text"), true), ("/wrong-512", try digest("other"), false),
        ("/one-of-two", "\(try reprDigest("text")), \(try digest("other"))", false),
        ("/unknown", "sha-1024=:AAAA:", true), ("/nonsense", "nonsense", true),
      ]
      for (path, value, isStored) in rows {
        fixture.serve(path, "text", headers: [try name("Content-Digest"): value])
        #expect(try await fixture.load(path).text == "text")
        try await fixture.waitUntilIdle()
        #expect(try await fixture.stored(path) == (isStored ? "text" : nil), "\(path)")
      }
    }
  }

  @Test("the Content-Digest of a part is of that part, and of a completed response that of the first one")
  func contentDigestOfParts() async throws {
    try await ResourceFixture.running { fixture in
      let text = String((0..<2000).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })
      for (path, value, isKept) in [
        ("/right", try reprDigest(text), true), ("/wrong", try reprDigest("other"), false),
      ] {
        fixture.serve(
          path, text, etag: "\"1\"", cacheControl: "max-age=60", headers: [try name("Content-Digest"): value])
        fixture.origin.script(path, [.resetAfter(bytes: 1200)])
        await #expect(throws: TransportError.self) { try await fixture.load(path) }
        try await fixture.waitUntilIdle()
        #expect(try await fixture.stored(path) != nil)
        #expect(try await fixture.load(path).text == text)
        try await fixture.waitUntilIdle()
        #expect(try await fixture.stored(path) == (isKept ? text : nil), "\(path)")
      }
    }
  }

  @Test func aDigestThatCameWithTheBytesDoesNotContradictThem() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", etag: "\"1\"", headers: [try name("Content-MD5"): Self.wrongMD5])
      for _ in 0..<2 { #expect(try await fixture.load("/a").text == "text") }
      #expect(fixture.origin.requestCount(path: "/a") == 2)
    }
  }

  /// 300 KiB at `/large`, from a server that takes no notice of conditions.
  private func serveLarge(_ fixture: ResourceFixture, etag: String, seed: UInt64 = 1) -> [UInt8] {
    var generator = SeededGenerator(seed: seed)
    let bytes = generator.bytes(300 << 10)
    fixture.origin.respond("/large") { request in
      OriginResponse(headers: [.eTag: etag], body: request.method == .head ? [] : bytes)
    }
    return bytes
  }

  @Test func aServerThatIgnoresConditionsIsAskedByHeadTheNextTime() async throws {
    try await ResourceFixture.running { fixture in
      let bytes = serveLarge(fixture, etag: "\"1\"")
      try await fixture.load("/large")
      #expect(try await fixture.load("/large").source == .network)
      fixture.origin.respond("/large") { request in
        OriginResponse(headers: [.eTag: "\"1\"", .contentLength: "\(bytes.count)"], body: bytes)
      }
      let answer = try await fixture.load("/large")
      #expect(answer.source == .revalidated)
      #expect(answer.bytes == bytes)
      #expect(fixture.origin.requests.map(\.method) == [.get, .get, .head])
      try await fixture.waitUntilIdle()
    }
  }

  @Test func aHeadThatTellsOfAChangeIsFollowedByAGet() async throws {
    try await ResourceFixture.running { fixture in
      _ = serveLarge(fixture, etag: "\"1\"")
      try await fixture.load("/large")
      try await fixture.load("/large")
      let changed = serveLarge(fixture, etag: "\"2\"", seed: 2)
      #expect(try await fixture.load("/large").bytes == changed)
      #expect(fixture.origin.requests.map(\.method) == [.get, .get, .head, .get])
    }
  }

  @Test func smallBodiesAndHonestServersAreNotAskedByHead() async throws {
    try await ResourceFixture.running { fixture in
      fixture.origin.respond("/small") { _ in OriginResponse(headers: [.eTag: "\"1\""], body: "text".utf8) }
      var generator = SeededGenerator(seed: 3)
      fixture.origin.serve("/honest", generator.bytes(300 << 10), etag: "\"1\"")
      for _ in 0..<4 {
        try await fixture.load("/small")
        try await fixture.load("/honest")
      }
      #expect(!fixture.origin.requests.contains { $0.method == .head })
    }
  }
}
