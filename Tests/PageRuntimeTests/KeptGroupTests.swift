import Foundation
import HTTPTransport
import ScriptEngine
import Testing

@testable import PageRuntime

/// Groups of pages that have ended, of a framework with timers of its own.
@Suite(.timeLimit(.minutes(5))) struct KeptGroupTests {
  private static let bundle = """
    // { "framework": "Vue" }
    onclick(function () { show('clicked') })

    """

  private static func running(_ body: (PageFixture) async throws -> Void) async throws {
    try await PageFixture.running(frameworks: [.vue: Fixture.text("queueing.js")], body)
  }

  private static func opened(_ fixture: PageFixture, _ source: String) async throws -> PageInstance {
    let page = await PageInstance(environment: fixture.environment)
    // The pool keeps groups by bundle: it is the same one.
    try await page.render(source, options: PageOptions(bundleURL: "kept.js"))
    return page
  }

  @Test(
    "the next page's updates run after a page that ended with a timer of the framework pending",
    arguments: ["show('never seen')", "atEnd()"])
  func pendingTimer(_ ending: String) async throws {
    try await Self.running { fixture in
      let first = try await Self.opened(fixture, Self.bundle + ending)
      await first.destroy()
      let second = try await Self.opened(fixture, Self.bundle + ending)
      let ref = try #require(await second.first("text")?.ref)
      await second.settle(within: .seconds(30))
      try await second.fireEvent(ref, "click")
      await second.settle(within: .seconds(30))
      #expect(await second.shown == "clicked")
      await second.destroy()
    }
  }
  @Test("a group whose framework has no timer pending is kept")
  func noTimer() async throws {
    try await Self.running { fixture in
      let page = try await Self.opened(fixture, Self.bundle + "show('seen')")
      await page.settle(within: .seconds(30))
      #expect(await page.shown == "seen")
      await page.destroy()
      #expect(await fixture.environment.frameworks.keptCount == 1)
    }
  }

  @Test("timers that a framework sets before there is a page run in the first one")
  func earlyTimer() async throws {
    let framework = """
      ;(function () {
        var page, hasStarted = false
        setTimeout(function (word) { callUpdateAttrs(page, 't', { value: word }) }, 1, 'started')
        clearTimeout(setTimeout(function () { callUpdateAttrs(page, 't', { value: 'wrong' }) }, 2))
        globalThis.registerModules = globalThis.registerComponents = globalThis.destroyInstance = function () {}
        globalThis.createInstanceContext = function (id) {
          page = id
          callCreateBody(id, { ref: 't', type: 'text', attr: {}, style: {} })
          callCreateFinish(id)
          return {}
        }
      })()
      """
    try await PageFixture.running(frameworks: [.vue: framework]) { (fixture: PageFixture) async throws in
      let page = try await Self.opened(fixture, Self.vue)
      #expect(await page.settle(within: .seconds(30)))
      #expect(await page.shown == "started")
      await page.destroy()
    }
  }

  private static let vue = "// { \"framework\": \"Vue\" }\n"

  @Test("a timer's number is given once in a group, so that no page clears another's timer")
  func timerNumbers() async throws {
    try await Self.running { fixture in
      let source = Self.bundle + "show(String(setTimeout(function () {}, 0)))"
      var numbers: Set<String?> = []
      for _ in 0..<3 {
        let page = try await Self.opened(fixture, source)
        await page.settle(within: .seconds(30))
        numbers.insert(await page.shown)
        await page.destroy()
      }
      #expect(numbers.count == 3)
    }
  }
}
