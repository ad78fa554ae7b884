import Foundation
import ScriptEngine
import TestSupport
import Testing

@testable import PageRuntime

extension StressTests {
  /// The memory limits of scripts, and the memory after pages have ended. The tests run one after the other.
  struct MemoryTests {
    private static let script = """
      for (var i = 0; i < 50; i++) add('text', { attr: { value: 'line ' + i } }).addEvent('click', function () {})
      setTimeout(function () {}, 1e6); setInterval(function () {}, 1e6)
      weex.requireModule('globalEvent').addEventListener('x', function () {})
      weex.requireModule('timer').setTimeout(function () {}, 1e6)
      new BroadcastChannel('news').onmessage = function () {}
      new Promise(function () {}).then(function () {})
      var big = new Array(10000).fill(1)
      """

    /// Less than 100 pages, each of which takes several hundred KiB.
    private static let bound: Int64 = 24 << 20

    private static var threads: Int {
      (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task"))?.count ?? 0
    }

    /// Pages of one bundle, whose group is used again, and pages of different bundles.
    @Test("many pages leave no memory behind", .timeLimit(.minutes(5)), arguments: [false, true])
    func thousandPages(_ isOtherEachTime: Bool) async throws {
      try await PageFixture.running { (fixture: PageFixture) async throws in
        var pages: [WeakPage] = []
        func open(_ count: Int) async throws {
          for number in 0..<count {
            let page = try await fixture.page(
              Self.script + (isOtherEachTime ? "\nvar number = \(pages.count + number)" : ""))
            pages.append(WeakPage(page))
            await page.destroy()
          }
        }
        // Memory that is taken once is taken by then.
        try await open(100)
        let (threads, before) = (Self.threads, ScriptLimits.residentBytesNow())
        try await open(1_000)
        // Threads, and tests that run beside this one, end some time later.
        func grown() -> Int64 { ScriptLimits.residentBytesNow() - before }
        let deadline = ContinuousClock.now + .seconds(120)
        while Self.threads > threads + 12 || grown() > Self.bound, .now < deadline {
          try await Task.sleep(for: .milliseconds(50))
        }
        #expect(grown() <= Self.bound, "\(grown() >> 20) MiB")
        #expect(pages.count { $0.page != nil } == 0)
      }
    }

    @Test(
      "a script that takes memory without end is stopped", .timeLimit(.minutes(5)),
      arguments: [
        "var all = []; for (;;) all.push({ at: all.length })",
        "var all = []; for (;;) all.push(new Array(1000).fill(1))",
        "var all = [], i = 0; for (;;) all.push(('x' + i++).repeat(100000))",
        "var all = []; for (;;) all.push(new Uint8Array(65536).fill(7))",
        "var all = {}; for (var i = 0; ; i++) all['name' + i] = i",
      ])
    func endlessMemory(_ script: String) async throws {
      let limits = ScriptLimits(time: .seconds(30), residentBytes: ScriptLimits.residentBytesNow() + (64 << 20))
      let failure = try await BadScriptTests.opened(script, limits: limits)
      #expect(failure.contains("MiB are allowed"), "\(failure)")
    }

    @Test(
      "a script that asks for too much memory at once is refused",
      arguments: [
        "new Array(4294967295).fill(0).map(String)", "new ArrayBuffer(1e15)", "'x'.repeat(2 ** 40)",
        "var s = 'x'; for (;;) s += s", "new Uint8Array(2 ** 53)", "JSON.stringify(new Array(4e9))",
      ])
    func largeAllocation(_ script: String) async throws {
      let limits = ScriptLimits(time: .seconds(2), residentBytes: ScriptLimits.residentBytesNow() + (512 << 20))
      #expect(try await BadScriptTests.opened(script, limits: limits) != "")
    }

    private struct WeakPage {
      weak var page: PageInstance?
      init(_ page: PageInstance) { self.page = page }
    }
  }
}
