import HTTPTypes
import PageKit
import Testing

@testable import RenderHost

@Suite(.serialized) struct PageRoutesTests {
  @Test func aPageIsOpenedShownFiredAtAndClosed() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let opened = try await farm.ask(.post, "/pages", #"{"name":"counter"}"#)
      #expect(opened.status == 201)
      let id = try #require(opened.json["id"].text)
      #expect(opened.headers[.location] == "/pages/\(id)")
      #expect(opened.json["tree"]["type"].text == "div")
      #expect(opened.json["timings"]["evaluated"] != .null)
      let ref = try #require(opened.json["tree"]["children"].list.first?["ref"].text)

      let fired = try await farm.ask(.post, "/pages/\(id)/fire", #"{"ref":"\#(ref)","type":"click"}"#)
      #expect(fired.status == 200)
      let outline = try await farm.ask(.get, "/pages/\(id)", headers: [.accept: "text/plain"])
      #expect(outline.text.contains("clicks: 1"))
      #expect(try await farm.ask(.get, "/pages/\(id)?format=json").json["id"].text == id)
      #expect(try await farm.ask(.get, "/pages").json["pages"].list.count == 1)

      let preview = try await farm.ask(.get, "/pages/\(id)/preview")
      #expect(preview.text.contains("clicks: 1"))
      #expect(preview.headers[.contentSecurityPolicy]?.contains("default-src 'none'") == true)

      #expect(try await farm.ask(.delete, "/pages/\(id)").status == 204)
      #expect(try await farm.ask(.get, "/pages/\(id)").status == 404)
    }
  }

  @Test func aPageIsRenderedInOneGo() async throws {
    let script = Script.page(
      "b.appendChild(d.createElement('text', { attr: { value: 'hello ' + weex.config.bundleUrl } }))")
    try await PageFarm.running(["hello": script], workers: 1) { farm in
      let url = farm.origin.url(for: "/b/hello.js")
      #expect(try await farm.ask(.get, "/render?url=\(url)&format=outline").text.contains("hello \(url)"))
      #expect(try await farm.ask(.get, "/render?name=hello").text.contains("<!doctype html>"))
      #expect(try await farm.ask(.get, "/render?name=hello&format=json").json["tree"]["type"].text == "div")
      #expect(try await farm.ask(.get, "/render?name=hello&format=pdf").status == 400)
      #expect(await farm.running.directory.count == 0)
    }
  }

  @Test func whatAPageFetchesComesThroughTheDaemon() async throws {
    let script = Script.page(
      """
      var t = d.createElement('text', { attr: { value: 'nothing' } }); b.appendChild(t)
      weex.requireModule('stream').fetch({ url: '/api/list.json', type: 'json' }, function (r) {
        weex.requireModule('storage').setItem('a', r.data.word, function () {
          weex.requireModule('storage').getItem('a', function (s) { t.setAttr('value', 'word: ' + s.data) }) }) })
      """)
    try await PageFarm.running(["list": script], workers: 1) { farm in
      farm.origin.serve("/api/list.json", Array(#"{"word":"lamp"}"#.utf8), contentType: "application/json")
      #expect(try await farm.ask(.get, "/render?name=list&format=outline").text.contains("word: lamp"))
    }
  }

  @Test func aPageIsNoWayToOtherServers() async throws {
    let script = Script.page(
      """
      var t = d.createElement('text', { attr: { value: '' } }); b.appendChild(t)
      weex.requireModule('stream').fetch({ url: 'http://127.0.0.1:1/', type: 'text' }, function (r) {
        t.setAttr('value', 'told: ' + r.data) })
      """)
    try await PageFarm.running(["list": script], workers: 1) { farm in
      #expect(try await farm.ask(.get, "/render?name=list&format=outline").text.contains("told: http://127.0.0.1:1/ is not"))
      let opened = try await farm.ask(.post, "/pages", #"{"url":"http://169.254.169.254/latest"}"#)
      #expect(opened.status == 403)
      #expect(opened.json["rule"].text == "origin")
      #expect(try await farm.ask(.get, "/render?url=file:///etc/passwd").status == 403)
      #expect(try await farm.ask(.get, "/resources?url=http://localhost:\(farm.origin.port)/manifest.json").status == 403)
      #expect(try await farm.ask(.get, "/resources?url=file:///etc/passwd").status == 403)
      let found = try await farm.ask(.get, "/resources?url=\(farm.origin.url(for: "/manifest.json"))")
      #expect(found.status == 200)
      #expect(found.headers[.contentSecurityPolicy]?.contains("sandbox") == true)
    }
  }

  @Test func aPageThatThrowsIsAnsweredWithItsError() async throws {
    try await PageFarm.running(["bad": Script.page("\nundefinedThing.x()"), "ok": Script.counter], workers: 1) { farm in
      let answer = try await farm.ask(.post, "/pages", #"{"name":"bad"}"#)
      #expect(answer.status == 422)
      #expect(answer.json["exception"]["message"].text?.contains("undefinedThing") == true)
      #expect(answer.json["exception"]["line"].count == 4)
      #expect(await farm.running.directory.count == 0)
      #expect(try await farm.ask(.post, "/pages", #"{"name":"none"}"#).status == 404)
      #expect(try await farm.ask(.post, "/pages", "{").status == 400)
      #expect(try await farm.ask(.post, "/pages", "{}").status == 400)
      #expect(try await farm.ask(.post, "/pages", #"{"url":"\#(farm.origin.url(for: "/none.js"))"}"#).status == 404)
      #expect(try await farm.ask(.get, "/pages/none").status == 404)
      let id = try await farm.open("ok")
      #expect(try await farm.ask(.post, "/pages/\(id)/fire", "[]").status == 400)
    }
  }

  @Test func theNumberOfPagesIsBounded() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1, change: { $0.pages = 2 }) { farm in
      _ = try await farm.open("counter")
      let second = try await farm.open("counter")
      let third = try await farm.ask(.post, "/pages", #"{"name":"counter"}"#)
      #expect(third.status == 503)
      #expect(third.headers[.retryAfter] == "1")
      _ = try await farm.ask(.delete, "/pages/\(second)")
      _ = try await farm.open("counter")
    }
  }

  @Test func pagesThatNobodyAsksForExpire() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1, change: { $0.pageIdle = .seconds(60) }) { farm in
      let id = try await farm.open("counter")
      let log = try await farm.log(of: id)
      await farm.running.directory.expire(at: .now + .seconds(59))
      #expect(try await farm.ask(.get, "/pages/\(id)").status == 200)
      await farm.running.directory.expire(at: .now + .seconds(61))
      #expect(try await farm.ask(.get, "/pages/\(id)").status == 404)
      #expect(await log.names(after: 0).last == "expired")
    }
  }

  @Test func otherDataRefreshesAPage() async throws {
    let script = Script.page("b.appendChild(d.createElement('text', { attr: { value: 'a' } }))")
    try await PageFarm.running(["page": script], workers: 1) { farm in
      let id = try await farm.open("page")
      #expect(try await farm.ask(.post, "/pages/\(id)/refresh", #"{"data":{"a":1}}"#).status == 200)
      #expect(try await farm.ask(.post, "/pages/\(id)/refresh", "{}").status == 400)
    }
  }
}

extension EventLog {
  /// What there is by now.
  func names(after id: Int) async -> [String] {
    if case .events(let events, _) = await next(after: id, within: .zero) { events.map(\.name) } else { [] }
  }
}
