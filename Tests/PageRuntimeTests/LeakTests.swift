import Foundation
import ScriptEngine
import Testing

@testable import PageRuntime

/// Pages that come and go leave nothing behind.
@Suite(.serialized) struct LeakTests {
  private static let script = """
    for (var i = 0; i < 50; i++) add('text', { attr: { value: 'line ' + i } }).addEvent('click', function () {})
    setTimeout(function () {}, 1e6); setInterval(function () {}, 1e6)
    weex.requireModule('globalEvent').addEventListener('x', function () {})
    weex.requireModule('timer').setTimeout(function () {}, 1e6)
    new BroadcastChannel('news').onmessage = function () {}
    new Promise(function () {}).then(function () {})
    var big = new Array(10000).fill(1)
    """

  private static var threads: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task"))?.count ?? 0
  }

  /// Of one bundle, whose group is used again, and of as many as there are pages.
  @Test(.timeLimit(.minutes(5)), arguments: [false, true])
  func aThousandPagesEndWhereTheyBegan(_ isOtherEachTime: Bool) async throws {
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
      // What is made once is there then.
      try await open(100)
      let (threads, before) = (Self.threads, ScriptLimits.residentBytesNow())
      try await open(1_000)
      let grown = ScriptLimits.residentBytesNow() - before
      // Threads end in their own time.
      while Self.threads > threads + 12 { await Task.yield() }
      #expect(grown < 24 << 20, "\(grown >> 20) MiB")
      #expect(pages.count { $0.page != nil } == 0)
    }
  }

  private struct WeakPage {
    weak var page: PageInstance?
    init(_ page: PageInstance) { self.page = page }
  }
}
