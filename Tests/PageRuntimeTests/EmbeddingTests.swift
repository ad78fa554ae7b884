import HTTPTransport
import HTTPTypes
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// Embedded pages, documents of web elements, and the stack.
struct EmbeddingTests {
  /// A bundle that shows a text.
  private static func bundle(_ text: String, more: String = "") -> [UInt8] {
    Array(
      """
      // { "framework": "Vanilla" }
      var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
      b.appendChild(d.createElement('text', { attr: { value: '\(text)' } }))
      \(more)
      """.utf8)
  }

  @Test("an embedded page opens from its URL and ends with its element")
  func embedding() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/pages/part.js", Self.bundle("inside"))
      let page = try await fixture.page(
        "var part = add('embed', { attr: { src: 'part.js' } }); add('text').addEvent('click', function () { body.removeChild(part) })"
      )
      await page.settle(within: .seconds(60))
      let ref = try #require(await page.first("embed")?.ref)
      let part = try #require(await page.embedded[ref])
      #expect(await part.shown == "inside")
      #expect(await page.tree[ref]?.source == .page(url: "part.js", id: part.id))
      let button = try #require(await page.first("text")?.ref)
      try await page.fireEvent(button, "click")
      #expect(await page.embedded.isEmpty)
      for await event in part.events { if case .destroyed = event { break } }
      await page.destroy()
    }
  }

  @Test("pictures of embedded pages are known to the next run too")
  func knownPictures() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let picture: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + [0, 0, 0, 3, 0, 0, 0, 2]
      fixture.origin.serve("/pages/a.png", picture, headers: [.cacheControl: "no-store"])
      fixture.origin.serve(
        "/pages/part.js",
        Self.bundle("inside", more: "b.appendChild(d.createElement('image', { attr: { src: 'a.png' } }))"))
      let former = try await fixture.page("add('embed', { attr: { src: 'part.js' } })")
      await former.settle(within: .seconds(60))
      let page = try await fixture.page("add('embed', { attr: { src: 'part.js' } })", after: former)
      await page.settle(within: .seconds(60))
      let part = try #require(await page.embedded.values.first)
      #expect(await part.first("image")?.image == .loaded(url: "a.png", "png", ImageSize(width: 3, height: 2), .memory))
      #expect(fixture.origin.requestCount(path: "/pages/a.png") == 1)
      for page in [former, page] { await page.destroy() }
    }
  }

  @Test("another source replaces the embedded page")
  func otherSource() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/pages/one.js", Self.bundle("one"))
      fixture.origin.serve("/pages/two.js", Self.bundle("two"))
      let page = try await fixture.page(
        "var part = add('embed', { attr: { src: 'one.js' } }); add('text').addEvent('click', function () { part.setAttr('src', 'two.js') })"
      )
      await page.settle(within: .seconds(60))
      let ref = try #require(await page.first("embed")?.ref)
      let one = try #require(await page.embedded[ref])
      let button = try #require(await page.first("text")?.ref)
      try await page.fireEvent(button, "click")
      await page.settle(within: .seconds(60))
      #expect(await page.embedded[ref]?.shown == "two")
      #expect(await one.phase == .destroyed)
      await page.destroy()
    }
  }

  @Test("an embedded page ends with the outer page")
  func outerPageEnds() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/pages/part.js", Self.bundle("inside"))
      let page = try await fixture.page("add('embed', { attr: { src: 'part.js' } })")
      await page.settle(within: .seconds(60))
      let part = try #require(await page.embedded.values.first)
      await page.destroy()
      #expect(await part.phase == .destroyed)
    }
  }

  @Test("a page that embeds itself ends at the depth limit")
  func selfEmbedding() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve(
        "/pages/self.js",
        Self.bundle("again", more: "b.appendChild(d.createElement('embed', { attr: { src: 'self.js' } }))"))
      let page = try await fixture.page("add('embed', { attr: { src: 'self.js' } })")
      await page.settle(within: .seconds(30))
      var depth = 0
      var innermost = page
      while let next = await innermost.embedded.values.first {
        innermost = next
        depth += 1
      }
      #expect(depth == 8)
      guard case .failed(_, let reason)? = await innermost.first("embed")?.source else {
        Issue.record("the innermost has no reason")
        return
      }
      #expect(reason.contains("more than 8 deep"))
      await page.destroy()
    }
  }

  @Test("an embedded page that cannot open leaves the outer page alive")
  func failingEmbeddedPage() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page("add('embed', { attr: { src: 'none.js' } })")
      await page.settle(within: .seconds(60))
      guard case .failed("none.js", let reason)? = await page.first("embed")?.source else {
        Issue.record("it has not failed")
        return
      }
      #expect(reason.contains("404"))
      #expect(await page.phase == .live)
      await page.destroy()
    }
  }

  @Test("the document of a web element is loaded for the app")
  func webDocument() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.respond("/help.html") { _ in
        OriginResponse(headers: [.contentType: "text/html"], body: Array("<h1>Help</h1>".utf8))
      }
      let page = try await fixture.page(
        """
        var text = add('text', { attr: { value: '' } }), web = document.createElement('web', { attr: { src: '/help.html' } })
        var said = []
        ;['pagestart', 'pagefinish', 'error'].forEach(function (type) {
          web.addEvent(type, function (event) { said.push(type); text.setAttr('value', said.join(' ')) })
        })
        body.appendChild(web)
        """)
      await page.settle(within: .seconds(60))
      let ref = try #require(await page.first("web")?.ref)
      #expect(await page.document(of: ref) == Array("<h1>Help</h1>".utf8))
      #expect(await page.tree[ref]?.source == .document(url: "/help.html", contentType: "text/html", length: 13))
      #expect(await page.shown == "pagestart pagefinish")
      await page.destroy()
    }
  }

  @Test("a missing document is an error of its element")
  func missingDocument() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var text = add('text', { attr: { value: '' } }), web = document.createElement('web', { attr: { src: '/none.html' } })
        web.addEvent('error', function (event) { text.setAttr('value', event.errorMsg) })
        body.appendChild(web)
        """)
      await page.settle(within: .seconds(60))
      #expect(await page.shown?.contains("404") == true)
      await page.destroy()
    }
  }

  // MARK: From page to page

  @Test("a pushed page opens on top and pop goes back")
  func pushAndPop() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let stack = PageStack(limit: 2)
      fixture.registry.register(stack as any Navigating, as: \.navigator)
      fixture.origin.serve(
        "/pages/next.js",
        Self.bundle(
          "next",
          more: """
            function push() { weex.requireModule('navigator').push({ url: 'next.js' }) }
            b.addEvent('click', function () { weex.requireModule('navigator').pop({}, function () {}) })
            b.addEvent('longpress', push)
            """))
      let page = try await fixture.page(
        """
        var text = add('text', { attr: { value: '' } })
        weex.requireModule('navigator').push({ url: 'next.js' }, function (answer) { text.setAttr('value', answer) })
        """)
      await page.settle(within: .seconds(60))
      #expect(await page.shown == "WX_SUCCESS")
      #expect(await stack.pages.first === page)
      let next = try #require(await stack.top)
      #expect(await next.shown == "next")
      try await next.fireEvent("_root", "longpress")
      await next.settle(within: .seconds(60))
      #expect(await stack.pages.count == 2)
      try await next.fireEvent("_root", "click")
      for await pages in await stack.changes where pages.count == 1 { break }
      #expect(await stack.top === page)
      var logs: [String] = []
      for await event in next.events { if case .log(_, let text) = event { logs.append(text) } }
      #expect(logs == ["navigator.push: the stack has 2 pages already"])
      await page.destroy()
    }
  }

  @Test("a page that cannot be pushed is not on the stack")
  func refusedPush() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let stack = PageStack()
      fixture.registry.register(stack as any Navigating, as: \.navigator)
      let page = try await fixture.page("weex.requireModule('navigator').push({ url: 'none.js' })")
      await page.settle(within: .seconds(60))
      #expect(await stack.pages.count == 1)
      await page.destroy()
      var logs: [String] = []
      for await event in page.events { if case .log("error", let text) = event { logs.append(text) } }
      #expect(logs.count == 1 && logs.allSatisfy { $0.hasPrefix("navigator.push: ") && $0.contains("404") })
    }
  }
}
