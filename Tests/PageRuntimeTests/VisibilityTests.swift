import HTTPTransport
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// `viewappear` and `viewdisappear`, which tell a page's script whether the page is shown.
@Suite(.timeLimit(.minutes(5))) struct VisibilityTests {
  /// A bundle that stores how often it has appeared and disappeared: `home +` and `home -`, with a comma after each.
  private static func bundle(_ name: String, more: String = "") -> [UInt8] {
    Array(
      """
      // { "framework": "Vanilla" }
      var d = weex.document, b = d.createBody('div'), storage = weex.requireModule('storage'), all = ''
      function note(what) { all += '\(name) ' + what + ','; storage.setItem('\(name)', all) }
      b.addEvent('viewappear', function (e) { note(e.type === 'viewappear' && e.target === b ? '+' : '?') })
      b.addEvent('viewdisappear', function () { note('-') })
      d.documentElement.appendChild(b)
      \(more)
      """.utf8)
  }

  private static func page(_ fixture: PageFixture, _ name: String, more: String = "") async throws -> PageInstance {
    fixture.origin.serve("/pages/\(name).js", bundle(name, more: more))
    return await PageInstance(environment: fixture.environment)
  }

  private static func open(_ page: PageInstance, _ fixture: PageFixture, _ name: String) async throws {
    try await page.renderByURL(fixture.origin.url(for: "/pages/\(name).js"))
    await page.settle(within: .seconds(60))
  }

  /// Waits until a page has stored this. A page that ends stores what it set after that.
  private static func expect(_ noted: String, by name: String, _ fixture: PageFixture) async throws {
    let storage = fixture.registry.snapshot().handlers.storage
    try await eventually("\(name) stores \(noted)") { try await storage.value(for: name) == noted }
  }

  @Test("a page that is shown appears when it has rendered, and disappears when it is covered")
  func appearance() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await Self.page(fixture, "home")
      await page.appear()
      try await Self.open(page, fixture, "home")
      try await Self.expect("home +,", by: "home", fixture)
      await page.appear()
      await page.disappear()
      await page.disappear()
      await page.settle(within: .seconds(60))
      try await Self.expect("home +,home -,", by: "home", fixture)
      await page.appear()
      await page.settle(within: .seconds(60))
      try await Self.expect("home +,home -,home +,", by: "home", fixture)
      await page.destroy()
    }
  }

  @Test("a page that nobody shows neither appears nor disappears")
  func hiddenPage() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await Self.page(fixture, "home")
      try await Self.open(page, fixture, "home")
      await page.destroy()
      let stored = try await fixture.registry.snapshot().handlers.storage.keys()
      #expect(stored == [])
    }
  }

  @Test("a page that makes its body later appears then")
  func laterBody() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      await page.appear()
      try await page.render(
        """
        // { "framework": "Vanilla" }
        setTimeout(function () {
          var d = weex.document, b = d.createBody('div')
          b.addEvent('viewappear', function () { b.appendChild(d.createElement('text', { attr: { value: 'shown' } })) })
          d.documentElement.appendChild(b)
        }, 10)
        """)
      await page.waitUntilShown("shown")
      await page.destroy()
    }
  }

  @Test("a page that opens again appears again, and a reload that begins tells it nothing")
  func reload() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await Self.page(fixture, "home")
      await page.appear()
      try await Self.open(page, fixture, "home")
      try await page.begin(try #require(PageURL(fixture.origin.url(for: "/pages/home.js"))))
      await page.appear()
      await page.settle(within: .seconds(60))
      let storage = fixture.registry.snapshot().handlers.storage
      #expect(try await storage.value(for: "home") == "home +,")
      _ = try await storage.removeValue(for: "home")
      try await Self.open(page, fixture, "home")
      try await Self.expect("home +,", by: "home", fixture)
      await page.destroy()
    }
  }

  @Test("the page on top of a stack is the one that is shown")
  func stack() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let stack = PageStack()
      fixture.registry.register(stack as any Navigating, as: \.navigator)
      let go = "b.addEvent('click', function () { weex.requireModule('navigator').push({ url: 'next.js' }) })"
      let page = try await Self.page(fixture, "home", more: go)
      fixture.origin.serve("/pages/next.js", Self.bundle("next"))
      await stack.show(page)
      try await Self.open(page, fixture, "home")
      try await page.fireEvent("_root", "click")
      // The push ends when the other page has opened.
      await page.settle(within: .seconds(60))
      let next = try #require(await stack.top)
      await next.settle(within: .seconds(60))
      #expect(next !== page)
      try await Self.expect("home +,home -,", by: "home", fixture)
      try await Self.expect("next +,", by: "next", fixture)
      try await stack.pop(options: [:], from: next)
      await page.settle(within: .seconds(60))
      try await Self.expect("next +,next -,", by: "next", fixture)
      try await Self.expect("home +,home -,home +,", by: "home", fixture)
      await stack.empty()
      try await Self.expect("home +,home -,home +,home -,", by: "home", fixture)
    }
  }

  @Test("a page that is embedded appears and disappears with the page around it")
  func embedding() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let part = "b.appendChild(d.createElement('embed', { attr: { src: 'part.js' } }))"
      let page = try await Self.page(fixture, "home", more: part)
      fixture.origin.serve("/pages/part.js", Self.bundle("part"))
      await page.appear()
      try await Self.open(page, fixture, "home")
      try await Self.expect("part +,", by: "part", fixture)
      await page.disappear()
      await page.settle(within: .seconds(60))
      try await Self.expect("part +,part -,", by: "part", fixture)
      await page.destroy()
    }
  }

  @Test("a page whose script does not end is ended all the same")
  func endlessHandler() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page("body.addEvent('viewdisappear', function () { for (;;) {} })")
      await page.appear()
      await page.destroy()
      #expect(await page.phase == .destroyed)
    }
  }

  @Test("an error in a handler is one of the page, which goes on")
  func failingHandler() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page("body.addEvent('viewappear', function () { throw new Error('not yet') })")
      await page.appear()
      await page.settle(within: .seconds(60))
      #expect(await page.phase == .live)
      #expect(await page.exceptions == ["Error: not yet"])
    }
  }
}
