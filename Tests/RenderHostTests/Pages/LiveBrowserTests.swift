import Foundation
import Hummingbird
import LivePages
import PageInspector
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

  /// The beginning of a document around the live page's, which does what a user would and says how far it has come.
  private static func driver(_ path: String, _ steps: String) -> String {
    """
    <!doctype html><iframe src="\(path)" width=750 height=900></iframe><script>
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
    \(steps)
      tell('done')
    })().catch(error => tell('failed', error.message))
    </script>
    """
  }

  private static let use = driver(
    "/live/home",
    """
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
    """)

  /// Opens a driver in a browser.
  ///
  /// - Parameter body: is given what waits for a word of the driver.
  private func running(
    _ driver: @escaping @Sendable (String) -> String,
    _ body: @escaping @Sendable (PageFarm, String, (String) async throws -> Void) async throws -> Void
  ) async throws {
    try await PageFarm.running(
      ["home": Self.home, "other": Self.other], workers: 1, change: { $0.inspectsPages = true }
    ) { farm in
      let words = Monitor<[String]>([])
      let directory = farm.running.directory
      let id = try await farm.open("home")
      let host = try await LiveHost(
        Settings(), metrics: farm.record.metrics,
        adding: { routes in
          routes.add(.pages) { router in
            let pages = PageRoutes(directory: directory, bodyLimit: 1 << 20)
            pages.add(to: router)
            LiveRoutes(pages: pages, sessions: BrowserSessions()).add(to: router)
            router.get("/driver") { _, _ in
              Response(
                status: .ok, headers: [.contentType: "text/html"], body: .init(byteBuffer: .init(string: driver(id))))
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
      try await body(farm, id) { word in
        try await words.wait(within: .seconds(120)) {
          $0.last?.hasPrefix(word) == true || $0.last?.hasPrefix("failed") == true
        }
        #expect(words.read(\.last)?.hasPrefix(word) == true, "\(words.read(\.self))")
      }
      try await host.stop()
    }
  }

  @Test("a page is tapped, typed into and left by its links, and its viewer is told when its worker is killed")
  func use() async throws {
    try await running({ _ in Self.use }) { farm, id, said in
      let directory = farm.running.directory
      try await directory.close(id)
      try await said("kill")
      // The page that was popped has gone with its viewer.
      try await farm.until { await directory.pages.count == 1 }
      let worker = try #require(await farm.running.workers.status().workers.first)
      kill(worker.pid, SIGKILL)
      try await said("close")
      for id in await directory.pages.keys { try await directory.close(id) }
      try await said("done")
    }
  }

  /// A viewer of a page at which developer tools look.
  private static func pick(_ page: String) -> String {
    driver(
      "/live/home?page=\(page)",
      """
        await until('the page', () => element('clicks: 0'))
        tell('show')
        const box = await until('the box', () => doc().querySelector('html > .live-box'))
        const same = (what, a, b) => check(what, ['left', 'top', 'width', 'height'].every(side =>
          Math.abs(a.getBoundingClientRect()[side] - b.getBoundingClientRect()[side]) < 1))
        same('the box is around the element', box, element('clicks: 0'))
        check('the box has a label: ' + box.dataset.label, /^text [0-9.]+ \\u00D7 [0-9.]+$/.test(box.dataset.label))
        tell('pick')
        await until('the picker', () => doc().documentElement.classList.contains('live-picks'))
        const link = element('go')
        link.dispatchEvent(new PointerEvent('pointermove', { bubbles: true }))
        same('the box follows the pointer', await until('its box', () => doc().querySelector('html > .live-box')), link)
        link.click()
        await until('the end of the picker', () => !doc().documentElement.classList.contains('live-picks'))
        check('the page did not hear of it', element('go') && !element('another page'))
        await until('the end of the box', () => !doc().querySelector('html > .live-box'))
        element('clicks: 0').click()
        await until('a tap after it', () => element('clicks: 1 at a place'))
      """)
  }

  @Test("developer tools put a box around an element, and a click that chooses one is nothing to the page")
  func developerTools() async throws {
    try await running({ Self.pick($0) }) { farm, id, said in
      let directory = farm.running.directory
      try await said("show")
      var overlay = InspectedOverlay()
      let texts = try await farm.ask(.get, "/pages/\(id)").json["tree"]["children"].list
      func ref(_ id: String) -> String? { texts.first { $0["attr"]["id"].text == id }?["ref"].text }
      (overlay.ref, overlay.label) = (ref("counter"), "text")
      await directory.show(overlay, by: "t", on: id)
      try await said("pick")
      overlay.isPicking = true
      await directory.show(overlay, by: "t", on: id)
      let log = try #require(try await directory.page(id).log.traffic?.log)
      guard case .events(let events, _) = await log.next(after: 0, within: .seconds(60)) else {
        Issue.record("nothing was chosen")
        return
      }
      #expect(events.map(\.name) == [PickedElement.event])
      let link = try #require(ref("link"))
      #expect(events.map { String(decoding: $0.details, as: UTF8.self) } == [#"{"ref":"\#(link)"}"#])
      await directory.show(InspectedOverlay(), by: "t", on: id)
      try await said("done")
    }
  }
}
