import Foundation
import HTTPTransport
import ScriptEngine
import Testing

@testable import PageRuntime

struct PreviewTests {
  private static func tree(_ children: [ElementDescription], body: String = "div") throws -> ElementTree {
    var tree = ElementTree()
    try tree.apply(.createBody(ElementDescription(ref: "_root", type: body, children: children)))
    return tree
  }

  // MARK: Values

  @Test(
    "styles are written in the units of the design",
    arguments: [
      ("width", 750, "width:7.5rem"), ("width", "37.5px", "width:0.375rem"), ("marginLeft", -20, "margin-left:-0.2rem"),
      ("width", "10wx", "width:0.2rem"), ("width", "50%", "width:50%"), ("flex", 1, "flex:1"),
      ("opacity", 0.5, "opacity:0.5"),
      ("height", 0, "height:0"), ("fontWeight", 700, "font-weight:700"), ("fontWeight", "bold", "font-weight:bold"),
      ("boxShadow", "0 2px 4px rgba(0,0,0,0.3)", "box-shadow:0 0.02rem 0.04rem rgba(0,0,0,0.3)"),
      ("transform", "translate(10px,-20px) rotate(45deg)", "transform:translate(0.1rem,-0.2rem) rotate(45deg)"),
      ("backgroundImage", "linear-gradient(to right,#fff,red)", "background-image:linear-gradient(to right,#fff,red)"),
      ("fontFamily", "Open Sans, 'x\"y'", "font-family:'Open Sans','xy'"),
      ("background-color", "#fff", "background-color:#fff"),
    ] as [(String, ScriptValue, String)])
  func units(_ name: String, _ value: ScriptValue, _ expected: String) {
    #expect(InlineStyle.declarations([name: value]) == [expected])
  }

  @Test(
    "values that are more than a style are left out",
    arguments: [
      ("color", "red;background:blue"), ("color", "red}body{display:none"), ("background", "url(http://x)"),
      ("background", "URL (http://x)"), ("backgroundImage", "image-set(x)"), ("width", "expression(alert(1))"),
      ("color", "</style><script>"), ("color", "\\72 ed"), ("color", "re\u{0}d"), ("behavior", "x"),
      ("-moz-binding", "x"), ("content", "x"), ("onclick", "x"), ("color:active", "red"), ("display", "none"),
      ("zIndex", 3), ("color", ""), ("width", ["a": 1]), ("animation", "x 1s"),
    ] as [(String, ScriptValue)])
  func unsafeStyles(_ name: String, _ value: ScriptValue) {
    #expect(InlineStyle.declarations([name: value]) == [])
  }

  @Test(
    "a picture's URL cannot run a script",
    arguments: [
      ("https://x/a.png", true), ("//x/a.png", true), ("a.png", true), ("a/b:c.png", true), ("file:///a.png", true),
      ("data:image/png;base64,AA", true), ("data:font/ttf;base64,AA", true), ("javascript:alert(1)", false),
      ("JavaScript:alert(1)", false), ("java\nscript:alert(1)", false), (" javascript:alert(1)", false),
      ("data:text/html,<script>", false), ("data:,x", false), ("vbscript:x", false), ("blob:x", false), ("", false),
    ])
  func pictureURLs(_ text: String, _ isSafe: Bool) {
    #expect((text.safeURL != nil) == isSafe)
  }

