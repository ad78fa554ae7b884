import Foundation
import HTTPTransport
import PageLayout
import PageTesting
import ScriptEngine
import Synchronization
import Testing

@testable import PageRuntime

/// The places of elements, and what follows from them: rectangles, scrolling, events and taps. The device is 750 by 1,334
/// units, of which a `wx` has two, and texts are measured without fonts.
@Suite(.timeLimit(.minutes(5))) struct LayoutTests {
  /// Pages whose text, which shows what they say, is out of the way.
  private static let start = """
    text.setStyles({ position: 'fixed', left: 0, bottom: 0, width: 750 })
    var dom = module('dom')
    function sides(r) { return ['width', 'height', 'left', 'right', 'top', 'bottom'].map(function (n) { return r.size[n] }) }
    function rect(e) { dom.getComponentRect(e, function (r) { say(r.result ? sides(r) : r.errMsg) }) }

    """

  /// A list of 10 cells, each 100 high, of which 4 are seen. The root's event `go` scrolls to a cell.
  private static let list = """
    var cells = [], list = add('list', { attr: { loadmoreoffset: 100 }, style: { height: 400 } })
    function cell(n) {
      var c = document.createElement('cell', { style: { height: 100 } })
      cells.push(c); list.appendChild(c)
      return c
    }
    for (var n = 0; n < 10; n++) cell(n)
    body.addEvent('go', function (e) { dom.scrollToElement(cells[e.to], { offset: e.offset || 0 }) })

    """

  /// Each cell tells when it comes and goes: `+4up`, `-0up`.
  private static let telling = """
    cells.forEach(function (c, n) {
      c.addEvent('appear', function (e) { say('+' + n + (e.direction || '')) })
      c.addEvent('disappear', function (e) { say('-' + n + (e.direction || '')) })
    })

    """

  private static func said(_ page: PageInstance) async -> [String] {
    await page.settle(within: .seconds(50))
    let values = await page.shown.flatMap { ScriptValue(json: $0) }?.array ?? []
    return values.map { $0.plainText ?? $0.jsonText }
  }

  private static func running(
    _ script: String, _ body: (PageInstance, PageFixture) async throws -> Void
  ) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(start + script)
      try await body(page, fixture)
      let exceptions = await page.exceptions
      #expect(exceptions == [])
    }
  }

  // MARK: Rectangles

  @Test(
    "elements have places in units of the design",
    arguments: [
      ("var e = add('div', { style: { height: 100, marginTop: 20 } })", "[750,100,0,750,20,120]"),
      (
        """
        var row = add('div', { style: { flexDirection: 'row', height: 80 } })
        add('div', { style: { width: 150 } }, row); var e = add('div', { style: { flex: 1 } }, row)
        """, "[600,80,150,750,0,80]"
      ),
      (
        "var e = add('div', { style: { position: 'fixed', right: 10, bottom: 20, width: 100, height: 50 } })",
        "[100,50,640,740,1264,1314]"
      ),
      ("var e = add('div', { style: { width: '100wx', height: '50px' } })", "[200,50,0,200,0,50]"),
      (
        "var e = add('text', { attr: { value: 'abcd' }, style: { fontSize: 40, width: 300 } })",
        "[300,48,0,300,0,48]"
      ),
      (
        "module('meta').setViewport({ width: 375 }); var e = add('div', { style: { height: 100 } })",
        "[375,100,0,375,0,100]"
      ),
      ("var e = 'none'", "there is no element none"), ("var e = 'viewport'", "[750,1334,0,750,0,1334]"),
    ])
  func rectangles(_ script: String, _ expected: String) async throws {
    try await Self.running(script + "\nrect(e)") { page, _ in #expect(await Self.said(page) == [expected]) }
  }

  @Test("a change after a question moves what it touches")
  func changes() async throws {
    try await Self.running(
      """
      var a = add('div', { style: { height: 100 } }), b = add('div', { style: { height: 50 } })
      var steps = [
        function () { a.setStyle('height', 300) },
        function () { body.insertBefore(document.createElement('div', { style: { height: 7 } }), a) },
        function () { body.insertAfter(a, b) },
        function () { a.addEvent('click', function () {}); b.setStyle('marginTop', 3) },
        function () { body.removeChild(b, false); body.insertBefore(document.createElement('div'), a); b = a },
      ]
      function ask() {
        dom.getComponentRect(b, function (r) {
          say(r.size.top)
          if (steps.length) { steps.shift()(); ask() }
        })
      }
      ask()
      """
    ) { page, _ in
      #expect(await Self.said(page) == ["100", "300", "307", "7", "10", "7"])
    }
  }

  @Test("a page that asks for no place is not laid out")
  func unasked() async throws {
    try await Self.running(
      Self.list + ";['scroll', 'loadmore'].forEach(function (t) { list.addEvent(t, function () {}) })"
    ) {
      page, _ in
      try await page.fireEvent("_root", "other")
      #expect(await Self.said(page) == [])
      #expect(await page.elementLayout == nil)
      try await page.fireEvent("_root", "go", ["to": 1])
      await page.settle(within: .seconds(50))
      #expect(await page.elementLayout != nil)
    }
  }

  @Test("a recycle-list has boxes of its cells, which follow its data")
  func cells() async throws {
    try await Self.running(
      """
      var list = add('recycle-list', { attr: { alias: 'item', listData: [{}, {}] }, style: { height: 400 } })
      var slot = add('cell-slot', { style: { height: 100 } }, list), part = add('text', { attr: { value: 'x' } }, slot)
      slot.addEvent('click', function (e) { say('tapped') })
      body.addEvent('more', function () { list.setAttr('listData', [{}, {}, {}]) })
      body.addEvent('fewer', function () { list.setAttr('listData', [{}]) })
      """
    ) { page, _ in
      let slot = try #require(await page.first("cell-slot")?.ref)
      func places() async -> [Double?] {
        let layout = await page.layout
        return (0..<3).map { layout.box("\(slot)@\($0)")?.pageFrame.y }
      }
      #expect(await places() == [0, 100, nil])
      try await page.fireEvent("_root", "more")
      #expect(await places() == [0, 100, 200])
      try await page.tap(x: 10, y: 250)
      try await page.fireEvent("_root", "fewer")
      #expect(await places() == [0, nil, nil])
      #expect(await Self.said(page) == ["tapped"])
    }
  }

  @Test("cells that appear together are told without filling their list again for each")
  func cellAppearances() async throws {
    try await Self.running(
      """
      var items = []
      for (var n = 0; n < 20; n++) items.push({ name: n })
      var list = add('recycle-list', { attr: { alias: 'item', listData: items }, style: { height: 400 } })
      var slot = add('cell-slot', { style: { height: 20 } }, list)
      slot.addEvent('appear', function () { say('+') })
      """
    ) { page, _ in
      #expect(await Self.said(page).count == 20)
      #expect(await page.expansionCount < 10)
    }
  }

  /// A page that says where its part is, when it has run and when it is asked.
  private static let inner = """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div'), dom = weex.requireModule('dom'), said = []
    d.documentElement.appendChild(b)
    var t = d.createElement('text', { style: { position: 'fixed', bottom: 0, width: 10, height: 10 } })
    var part = d.createElement('div', { style: { height: 100 } })
    b.appendChild(t); b.appendChild(part)
    function say(v) { said.push(v); t.setAttr('value', JSON.stringify(said)) }
    function ask() {
      dom.getComponentRect(part, function (r) { say(r.size.width) })
      dom.getComponentRect('viewport', function (r) { say(r.size.width + ' by ' + r.size.height) })
    }
    part.addEvent('click', function (e) { say('tapped at ' + e.position.x) })
    b.addEvent('ask', ask); ask()
    """

  @Test(
    "an embedded page is laid out in the box of its element, and tapped through it, whatever the device says of its size",
    arguments: [750, 0])
  func embedded(_ deviceWidth: Double) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.register(
        DefaultConfiguration(["deviceWidth": .number(deviceWidth), "deviceHeight": 1_334, "scale": 2]),
        as: \.configuration)
      fixture.origin.serve("/pages/part.js", Array(Self.inner.utf8))
      let page = try await fixture.speakingPage(
        Self.start + """
          var style = { marginTop: 30, marginLeft: 50, width: 400, height: 300 }
          var frame = add('embed', { attr: { src: 'part.js' }, style: style })
          body.addEvent('grow', function () { frame.setStyle('width', 500) })
          """)
      await page.settle(within: .seconds(50))
      let part = try #require(await page.embedded.values.first)
      #expect(await Self.said(part) == ["400", "400 by 300"])
      try await page.tap(x: 60, y: 40)
      try await page.fireEvent("_root", "grow")
      try await part.fireEvent("_root", "ask")
      #expect(await Self.said(part) == ["400", "400 by 300", "tapped at 0", "500", "500 by 300"])
      await #expect(throws: ClickError.notClickable(.ref("_root"))) { try await page.tap(x: 60, y: 180) }
      await page.destroy()
    }
  }

  @Test("a tap to which nothing in an embedded page listens is one of the page around it")
  func tapsThroughEmbedded() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/pages/part.js", Array(Self.inner.utf8))
      let page = try await fixture.speakingPage(
        Self.start + """
          var frame = add('embed', { attr: { src: 'part.js' }, style: { width: 400, height: 300 } })
          frame.addEvent('click', function (e) { say([e.position.width, e.position.height]) })
          """)
      await page.settle(within: .seconds(50))
      let part = try #require(await page.embedded.values.first)
      try await page.tap(x: 10, y: 150)
      #expect(await Self.said(page) == ["[400,300]"])
      try await page.tap(x: 10, y: 10)
      #expect(await Self.said(part) == ["400", "400 by 300", "tapped at 0"])
      #expect(await Self.said(page) == ["[400,300]"])
      await page.destroy()
    }
  }

  @Test("an embedded page that is laid out within the layout of the page around it fires each event once")
  func embeddedAppearances() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve(
        "/pages/part.js",
        Array(
          """
          // { "framework": "Vanilla" }
          var d = weex.document, b = d.createBody('div'), said = []
          d.documentElement.appendChild(b)
          var t = d.createElement('text', { style: { position: 'fixed', bottom: 0 } }), list = d.createElement('list', {})
          b.appendChild(t); b.appendChild(list)
          function say(v) { said.push(v); t.setAttr('value', JSON.stringify(said)) }
          for (let n = 0; n < 10; n++) {
            let cell = d.createElement('cell', { style: { height: 100 } })
            cell.addEvent('appear', function () { say('+' + n) })
            cell.addEvent('disappear', function () { say('-' + n) })
            list.appendChild(cell)
          }
          b.addEvent('go', function () {})
          """.utf8))
      let page = try await fixture.speakingPage(
        Self.start + """
          var frame = add('embed', { attr: { src: 'part.js' }, style: { width: 400, height: 200 } })
          body.addEvent('size', function (e) { frame.setStyle('height', e.height) })
          """)
      await page.settle(within: .seconds(50))
      let part = try #require(await page.embedded.values.first)
      #expect(await Self.said(part) == ["+0", "+1"])
      // Nothing lays the page around it out before the embedded one asks, which is then due its events within that.
      for (height, told) in [(400, ["+2", "+3"]), (100, ["-1", "-2", "-3"]), (300, ["+1", "+2"])]
        as [(Double, [String])]
      {
        let before = await Self.said(part)
        try await page.fireEvent("_root", "size", ["height": .number(height)])
        // Two entries at once: both follow the layout, while the events of the first are under way.
        async let first: Void = part.fireEvent("_root", "go")
        async let second: Void = part.fireEvent("_root", "go")
        _ = try await (first, second)
        #expect(await Self.said(part) == before + told)
      }
      await page.destroy()
    }
  }

  @Test("an embedded page with a viewport of its own has units of its own")
  func embeddedViewport() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let viewport = "weex.requireModule('meta').setViewport({ width: 375 })"
      fixture.origin.serve(
        "/pages/part.js", Array(Self.inner.replacing("b.addEvent(", with: viewport + "\nb.addEvent(").utf8))
      let page = try await fixture.speakingPage(
        Self.start + """
          var style = { marginTop: 30, marginLeft: 50, width: 400, height: 300 }
          add('embed', { attr: { src: 'part.js' }, style: style })
          """)
      await page.settle(within: .seconds(50))
      let part = try #require(await page.embedded.values.first)
      #expect(await Self.said(part) == ["200", "200 by 150"])
      // The part is 100 of its own units high, 200 of the page around it.
      try await page.tap(x: 440, y: 220)
      #expect(await Self.said(part) == ["200", "200 by 150", "tapped at 0"])
      await #expect(throws: ClickError.notClickable(.ref("_root"))) { try await page.tap(x: 440, y: 240) }
      await page.destroy()
    }
  }

  // MARK: Scrolling

  @Test(
    "an element is scrolled to the beginning of its scroller, as far as the content reaches",
    arguments: [
      (4, "0", 0), (4, "50", -50), (4, "'-100px'", 100), (4, "'10wx'", -20), (9, "0", 300), (0, "-50", 0),
    ] as [(Int, String, Double)])
  func scrolling(_ cell: Int, _ offset: String, _ top: Double) async throws {
    try await Self.running(
      Self.list + "dom.scrollToElement(cells[\(cell)], { offset: \(offset), animated: true }); rect(cells[\(cell)])"
    ) { page, _ in
      let ref = try #require(await page.first("list")?.children[cell])
      #expect(await Self.said(page) == ["[750,100,0,750,\(Int(top)),\(Int(top + 100))]"])
      #expect(await page.scrollTarget == ref)
    }
  }

  @Test(
    "a listener is told of a scroll when the offset is far enough from what it was told last",
    arguments: [
      ("0", "[-100,-150,-200,-500,0]"), ("100", "[-100,-200,-500,0]"), ("'100px'", "[-100,-200,-500,0]"),
      ("'60wx'", "[-150,-500,0]"), ("1000", ""),
    ])
  func offsetAccuracy(_ accuracy: String, _ told: String) async throws {
    try await Self.running(
      Self.list + """
        list.setAttr('offsetAccuracy', \(accuracy))
        list.addEvent('scroll', function (e) { say(e.contentOffset.y) })
        """
    ) { page, _ in
      for (cell, offset) in [(1, 0), (1, 50), (2, 0), (5, 0), (0, 0)] {
        try await page.fireEvent("_root", "go", ["to": .number(Double(cell)), "offset": .number(Double(offset))])
        await page.settle(within: .seconds(50))
      }
      #expect(await Self.said(page).joined(separator: ",") == told.trimmingCharacters(in: ["[", "]"]))
    }
  }

  @Test(
    "the end of an animated scroll is told after the scroll, if it has moved the content",
    arguments: [
      ("{}", "scroll -300,end -300"), ("{ animated: true }", "scroll -300,end -300"),
      ("{ animated: false }", "scroll -300"), ("{ animated: 'false' }", "scroll -300"),
      ("{ offset: -300 }", ""),
    ])
  func scrollEnd(_ options: String, _ told: String) async throws {
    try await Self.running(
      Self.list + """
        list.addEvent('scroll', function (e) { say('scroll ' + e.contentOffset.y) })
        list.addEvent('scrollend', function (e) { say('end ' + e.contentOffset.y) })
        dom.scrollToElement(cells[3], \(options))
        """
    ) { page, _ in
      #expect(await Self.said(page).joined(separator: ",") == told)
    }
  }

  @Test("a horizontal scroller scrolls from left to right, and an element in no scroller stays")
  func otherScrolling() async throws {
    try await Self.running(
      """
      var row = add('scroller', { attr: { scrollDirection: 'horizontal' }, style: { height: 100, flexDirection: 'row' } })
      var parts = []
      for (var n = 0; n < 10; n++) parts.push(add('div', { style: { width: 200, height: 100 } }, row))
      dom.scrollToElement(parts[2], {}); rect(parts[2]); dom.scrollToElement(row, { offset: 10 }); rect(row)
      """
    ) { page, _ in
      #expect(await Self.said(page) == ["[200,100,0,200,0,100]", "[750,100,0,750,0,100]"])
    }
  }

  // MARK: Events

  private static let seenFirst = ["+0", "+1", "+2", "+3"]

  @Test("cells appear and disappear when the page is laid out first and when it scrolls, and the list is told last")
  func appearances() async throws {
    let scroll = """
      list.addEvent('scroll', function (e) { say('scroll ' + e.contentOffset.y + ' of ' + e.contentSize.height) })
      """
    try await Self.running(Self.list + Self.telling + scroll) { page, _ in
      #expect(await Self.said(page) == Self.seenFirst)
      try await page.fireEvent("_root", "go", ["to": 2])
      var expected = Self.seenFirst + ["-0up", "-1up", "+4up", "+5up", "scroll -200 of 1000"]
      #expect(await Self.said(page) == expected)
      // It is there already.
      try await page.fireEvent("_root", "go", ["to": 2])
      #expect(await Self.said(page) == expected)
      try await page.fireEvent("_root", "go", ["to": 0])
      expected += ["+0down", "+1down", "-4down", "-5down", "scroll 0 of 1000"]
      #expect(await Self.said(page) == expected)
    }
  }

  @Test("parts of a row in a list appear with their cell, and scroll in the direction of reading")
  func nestedScrollers() async throws {
    for (direction, place) in [("ltr", -300), ("rtl", 300)] as [(String, Double)] {
      try await Self.running(
        Self.list + """
          var style = { height: 100, flexDirection: 'row', direction: '\(direction)' }
          var row = document.createElement('scroller', { attr: { scrollDirection: 'horizontal' }, style: style })
          cells[6].appendChild(row)
          function part(n) {
            var e = add('div', { style: { width: 200, height: 100 } }, row)
            e.addEvent('appear', function (e) { say('+' + n + e.direction) })
            e.addEvent('disappear', function (e) { say('-' + n + e.direction) })
            return e
          }
          var parts = [0, 1, 2, 3, 4, 5].map(part)
          body.addEvent('next', function () { dom.scrollToElement(parts[2]) })
          """
      ) { page, _ in
        #expect(await Self.said(page) == [])
        try await page.fireEvent("_root", "go", ["to": 5])
        var expected = ["+0up", "+1up", "+2up", "+3up"]
        #expect(await Self.said(page) == expected, "\(direction)")
        let row = try #require(await page.first("scroller")?.ref)
        try await page.fireEvent(row, "scroll", ["contentOffset": ["x": .number(place)]])
        expected += ["-0left", "+4left", "+5left"]
        #expect(await Self.said(page) == expected, "\(direction)")
        try await page.fireEvent("_root", "next")
        expected += ["-1left"]
        #expect(await Self.said(page) == expected, "\(direction)")
      }
    }
  }

  @Test("cells that a change of the page brings or takes are told without a direction")
  func appearanceByChange() async throws {
    try await Self.running(
      Self.list + Self.telling + "body.addEvent('grow', function () { cells[0].setStyle('height', 300) })"
    ) { page, _ in
      #expect(await Self.said(page) == Self.seenFirst)
      try await page.fireEvent("_root", "grow")
      #expect(await Self.said(page) == Self.seenFirst + ["-2", "-3"])
    }
  }

  @Test("an element that is in no scroller, or is not shown, does not appear")
  func unseen() async throws {
    try await Self.running(
      Self.list + """
        function tells(e, name) { e.addEvent('appear', function () { say(name) }) }
        tells(add('div', { style: { height: 10 } }), 'alone')
        tells(add('div', { style: { height: 10, display: 'none' } }, cells[0]), 'hidden')
        tells(add('div', {}, cells[0]), 'empty')
        """
    ) { page, _ in
      // A mark without a height is seen where it stands.
      #expect(await Self.said(page) == ["empty"])
    }
  }

  @Test("a scroll of the user is told once, and the places follow")
  func userScrolls() async throws {
    let scroll = "list.addEvent('scroll', function (e) { say('scroll ' + e.contentOffset.y) })"
    try await Self.running(Self.list + Self.telling + scroll) { page, _ in
      let list = try #require(await page.first("list")?.ref)
      _ = await Self.said(page)
      try await page.fireEvent(list, "scroll", ["contentOffset": ["x": 0, "y": -200]])
      let expected = Self.seenFirst + ["scroll -200", "-0up", "-1up", "+4up", "+5up"]
      #expect(await Self.said(page) == expected)
      #expect(await page.layout.box(list)?.scrollOffset == LayoutPoint(x: 0, y: 200))
    }
  }

  @Test("a list asks for more once for the same content, within its loadmoreoffset of the end")
  func loadingMore() async throws {
    try await Self.running(
      Self.list + """
        list.addEvent('loadmore', function () { say('more of ' + cells.length) })
        body.addEvent('add', function () { cell() })
        body.addEvent('reset', function () { list.resetLoadmore() })
        """
    ) { page, _ in
      let list = try #require(await page.first("list")?.ref)
      func scroll(_ y: Double) async throws -> [String] {
        try await page.fireEvent(list, "scroll", ["contentOffset": ["x": 0, "y": .number(-y)]])
        return await Self.said(page)
      }
      #expect(try await scroll(400) == [])
      #expect(try await scroll(500) == ["more of 10"])
      #expect(try await scroll(600) == ["more of 10"])
      try await page.fireEvent("_root", "add")
      #expect(try await scroll(600) == ["more of 10", "more of 11"])
      // Back is no reason to load.
      try await page.fireEvent("_root", "reset")
      #expect(try await scroll(590) == ["more of 10", "more of 11"])
      #expect(try await scroll(600) == ["more of 10", "more of 11", "more of 11"])
    }
  }

  @Test("events that the app fires by itself come as they are, and are not fired again")
  func firedByApp() async throws {
    try await Self.running(
      Self.list + Self.telling + "list.addEvent('loadmore', function () { say('more') })"
    ) { page, _ in
      let list = try #require(await page.first("list"))
      _ = await Self.said(page)
      try await page.fireEvent(list.children[3], "disappear", ["direction": "down"])
      try await page.fireEvent(list.ref, "loadmore")
      try await page.fireEvent("_root", "go", ["to": 9])
      #expect(
        await Self.said(page)
          == Self.seenFirst + ["-3down", "more", "-0up", "-1up", "-2up", "+6up", "+7up", "+8up", "+9up"])
    }
  }

  @Test("a loadmore that the app has fired before the page was laid out is not fired again for the same content")
  func firedBeforeLayout() async throws {
    try await Self.running(
      Self.list + """
        list.addEvent('loadmore', function () { say('more of ' + cells.length) })
        body.addEvent('add', function () { for (var n = 0; n < 5; n++) cell() })
        """
    ) { page, _ in
      let list = try #require(await page.first("list")?.ref)
      #expect(await page.elementLayout == nil)
      try await page.fireEvent(list, "loadmore")
      try await page.fireEvent(list, "scroll", ["contentOffset": ["y": -600]])
      #expect(await Self.said(page) == ["more of 10"])
      // The app fires it for content that no event has been due to before.
      try await page.fireEvent("_root", "add")
      try await page.fireEvent(list, "loadmore")
      try await page.fireEvent(list, "scroll", ["contentOffset": ["y": -1_100]])
      #expect(await Self.said(page) == ["more of 10", "more of 15"])
    }
  }

  @Test("an appear that the layout has fired is not fired again by the app, and later ones are the app's")
  func firedTwice() async throws {
    try await Self.running(Self.list + Self.telling) { page, _ in
      let cells = try #require(await page.first("list")?.children)
      #expect(await Self.said(page) == Self.seenFirst)
      try await page.fireEvent(cells[0], "appear")
      #expect(await Self.said(page) == Self.seenFirst)
      try await page.fireEvent(cells[0], "disappear")
      try await page.fireEvent(cells[0], "appear")
      #expect(await Self.said(page) == Self.seenFirst + ["-0", "+0"])
      try await page.fireEvent("_root", "go", ["to": 2])
      #expect(await Self.said(page) == Self.seenFirst + ["-0", "+0", "-1up", "+4up", "+5up"])
    }
  }

  @Test("a slider that the script puts on another page tells it, once")
  func slides() async throws {
    try await Self.running(
      """
      var slider = add('slider', { attr: { index: 0 }, style: { height: 100 } })
      for (var n = 0; n < 3; n++) add('div', {}, slider)
      slider.addEvent('change', function (e) { say(e.index); slider.setAttr('index', e.index) })
      body.addEvent('next', function () { slider.setAttr('index', 2) })
      body.addEvent('back', function () { slider.setAttr('index', 2); slider.setAttr('index', 1) })
      body.addEvent('twice', function () { slider.setAttr('index', 1); slider.setAttr('index', 0) })
      """
    ) { page, _ in
      let slider = try #require(await page.first("slider")?.ref)
      try await page.fireEvent("_root", "next")
      #expect(await Self.said(page) == ["2"])
      try await page.fireEvent("_root", "next")
      #expect(await Self.said(page) == ["2"])
      try await page.fireEvent(slider, "change", ["index": 1])
      #expect(await Self.said(page) == ["2", "1"])
      #expect(await page.tree[slider]?.attributes["index"] == 1)
      // Of several changes the last one counts.
      try await page.fireEvent("_root", "back")
      #expect(await Self.said(page) == ["2", "1"])
      try await page.fireEvent("_root", "twice")
      #expect(await Self.said(page) == ["2", "1", "0"])
      #expect(await page.tree[slider]?.attributes["index"] == 0)
    }
  }

  @Test("a slider that begins on another page than its first tells it, also if its index is set after it is made")
  func newSlides() async throws {
    try await Self.running(
      """
      function slider(index, type) {
        var e = document.createElement('slider', { attr: index === undefined ? {} : { index: index }, style: { height: 100 } })
        for (var n = 0; n < 3; n++) e.appendChild(document.createElement('div'))
        e.appendChild(document.createElement('indicator'))
        e.addEvent(type || 'change', function (event) { say(event.index) })
        body.appendChild(e)
        return e
      }
      slider(1); slider(0); slider(); slider(3); slider(-1); slider('x'); slider(1, 'click')
      slider().setAttr('index', 2)
      body.addEvent('more', function () { slider('1'); slider(2).setAttr('index', 0) })
      """
    ) { page, _ in
      #expect(await Self.said(page) == ["1", "2"])
      try await page.fireEvent("_root", "more")
      #expect(await Self.said(page) == ["1", "2", "1"])
      try await page.fireEvent("_root", "other")
      #expect(await Self.said(page) == ["1", "2", "1"])
    }
  }

  @Test("elements whose events bring and take each other end with an error, and the page goes on")
  func endlessAppearances() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        Self.start + Self.list + """
          var mark = cells[0]
          mark.addEvent('appear', function () { say(1); mark.setStyle('marginTop', 5000) })
          mark.addEvent('disappear', function () { say(0); mark.setStyle('marginTop', 0) })
          """)
      // They go on where they were: none is lost.
      let rounds = (0..<200).map { $0 % 2 == 0 ? "1" : "0" }
      #expect(await Self.said(page) == Array(rounds.prefix(100)))
      #expect(await page.phase == .live)
      try await page.fireEvent("_root", "other")
      #expect(await Self.said(page) == rounds)
      let exceptions = await page.exceptions
      #expect(exceptions.count == 2 && exceptions.allSatisfy { $0.contains("appear follow each other without end") })
    }
  }

  /// The work of pages, as an observer hears of it.
  private final class HeardWork: Sendable {
    private let heard = Mutex<[(page: String, work: PageWork, moment: PageWork.Moment)]>([])

    func hear(_ page: String, _ work: PageWork, _ moment: PageWork.Moment) {
      heard.withLock { $0.append((page, work, moment)) }
    }

    func moments(_ work: PageWork, of page: String) -> [PageWork.Moment] {
      heard.withLock { $0.filter { $0.page == page && $0.work == work }.map(\.moment) }
    }
  }

  @Test("a layout is known as its page's work while it runs, also in the thread of a deep page", arguments: [10, 100])
  func knownWork(_ depth: Int) async throws {
    let heard = HeardWork()
    try await PageFixture.running(observer: { heard.hear($0, $1, $2) }) { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        Self.start + """
          var e = body
          for (var n = 0; n < \(depth); n++) e = add('div', { style: { height: 10 } }, e)
          rect(e)
          """)
      #expect(await Self.said(page) == ["[750,10,0,750,0,10]"])
      let moments = heard.moments(.elements, of: page.id)
      #expect(moments.first == .begin && moments.last == .end)
      #expect(moments.count { $0 == .begin } == moments.count { $0 == .end })
      // There and back.
      let others = moments.indices.filter { moments[$0] == .otherThread }
      #expect(others.isEmpty == (depth < 48) && others.count % 2 == 0)
      #expect(others.allSatisfy { [.begin, .otherThread].contains(moments[$0 - 1]) })
      await page.destroy()
    }
  }

  private struct Grid: LayoutProviding {
    func rect(of ref: String, in page: PageInstance) async -> LayoutRect? {
      LayoutRect(x: 10, y: 20, width: 30, height: 40)
    }
  }

  @Test("an app that lays pages out gives the places, and fires the events")
  func ownLayout() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.register(Grid() as any LayoutProviding, as: \.layout)
      let slider = """
        ;var slider = add('slider', { attr: { index: 0 } })
        slider.addEvent('change', function (e) { say(e.index) })
        body.addEvent('go', function () { slider.setAttr('index', 1) })
        rect(cells[0])
        """
      let page = try await fixture.speakingPage(Self.start + Self.list + Self.telling + slider)
      #expect(await Self.said(page) == ["[30,40,10,40,20,60]"])
      try await page.fireEvent("_root", "go", ["to": 9])
      let cells = try #require(await page.first("list")?.children)
      try await page.fireEvent(cells[9], "appear")
      #expect(await Self.said(page) == ["[30,40,10,40,20,60]", "+9"])
      #expect(await page.scrollTarget == cells[9])
      #expect(await page.elementLayout == nil)
      let exceptions = await page.exceptions
      #expect(exceptions == [])
    }
  }

  // MARK: Of the app

  @Test("a tap reaches what is seen at its place, or the nearest around it that listens")
  func taps() async throws {
    try await Self.running(
      Self.list + """
        function tells(e, name) {
          e.addEvent('click', function (e) { say(name + ' ' + [e.position.x, e.position.y, e.position.width, e.position.height]) })
        }
        cells.forEach(function (c, n) { tells(c, 'cell ' + n); add('text', { attr: { value: 'x' } }, c) })
        tells(add('div', { style: { position: 'fixed', left: 0, top: 0, width: 50, height: 50 } }), 'button')
        """
    ) { page, _ in
      try await page.tap(x: 10, y: 10)
      try await page.tap(x: 60, y: 10)
      try await page.tap(x: 60, y: 399)
      try await page.fireEvent("_root", "go", ["to": 4, "offset": 50])
      await page.settle(within: .seconds(50))
      try await page.tap(x: 60, y: 10)
      #expect(
        await Self.said(page) == [
          "button 0,0,50,50", "cell 0 0,0,750,100", "cell 3 0,300,750,100", "cell 4 0,-50,750,100",
        ])
      await #expect(throws: ClickError.nothingAt(x: 800, y: 10)) { try await page.tap(x: 800, y: 10) }
      // Below the list there is the body, which does not listen.
      await #expect(throws: ClickError.notClickable(.ref("_root"))) { try await page.tap(x: 10, y: 1_000) }
    }
  }

  @Test("a tap reaches what an animation has moved where it is drawn")
  func tapsOfMoved() async throws {
    try await Self.running(
      """
      var e = add('div', { style: { width: 100, height: 100 } })
      e.addEvent('click', function () { say('tapped') })
      module('animation').transition(e, { styles: { transform: 'translate(200px, 300px) scale(2)' } }, function () {})
      """
    ) { page, _ in
      _ = await Self.said(page)
      try await page.tap(x: 340, y: 440)
      #expect(await Self.said(page) == ["tapped"])
      await #expect(throws: ClickError.notClickable(.ref("_root"))) { try await page.tap(x: 50, y: 50) }
    }
  }

  @Test("a reader of changes gets all boxes first, and then those that have changed")
  func layoutChanges() async throws {
    try await Self.running(
      """
      var a = add('div', { style: { height: 100 } }), b = add('div', { style: { height: 50 } })
      body.addEvent('grow', function () { a.setStyle('height', 300) })
      body.addEvent('drop', function () { body.removeChild(a) })
      """
    ) { page, _ in
      let children = try #require(await page.tree.body?.children)
      try #require(children.count == 3)
      let (text, a, b) = (children[0], children[1], children[2])
      var changes = await page.layoutChanges.makeAsyncIterator()
      let first = try #require(await changes.next())
      #expect(first.boxes.map(\.ref) == ["_root", text, a, b] && first.removed == [])
      try await page.fireEvent("_root", "grow")
      let second = try #require(await changes.next())
      let places = Dictionary(second.boxes.map { ($0.ref, $0.pageFrame) }) { $1 }
      #expect(places[a] == LayoutRect(x: 0, y: 0, width: 750, height: 300))
      #expect(places[b] == LayoutRect(x: 0, y: 300, width: 750, height: 50))
      #expect(places[text] == nil && second.removed == [])
      try await page.fireEvent("_root", "drop")
      let third = try #require(await changes.next())
      #expect(third.removed == [a] && third.boxes.contains { $0.ref == b && $0.pageFrame.y == 0 })
      await page.destroy()
      #expect(await changes.next() == nil)
    }
  }
}
