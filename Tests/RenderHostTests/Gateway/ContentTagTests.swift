import HTTPTypes
import PageTesting
import Testing

@testable import CacheGateway
@testable import RenderHost

/// `ETag`s that are computed from the content, for an origin without validators.
@Suite(.timeLimit(.minutes(2)))
struct ContentTagTests {
  private func running(_ body: (GatewayFixture) async throws -> Void) async throws {
    try await GatewayFixture.running({ $0.gateway.origins[0].tagLimit = 1000 }, body)
  }

  @Test("a client with the content gets a 304, also for responses that are not stored")
  func contentTags() async throws {
    try await running { fixture in
      for (path, control) in [("/kept", "max-age=60"), ("/private", "private, max-age=60"), ("/none", "no-store")] {
        fixture.origin.serve(path, Array("abc".utf8), headers: [.cacheControl: control])
        let first = try await fixture.get(path)
        let tag = try #require(first["etag"])
        #expect(first.status == 200 && first.body == "abc" && tag.hasPrefix("\""))
        let second = try await fixture.get(path, ["If-None-Match: \(tag)"])
        #expect(second.status == 304 && second.body.isEmpty && second["etag"] == tag, "\(path)")
        #expect(try await fixture.get(path, ["If-None-Match: \"other\""]).status == 200)
        fixture.origin.serve(path, Array("abd".utf8), headers: [.cacheControl: control])
        if path != "/kept" { #expect(try await fixture.get(path, ["If-None-Match: \(tag)"]).body == "abd") }
      }
    }
  }

  @Test("a client with the content gets a 304 for a response that is stored only then")
  func unstoredContent() async throws {
    try await running { fixture in
      fixture.origin.serve("/a", Array("abc".utf8), headers: [.cacheControl: "max-age=60"])
      fixture.origin.serve("/b", Array("abc".utf8), headers: [.cacheControl: "max-age=60"])
      let tag = try #require(try await fixture.get("/a")["etag"])
      #expect(try await fixture.get("/b", ["If-None-Match: \(tag)"]).status == 304)
      // It was stored all the same.
      #expect(try await fixture.get("/b").body == "abc")
    }
  }

  @Test("responses above the limit or with validators are unchanged")
  func untaggedResponses() async throws {
    try await running { fixture in
      fixture.origin.serve("/long", [UInt8](repeating: 65, count: 1001))
      let long = try await fixture.get("/long")
      #expect(long["etag"] == nil && long.body.count == 1001)
      fixture.origin.serve("/own", [65], etag: "\"mine\"")
      #expect(try await fixture.get("/own")["etag"] == "\"mine\"")
    }
  }

  @Test("a body of unknown length is complete")
  func unknownLength() async throws {
    try await running { fixture in
      for count in [3, 1000, 5000] {
        let body = String(repeating: "x", count: count)
        fixture.origin.serve("/\(count)", Array(body.utf8))
        fixture.origin.always("/\(count)", .chunked)
        let answer = try await fixture.get("/\(count)")
        #expect((answer["etag"] != nil) == (count <= 1000))
        #expect(answer.body.filter { $0 == "x" }.count == count)
      }
    }
  }

  @Test(
    "only complete responses are tagged",
    arguments: [
      (HTTPResponse.Status.ok, [:], true), (.ok, [.contentLength: "11"], false), (.ok, [.contentLength: "10"], true),
      (.ok, [.eTag: "\"a\""], false), (.ok, [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"], false),
      (.ok, [.contentType: "Text/Event-Stream; charset=utf-8"], false), (.notFound, [:], false),
      (.partialContent, [:], false),
    ] as [(HTTPResponse.Status, HTTPFields, Bool)])
  func completeResponses(_ status: HTTPResponse.Status, _ fields: HTTPFields, _ isTagged: Bool) {
    #expect(ContentTags.wantsTag(HTTPResponse(status: status, headerFields: fields), limit: 10) == isTagged)
  }
}
