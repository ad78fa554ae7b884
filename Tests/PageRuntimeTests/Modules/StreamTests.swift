import Foundation
import HTTPCache
import HTTPTransport
import HTTPTypes
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// The answers of `stream.fetch`.
@Suite(.timeLimit(.minutes(5))) struct StreamTests {
  @Test("fetch gives the server's answer")
  func fetch() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.respond("/api") { request in
        OriginResponse(
          status: .init(code: 201), headers: [.contentType: "application/json"],
          body: Array(#"{"method": "\#(request.method)", "body": "\#(request.text)"}"#.utf8))
      }
      let shown = try await fixture.shown(
        """
        weex.requireModule('stream').fetch({ method: 'POST', url: '../api', type: 'json', body: 'a=1' }, function (r) {
          show([r.status, r.ok, r.data.method, r.data.body, r.headers['Content-Type'], 'fromCache' in r])
        })
        """)
      #expect(shown == #"[201,true,"POST","a=1","application/json",false]"#)
    }
  }

  @Test("a body that is an object is sent as the JSON of that object")
  func objectBodies() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.respond("/api") { OriginResponse(body: Array($0.text.utf8)) }
      let shown = try await fixture.shown(
        """
        var body = { a: null, b: [null, 1], c: undefined, d: '' }
        weex.requireModule('stream').fetch({ method: 'POST', url: '/api', body: body }, function (r) { show(r.data) })
        """)
      #expect(shown == #"{"a":null,"b":[null,1],"d":""}"#)
    }
  }

  @Test("a fetch that fails gives the reason")
  func failures() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.script("/cut", [.closeBeforeHead])
      let shown = try await fixture.shown(
        "weex.requireModule('stream').fetch({ url: '/cut', type: 'text' }, function (r) { show([r.status, r.ok, r.statusText]) })"
      )
      #expect(shown == #"[-1,false,"ERR_CONNECT_FAILED"]"#)
    }
  }

  @Test("the status text is the code's phrase, from the network and from the cache")
  func statusTexts() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/list", Array("[]".utf8), headers: [.cacheControl: "max-age=600"])
      let script =
        "weex.requireModule('stream').fetch({ url: '/list', type: 'json' }, function (r) { show([r.status, r.statusText]) })"
      #expect(try await fixture.shown(script) == #"[200,"OK"]"#)
      #expect(try await fixture.shown(script) == #"[200,"OK"]"#)
      fixture.origin.always("/none", .status(404))
      #expect(try await fixture.shown(script.replacing("/list", with: "/none")) == #"[404,"Not Found"]"#)
    }
  }

  @Test("under cacheThenNetwork the stored answer comes first")
  func cacheThenNetwork() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/list", Array("old".utf8), etag: "\"1\"")
      let script = """
                weex.requireModule('stream').fetch({ url: '/list', type: 'text', cache: 'cacheThenNetwork' }, function (r) {
          said.push(r.data, r.fromCache); show(said)
        })
        """
      #expect(try await fixture.shown(script) == #"["old",false]"#)
      fixture.origin.serve("/list", Array("new".utf8), etag: "\"2\"")
      #expect(try await fixture.shown(script) == #"["old",true,"new",false]"#)
      #expect(try await fixture.shown(script) == #"["new",true]"#)
    }
  }

  @Test("a request without a behaviour gets that of the host's rule")
  func hostRule() async throws {
    let rule = ResourceRule(.glob("/list*"), types: [.fetch], behavior: .cacheThenNetwork)
    try await PageFixture.running(rules: [rule]) { (fixture: PageFixture) async throws in
      fixture.origin.serve("/list", Array("old".utf8), etag: "\"1\"")
      let script = "module('stream').fetch({ url: '/list' }, function (r) { say([r.data, r.fromCache, r.status]) })"
      #expect(try await fixture.shown(script) == #"[["old",false,200]]"#)
      fixture.origin.serve("/list", Array("new".utf8), etag: "\"2\"")
      #expect(try await fixture.shown(script) == #"[["old",true,200],["new",false,200]]"#)
      #expect(try await fixture.shown(script) == #"[["new",true,200]]"#)
      try await fixture.origin.refuseConnections()
      #expect(try await fixture.shown(script) == #"[["new",true,200]]"#)
    }
  }

  @Test(
    "the body is read by its type",
    arguments: [
      ("json", #"{"a": [1, null]}"#, #"{"a":[1,null]}"#), ("json", "no json", "no json"), ("text", "{}", "{}"),
      ("jsonp", #"call({"a": 1});"#, #"{"a":1}"#), ("jsonp", "x", "x"),
    ])
  func types(_ type: String, _ body: String, _ expected: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/data", Array(body.utf8))
      let shown = try await fixture.shown(
        "module('stream').fetch({ url: '/data', type: '\(type)' }, function (r) { show(r.data) })")
      #expect(shown == expected)
    }
  }

  @Test("the script's method, fields and body are sent")
  func requests() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.respond("/api") { _ in OriginResponse() }
      _ = try await fixture.shown(
        """
        module('stream').fetch({ method: 'PUT', url: '/api', headers: { 'X-One': 1, 'b\\nad': 'x' }, body: { a: 1 } })
        """)
      let request = try #require(fixture.origin.requests.first)
      #expect(request.method == .put)
      #expect(request.headers[try #require(HTTPField.Name("X-One"))] == "1")
      #expect(request.headers[.contentType] == "application/json")
      #expect(request.text == #"{"a":1}"#)
    }
  }

  @Test("progress is called at the beginning and at the end")
  func progress() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/data", Array("12345".utf8))
      let shown = try await fixture.shown(
        """
        module('stream').fetch({ url: '/data' }, function () {}, function (p) { say([p.readyState, p.status, p.length]) })
        """)
      #expect(shown == "[[1,null,null],[4,200,5]]")
    }
  }

  @Test("a time-out is a failure")
  func timeout() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.script("/slow", [.stallBeforeHead])
      let shown = try await fixture.shown(
        "module('stream').fetch({ url: '/slow', timeout: 50 }, function (r) { show([r.status, r.ok, r.data]) })")
      #expect(shown == #"[-1,false,"the request took longer than its timeout"]"#)
    }
  }

  @Test("a request that is not allowed fails", arguments: ["file:///etc/passwd", "", "ftp://h/"])
  func forbiddenRequests(_ url: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let shown = try await fixture.shown(
        "module('stream').fetch({ url: '\(url)' }, function (r) { show([r.status, r.ok]) })")
      #expect(shown == "[-1,false]")
    }
  }
  @Test("sendHttp, the older form of fetch, gives the body as text")
  func sendHTTP() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.respond("/api") { request in
        OriginResponse(
          status: .notFound,
          body: Array("\(request.method) \(request.headers[.accept] ?? "") \(request.text)".utf8))
      }
      let shown = try await fixture.shown(
        """
        var stream = module('stream')
        stream.sendHttp({ method: 'PUT', url: '../api', header: { Accept: 'a/b' }, body: 'c' }, function (answer) {
          say(answer)
          stream.sendHttp({ method: 'GET', url: 'http://127.0.0.1:1/' }, function (answer) {
            say(answer)
            stream.sendHttp({}, say)
          })
        })
        """)
      #expect(shown == #"["PUT a/b c","",""]"#)
    }
  }
}