  @Test("a fixed element stays with the page in a wide window")
  func fixedElements() {
    #expect(
      InlineStyle.declarations(["position": "fixed", "left": 20])
        == ["left:calc(var(--x) + 0.2rem)", "position:fixed", "top:0", "z-index:2"])
  }

  @Test("a very deep tree is written without recursion")
  func deepTree() throws {
    var tree = try Self.tree([])
    for depth in 1...900 {
      try tree.apply(
        .addElement(
          parent: depth == 1 ? "_root" : "\(depth - 1)", ElementDescription(ref: "\(depth)", type: "div"), index: nil))
    }
    #expect(HTMLPreview(tree, title: "").body.ranges(of: "</div>").count == 901)
  }

  @Test("loaded pictures and fonts are in the document")
  func embeddedResources() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/pages/a.svg", Array("<svg width='4' height='3'></svg>".utf8), contentType: "text/plain")
      fixture.origin.serve("/pages/f.ttf", Array("glyphs".utf8), contentType: "font/ttf")
      let page = try await fixture.page(
        """
        add('image', { attr: { src: 'a.svg' } })
        add('image', { attr: { src: 'gone.svg' } })
        weex.requireModule('dom').addRule('fontFace', { fontFamily: 'icons', src: "url('f.ttf')" })
        """)
      await page.settle(within: .seconds(20))
      let html = await page.preview().html
      #expect(html.contains("src=\"data:image/svg+xml;base64,PHN2ZyB3"))
      #expect(html.contains("@font-face{font-family:'icons';src:url(\"data:font/ttf;base64,Z2x5cGhz\")}"))
      #expect(!html.contains("gone.svg"))
      let linked = await page.preview(embedding: false).html
      #expect(linked.contains("src=\"\(fixture.origin.url(for: "/pages/a.svg"))\""))
      #expect(linked.contains("src:url(\"\(fixture.origin.url(for: "/pages/f.ttf"))\")"))
      // A picture over the limit keeps its URL.
      #expect(await page.preview(limit: 10).html.contains("src=\"http:"))
      await page.destroy()
    }
  }

  @Test("an embedded page is in its element")
  func embeddedPages() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let inner = """
        // { "framework": "Vanilla" }
        var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
        b.appendChild(d.createElement('text', { attr: { value: 'from within' } }))
        """
      fixture.origin.serve("/pages/inner.js", Array(inner.utf8))
      let page = try await fixture.page(
        "add('embed', { attr: { src: 'inner.js' } }); add('text', { attr: { value: 'after' } })")
      await page.settle(within: .seconds(20))
      let body = await page.preview().body
      let ref = try #require(await page.first("embed")?.ref)
      let start = try #require(body.firstRange(of: "data-ref=\"\(ref)\" class=\"w-embed\""))
      let within = try #require(body.firstRange(of: ">from within</div>"))
      let after = try #require(body.firstRange(of: ">after</div>"))
      #expect(start.upperBound < within.lowerBound && within.upperBound < after.lowerBound)
      // Refs of two pages differ in the document.
      #expect(body.contains("data-ref=\"\(ref)/_root\""))
      await page.destroy()
    }
  }

  // MARK: In a browser

  private static let hostile = [
    "<script>window.ran=true</script>", "\"><script>window.ran=true</script>", "'><img src=x onerror=window.ran=true>",
    "</style><script>window.ran=true</script>", "</textarea><script>window.ran=true</script>",
    "javascript:window.ran=true", "x\" onload=\"window.ran=true", "--><script>window.ran=true</script>",
    "</title><script>window.ran=true</script>", "red;background:url(javascript:window.ran=true)", "&lt;script&gt;",
    "\u{0}<script>window.ran=true</script>", "data:text/html,<script>window.ran=true</script>",
    "]]><svg onload=window.ran=true>",
    "x') format('x');} body{background:red} @font-face{src:url('y",
  ]

  @Test("no text of a page runs")
  func escaping() async throws {
    let types = [
      "text", "image", "input", "textarea", "a", "web", "video", "switch", "slider", "indicator", "richtext",
    ]
    let children = Self.hostile.enumerated().flatMap { index, text in
      (types + [text]).enumerated().map { number, type in
        let names = [
          "value", "src", "placeholder", "alt", "resize", "poster", "href", "type", "rows", "style", "class", text,
        ]
        let styles = ["color", "background", "fontFamily", "width", "itemColor", text]
        return ElementDescription(
          ref: "\(index).\(number) \(text)", type: type,
          attributes: Dictionary(uniqueKeysWithValues: names.map { ($0, .string(text)) }),
          style: Dictionary(uniqueKeysWithValues: styles.map { ($0, .string(text)) }), events: [text])
      }
    }
    let tree = try Self.tree(children)
    let rules = Self.hostile.map {
      PageRule(kind: "fontFace", values: ["fontFamily": .string($0), "src": .string("url(\"\($0)\")")])
    }
    let html = HTMLPreview(tree, title: Self.hostile.joined(), rules: rules) { $0 }.html
    // Without the policy the escaping alone must hold.
    let shown = try await Chromium.open(html, guarded: false)
    #expect(!shown.hasRun)
    #expect(shown.handlers == [])
    #expect(shown.strangers == [])
    #expect(shown.styleSheets == 1)
    #expect(shown.boxes.count == tree.count)
    let texts = shown.boxes.filter { $0.ref.contains(".0 ") }.map(\.text)
    #expect(texts.count == Self.hostile.count)
    for (text, expected) in zip(texts, Self.hostile) { #expect(text == expected.replacing("\u{0}", with: "")) }
    #expect(shown["_root"]?.style["backgroundColor"] == "rgba(0, 0, 0, 0)")
  }

  @Test("a picture that failed or cannot be loaded keeps its room and shows nothing")
  func failedPictures() async throws {
    let style: [String: ScriptValue] = ["width": 200, "height": 100]
    var tree = try Self.tree([
      ElementDescription(ref: "failed", type: "image", attributes: ["src": "gone.png", "alt": "a cat"], style: style),
      ElementDescription(ref: "none", type: "image", style: style),
      ElementDescription(ref: "unsized", type: "image"),
      ElementDescription(
        ref: "broken", type: "image", attributes: ["src": "data:image/png;base64,AA", "alt": "a dog"], style: style),
    ])
    tree.setImage(.failed(url: "gone.png", reason: "404"), of: "failed")
    let html = HTMLPreview(tree, title: "").html
    #expect(!html.contains("gone.png"))
    let shown = try await Chromium.open(html)
    for ref in ["failed", "none", "broken"] {
      let box = try #require(shown[ref])
      #expect((box.width, box.height) == (200, 100), "\(ref)")
      #expect(box.text == "", "\(ref)")
    }
    #expect(shown["failed"]?.tag.lowercased() == "div" && shown["none"]?.tag.lowercased() == "div")
    #expect(shown["unsized"]?.height == 0)
  }

  @Test("a body with a height of its own keeps it; others are as large as the window, also beside a margin")
  func bodySizes() async throws {
    func shown(_ style: [String: ScriptValue]) async throws -> Chromium.Box {
      var tree = ElementTree()
      try tree.apply(.createBody(ElementDescription(ref: "_root", type: "div", style: style)))
      return try #require(try await Chromium.open(HTMLPreview(tree, title: "").html, height: 1_000)["_root"])
    }
    let window = try await shown([:]).height
    #expect(window > 800)
    #expect(try await shown(["height": 300]).height == 300)
    #expect(try await shown(["height": "100%"]).height == window)
    let inset = try await shown(["marginTop": 40, "marginBottom": 10, "marginLeft": 25])
    #expect((inset.y, inset.x, inset.width, inset.height) == (40, 25, 750, window))
    #expect(try await shown(["height": 300, "marginTop": 40]).y == 40)
  }

  private static func element(
    _ ref: String, _ type: String = "div", _ style: [String: ScriptValue] = [:],
    _ attributes: [String: ScriptValue] = [:], _ children: [ElementDescription] = []
  ) -> ElementDescription {
    ElementDescription(ref: ref, type: type, attributes: attributes, style: style, children: children)
  }

  private static func rows(_ name: String) -> [ElementDescription] {
    (0..<30).map { element("\(name)\($0)", "cell", ["height": 100]) }
  }

  @Test("a fixed element lies above those that come after it")
  func fixedAbove() async throws {
    let cards = (0..<12).map { Self.element("card\($0)", "div", ["height": 160, "margin": 10]) }
    let tree = try Self.tree(
      [
        Self.element("bar", "div", ["position": "fixed", "left": 0, "right": 0, "bottom": 0, "height": 120]),
        Self.element("corner", "div", ["position": "fixed", "width": 50, "height": 50]),
      ] + cards)
    let shown = try await Chromium.open(HTMLPreview(tree, title: "").html, height: 1_334)
    let bar = try #require(shown["bar"]), corner = try #require(shown["corner"])
    #expect(bar.isTopmost && corner.isTopmost)
    #expect((corner.x, corner.y, bar.bottom) == (0, 0, bar.y + 120))
  }

  @Test(
    "a list takes what the others leave of the screen, and scrolls",
    arguments: ["list", "scroller", "recycle-list", "vlist"])
  func screenLists(_ type: String) async throws {
    let bars = { (name: String) in Self.element(name, "div", ["height": 100]) }
    let list = { (style: [String: ScriptValue]) in Self.element("list", type, style, [:], Self.rows("row")) }
    let whole: [String: ScriptValue] = ["position": "absolute", "top": 0, "bottom": 0, "left": 0, "right": 0]
    for children in [
      [bars("top"), list(["flex": 1]), bars("tabs")],
      // Devices give a list without a height the share 1.
      [bars("top"), list([:]), bars("tabs")],
      [bars("top"), Self.element("in", "div", ["flex": 1], [:], [list(["flex": 1]), bars("tabs")])],
      [Self.element("whole", "div", whole, [:], [bars("top"), list(["flex": 1]), bars("tabs")])],
      [
        bars("top"),
        Self.element(
          "row", "div", ["flexDirection": "row", "flex": 1], [:],
          [Self.element("side", "div", ["width": 200]), Self.element("column", "div", ["flex": 1], [:], [list([:])])]),
        bars("tabs"),
      ],
    ] {
      let tree = try Self.tree(children)
      let shown = try await Chromium.open(HTMLPreview(tree, title: "").html, height: 1_334)
      let body = try #require(shown["_root"]), list = try #require(shown["list"]), tabs = try #require(shown["tabs"])
      #expect(tabs.y + tabs.height == body.height)
      #expect(list.y == 100 && list.y + list.height == tabs.y)
      #expect(shown["row29"]?.isCutAway == true && shown["row0"]?.isCutAway == false)
    }
  }

  @Test("a waterfall scrolls its columns, whether its height is its own or follows from the screen's")
  func waterfalls() async throws {
    for style in [["flex": 1], [:], ["height": 1_134]] as [[String: ScriptValue]] {
      let tree = try Self.tree([
        Self.element("top", "div", ["height": 100]),
        Self.element(
          "falls", "waterfall", style, ["columnCount": 2],
          [Self.element("head", "header", ["height": 50])] + Self.rows("row")),
        Self.element("tabs", "div", ["height": 100]),
      ])
      let shown = try await Chromium.open(HTMLPreview(tree, title: "").html, height: 1_334)
      let falls = try #require(shown["falls"]), first = try #require(shown["row0"]), last = try #require(shown["row29"])
      #expect(falls.y == 100 && falls.y + falls.height == shown["tabs"]?.y && !falls.overflows)
      // 15 rows of 100 in each column, below the header; the standard gap is 32.
      #expect((first.x, first.y) == (0, 150) && (last.x, last.y) == (391, 1_550))
      #expect(first.width == 359 && !first.isCutAway && last.isCutAway)
    }
  }

  @Test("a page in an embed that takes the rest of the screen has that height, and its list scrolls")
  func embeddedLists() async throws {
    let inner = try Self.tree([
      Self.element("list", "list", [:], [:], Self.rows("row")), Self.element("end", "div", ["height": 50]),
    ])
    let tree = try Self.tree([
      Self.element("part", "embed", ["flex": 1]), Self.element("tabs", "div", ["height": 100]),
    ])
    let preview = HTMLPreview(tree, title: "", embedded: ["part": HTMLPreview(inner, title: "")])
    let shown = try await Chromium.open(preview.html, height: 1_334)
    let body = try #require(shown["_root"]), end = try #require(shown["part/end"])
    #expect(shown["tabs"]?.y == body.height - 100 && end.y == body.height - 150)
    #expect(shown["part/row29"]?.isCutAway == true)
  }

  /// `box` adds an element of a height, `el` one of any type.
  private static let makers = """
    function el(parent, type, style, attr) { return add(type, { style: style, attr: attr || {} }, parent) }
    function box(parent, height, more) { return el(parent, 'div', Object.assign({ height: height }, more)) }
    body.setStyle('height', 1000)
    var around
    """

  @Test(
    "in a browser the elements have the boxes of the page's layout",
    arguments: [
      // A share with a height, in an element that is as high as its items, and without.
      "around = el(body, 'div'); el(around, 'div', { flex: 1, height: 120 }); box(around, 30)",
      "around = box(body, 400); el(around, 'div', { flex: 1, height: 120 }); box(around, 30)",
      "around = box(body, 400); el(around, 'div', { flex: 0, height: 120 }); box(around, 30)",
      // A share is no larger for its content.
      "around = box(body, 100); box(el(around, 'div', { flex: 1 }), 80); box(around, 70)",
      // What is in a scroller has no share, and lies at its beginning.
      "around = el(body, 'scroller', { height: 400 }); box(el(around, 'div', { flex: 1 }), 30); box(around, 60)",
      "around = el(body, 'scroller', { height: 400 }); el(around, 'div', { flex: 1, height: 90 }); box(around, 60)",
      "around = el(body, 'scroller', { height: 400, justifyContent: 'center', flexWrap: 'wrap' }); box(around, 60)",
      """
      around = el(body, 'scroller', { flexDirection: 'column' }, { scrollDirection: 'horizontal' }); box(body, 30)
      box(around, 80, { width: 500 }); box(around, 80, { width: 500 })
      """,
      // The columns of a waterfall.
      "around = el(body, 'waterfall', { height: 600 }); box(el(around, 'cell'), 40); box(el(around, 'cell'), 50)",
      """
      around = el(body, 'waterfall', { height: 600 }, { columnCount: 2, columnGap: 12, leftGap: 12, rightGap: 20 })
      box(el(around, 'header'), 60); box(el(around, 'cell'), 40); box(el(around, 'cell'), 40)
      """,
      """
      around = el(body, 'waterfall', { height: 600 }, { columnWidth: 200, columnGap: 10 })
      for (var i = 0; i < 3; i++) box(el(around, 'cell'), 40)
      """,
      // Words that devices do not know, and properties that are read for browsers.
      "around = box(body, 80, { flexDirection: 'row', alignItems: 'baseline' }); el(around, 'div', { width: 10 })",
      "around = el(body, 'div', { flexDirection: 'row', gap: 10 }); box(around, 20, { width: 30 }); box(around, 20)",
      "el(body, 'div', { width: 100, aspectRatio: 2 }); box(body, 20)",
      """
      around = el(el(body, 'scroller', { height: 500 }), 'refresh', {}, { display: 'show' })
      el(around, 'loading-indicator', { width: 40, height: 40 }); box(around, 20)
      """,
      // A text has its own width. Fields have the height of their style, and no width by themselves.
      "around = el(body, 'div', { width: 180, padding: 15 }); el(around, 'text', { width: 180, height: 30 })",
      "el(body, 'input', { width: 350, height: 50 }); el(body, 'input', { height: 50, minHeight: 70 })",
      "around = el(body, 'div', { alignItems: 'flex-start' }); el(around, 'input'); el(around, 'textarea', { height: 90 })",
      // What is absolute fills the room between its offsets.
      """
      around = box(body, 200, { width: 400 })
      for (var type of ['image', 'input', 'textarea', 'video']) {
        el(around, type, { position: 'absolute', left: 10, top: 0, right: 20, bottom: 30 }, { src: 'data:image/png;base64,' })
      }
      """,
      // No size of the browser's own.
      "el(body, 'video', { width: 200 }); box(body, 20)",
      // Pages of a slider, and what lies over them.
      """
      around = el(body, 'slider', { width: 690, height: 360 }); box(around, 420, { width: 714 })
      el(around, 'indicator', { position: 'relative', bottom: 0, height: 60, width: 690 })
      """,
      // The body is as wide as the screen, also beside its margin.
      "body.setStyle('marginLeft', 25); box(body, 20); box(body, 30)",
    ])
  func boxesOfTheLayout(_ script: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(Self.makers + "\n" + script)
      let (layout, html) = (await page.layout, await page.preview().html)
      await page.destroy()
      let shown = try await Chromium.open(html)
      #expect(shown.boxes.count > 2)
      for box in shown.boxes {
        let frame = try #require(layout.box(box.ref)).pageFrame
        let differences = [frame.x - box.x, frame.y - box.y, frame.width - box.width, frame.height - box.height]
        #expect(
          differences.allSatisfy { abs($0) < 1 },
          "#\(box.ref): \(frame), in the browser \(box.x) \(box.y) \(box.width) \(box.height)")
      }
    }
  }

  @Test("a text has the styles of a richtext around it, but its lines' height, and of no other element")
  func inheritance() async throws {
    let style: [String: ScriptValue] = ["fontSize": 50, "lineHeight": 90, "color": "#ff0000", "textAlign": "center"]
    let tree = try Self.tree([
      Self.element("around", "div", style, [:], [Self.element("text", "text", [:], ["value": "a text"])]),
      Self.element("field", "div", style, [:], [Self.element("input", "input", [:], ["value": "typed"])]),
      Self.element(
        "rich", "richtext", style, [:],
        [
          Self.element("span", "span", [:], ["value": "large, "]),
          Self.element("high", "span", ["lineHeight": 200, "fontSize": 20], ["value": "on a line of 90"]),
        ]),
    ])
    let shown = try await Chromium.open(HTMLPreview(tree, title: "").html)
    for (ref, size, color) in [("text", "32px", "rgb(0, 0, 0)"), ("input", "32px", "rgb(0, 0, 0)")] {
      #expect(shown[ref]?.style["fontSize"] == size && shown[ref]?.style["color"] == color, "\(ref)")
    }
    #expect(try #require(shown["text"]).height < 60)
    #expect(shown["span"]?.style["fontSize"] == "50px" && shown["span"]?.style["color"] == "rgb(255, 0, 0)")
    #expect(shown["high"]?.style["fontSize"] == "20px" && shown["rich"]?.height == 90)
  }

  @Test("the system's font comes first, and fonts for Chinese text are asked for by name after it")
  func fonts() async throws {
    let tree = try Self.tree([Self.element("text", "text", [:], ["value": "Latin 中文"])])
    let families = try #require(try await Chromium.open(HTMLPreview(tree, title: "").html)["text"]?.style["fontFamily"])
    let names = families.split(separator: ",").map { $0.filter { !" \"'".contains($0) } }
    #expect(names.first == "Sans" && names.contains("NotoSansCJKSC") && names.contains("PingFangSC"))
  }

  @Test("slides are as large as their slider, which is as high as the highest one; one is shown")
  func slides() async throws {
    let slides = { [Self.element("first", "div", ["height": 50]), Self.element("second", "image", ["height": 120])] }
    for (style, height) in [([:], 120), (["height": 300], 300)] as [([String: ScriptValue], Double)] {
      let tree = try Self.tree([
        Self.element("slider", "slider", style, ["index": 1], slides()), Self.element("next", "div", ["height": 30]),
      ])
      let shown = try await Chromium.open(HTMLPreview(tree, title: "").html)
      for ref in ["first", "second", "slider"] {
        let box = try #require(shown[ref])
        #expect((box.y, box.width, box.height) == (0, 750, height), "\(ref)")
      }
      #expect(shown["first"]?.isShown == false && shown["second"]?.isShown == true && shown["next"]?.y == height)
    }
  }

  @Test("an element with display: none is not there")
  func displayNone() async throws {
    let tree = try Self.tree([
      Self.element("gone", "div", ["display": "none", "height": 50]), Self.element("next", "div", ["height": 30]),
    ])
    let shown = try await Chromium.open(HTMLPreview(tree, title: "").html)
    #expect(shown["gone"]?.isShown == false && shown["next"]?.y == 0)
  }

  @Test("a page whose list follows from nothing grows with it")
  func growingLists() async throws {
    for style in [[:], ["position": "absolute", "left": 0, "right": 0]] as [[String: ScriptValue]] {
      let tree = try Self.tree([
        Self.element("around", "div", style, [:], [Self.element("list", "list", ["flex": 1], [:], Self.rows("row"))]),
        Self.element(
          "page", "scroller", ["height": 300], [:], [Self.element("inner", "list", [:], [:], Self.rows("in"))]),
      ])
      let shown = try await Chromium.open(HTMLPreview(tree, title: "").html, height: 1_334)
      #expect(shown["list"]?.height == 3_000)
      #expect(shown["inner"]?.height == 3_000 && shown["page"]?.height == 300)
    }
  }

  @Test(
    "meta.setViewport gives the width of the design", arguments: [(375.0, 200.0), (1_500, 50), (0, 100), (1e9, 100)])
  func viewports(_ width: Double, _ size: Double) async throws {
    let tree = try Self.tree([
      Self.element("box", "div", ["width": 100, "height": 10]),
      Self.element("pinned", "div", ["position": "fixed", "right": 0, "bottom": 0, "width": 100, "height": 10]),
    ])
    let preview = HTMLPreview(tree, title: "", viewport: ["width": .number(width)])
    let shown = try await Chromium.open(preview.html)
    #expect(shown["box"]?.width == size && shown["_root"]?.width == 750 && shown["pinned"]?.right == 750)
    let wide = try await Chromium.open(preview.html, width: 1_250)
    #expect(wide["box"]?.x == 250 && wide["pinned"]?.right == 1_000)
  }

  @Test("a page's setViewport reaches its preview")
  func viewportOfPage() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page("weex.requireModule('meta').setViewport({ width: 375 })")
      await page.settle(within: .seconds(20))
      #expect(await page.preview().html.contains("body{width:3.7500rem}"))
      await page.destroy()
    }
  }

  @Test("a picture has the size that it is given, and none without one")
  func pictureSizes() async throws {
    let picture =
      "data:image/svg+xml;base64,"
      + Data("<svg xmlns='http://www.w3.org/2000/svg' width='400' height='300'></svg>".utf8).base64EncodedString()
    func image(_ ref: String, _ style: [String: ScriptValue]) -> ElementDescription {
      Self.element(ref, "image", style, ["src": .string(picture)])
    }
    let tree = try Self.tree([
      image("none", [:]), image("wide", ["width": 900, "height": 120]), image("flat", ["width": 300]),
      Self.element("row", "div", ["flexDirection": "row", "height": 80], [:], [image("share", ["flex": 1])]),
    ])
    let shown = try await Chromium.open(HTMLPreview(tree, title: "").html)
    func size(_ ref: String) -> [Double] { [shown[ref]?.width ?? -1, shown[ref]?.height ?? -1] }
    #expect(size("none") == [750, 0] && size("wide") == [900, 120] && size("flat") == [300, 0])
    #expect(size("share") == [750, 80])
    #expect(shown["wide"]?.naturalWidth == 400)
  }

  @Test("a placeholder has its colour")
  func placeholderColors() {
    #expect(InlineStyle.declarations(["placeholderColor": "#ff0000"]) == ["--p:#ff0000"])
    #expect(InlineStyle.declarations(["placeholderColor": "red;x:url(y)"]) == [])
  }

  @Test("date and time fields show their placeholder", arguments: ["date", "time"])
  func datePlaceholders(_ type: String) throws {
    let tree = try Self.tree([
      ElementDescription(ref: "1", type: "input", attributes: ["type": .string(type), "placeholder": "when?"])
    ])
    let html = HTMLPreview(tree, title: "").body
    #expect(html.contains("type=\"text\"") && html.contains("placeholder=\"when?\""))
  }

  @Test("elements look as they do on a device")
  func layout() async throws {
    func box(
      _ ref: String, _ type: String = "div", _ attributes: [String: ScriptValue] = [:],
      _ style: [String: ScriptValue] = [:], _ children: [ElementDescription] = []
    ) -> ElementDescription {
      ElementDescription(ref: ref, type: type, attributes: attributes, style: style, children: children)
    }
    let tree = try Self.tree([
      box("column", "div", [:], ["width": 400], [box("stretched", "div", [:], ["height": 10])]),
      box(
        "slider", "slider", ["index": 1], ["height": 100],
        [
          box("slide0", "div", [:], ["height": 100]), box("slide1", "div", [:], ["height": 100]),
          box("dots", "indicator", [:], ["itemSize": 20, "height": 30]),
        ]),
      box(
        "long", "text", ["value": .string(String(repeating: "word ", count: 100))],
        ["lines": 2, "fontSize": 30, "lineHeight": 40]),
      box(
        "across", "scroller", ["scrollDirection": "horizontal"], ["width": 750, "height": 50],
        [
          box("first", "div", [:], ["width": 500, "height": 50]),
          box("second", "div", [:], ["width": 500, "height": 50]),
        ]),
      box(
        "falls", "waterfall", ["columnCount": 2, "columnGap": 50], [:],
        [
          box("cell0", "cell", [:], ["height": 100]), box("cell1", "cell", [:], ["height": 100]),
        ]),
      box("on", "switch", ["checked": true]), box("field", "input", ["value": "typed"]),
      box("spinner", "loading", ["display": "hide"]), box("points", "div", [:], ["width": "100wx", "height": "10wx"]),
      box("pinned", "div", [:], ["position": "fixed", "bottom": 0, "right": 0, "width": 100, "height": 60]),
      box("other", "web", ["src": "https://x.example/"], ["height": 80]),
    ])
    let shown = try await Chromium.open(HTMLPreview(tree, title: "").html)
    func found(_ ref: String) throws -> Chromium.Box { try #require(shown[ref]) }
    #expect(try found("stretched").width == 400)
    #expect(try found("slide0").isShown == false)
    #expect(try found("slide1").width == 750)
    #expect(try found("long").height == 80)
    #expect(try found("second").x == 500 && found("second").y == found("first").y)
    #expect(try found("second").right == 750)
    #expect(try found("cell0").width == 350 && found("cell1").x == 400)
    #expect(try found("on").width == 102 && found("on").height == 62)
    #expect(try found("field").height >= 30)
    #expect(try found("spinner").isShown == false)
    #expect(try found("points").width == 200)
    #expect(try found("pinned").right == 750)
    #expect(try found("other").width == 750)
    // A narrow window scales the page down; a wide one does not stretch it.
    let wide = try await Chromium.open(HTMLPreview(tree, title: "").html, width: 1_250)
    #expect(wide["column"]?.width == 400 && wide["column"]?.x == 250)
    #expect(wide["pinned"]?.right == 1_000)
  }
}
