import HTTPTransport
import ScriptEngine
import Testing

@testable import PageRuntime

struct LifecycleTests {
  private static let phases: [PagePhase] = [.idle, .loading, .evaluating, .empty, .live, .failed, .destroyed]

  @Test("only legal moves between phases are possible")
  func moves() {
    let moves = Self.phases.flatMap { from in
      Self.phases.filter { from.canMove(to: $0) }.map { "\(from.rawValue) \($0.rawValue)" }
    }
    #expect(
      Set(moves) == [
        "idle loading", "idle evaluating", "idle failed", "idle destroyed", "loading evaluating", "loading failed",
        "loading destroyed", "evaluating live", "evaluating loading", "evaluating failed", "evaluating destroyed",
        "evaluating empty", "empty live", "empty loading", "empty evaluating", "empty failed", "empty destroyed",
        "live loading",
        "live evaluating", "live failed", "live destroyed", "failed loading", "failed evaluating", "failed destroyed",
      ])
  }

  @Test("a reader of a page's events that does not keep up keeps the last 10,000")
  func unreadEvents() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      let events = page.events
      for number in 0..<10_050 { page.feed.send(.log(level: "log", text: "\(number)")) }
      await page.destroy()
      var count = 0
      var texts: [String] = []
      for await event in events {
        count += 1
        if case .log(_, let text) = event { texts.append(text) }
      }
      #expect(count == 10_000 && texts.first != "0" && texts.last == "10049")
    }
  }

  @Test("other pages have their turn while the many changes of a page are applied")
  func turns() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      let seen = Task { @PageActor in
        var counts: Set<Int> = []
        while ![.live, .failed].contains(page.phase) {
          counts.insert(page.tree.count)
          await Task.yield()
        }
        return counts
      }
      let source = """
        // { "framework": "Vanilla" }
        var body = weex.document.createBody('div')
        weex.document.documentElement.appendChild(body)
        for (var i = 0; i < 20000; i++) body.appendChild(weex.document.createElement('div'))
        """
      try await page.render(source, at: try #require(PageURL("https://pages.example.com/long.js")))
      let counts = await seen.value
      #expect(await page.tree.count == 20_001)
      #expect(counts.contains { $0 > 0 && $0 < 20_001 })
      await page.destroy()
    }
  }

  @Test("a page's events begin with its first one, however late they are asked for")
  func events() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page("add('div')")
      await page.destroy()
      var said: [String] = []
      for await event in page.events {
        switch event {
        case .phase(let phase): said.append(phase.rawValue)
        case .rendered: said.append("rendered")
        case .destroyed: said.append("the end")
        default: break
        }
      }
      #expect(said == ["loading", "evaluating", "live", "rendered", "destroyed", "the end"])
    }
  }

  @Test("a page that cannot be loaded fails with the reason")
  func failures() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.script("/gone.js", [.status(404)])
      let page = await PageInstance(environment: fixture.environment)
      await #expect(throws: PageError.self) { try await page.renderByURL(fixture.origin.url(for: "/gone.js")) }
      #expect(await page.phase == .failed)
      #expect(await page.failure?.description.contains("answers 404") == true)
      await #expect(throws: PageError.self) { try await page.renderByURL("no url") }
    }
  }

  @Test("a subclass may override the step that downloads")
  func subclass() async throws {
    final class Canned: PageInstance {
      override func renderByURL(_ text: String, options: PageOptions, data: ScriptValue) async throws {
        try await render(
          "// { \"framework\": \"Vanilla\" }\nvar d = weex.document; d.documentElement.appendChild(d.createBody('scroller'))"
        )
      }
    }
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await Canned(environment: fixture.environment)
      try await page.renderByURL("http://127.0.0.1:1/never.js", options: PageOptions(), data: [:])
      #expect(await page.tree.body?.type == "scroller")
      await page.destroy()
    }
  }

  @Test("a destroyed page's requests and timers end")
  func destroying() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.script("/slow", [.stallBeforeHead])
      let page = try await fixture.page(
        """
        setInterval(function () {}, 1)
        weex.requireModule('stream').fetch({ url: '/slow', type: 'text' }, function () {})
        """)
      try await fixture.origin.waitForRequests(1, to: "/slow")
      await page.destroy()
      #expect(await page.phase == .destroyed)
      #expect(await page.underway(at: .now).isEmpty)
      await #expect(throws: ScriptError.closed) { try await page.fireEvent("_root", "click") }
    }
  }

  @Test("a page that makes its body later is rendered then", .timeLimit(.minutes(5)))
  func lateBody() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      try await page.render(
        """
        // { "framework": "Vanilla" }
        setTimeout(function () { var d = weex.document; d.documentElement.appendChild(d.createBody('div')) }, 1)
        """)
      for await event in page.events {
        if case .rendered = event { break }
      }
      #expect(await page.phase == .live)
      await page.destroy()
    }
  }

  @Test("a reload renders the page again")
  func reloading() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      func serve(_ word: String) {
        let source = """
          // { "framework": "Vanilla" }
          var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
          b.appendChild(d.createElement('text', { attr: { value: '\(word)' } }))
          """
        fixture.origin.serve("/page.js", Array(source.utf8))
      }
      serve("one")
      let page = await PageInstance(environment: fixture.environment)
      try await page.renderByURL(fixture.origin.url(for: "/page.js"))
      #expect(await page.shown == "one")
      serve("two")
      try await page.reload()
      #expect(await page.shown == "two")
      #expect(await page.phase == .live)
      await page.destroy()
    }
  }

  @Test("many pages one after the other leave no context behind")
  func manyPages() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      weak var last: PageInstance?
      for _ in 0..<50 {
        let page = try await fixture.page("for (var i = 0; i < 20; i++) add('text', { attr: { value: 'x' } })")
        last = page
        await page.destroy()
      }
      #expect(last == nil)
    }
  }

  // MARK: Ends and new beginnings

  /// Opens a page whose bundle does not come, does something to the page, and returns how the opening ended.
  private static func openingEnds(
    _ body: @escaping @PageActor @Sendable (PageInstance, PageFixture) async throws -> Void
  ) async throws -> (any Error)? {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.script("/never.js", [.stallBeforeHead])
      let page = await PageInstance(environment: fixture.environment)
      let opening = Task { try await page.renderByURL(fixture.origin.url(for: "/never.js")) }
      try await fixture.origin.waitForRequests(1, to: "/never.js")
      try await body(page, fixture)
      var end: (any Error)?
      do { try await opening.value } catch { end = error }
      await page.destroy()
      return end
    }
  }

  private static let blank =
    "// { \"framework\": \"Vanilla\" }\nvar d = weex.document; d.documentElement.appendChild(d.createBody('div'))"

  @Test("a page that is destroyed while loading ends its download", .timeLimit(.minutes(5)))
  func destroyingWhileLoading() async throws {
    let end = try await Self.openingEnds { page, _ in
      #expect(page.phase == .loading)
      await page.destroy()
    }
    #expect("\(end as? PageError, default: "none")" == "\(PageError.destroyed)")
  }

  @Test("an opening that is overtaken fails as superseded and changes nothing", .timeLimit(.minutes(5)))
  func overtakenOpening() async throws {
    let end = try await Self.openingEnds { page, _ in
      try await page.render(Self.blank)
      #expect(page.phase == .live)
    }
    #expect("\(end as? PageError, default: "none")" == "\(PageError.superseded)")
  }

  @Test("destroying a page stops its running script", .timeLimit(.minutes(5)))
  func stoppingScripts() async throws {
    try await PageFixture.running(limits: ScriptLimits(time: .seconds(50))) { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      let opening = Task { try await page.render("// { \"framework\": \"Vanilla\" }\nfor (;;) {}") }
      while await page.group == nil { await Task.yield() }
      await page.destroy()
      await #expect(throws: PageError.self) { try await opening.value }
      #expect(await page.phase == .destroyed)
      #expect(await page.failure == nil)
    }
  }

  @Test("a destroyed page cannot be opened")
  func destroyedPage() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page("add('div')")
      await page.destroy()
      await page.destroy()
      await #expect(throws: PageError.self) { try await page.render(Self.blank) }
      await #expect(throws: PageError.self) { try await page.reload() }
      await #expect(throws: ScriptError.closed) { try await page.refresh(data: [:]) }
      await #expect(throws: ScriptError.closed) { try await page.callback("1", .null) }
      #expect(await page.phase == .destroyed)
      #expect(await page.tree.count == 0)
    }
  }

  @Test("a failed page runs no script and can be reloaded")
  func failedPage() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve(
        "/page.js", Array("// { \"framework\": \"Vanilla\" }\nsetInterval(function () {}, 1); throw 'bad'".utf8))
      let page = await PageInstance(environment: fixture.environment)
      await #expect(throws: PageError.self) { try await page.renderByURL(fixture.origin.url(for: "/page.js")) }
      #expect(await page.phase == .failed)
      #expect(await page.timers.isEmpty)
      await #expect(throws: ScriptError.closed) { try await page.fireEvent("_root", "click") }
      fixture.origin.serve("/page.js", Array(Self.blank.utf8))
      try await page.reload()
      #expect(await page.phase == .live)
      #expect(await page.failure == nil)
      await page.destroy()
    }
  }

  @Test("a page without a body can be reloaded")
  func emptyPage() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/page.js", Array("// { \"framework\": \"Vanilla\" }\nsetTimeout(function () {}, 1e9)".utf8))
      let page = await PageInstance(environment: fixture.environment)
      try await page.renderByURL(fixture.origin.url(for: "/page.js"))
      #expect(await page.phase == .empty)
      fixture.origin.serve("/page.js", Array(Self.blank.utf8))
      try await page.reload()
      #expect(await page.phase == .live)
      await page.destroy()
    }
  }

  @Test("a refresh reaches the script and is an event")
  func refreshing() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        "var t = add('text'); body.addEvent('refresh', function (e) { t.setAttr('value', e.data.user) })")
      try await page.refresh(data: ["user": "ann"])
      #expect(await page.shown == "ann")
      await page.destroy()
      var refreshes = 0
      for await event in page.events { if case .refreshed = event { refreshes += 1 } }
      #expect(refreshes == 1)
    }
  }
}
