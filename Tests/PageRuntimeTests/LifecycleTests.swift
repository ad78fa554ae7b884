import PageCore
import PageLoading
import ScriptEngine
import Testing

@testable import PageRuntime

struct LifecycleTests {
  private static let phases: [PagePhase] = [.idle, .loading, .evaluating, .live, .failed, .destroyed]

  @Test func onlyTheLegalMovesArePossible() {
    let moves = Self.phases.flatMap { from in
      Self.phases.filter { from.canMove(to: $0) }.map { "\(from.rawValue) \($0.rawValue)" }
    }
    #expect(
      Set(moves) == [
        "idle loading", "idle evaluating", "idle failed", "idle destroyed", "loading evaluating", "loading failed",
        "loading destroyed", "evaluating live", "evaluating failed", "evaluating destroyed", "live loading",
        "live evaluating", "live failed", "live destroyed", "failed loading", "failed evaluating", "failed destroyed",
      ])
  }

  @Test func aPageTellsItsLifeFromTheBeginningHoweverLateOneAsks() async throws {
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

  @Test func aPageThatCannotBeHadFailsWithItsReason() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.script("/gone.js", [.status(404)])
      let page = await PageInstance(environment: fixture.environment)
      await #expect(throws: PageError.self) { try await page.renderByURL(fixture.origin.url(for: "/gone.js")) }
      #expect(await page.phase == .failed)
      #expect(await page.failure?.description.contains("answers 404") == true)
      await #expect(throws: PageError.self) { try await page.renderByURL("no url") }
    }
  }

  @Test func aSubclassMayTakeTheStepThatDownloads() async throws {
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

  @Test func destroyingAPageEndsItsRequestsAndItsTimers() async throws {
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
      #expect(await page.underway.isEmpty)
      await #expect(throws: ScriptError.closed) { try await page.fireEvent("_root", "click") }
    }
  }

  @Test(.timeLimit(.minutes(1))) func aPageThatGetsItsBodyLaterIsRenderedThen() async throws {
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

  @Test func aPageRendersAnewWhenItIsReloaded() async throws {
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

  @Test func manyPagesOneAfterTheOtherLeaveNothing() async throws {
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
}
