import Foundation
import HTTPCache
import HTTPTransport
import HTTPTypes
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// Handlers that stand between pages and the loader.
@Suite(.timeLimit(.minutes(5))) struct RequestHandlerTests {
  @Test("a request handler answers instead of the loader")
  func answering() async throws {
    struct Loud: ResourceRequestHandling {
      func updates(for request: ResourceRequest, next: @escaping Next) -> AsyncStream<ResourceUpdate> {
        var request = request
        request.fields[.accept] = "text/loud"
        return next(request)
      }
    }
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.respond("/*") { OriginResponse(body: Array(($0.headers[.accept] ?? "").utf8)) }
      let token = fixture.registry.register(.glob("/loud*"), Loud())
      func fetched(_ path: String) async throws -> String? {
        try await fixture.shown(
          "weex.requireModule('stream').fetch({ url: '\(path)', type: 'text' }, function (r) { show(r.data) })"
        )
      }
      let (loud, quiet) = (try await fetched("/loud1"), try await fetched("/quiet"))
      #expect((loud, quiet) == ("text/loud", "*/*"))
      token.remove()
      let later = try await fetched("/loud2")
      #expect(later == "*/*")
    }
  }

  private static func fetch(_ url: String) -> String {
    "module('stream').fetch({ url: '\(url)' }, function (r) { say([r.status, r.data]) })"
  }

  @Test("a handler's answer is stored as it says")
  func storing() async throws {
    struct Fixed: ResourceAnswering {
      let storage: HandledResponse.Storage
      func response(to request: ResourceRequest, _ exchange: ResourceExchange) async throws -> HandledResponse {
        HandledResponse(
          fields: [.cacheControl: "max-age=60", .contentEncoding: "gzip"], bytes: Array("mine".utf8), storage: storage)
      }
    }
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try await fixture.origin.refuseConnections()
      let cases: [(String, HandledResponse.Storage, isStored: Bool, isFresh: Bool)] = [
        ("/none", .none, false, false), ("/said", .asTheServerSaid, true, true),
        ("/long", .lifetime(.seconds(60)), true, true), ("/each", .askingEachTime, true, false),
      ]
      for (path, storage, isStored, isFresh) in cases {
        let token = fixture.registry.register(.glob(path), Fixed(storage: storage))
        let first = try await fixture.shown(Self.fetch(path))
        #expect(first == #"[[200,"mine"]]"#, "\(path)")
        token.remove()
        // The handler and the server are gone.
        let later = try await fixture.shown(Self.fetch(path))
        #expect(later?.contains("mine") == isStored, "\(path): \(later ?? "")")
        var request = ResourceRequest(fixture.origin.url(for: path), behavior: .protocolCache)
        request.fields[.cacheControl] = "only-if-cached"
        let status = try? await fixture.loader.response(for: request).status
        #expect((status == 200) == isFresh, "\(path): \(status ?? 0)")
      }
      #expect(fixture.origin.requests.isEmpty)
    }
  }

  /// Asks for newer items, and adds them to the stored list.
  private struct NewerItems: ResourceAnswering {
    func response(to request: ResourceRequest, _ exchange: ResourceExchange) async throws -> HandledResponse {
      var items = try await exchange.stored()?.decoded(as: [Int].self) ?? []
      var question = request
      question.reference += "?since=\(items.last ?? 0)"
      items += try await exchange.response(to: question).decoded(as: [Int].self)
      return try .json(items, storage: .askingEachTime)
    }
  }

  @Test("a handler may fetch the newer part and store the whole")
  func merging() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/items?since=0", Array("[1,2]".utf8), headers: [.cacheControl: "max-age=600"])
      fixture.origin.serve("/items?since=2", Array("[3]".utf8), headers: [.cacheControl: "max-age=600"])
      let token = fixture.registry.register(.glob("/items"), types: [.fetch], NewerItems())
      #expect(try await fixture.shown(Self.fetch("/items")) == #"[[200,"[1,2]"]]"#)
      #expect(try await fixture.shown(Self.fetch("/items")) == #"[[200,"[1,2,3]"]]"#)
      try await fixture.origin.refuseConnections()
      #expect(try await fixture.shown(Self.fetch("/items")) == #"[[200,"[1,2,3]"]]"#)
      token.remove()
      #expect(try await fixture.shown(Self.fetch("/items")) == #"[[200,"[1,2,3]"]]"#)
      // The handler's own request is not stored.
      let stored = try await fixture.loader.cache.store.list().map(\.key.name)
      #expect(stored == [fixture.origin.url(for: "/items")])
    }
  }

  @Test("under cacheThenNetwork a handler's answer comes after the stored one")
  func cacheThenNetwork() async throws {
    let rule = ResourceRule(.glob("/items*"), behavior: .cacheThenNetwork)
    try await PageFixture.running(rules: [rule]) { (fixture: PageFixture) async throws in
      fixture.origin.serve("/items?since=0", Array("[1]".utf8))
      fixture.origin.serve("/items?since=1", Array("[2]".utf8))
      fixture.origin.serve("/items?since=2", Array("[]".utf8))
      fixture.registry.register(.glob("/items"), NewerItems())
      let shown = try await fixture.shown(Self.fetch("/items"))
      #expect(shown == #"[[200,"[1]"]]"#)
      #expect(try await fixture.shown(Self.fetch("/items")) == #"[[200,"[1]"],[200,"[1,2]"]]"#)
      #expect(try await fixture.shown(Self.fetch("/items")) == #"[[200,"[1,2]"]]"#)
    }
  }

  @Test("a transform changes requests on their way out and answers on their way back")
  func transforming() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.respond("/*") { request in
        OriginResponse(
          headers: [.cacheControl: "max-age=60"], body: Array((request.headers[.authorization] ?? "").utf8))
      }
      fixture.registry.register(
        where: { request, _ in request.type == .fetch },
        RequestTransform(
          request: { $0.fields[.authorization] = "me" },
          response: { response, _ in
            response.bytes = Array("\(response.text)!".utf8)
          }))
      for _ in 0..<2 { #expect(try await fixture.shown(Self.fetch("/a")) == #"[[200,"me!"]]"#) }
      // The server's answer is stored, not the changed one.
      let stored = try await fixture.loader.response(
        for: ResourceRequest(fixture.origin.url(for: "/a"), behavior: .cacheOnly))
      #expect(try await stored.body.collect() == Array("me".utf8))
    }
  }

  @Test("the page gets the error that a handler throws")
  func throwing() async throws {
    struct Refused: Error, CustomStringConvertible { let description = "not today" }
    struct Refusing: ResourceAnswering {
      func response(to request: ResourceRequest, _ exchange: ResourceExchange) async throws -> HandledResponse {
        throw Refused()
      }
    }
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.register(.glob("/a"), RequestTransform(request: { _ in throw Refused() }))
      fixture.registry.register(.glob("/b"), Refusing())
      for path in ["/a", "/b"] { #expect(try await fixture.shown(Self.fetch(path)) == #"[[-1,"not today"]]"#) }
      #expect(fixture.origin.requests.isEmpty)
    }
  }

  @Test("the newest handler comes first and may ask the next one")
  func order() async throws {
    struct Adding: ResourceAnswering {
      let word: String
      func response(to request: ResourceRequest, _ exchange: ResourceExchange) async throws -> HandledResponse {
        var answer = try await exchange.response()
        answer.bytes += Array(word.utf8)
        answer.storage = .none
        return answer
      }
    }
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/a", Array("server".utf8))
      fixture.registry.register(Adding(word: " one"))
      fixture.registry.register(types: [.image], Adding(word: " none"))
      fixture.registry.register(Adding(word: " two"))
      #expect(try await fixture.shown(Self.fetch("/a")) == #"[[200,"server one two"]]"#)
    }
  }

  @Test("a request without a URL can be answered too")
  func withoutURL() async throws {
    struct Assets: ResourceAnswering {
      func response(to request: ResourceRequest, _ exchange: ResourceExchange) async throws -> HandledResponse {
        HandledResponse(bytes: Array(request.reference.utf8), storage: .lifetime(.seconds(9)))
      }
    }
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.register(where: { request, _ in request.reference.hasPrefix("asset:") }, Assets())
      #expect(try await fixture.shown(Self.fetch("asset:cart")) == #"[[200,"asset:cart"]]"#)
    }
  }
}
