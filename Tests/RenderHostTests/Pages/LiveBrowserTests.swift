import Foundation
import Hummingbird
import PageKit
import PageTesting
import TestServers
import TestSupport
import Testing

@testable import PageWorkers
@testable import RenderHost
@testable import ServerKit

/// A live page in headless Chromium.
@Suite(.timeLimit(.minutes(3))) struct LiveBrowserTests {
  /// A page with a counter, a field, a link and a slider.
  private static let home = Script.page(
    """
    function text (id, value) {
      var t = d.createElement('text', { attr: { id: id, value: value } }); b.appendChild(t); return t
    }
    var n = 0, counter = text('counter', 'clicks: 0')
    counter.addEvent('click', function (e) { n += 1; counter.setAttr('value', 'clicks: ' + n + (e.position ? ' at a place' : '')) })
    var field = d.createElement('input', { attr: { value: '' } }), typed = text('typed', '-')
    field.addEvent('input', function (e) { typed.setAttr('value', 'typed: ' + e.value + ' ' + field.attr.value) })
    b.insertBefore(field, counter)
    var link = text('link', 'go')
    link.addEvent('click', function () { weex.requireModule('navigator').push({ url: 'other.js' }, function () {}) })
    """)
  private static let other = Script.page(
    """
    var t = d.createElement('text', { attr: { value: 'another page' } })
    t.addEvent('click', function () { weex.requireModule('navigator').pop({}, function () {}) })
    b.appendChild(t)
    """)

  /// A document around the live page's, which does what a user would and says how far it has come.
  private static let driver = """
    <!doctype html><iframe src="/live/home" width=750 height=900></iframe><script>
    const frame = document.querySelector('iframe'), doc = () => frame.contentDocument
    const tell = (word, text) => fetch('/driver/' + word, { method: 'POST', body: JSON.stringify({ text: text || '' }), headers: { 'Content-Type': 'application/json' } })
    const until = async (what, test) => {
      for (let tries = 0; tries < 2000; tries++) {
        let value = null
        try { value = test() } catch {}
        if (value) return value
        await new Promise(resume => setTimeout(resume, 20))
      }
      throw new Error(what + ' did not come: ' + doc().documentElement.textContent.slice(-300))
    }
    const element = (text) => [...doc().querySelectorAll('.w-text')].find(at => at.textContent === text)
    const check = (what, isSo) => { if (!isSo) throw new Error(what) }
    ;(async () => {
      (await until('the page', () => element('clicks: 0'))).click()
      await until('the tap', () => element('clicks: 1 at a place'))
      const field = doc().querySelector('input')
      field.focus()
      field.value = 'Ann'
      field.setSelectionRange(1, 1)
      field.dispatchEvent(new InputEvent('input', { bubbles: true }))
      await until('the text', () => element('typed: Ann Ann'))
      check('the field keeps its text, focus and caret', field.isConnected && field.value === 'Ann'
        && doc().activeElement === field && field.selectionStart === 1)
      element('go').click()
      await until('the other page', () => element('another page'))
      check('the address is the other page\\'s', frame.contentWindow.location.search.includes('other.js'))
      frame.contentWindow.history.back()
      await until('the first page', () => element('clicks: 1 at a place'))
      check('the field still has its text', doc().querySelector('input').value === 'Ann')
      check('the address is the first page\\'s', frame.contentWindow.location.pathname === '/live/home')
      element('go').click()
      ;(await until('the other page again', () => element('another page'))).click()
      await until('the first page after pop', () => element('clicks: 1 at a place'))
      await tell('kill')
      await until('the notice', () => doc().querySelector('html > .live-note').textContent.includes('has begun again'))
      await until('the page anew', () => element('clicks: 0'))
      await tell('close')
      const button = await until('the end', () => doc().querySelector('html > .live-end button'))
      check('the end is told', doc().querySelector('html > .live-end').textContent.includes('This page has ended'))
      button.click()
      await until('another beginning', () => element('clicks: 0') && !doc().querySelector('html > .live-end'))
      element('clicks: 0').click()
      await until('a tap on it', () => element('clicks: 1 at a place'))
      tell('done')
    })().catch(error => tell('failed', error.message))
    </script>
    """

  @Test("a page is tapped, typed into and left by its links, and its viewer is told when its worker is killed")
  func use() async throws {
    try await PageFarm.running(["home": Self.home, "other": Self.other], workers: 1) { farm in
      let words = Monitor<[String]>([])
      let directory = farm.running.directory
      let host = try await LiveHost(
        Settings(), metrics: farm.record.metrics,
        adding: { routes in
          routes.add(.pages) { router in
            let pages = PageRoutes(directory: directory, bodyLimit: 1 << 20)
            pages.add(to: router)
            LiveRoutes(pages: pages, sessions: BrowserSessions()).add(to: router)
            router.get("/driver") { _, _ in
              Response(
                status: .ok, headers: [.contentType: "text/html"],
                body: .init(byteBuffer: .init(string: Self.driver)))
            }
            router.post("/driver/:word") { request, context in
              let text = String(buffer: try await request.body.collect(upTo: 1 << 16))
              words.change { $0.append("\(context.parameters.get("word") ?? "") \(text)") }
              return Response(status: .ok)
            }
          }
        })
      let folder = try TemporaryDirectory()
      let browser = try Tool.start(
        "chromium",
        [
          "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
          "--remote-debugging-port=0", "--user-data-dir=\(folder.file("profile"))", "--window-size=800,1000",
          "http://127.0.0.1:\(host.port)/driver",
        ])
      defer { browser.send(SIGTERM) }
      func said(_ word: String) async throws {
        try await words.wait(within: .seconds(120)) {
          $0.last?.hasPrefix(word) == true || $0.last?.hasPrefix("failed") == true
        }
        #expect(words.read(\.last)?.hasPrefix(word) == true, "\(words.read(\.self))")
      }
      try await said("kill")
      // The page that was popped has gone with its viewer.
      try await farm.until { await directory.pages.count == 1 }
      let worker = try #require(await farm.running.workers.status().workers.first)
      kill(worker.pid, SIGKILL)
      try await said("close")
      for id in await directory.pages.keys { try await directory.close(id) }
      try await said("done")
      try await host.stop()
    }
  }
}
