import HTTPCache
import PageLayout
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// `dom`, `animation`, `webview`, `picker`.
@Suite(.timeLimit(.minutes(5))) struct DisplayModuleTests {
  private struct Grid: LayoutProviding {
    func rect(of ref: String, in page: PageInstance) async -> LayoutRect? {
      page.tree[ref]?.type == "text" ? LayoutRect(x: 10, y: 20, width: 30, height: 40) : nil
    }

    func viewport(of page: PageInstance) async -> LayoutRect? {
      LayoutRect(x: 0, y: 0, width: 750, height: 1_334)
    }
  }

  private static func rect(of element: String) -> String {
    """
    module('dom').getComponentRect(\(element), function (r) {
      show(r.result ? ['width', 'height', 'left', 'right', 'top', 'bottom'].map(function (n) { return r.size[n] }) : r)
    })
    """
  }

  @Test(
    "an app that lays pages out gives the places of elements",
    arguments: [
      ("text", "[30,40,10,40,20,60]"), ("'viewport'", "[750,1334,0,750,0,1334]"),
      ("'none'", #"{"errMsg":"there is no element none","result":false}"#),
    ])
  func rectangles(_ element: String, _ expected: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.register(Grid() as any LayoutProviding, as: \.layout)
      let shown = try await fixture.shown(Self.rect(of: element))
      #expect(shown.map { ScriptValue(json: $0) } == ScriptValue(json: expected))
    }
  }

  @Test("an element to which the app gives no place is answered with an error")
  func missingRectangles() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.register(Grid() as any LayoutProviding, as: \.layout)
      let placeless = try #require(try await fixture.shown(Self.rect(of: "body")))
      #expect(ScriptValue(json: placeless)?["errMsg"].string?.hasSuffix("has no place on the page") == true)
    }
  }

  @Test(
    "the whole page is as large as the device, in units of the page's design",
    arguments: [
      ("", [:], 750, 1_334), ("", ["deviceWidth": 1_080, "deviceHeight": 2_160], 750, 1_500),
      ("", ["deviceWidth": "1080", "deviceHeight": "2160"], 750, 1_500),
      ("module('meta').setViewport({ width: 375 }); ", [:], 375, 667),
      ("module('meta').setViewport({ width: '375' }); ", [:], 375, 667),
      ("module('meta').setViewport({ width: 'device-width' }); ", ["scale": 3], 250, 1_334.0 / 3),
      ("module('meta').setViewport({ width: NaN }); ", [:], 750, 1_334),
    ] as [(String, [String: ScriptValue], Double, Double)])
  func viewport(_ script: String, _ device: [String: ScriptValue], _ width: Double, _ height: Double) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.register(DefaultConfiguration(device), as: \.configuration)
      let shown = try await fixture.shown(script + Self.rect(of: "'viewport'"))
      let sides = shown.flatMap { ScriptValue(json: $0) }?.array?.compactMap(\.number) ?? []
      let expected = [width, height, 0, width, 0, height]
      #expect(sides.count == 6 && zip(sides, expected).allSatisfy { abs($0 - $1) < 1e-6 }, "\(sides)")
    }
  }

  @Test("a device without a size gives the page none", arguments: [0, -1, "x", nil] as [ScriptValue])
  func sizelessDevice(_ width: ScriptValue) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.register(DefaultConfiguration(["deviceWidth": width]), as: \.configuration)
      let shown = try await fixture.shown(Self.rect(of: "'viewport'"))
      #expect(shown?.contains("viewport has no place on the page") == true)
    }
  }

  @Test(
    "an element is laid out in the direction of its style, or of the nearest element above that has one",
    arguments: [
      ("", "text", "ltr"), ("body.setStyle('direction', 'rtl'); ", "text", "rtl"),
      ("body.setStyle('direction', 'rtl'); text.setStyle('direction', 'ltr'); ", "text", "ltr"),
      ("", "'viewport'", "ltr"), ("", "'none'", "unknow"),
    ])
  func directions(_ script: String, _ element: String, _ direction: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let shown = try await fixture.shown(script + "module('dom').getLayoutDirection(\(element), show)")
      #expect(shown == direction)
    }
  }

  @Test("an animation is at its end at once")
  func animation() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        """
        module('animation').transition(text, { styles: { opacity: 0.5 }, duration: 800 }, function (r) { show(r.result) })
        """)
      await page.settle(within: .seconds(60))
      #expect(await page.shown == "SUCCESS")
      #expect(await page.first("text")?.style["opacity"] == 0.5)
      await page.destroy()
    }
  }

  @Test("an animation of no element fails in its callback alone", arguments: ["undefined", "'gone'"])
  func animationOfNothing(_ element: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        "module('animation').transition(\(element), { styles: { opacity: 0.5 } }, function (r) { show(r.result) })")
      await page.settle(within: .seconds(60))
      #expect(await page.shown == "Fail")
      #expect(await page.exceptions == [])
      await page.destroy()
    }
  }

  @Test("the element that a page scrolls to is noted")
  func scrolling() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage("module('dom').scrollToElement(text, { offset: 3 })")
      await page.settle(within: .seconds(60))
      let ref = await page.first("text")?.ref
      #expect(await page.scrollTarget == ref)
      await page.destroy()
    }
  }

  @Test("a picker in a host without a screen is cancelled", arguments: ["pick", "pickDate", "pickTime"])
  func pickers(_ method: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let shown = try await fixture.shown("module('picker').\(method)({}, function (r) { show(r.result) })")
      #expect(shown == "cancel")
    }
  }

  @Test("the methods of a web view exist")
  func webView() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        "var web = add('web'); ['goBack', 'goForward', 'reload'].forEach(function (m) { module('webview')[m](web) })")
      await page.settle(within: .seconds(60))
      #expect(await page.exceptions.isEmpty)
    }
  }

  @Test("a font is loaded, and revalidated by the host's rule")
  func fonts() async throws {
    let rule = ResourceRule(types: [.font], behavior: .cacheThenNetwork)
    try await PageFixture.running(rules: [rule]) { (fixture: PageFixture) async throws in
      fixture.origin.serve("/f.ttf", Array("font".utf8), headers: [.cacheControl: "max-age=600"])
      for requests in 1...2 {
        let page = try await fixture.speakingPage(
          "module('dom').addRule('fontFace', { fontFamily: 'i', src: \"url('/f.ttf')\" })")
        await page.settle(within: .seconds(60))
        #expect(await page.rules.map(\.isLoaded) == [true])
        #expect(fixture.origin.requestCount(path: "/f.ttf") == requests)
        await page.destroy()
      }
    }
  }

  @Test("a page has a limited number of rules, and those that it has already do not count again")
  func ruleCount() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var dom = weex.requireModule('dom')
        for (var n = 0; n < 300; n++) dom.addRule('other', { name: 'rule ' + n })
        for (var n = 0; n < 300; n++) dom.addRule('other', { name: 'rule 0' })
        """)
      await page.settle(within: .seconds(60))
      let names = await page.rules.map { $0.values["name"].string }
      #expect(names == (1..<256).map { "rule \($0)" } + ["rule 0"])
      let exceptions = await page.exceptions
      #expect(
        exceptions == Array(repeating: "dom.addRule: the page has 256 rules, which is the limit", count: 44))
    }
  }

  @Test("the rules of a page have a limited number of bytes")
  func ruleBytes() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var dom = weex.requireModule('dom')
        for (var n = 0; n < 6; n++) dom.addRule('other', { text: n + 'x'.repeat(1 << 20) })
        dom.addRule('other', { text: 'short' })
        """)
      await page.settle(within: .seconds(60))
      #expect(await page.rules.count == 4)
      let exceptions = await page.exceptions
      #expect(
        exceptions
          == Array(
            repeating: "dom.addRule: the rules of the page would have 4194372 bytes; the limit is 4194304", count: 3))
    }
  }

  @Test("a font that could not be loaded is asked for again by the same rule")
  func fontAgain() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/f.ttf", Array("font".utf8))
      fixture.origin.script("/f.ttf", [.redirect(to: "ftp://fonts.example/f.ttf")])
      let page = try await fixture.page(
        """
        function font() { weex.requireModule('dom').addRule('fontFace', { fontFamily: 'i', src: "url('/f.ttf')" }) }
        body.addEvent('again', font)
        font()
        """)
      await page.settle(within: .seconds(60))
      #expect(await page.rules.map(\.isLoaded) == [false])
      try await page.fireEvent("_root", "again")
      await page.settle(within: .seconds(60))
      #expect(await page.rules.map(\.isLoaded) == [true])
      #expect(await page.rules.map(\.failure) == [nil])
      await page.destroy()
    }
  }

  @Test("a font that comes when the page was opened again changes none of the page's new rules")
  func lateFont() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/f.ttf", Array("font".utf8))
      fixture.origin.hold("/f.ttf")
      defer { fixture.origin.release("/f.ttf") }
      let page = try await fixture.page("")
      let late = Task { try await page.addRule("fontFace", ["fontFamily": "i", "src": "url('/f.ttf')"]) }
      try await eventually("the font is asked for") { fixture.origin.requestCount(path: "/f.ttf") == 1 }
      let url = try #require(await page.url)
      try await page.render(
        "// { \"framework\": \"Vanilla\" }\nweex.requireModule('dom').addRule('other', {})", at: url)
      await page.settle(within: .seconds(50))
      fixture.origin.release("/f.ttf")
      try await late.value
      #expect(await page.rules.map(\.kind) == ["other"])
      await page.destroy()
    }
  }
}
