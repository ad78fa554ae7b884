import Foundation
import HTTPTypes
import LivePages
import PageKit
import PageTesting
import PageWorkers
import TestSupport
import Testing

@testable import RenderHost

@Suite(.serialized) struct PageRoutesTests {
  @Test("a page is opened, shown, sent events, and closed")
  func pageLife() async throws {
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
      let answer1 = try await farm.ask(.get, "/pages/\(id)?format=json")
      #expect(answer1.json["id"].text == id)
      let answer2 = try await farm.ask(.get, "/pages")
      #expect(answer2.json["pages"].list.count == 1)

      let preview = try await farm.ask(.get, "/pages/\(id)/preview")
      #expect(preview.text.contains("clicks: 1"))
      #expect(preview.headers[.contentSecurityPolicy]?.contains("default-src 'none'") == true)

      let answer3 = try await farm.ask(.delete, "/pages/\(id)")
      #expect(answer3.status == 204)
      let answer4 = try await farm.ask(.get, "/pages/\(id)")
      #expect(answer4.status == 404)
    }
  }

  @Test("a page is drawn as a picture, open or in one go", .enabled(if: DrawnPicture.canDraw))
  func pictures() async throws {
    let red = Script.page(
      "b.appendChild(d.createElement('div', { style: { width: 750, height: 100, backgroundColor: 'red' } }))")
    try await PageFarm.running(["red": red], workers: 1, change: { $0.pictures = true }) { farm in
      let id = try await farm.open("red")
      let whole = try await farm.ask(.get, "/pages/\(id)/picture")
      #expect(whole.status == 200 && whole.headers[.contentType] == "image/png", "\(whole.text)")
      let picture = try DrawnPicture(whole.body)
      #expect(picture.size == "750x1334" && picture.color(700, 50) == [255, 0, 0])
      for path in ["/render?name=red&format=png&size=375x812@2", "/pages/\(id)?format=png&size=375x812@2&full"] {
        let sized = try DrawnPicture(await farm.ask(.get, path).body)
        #expect(sized.size == "750x1624" && sized.color(700, 50) == [255, 0, 0], "\(path)")
        #expect(sized.color(700, 1_600) == [255, 255, 255], "\(path)")
      }
      let drawing = try await farm.ask(.get, "/pages/\(id)/picture?format=svg")
      #expect(drawing.headers[.contentType] == "image/svg+xml" && drawing.text.contains("<svg"))
      #expect(drawing.headers[.contentSecurityPolicy]?.contains("sandbox") == true)
      for (query, reason) in [
        ("size=9999x9999@2", "a screen of 9999x9999@2 has more than 8388608 pixels"),
        ("size=big", "the parameter size is \"big\": expected a screen such as 375x812@2"),
        ("format=html", "\"html\" is not the format of a picture: use png or svg"),
      ] {
        let refused = try await farm.ask(.get, "/pages/\(id)/picture?\(query)")
        #expect(refused.status == 400 && refused.json["error"].text == reason, "\(refused.text)")
      }
      #expect(try await farm.ask(.get, "/render?name=red&format=png&size=9999x9999@2").status == 400)
    }
  }

  @Test(
    "a page with more pixels than a picture may have is refused with the reason", .enabled(if: DrawnPicture.canDraw))
  func hugePictures() async throws {
    let huge = Script.page("b.appendChild(d.createElement('div', { style: { width: 100000, height: 100000 } }))")
    try await PageFarm.running(["huge": huge], workers: 1, change: { $0.pictures = true }) { farm in
      let refused = try await farm.ask(.get, "/render?name=huge&format=png&full")
      #expect(refused.status == 422 && refused.text.contains("is too large"), "\(refused.text)")
      // It is no error of the script.
      #expect(refused.json["exception"] == .null, "\(refused.text)")
      #expect(try await farm.ask(.get, "/render?name=huge&format=png").status == 200)
    }
  }

  @Test(
    "a thumbnail is drawn again when its page changes, and does not keep it open", .enabled(if: DrawnPicture.canDraw))
  func thumbnails() async throws {
    let toggling = Script.page(
      """
      var box = d.createElement('div', { style: { width: 750, height: 400, backgroundColor: 'red' } })
      box.addEvent('click', function () { box.setStyle('backgroundColor', 'blue') })
      b.appendChild(box)
      """)
    try await PageFarm.running(["toggling": toggling], workers: 1, change: { $0.pictures = true }) { farm in
      let id = try await farm.open("toggling")
      let directory = farm.running.directory
      let ref = try #require(
        try await farm.ask(.get, "/pages/\(id)?format=json").json["tree"]["children"].list.first?["ref"].text)
      let asked = try #require(await directory.pages[id]?.lastAsked)
      func thumbnail() async throws -> DrawnPicture {
        let answer = try await farm.ask(.get, "/pages/\(id)/thumbnail")
        #expect(answer.status == 200 && answer.headers[.contentType] == "image/png", "\(answer.text)")
        return try DrawnPicture(answer.body)
      }
      let first = try await thumbnail()
      #expect(
        first.size == "188x406" && first.color(90, 50) == [255, 0, 0] && first.color(90, 300) == [255, 255, 255])
      #expect(await directory.pages[id]?.lastAsked == asked)
      // Events of the opening may come late, and have it drawn again.
      try await farm.until {
        _ = try await thumbnail()
        let page = try #require(await directory.pages[id])
        return directory.thumbnails.thumbnail(of: page, at: .now) != nil
      }
      let page = try #require(await directory.pages[id])
      #expect(try await farm.ask(.post, "/pages/\(id)/fire", #"{"ref":"\#(ref)","type":"click"}"#).status == 200)
      #expect(try await thumbnail().color(90, 50) == [0, 0, 255])
      #expect(try await farm.ask(.delete, "/pages/\(id)").status == 204)
      #expect(try await farm.ask(.get, "/pages/\(id)/thumbnail").status == 404)
      #expect(directory.thumbnails.thumbnail(of: page, at: .now) == nil)
    }
  }

  @Test("a page that could not be drawn is tried again after a pause, others when they change")
  func keptThumbnails() {
    let start = ContinuousClock.now
    let drawn = PageThumbnails.Thumbnail(version: "1-1-0", file: .success([1]), drawn: start)
    #expect(drawn.answers("1-1-0", at: start + .seconds(3_600)) && !drawn.answers("1-2-0", at: start))
    let failed = PageThumbnails.Thumbnail(version: "1-1-0", file: .failure(.noPictures()), drawn: start)
    #expect(failed.answers("1-2-0", at: start + .seconds(29)) && !failed.answers("1-1-0", at: start + .seconds(30)))
    // One whose turn did not come is tried again soon.
    let busy = PageThumbnails.Thumbnail(version: "1-1-0", file: .failure(.busy("others")), drawn: start)
    #expect(busy.answers("1-1-0", at: start + .milliseconds(900)) && !busy.answers("1-1-0", at: start + .seconds(1)))
  }

  @Test("a view that is too large, or takes too long, has an answer of its own")
  func refusedViews() {
    for (fault, status) in [(PageFault.noView("too large"), 422), (.slowView("too slow"), 504), (.busy("later"), 503)] {
      let failure = PageFailure(fault, url: "https://a.example/home.js")
      #expect(failure.status.code == status && failure.response.headers[.retryAfter] == (status == 503 ? "1" : nil))
    }
  }

  @Test("a tap is answered although the page shows more than a worker's message may have")
  func longMessages() async throws {
    let script = Script.page(
      """
      b.addEvent('click', function () {
        // JSON has six bytes for each.
        var long = '\\u0001'.repeat(1e6)
        for (var n = 0; n < 12; n++) weex.requireModule('modal').toast({ message: long })
      })
      """)
    try await PageFarm.running(["toasts": script], workers: 1) { farm in
      let id = try await farm.open("toasts")
      let answer = try await farm.ask(.post, "/pages/\(id)/fire", #"{"ref":"_root","type":"click"}"#)
      #expect(answer.status == 200, "\(answer.text.prefix(200))")
      let texts = answer.json["messages"].list.compactMap { $0["text"].text }
      #expect(texts == Array(repeating: String(repeating: "\u{1}", count: 9_997) + "…", count: 12))
    }
  }

  @Test("a host without --pictures says so")
  func noPictures() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let id = try await farm.open("counter")
      for path in ["/pages/\(id)/picture", "/pages/\(id)/thumbnail", "/render?name=counter&format=svg"] {
        let refused = try await farm.ask(.get, path)
        #expect(refused.status == 501 && refused.text.contains("start it with --pictures"), "\(refused.text)")
      }
    }
  }

  @Test("a page that has given up more requests than may be unanswered can send others")
  func droppedRequests() async throws {
    let asking = Script.page(
      """
      var text = d.createElement('text', { attr: { value: 'asking' } }), ended = 0
      b.appendChild(text)
      var stream = weex.requireModule('stream')
      function askMore() {
        for (var n = 0; n < 100; n++) stream.fetch({ url: '/slow', timeout: 50 }, function () {
          ended += 1
          if (ended === 400) {
            stream.fetch({ url: '/quick' }, function (r) { text.setAttr('value', 'quick: ' + r.status) })
          } else if (ended % 100 === 0) askMore()
        })
      }
      askMore()
      """)
    try await PageFarm.running(["asking": asking], workers: 1) { farm in
      farm.origin.serve("/quick", Array("quick".utf8))
      farm.origin.serve("/slow", Array("slow".utf8), headers: [.cacheControl: "no-store"])
      farm.origin.hold("/slow")
      defer { farm.origin.release("/slow") }
      let id = try await farm.open("asking")
      try await farm.until { try await farm.ask(.get, "/pages/\(id)?format=outline").text.contains("quick: 200") }
    }
  }

  @Test("pages of one origin hear each other's channels, whichever worker they run in")
  func channels() async throws {
    let listening = Script.page(
      """
      var text = d.createElement('text', { attr: { value: 'heard:' } }), channel = new BroadcastChannel('news')
      b.appendChild(text)
      channel.onmessage = function (e) { text.setAttr('value', text.attr.value + ' ' + JSON.stringify(e.data)) }
      text.addEvent('click', function () { channel.postMessage({ word: null }) })
      """)
    let other = try await FaultOrigin.start()
    other.serve("/other.js", Array(listening.utf8))
    let (otherOrigin, otherPage) = (other.url(for: ""), other.url(for: "/other.js"))
    try await PageFarm.running(
      ["one": listening, "two": listening], change: { $0.allowedOrigins.append(otherOrigin) }
    ) { farm in
      let stranger = try await farm.ask(.post, "/pages", "{\"url\":\"\(otherPage)\"}")
      let strangerID = try #require(stranger.json["id"].text)
      var pages: [(id: String, worker: Int?)] = []
      // Until there are pages in both workers.
      while Set(pages.map(\.worker)).count < 2, pages.count < 10 {
        let id = try await farm.open(pages.count % 2 == 0 ? "one" : "two")
        let number = try await farm.running.directory.page(id).number
        pages.append((id, await farm.running.workers.home(of: number)))
      }
      #expect(Set(pages.map(\.worker)).count == 2)
      let speaker = try #require(pages.first)
      let shown = try await farm.ask(.get, "/pages/\(speaker.id)?format=json")
      let ref = try #require(shown.json["tree"]["children"].list.first?["ref"].text)
      let fired = try await farm.ask(.post, "/pages/\(speaker.id)/fire", #"{"ref":"\#(ref)","type":"click"}"#)
      #expect(fired.status == 200)
      for listener in pages.dropFirst() {
        try await farm.until {
          try await farm.ask(.get, "/pages/\(listener.id)", headers: [.accept: "text/plain"]).text
            .contains(#"heard: {"word":null}"#)
        }
      }
      let own = try await farm.ask(.get, "/pages/\(speaker.id)", headers: [.accept: "text/plain"])
      #expect(!own.text.contains("word"))
      let unheard = try await farm.ask(.get, "/pages/\(strangerID)", headers: [.accept: "text/plain"])
      #expect(unheard.text.contains("heard:") && !unheard.text.contains("word"))
    }
    try await other.stop()
  }

  /// An input whose text is stored, and shown when it was typed; the page says when it is shown.
  private static let form = Script.page(
    """
    var storage = weex.requireModule('storage')
    var input = d.createElement('input', { attr: { value: '' } }), t = d.createElement('text', { attr: { value: 'hidden' } })
    input.addEvent('input', function (e) { t.setAttr('value', 'Hello ' + e.target.attr.value + ', ' + e.value) })
    b.addEvent('viewappear', function () { t.setAttr('value', 'shown') })
    b.addEvent('viewdisappear', function () { storage.setItem('left', 'yes') })
    b.appendChild(t); b.appendChild(input)
    storage.getItem('left', function (r) { b.setAttr('left', r.result) })
    """)

  @Test("a page that a caller opens appears, and disappears when it is closed")
  func visibility() async throws {
    try await PageFarm.running(["form": Self.form], workers: 1) { farm in
      let opened = try await farm.ask(.post, "/pages", #"{"name":"form","settle":5}"#)
      #expect(opened.json["tree"]["children"].list.first?["attr"]["value"].text == "shown")
      #expect(opened.json["tree"]["attr"]["left"].text == "failed")
      let id = try #require(opened.json["id"].text)
      #expect(try await farm.ask(.delete, "/pages/\(id)").status == 204)
      // The page ends after the answer.
      try await farm.until {
        let again = try await farm.ask(.get, "/render?name=form&format=outline")
        return again.text.contains("shown") && again.text.contains("left=\"success\"")
      }
    }
  }

  @Test("typed text is in the element before the script handles its event")
  func changes() async throws {
    try await PageFarm.running(["form": Self.form], workers: 1) { farm in
      let opened = try await farm.ask(.post, "/pages", #"{"name":"form","settle":5}"#)
      let id = try #require(opened.json["id"].text)
      let ref = try #require(opened.json["tree"]["children"].list.last?["ref"].text)
      for (members, text, value) in [
        (#""event":{"value":"Ann"},"changes":{"attrs":{"value":"Bob"}}"#, "Hello Bob, Ann", "Bob"),
        // The change that a device makes.
        (#""event":{"value":"Cid"}"#, "Hello Cid, Cid", "Cid"),
      ] {
        let fired = try await farm.ask(.post, "/pages/\(id)/fire", #"{"ref":"\#(ref)","type":"input",\#(members)}"#)
        #expect(fired.status == 200)
        #expect(fired.json["tree"]["children"].list.first?["attr"]["value"].text == text)
        #expect(fired.json["tree"]["children"].list.last?["attr"]["value"].text == value)
      }
    }
  }

  @Test("an event for an element that does not exist is 404, and the page goes on")
  func unknownElement() async throws {
    try await PageFarm.running(["form": Self.form], workers: 1) { farm in
      let id = try await farm.open("form")
      let fired = try await farm.ask(.post, "/pages/\(id)/fire", #"{"ref":"999","type":"click"}"#)
      #expect(fired.status == 404)
      #expect(fired.json["error"].text?.contains("there is no element \"999\" for the event \"click\"") == true)
      #expect(try await farm.ask(.get, "/pages/\(id)").status == 200)
    }
  }

  @Test("a tap clicks what is at its place; one that reaches nothing is 404, and the page goes on")
  func taps() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let id = try await farm.open("counter")
      let tapped = try await farm.ask(.post, "/pages/\(id)/tap", #"{"x":10,"y":10.5,"settle":5}"#)
      #expect(tapped.status == 200)
      #expect(tapped.json["tree"]["children"].list.first?["attr"]["value"].text == "clicks: 1")
      #expect(try farm.metric("renderhost_page_entry_seconds_count", ["kind": "tap"]) == 1)
      for (body, status, error) in [
        (#"{"x":800,"y":10}"#, 404, "no element at the place 800, 10"),
        (#"{"x":10,"y":1000}"#, 404, "nor one around it listens to \"click\""),
        (#"{"x":10}"#, 400, "the body is not"), (#"{"x":"10","y":10}"#, 400, "the body is not"),
      ] {
        let missed = try await farm.ask(.post, "/pages/\(id)/tap", body)
        #expect(missed.status == status && missed.json["error"].text?.contains(error) == true, "\(missed)")
      }
      #expect(try await farm.ask(.post, "/pages/none/tap", #"{"x":10,"y":10}"#).status == 404)
      let outline = try await farm.ask(.get, "/pages/\(id)", headers: [.accept: "text/plain"])
      #expect(outline.text.contains("clicks: 1"))
    }
  }

  @Test("a page is rendered by one request")
  func render() async throws {
    let script = Script.page(
      "b.appendChild(d.createElement('text', { attr: { value: 'hello ' + weex.config.bundleUrl } }))")
    try await PageFarm.running(["hello": script], workers: 1) { farm in
      let url = farm.origin.url(for: "/b/hello.js")
      let answer5 = try await farm.ask(.get, "/render?url=\(url)&format=outline")
      #expect(answer5.text.contains("hello \(url)"))
      let answer6 = try await farm.ask(.get, "/render?name=hello")
      #expect(answer6.text.contains("<!doctype html>"))
      let answer7 = try await farm.ask(.get, "/render?name=hello&format=json")
      #expect(answer7.json["tree"]["type"].text == "div")
      let answer8 = try await farm.ask(.get, "/render?name=hello&format=pdf")
      #expect(answer8.status == 400)
      #expect(await farm.running.directory.count == 0)
    }
  }

  @Test("the daemon makes a page's requests")
  func pageFetches() async throws {
    let script = Script.page(
      """
      var t = d.createElement('text', { attr: { value: 'nothing' } }); b.appendChild(t)
      weex.requireModule('stream').fetch({ url: '/api/list.json', type: 'json' }, function (r) {
        weex.requireModule('storage').setItem('a', r.data.word, function () {
          weex.requireModule('storage').getItem('a', function (s) { t.setAttr('value', 'word: ' + s.data) }) }) })
      """)
    try await PageFarm.running(["list": script], workers: 1) { farm in
      farm.origin.serve("/api/list.json", Array(#"{"word":"lamp"}"#.utf8), contentType: "application/json")
      let answer9 = try await farm.ask(.get, "/render?name=list&format=outline")
      #expect(answer9.text.contains("word: lamp"))
    }
  }

  @Test("a page cannot reach servers that are not permitted")
  func noOpenProxy() async throws {
    let script = Script.page(
      """
      var t = d.createElement('text', { attr: { value: '' } }); b.appendChild(t)
      weex.requireModule('stream').fetch({ url: 'http://127.0.0.1:1/', type: 'text' }, function (r) {
        t.setAttr('value', 'told: ' + r.data) })
      """)
    try await PageFarm.running(["list": script], workers: 1) { farm in
      let answer10 = try await farm.ask(.get, "/render?name=list&format=outline")
      #expect(answer10.text.contains("told: http://127.0.0.1:1/ is not"))
      let opened = try await farm.ask(.post, "/pages", #"{"url":"http://169.254.169.254/latest"}"#)
      #expect(opened.status == 403)
      #expect(opened.json["rule"].text == "origin")
      let answer11 = try await farm.ask(.get, "/render?url=file:///etc/passwd")
      #expect(answer11.status == 403)
      let answer12 = try await farm.ask(.get, "/resources?url=http://localhost:\(farm.origin.port)/manifest.json")
      #expect(answer12.status == 403)
      let answer13 = try await farm.ask(.get, "/resources?url=file:///etc/passwd")
      #expect(answer13.status == 403)
      let found = try await farm.ask(.get, "/resources?url=\(farm.origin.url(for: "/manifest.json"))")
      #expect(found.status == 200)
      #expect(found.headers[.contentSecurityPolicy]?.contains("sandbox") == true)
    }
  }

  @Test("a request for a page that throws is answered with its error")
  func throwingPage() async throws {
    try await PageFarm.running(["bad": Script.page("\nundefinedThing.x()"), "ok": Script.counter], workers: 1) { farm in
      let answer = try await farm.ask(.post, "/pages", #"{"name":"bad"}"#)
      #expect(answer.status == 422)
      #expect(answer.json["exception"]["message"].text?.contains("undefinedThing") == true)
      #expect(answer.json["exception"]["line"].count == 4)
      #expect(await farm.running.directory.count == 0)
      let answer14 = try await farm.ask(.post, "/pages", #"{"name":"none"}"#)
      #expect(answer14.status == 404)
      let answer15 = try await farm.ask(.post, "/pages", "{")
      #expect(answer15.status == 400)
      let answer16 = try await farm.ask(.post, "/pages", "{}")
      #expect(answer16.status == 400)
      let answer17 = try await farm.ask(.post, "/pages", #"{"url":"\#(farm.origin.url(for: "/none.js"))"}"#)
      #expect(answer17.status == 404)
      let answer18 = try await farm.ask(.get, "/pages/none")
      #expect(answer18.status == 404)
      let id = try await farm.open("ok")
      let answer19 = try await farm.ask(.post, "/pages/\(id)/fire", "[]")
      #expect(answer19.status == 400)
    }
  }

  @Test("deeply nested data is refused early")
  func nestedData() async throws {
    let deep = #"{"x":"# + String(repeating: "[", count: 490) + String(repeating: "]", count: 490) + "}"
    let found = "expected at most 64 levels of nesting, found more at byte"
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let escaped = deep.replacing("[", with: "%5B").replacing("]", with: "%5D").replacing("\"", with: "%22")
        .replacing("{", with: "%7B").replacing("}", with: "%7D")
      let rendered = try await farm.ask(.get, "/render?name=counter&data=\(escaped)")
      #expect(rendered.status == 400)
      #expect(rendered.json["error"].text == "the parameter data is not JSON: \(found) 68")
      let id = try await farm.open("counter")
      for (path, body) in [
        ("/pages", #"{"name":"counter","data":\#(deep)}"#), ("/pages/\(id)/refresh", #"{"data":\#(deep)}"#),
        ("/pages/\(id)/fire", #"{"ref":"1","type":"click","event":\#(deep)}"#),
      ] {
        let answer = try await farm.ask(.post, path, body)
        #expect(answer.status == 400, "\(path)")
        #expect(answer.json["error"].text?.contains(found) == true, "\(path): \(answer.text)")
      }
      let many = "[" + String(repeating: "0,", count: 300_000) + "0]"
      let answer = try await farm.ask(.post, "/pages", #"{"name":"counter","data":\#(many)}"#)
      #expect(answer.status == 400)
      #expect(answer.json["error"].text?.contains("expected at most 250000 values") == true)
    }
  }

  @Test("a page gets a megabyte of flat data")
  func flatData() async throws {
    let script = Script.page(
      """
      var t = d.createElement('text', { attr: { value: '' } }); b.appendChild(t)
      b.addEvent('refresh', function (e) { t.setAttr('value', e.data.list.length + ' ' + e.data.list[99999]) })
      """)
    let list = (0..<180_000).map { "\($0 % 1_000)" }.joined(separator: ",")
    let text = String(repeating: "x", count: 300_000)
    try await PageFarm.running(["page": script], workers: 1, change: { $0.pageTime = .seconds(20) }) { farm in
      let data = #"{"list":[\#(list)],"text":"\#(text)"}"#
      let opened = try await farm.ask(.post, "/pages", #"{"name":"page","data":\#(data)}"#)
      #expect(opened.status == 201, "\(opened.text.prefix(300))")
      let id = try #require(opened.json["id"].text)
      let refreshed = try await farm.ask(.post, "/pages/\(id)/refresh", #"{"data":\#(data)}"#)
      #expect(refreshed.text.contains("180000 999"), "\(refreshed.text.prefix(300))")
    }
  }

  @Test("a body of the wrong shape is refused with the place and the type")
  func wrongShape() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      for (body, reason) in [
        (#"{"name":7}"#, "name: expected a text, found a number"),
        (#"{"name":"counter","options":{"type":1}}"#, "options.type: expected a text, found a number"),
        (#"{"name":"counter",}}"#, #"expected the end, found "}" at byte 19"#),
      ] {
        let answer = try await farm.ask(.post, "/pages", body)
        #expect(answer.status == 400 && answer.json["error"].text?.hasSuffix(reason) == true, "\(answer.text)")
      }
    }
  }

  @Test("the number of open pages is bounded")
  func pageLimit() async throws {
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

  @Test("idle pages expire")
  func idlePages() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1, change: { $0.pageIdle = .seconds(60) }) {
      farm in
      let id = try await farm.open("counter")
      let log = try await farm.log(of: id)
      await farm.running.directory.expire(at: .now + .seconds(59))
      let answer20 = try await farm.ask(.get, "/pages/\(id)")
      #expect(answer20.status == 200)
      await farm.running.directory.expire(at: .now + .seconds(61))
      let answer21 = try await farm.ask(.get, "/pages/\(id)")
      #expect(answer21.status == 404)
      #expect(await log.names(after: 0).last == "expired")
    }
  }

  @Test("other data refreshes a page")
  func refresh() async throws {
    let script = Script.page("b.appendChild(d.createElement('text', { attr: { value: 'a' } }))")
    try await PageFarm.running(["page": script], workers: 1) { farm in
      let id = try await farm.open("page")
      let answer22 = try await farm.ask(.post, "/pages/\(id)/refresh", #"{"data":{"a":1}}"#)
      #expect(answer22.status == 200)
      let answer23 = try await farm.ask(.post, "/pages/\(id)/refresh", "{}")
      #expect(answer23.status == 400)
    }
  }
}

extension EventLog {
  /// The current outline of the page.
  func names(after id: Int) async -> [String] {
    if case .events(let events, _) = await next(after: id, within: .zero) { events.map(\.name) } else { [] }
  }

  /// The JSON of the first event of a name.
  func details(of name: String) async -> String? {
    guard case .events(let events, _) = await next(after: 0, within: .zero) else { return nil }
    return events.first { $0.name == name }.map { String(decoding: $0.details, as: UTF8.self) }
  }
  private static let late = Script.page(
    """
    var t = d.createElement('text', { attr: { value: 'drawn' } }); b.appendChild(t)
    setTimeout(function () { t.setAttr('value', 'short') }, 1)
    setTimeout(function () { t.setAttr('value', 'long') }, 300)
    setTimeout(function () {}, 3600000)
    t.addEvent('click', function () { setTimeout(function () { t.setAttr('value', 'clicked') }, 1) })
    """)

  @Test("timers that are due soon are waited for, and the others are counted")
  func timers() async throws {
    try await PageFarm.running(["late": Self.late], workers: 1, pageTime: .seconds(5)) { farm in
      let short = try await farm.ask(.get, "/render?name=late&format=json&timers=1ms")
      #expect(short.json["settled"] == .bool(true))
      #expect(short.json["pending"]["laterTimers"] == .integer(2))
      let long = try await farm.ask(.get, "/render?name=late&format=outline&timers=5")
      #expect(long.text.contains("long"))
      let never = try await farm.ask(.get, "/render?name=late&format=json&settle=0")
      #expect(never.json["settled"] == .bool(false) || never.json["pending"]["laterTimers"] != .integer(0))
      #expect(try await farm.ask(.get, "/render?name=late&timers=soon").status == 400)

      let opened = try await farm.ask(.post, "/pages", #"{"name":"late","settle":5,"timers":5}"#)
      let id = try #require(opened.json["id"].text)
      let ref = try #require(opened.json["tree"]["children"].list.first?["ref"].text)
      #expect(opened.json["tree"]["children"].list.first?["attr"]["value"].text == "long")
      let fired = try await farm.ask(
        .post, "/pages/\(id)/fire", #"{"ref":"\#(ref)","type":"click","settle":5}"#)
      #expect(fired.json["tree"]["children"].list.first?["attr"]["value"].text == "clicked")
    }
  }

  @Test("messages, styles, the environment and preludes are what a page runs with and shows")
  func scripts() async throws {
    let folder = try TemporaryDirectory()
    let prelude = folder.file("prelude.js")
    try Data("var word = 'from the prelude'".utf8).write(to: URL(fileURLWithPath: prelude))
    let script = Script.page(
      """
      weex.requireModule('modal').toast({ message: word + ' on ' + WXEnvironment.platform })
      b.appendChild(d.createElement('text', { attr: { value: '' }, style: { color: 'red' } }))
      """)
    try await PageFarm.running(
      ["a": script], workers: 1,
      change: { settings in
        settings.preludes = ["Vanilla": prelude]
        settings.environment = ["platform": "android"]
      }
    ) { farm in
      let json = try await farm.ask(.get, "/render?name=a&format=json").json
      #expect(json["messages"].list.first?["kind"].text == "toast")
      #expect(json["messages"].list.first?["text"].text == "from the prelude on android")
      let outline = try await farm.ask(.get, "/render?name=a&format=outline&styles=1").text
      #expect(outline.contains("{color: red}"))
      #expect(!(try await farm.ask(.get, "/render?name=a&format=outline").text.contains("{color")))
    }
  }
}
