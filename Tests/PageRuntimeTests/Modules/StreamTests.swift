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

  @Test(
    "members of JSON keep the server's order",
    arguments: [
      ("json", #"{"z": 1, "a": {"y": 2, "b": 3}, "__proto__": 4, "m": "é😀"}"#, #"["z","a","__proto__","m"]"#),
      ("json", "\u{FEFF}{\"z\": 1, \"a\": 2}", #"["z","a"]"#), ("json", #"{"z": 1, "a": 2,}"#, #"["a","z"]"#),
      ("jsonp", #"call({"z": 1, "a": 2})"#, #"["z","a"]"#), ("json", #"["z", "a"]"#, #"["0","1"]"#),
    ])
  func order(_ type: String, _ body: String, _ keys: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/data", Array(body.utf8))
      let shown = try await fixture.shown(
        "module('stream').fetch({ url: '/data', type: '\(type)' }, function (r) { show(Object.keys(r.data)) })")
      #expect(shown == keys)
    }
  }

  @Test("JSON that is nested too deep is given as text")
  func deepJSON() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      for (depth, kind) in [(512, "object"), (513, "string"), (100_000, "string")] {
        let body = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        fixture.origin.serve("/\(depth)", Array(body.utf8))
        let shown = try await fixture.shown(
          "module('stream').fetch({ url: '/\(depth)', type: 'json' }, function (r) { show(typeof r.data) })")
        #expect(shown == kind)
      }
    }
  }

  @Test(
    "text is decoded by the charset of its media type",
    arguments: [
      ("text/html; charset=GBK", [0xC4, 0xE3, 0xBA, 0xC3], "你好"), ("text/html;charset=\"gb2312\"", [0xC4, 0xE3], "你"),
      // 镕 is in GBK and not in GB 2312.
      ("text/html; charset=gb2312", [0xE9, 0x46], "镕"), ("application/json; Charset=gb18030", [0xC4, 0xE3], "你"),
      ("text/plain; charset=big5", [0xA7, 0x41], "你"), ("text/plain; charset=Shift_JIS", [0x82, 0xA0], "あ"),
      ("text/plain; charset=ISO-8859-1", [0xE9], "é"), ("text/plain; charset=euc-kr", [0xB0, 0xA1], "가"),
      // The Hangul that Windows adds.
      ("text/plain; charset=euc-kr", [0x81, 0x41], "갂"), ("text/plain; charset=ks_c_5601-1987", [0xB0, 0xA1], "가"),
      // Characters of ASCII, JIS X 0208, JIS X 0201 and JIS X 0212.
      ("text/plain; charset=EUC-JP", [0x61, 0xA4, 0xA2, 0xB4, 0xC1, 0x8E, 0xB1, 0x62, 0x8F, 0xB0, 0xA1], "aあ漢ｱb丂"),
      ("text/plain; charset=x-euc-jp", [0xAD, 0xA1], "①"), ("text/plain; charset=sjis", [0x82, 0xA0], "あ"),
      ("text/plain; charset=big5-hkscs", [0x87, 0x40], "䏰"), ("text/plain; charset=iso-8859-7", [0xE1], "α"),
      ("text/plain; charset=windows-1251", [0xC4], "Д"), ("text/plain; charset=windows-1256", [0xC7], "ا"),
      ("text/plain; charset=koi8-r", [0xC4], "д"), ("text/plain; charset=iso-8859-15", [0xA4], "€"),
      ("text/plain; charset=utf-8", [0xC3, 0xA9], "é"),
      ("text/plain; charset=nonsense", [0xC3, 0xA9], "é"), ("text/plain; charset=", [0xC3, 0xA9], "é"),
      // Bytes that do not fit are read as UTF-8.
      ("text/plain; charset=gbk", [0xFF, 0x41], "\u{FFFD}A"), ("text/plain", [0xC3, 0xA9], "é"),
      ("text/plain; charset=euc-jp", [0xC3, 0xA9, 0x8F], "é\u{FFFD}"),
      ("text/plain; charset=euc-jp", [0xC3], "\u{FFFD}"),
      ("text/plain; charset=euc-jp", [0xC3, 0x1B, 0x24], "\u{FFFD}\u{1B}$"),
    ] as [(String, [UInt8], String)])
  func charsets(_ mediaType: String, _ bytes: [UInt8], _ text: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/data", bytes, contentType: mediaType)
      #expect(
        try await fixture.shown("module('stream').fetch({ url: '/data' }, function (r) { show(r.data) })") == text)
      #expect(try await fixture.shown("module('stream').sendHttp({ url: '/data' }, show)") == text)
    }
  }

  @Test("JSON in another charset is read by it")
  func charsetOfJSON() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let bytes = Array(#"{"word":""#.utf8) + [0xC4, 0xE3] + Array(#""}"#.utf8)
      fixture.origin.serve("/data", bytes, contentType: "application/json; charset=gbk")
      let shown = try await fixture.shown(
        "module('stream').fetch({ url: '/data', type: 'json' }, function (r) { show(r.data.word) })")
      #expect(shown == "你")
    }
  }

  @Test("fetchWithArrayBuffer sends the bytes")
  func binaryBody() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.respond("/api") { request in
        OriginResponse(body: Array("\(request.method) \(request.headers[.contentType] ?? "")".utf8))
      }
      let shown = try await fixture.shown(
        """
        module('stream').fetchWithArrayBuffer(new Uint8Array([0, 255, 7]).buffer,
          { method: 'POST', url: '../api', headers: { 'Content-Type': 'a/b' } }, function (r) { show(r.data) })
        """)
      #expect(shown == "POST a/b")
      #expect(fixture.origin.requests.first?.body == [0, 255, 7])
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
