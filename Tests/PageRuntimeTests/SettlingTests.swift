import HTTPTransport
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// The work that `settle` waits for, and its report of the rest.
@Suite(.timeLimit(.minutes(5))) struct SettlingTests {
  @Test(
    "timers that are due soon are waited for, of pages and of modules",
    arguments: [
      "setTimeout(function () { show('later') }, 0)",
      "setTimeout(function () { setTimeout(function () { show('later') }, 5) }, 5)",
      "module('timer').setTimeout(function () { show('later') }, 5)",
      "Promise.resolve().then(function () { setTimeout(function () { show('later') }, 0) })",
      "module('storage').getItem('none', function () { setTimeout(function () { show('later') }, 1) })",
    ])
  func dueTimers(_ script: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      #expect(try await fixture.shown(script) == "later")
    }
  }

  @Test("timers of an embedded page count as the page's")
  func embeddedTimers() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve(
        "/pages/inner.js",
        Array(
          """
          // { "framework": "Vanilla" }
          var d = weex.document, b = d.createBody('div'), t = d.createElement('text', { attr: { value: 'first' } })
          d.documentElement.appendChild(b)
          b.appendChild(t)
          setTimeout(function () { t.setAttr('value', 'later') }, 5)
          """.utf8))
      let page = try await fixture.page("add('embed', { attr: { src: 'inner.js' } })")
      #expect(await page.settle(within: .seconds(30)))
      #expect(await page.embedded.values.first?.shown == "later")
      await page.destroy()
    }
  }

  @Test("work that is not waited for is counted")
  func unawaited() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        setInterval(function () {}, 1)
        setTimeout(function () {}, 3600000)
        weex.requireModule('timer').setTimeout(function () {}, 3600000)
        """)
      let pending = await page.pendingWork(within: .seconds(30))
      #expect(pending.isSettled)
      #expect(pending.busyText == "")
      #expect(pending.unawaitedText == "2 timers due in more than 200 ms, 1 interval")
      await page.destroy()
    }
  }

  @Test(
    "waiting for a page that never ends stops at the limit, and its work is counted",
    arguments: [
      "setTimeout(again, 1)",
      "weex.requireModule('timer').setTimeout(again, 1)",
    ])
  func limit(_ restart: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.script("/slow", [.stallBeforeHead])
      let page = try await fixture.page(
        """
        weex.requireModule('stream').fetch({ url: '/slow', type: 'text' }, function () {})
        setTimeout(function () {}, 3600000)
        function again() { \(restart) }
        again()
        """)
      try await fixture.origin.waitForRequests(1, to: "/slow")
      // A timer that has ended and the one that its function set do not count together; a module sets it by a call.
      for _ in 0..<100 {
        let pending = await page.pendingWork(within: .milliseconds(1), timers: .seconds(7200))
        #expect(!pending.isSettled)
        #expect(pending.requests == 1)
        #expect(pending.dueTimers + pending.calls == 2)
        #expect(pending.unawaitedText == "")
      }
      await page.destroy()
    }
  }

  @Test(
    "the work that is waited for, and its text",
    arguments: [
      ([], true, "", ""),
      ([.request], false, "1 request", ""),
      ([.request, .call, .call, .timer(remaining: .zero)], false, "1 request, 2 calls, 1 timer", ""),
      ([.timer(remaining: .milliseconds(-5)), .timer(remaining: .milliseconds(50))], false, "2 timers", ""),
      ([.timer(remaining: .milliseconds(51))], true, "", "1 timer due in more than 50 ms"),
      (
        [.interval, .interval, .timer(remaining: .seconds(9))], true, "", "1 timer due in more than 50 ms, 2 intervals"
      ),
    ] as [([PendingWork.Item], Bool, String, String)])
  func table(_ items: [PendingWork.Item], _ isSettled: Bool, _ busy: String, _ unawaited: String) {
    let pending = PendingWork(items, timers: .milliseconds(50))
    #expect(pending.isSettled == isSettled)
    #expect(items.contains { $0.isWaitedFor(timers: .milliseconds(50)) } != isSettled)
    #expect(pending.busyText == busy)
    #expect(pending.unawaitedText == unawaited)
  }
}
