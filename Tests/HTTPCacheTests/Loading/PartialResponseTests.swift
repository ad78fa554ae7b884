import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@testable import HTTPCache
@testable import HTTPTransport

struct PartialResponseTests {
  private static let text = String((0..<2000).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })

  private func cut(_ fixture: ResourceFixture, etag: String?) async throws {
    fixture.serve("/a", Self.text, etag: etag, cacheControl: "max-age=60")
    fixture.origin.script("/a", [.resetAfter(bytes: 1200)])
    await #expect(throws: TransportError.self) { try await fixture.load("/a") }
    try await fixture.waitUntilIdle()
  }

  @Test func aCutDownloadWithAStrongETagGoesOnWhereItEnded() async throws {
    try await ResourceFixture.running { fixture in
      try await cut(fixture, etag: "\"1\"")
      let count = try #require(try await fixture.stored("/a")?.utf8.count)
      #expect(count > 0 && count <= 1200)
      let answer = try await fixture.load("/a")
      #expect((answer.status, answer.text) == (200, Self.text))
      #expect(answer.fields[.contentLength] == "2000")
      let last = try #require(fixture.origin.requests.last)
      #expect((last.headers[.range], last.headers[.ifRange]) == ("bytes=\(count)-", "\"1\""))
      #expect(try await fixture.load("/a").source.isCache)
      #expect(fixture.origin.requests.count == 2)
    }
  }

  @Test func aSecondCutKeepsBothParts() async throws {
    try await ResourceFixture.running { fixture in
      try await cut(fixture, etag: "\"1\"")
      let count = try #require(try await fixture.stored("/a")?.utf8.count)
      fixture.origin.script("/a", [.resetAfter(bytes: 100)])
      await #expect(throws: TransportError.self) { try await fixture.load("/a") }
      try await fixture.waitUntilIdle()
      let more = try #require(try await fixture.stored("/a")?.utf8.count)
      #expect(more >= count)
      #expect(try await fixture.load("/a").text == Self.text)
      #expect(fixture.origin.requests.last?.headers[.range] == "bytes=\(more)-")
    }
  }

  @Test func aChangedETagStartsOver() async throws {
    try await ResourceFixture.running { fixture in
      try await cut(fixture, etag: "\"1\"")
      let changed = String(Self.text.reversed())
      fixture.serve("/a", changed, etag: "\"2\"", cacheControl: "max-age=60")
      #expect(try await fixture.load("/a").text == changed)
      #expect(try await fixture.stored("/a") == changed)
      #expect(fixture.origin.requests.count == 2)
    }
  }

  @Test(arguments: [Fault.wrongETagOn206, .wrongRange])
  func a206ThatDoesNotFitIsNotJoined(_ fault: Fault) async throws {
    try await ResourceFixture.running { fixture in
      try await cut(fixture, etag: "\"1\"")
      fixture.origin.script("/a", [fault])
      #expect(try await fixture.load("/a").text == Self.text)
      #expect(fixture.origin.requests.last?.headers[.range] == nil)
      #expect(try await fixture.stored("/a") == Self.text)
    }
  }

  @Test func a206ThatIsShorterThanItSaysIsNotTakenForTheRest() async throws {
    try await ResourceFixture.running { fixture in
      try await cut(fixture, etag: "\"1\"")
      let count = try #require(try await fixture.stored("/a")?.utf8.count)
      fixture.origin.respond("/a") { _ in
        OriginResponse(
          status: .partialContent, headers: [.eTag: "\"1\"", .contentRange: "bytes \(count)-1999/2000"],
          body: "short".utf8)
      }
      await #expect(throws: TransportError.self) { try await fixture.load("/a") }
      try await fixture.waitUntilIdle()
      // The part that came stays, as of a connection that was cut.
      #expect(try await fixture.stored("/a")?.utf8.count == count + 5)
    }
  }

  @Test func partsThatMakeSomethingElseThanPromisedAreForgotten() async throws {
    try await ResourceFixture.running { fixture in
      let digest = try #require(HTTPField.Name("Repr-Digest"))
      try await cut(fixture, etag: "\"1\"")
      // The server says now what the whole is, and it is not that.
      let wrong = "sha-256=:\(String(repeating: "A", count: 43))=:"
      fixture.serve("/a", Self.text, etag: "\"1\"", headers: [digest: wrong])
      try await fixture.load("/a")
      try await fixture.waitUntilIdle()
      #expect(try await fixture.stored("/a") == nil)
    }
  }

  @Test(arguments: [nil, "W/\"1\""])
  func withoutAStrongValidatorNothingOfACutDownloadIsStored(_ etag: String?) async throws {
    try await ResourceFixture.running { fixture in
      try await cut(fixture, etag: etag)
      #expect(try await fixture.stored("/a") == nil)
      #expect(try await fixture.load("/a").text == Self.text)
      #expect(fixture.origin.requests.last?.headers[.range] == nil)
    }
  }

  @Test func rangesAreStoredJoinedAndUsedAgain() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", Self.text, etag: "\"1\"", cacheControl: "max-age=60")
      func range(_ range: String) async throws -> (String, Resource.Source, Int) {
        let answer = try await fixture.load("/a", fields: [.range: "bytes=\(range)"])
        return (answer.text, answer.source, answer.status)
      }
      let bytes = Array(Self.text.utf8)
      func expected(_ range: ClosedRange<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
      #expect(try await range("100-199") == (expected(100...199), .network, 206))
      #expect(try await range("120-150").1.isCache)
      #expect(try await range("200-299") == (expected(200...299), .network, 206))
      let joined = try await range("150-250")
      #expect((joined.0, joined.1.isCache, joined.2) == (expected(150...250), true, 206))
      #expect(fixture.origin.requests.count == 2)
      #expect(try await range("250-350").1 == .network)
      #expect(try await range("100-350") == (expected(100...350), .memory, 206))
      #expect(try await fixture.load("/a").text == Self.text)
      #expect(try await range("1990-").0 == expected(1990...1999))
      #expect(try await range("-5").0 == expected(1995...1999))
      #expect(try await range("5000-").2 == 416)
      #expect(fixture.origin.requests.count == 4)
    }
  }

  @Test func partsOfOtherContentAreNotJoined() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", Self.text, etag: "\"1\"", cacheControl: "max-age=60")
      try await fixture.load("/a", fields: [.range: "bytes=0-99"])
      fixture.serve("/a", String(Self.text.reversed()), etag: "\"2\"", cacheControl: "max-age=60")
      try await fixture.load("/a", fields: [.range: "bytes=100-199"])
      #expect(try await fixture.stored("/a")?.utf8.count == 100)
      #expect(try await fixture.load("/a").text == String(Self.text.reversed()))
    }
  }
}
