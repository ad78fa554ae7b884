import Foundation
import PageLayout
import Testing

@testable import PagePictures

@Suite(.drawn)
struct PageTextsTests {
  private static func style(_ size: Double = 32, _ change: (inout TextStyle) -> Void = { _ in }) -> TextStyle {
    var style = TextStyle()
    style.fontSize = size
    style.fontFamily = "DejaVu Sans, Noto Sans CJK SC"
    change(&style)
    return style
  }

  private func size(
    _ text: String, _ width: Double = .infinity, _ change: (inout TextStyle) -> Void = { _ in }
  ) throws -> LayoutSize {
    PageTexts(try SystemFonts.shared()).size(of: LayoutText(text, style: Self.style(32, change)), width: width)
  }

  @Test(
    "a text is as wide and as high as in a browser",
    arguments: [
      // Those of Chromium 156 with `white-space: pre-wrap; overflow-wrap: anywhere`, but for spaces at the ends of lines.
      ("Hello world", 5_000, 179.4, 38), ("Hello world", 120, 88.1, 76), ("", 100, 0, 0),
      ("中文排版测试", 5_000, 192, 46), ("中文排版测试", 100, 96, 92), ("a\nb\n\nc", 5_000, 20.3, 152),
      ("AVAWA To. Ty, ﬁ fi", 5_000, 279.6, 38),
    ] as [(String, Double, Double, Double)])
  func sizes(_ text: String, _ width: Double, _ expectedWidth: Double, _ height: Double) throws {
    let size = try size(text, width)
    #expect(abs(size.width - expectedWidth) < 0.5, "\(size.width)")
    #expect(size.height == height)
  }

  @Test("a word that is wider than its line is broken")
  func longWords() throws {
    let size = try size("Donaudampfschifffahrtsgesellschaft", 120)
    #expect(size.width <= 120)
    #expect(size.height > 38 * 4)
  }

  @Test("lines have the height of the style, and no more than it says are counted")
  func lines() throws {
    let text = "one two three four five six seven eight nine ten"
    #expect(try size(text, 200).height == 38 * 5)
    #expect(try size(text, 200) { $0.lineHeight = 50 }.height == 50 * 5)
    #expect(try size(text, 200) { $0.lines = 2 }.height == 38 * 2)
    #expect(try size(text, 200) { ($0.lines, $0.overflow) = (2, .clip) }.height == 38 * 2)
    // Those of all paragraphs together.
    #expect(try size("a\nb\nc\nd", 200) { $0.lines = 3 }.height == 38 * 3)
    #expect(try size(text, 200) { $0.lines = 100 }.height == 38 * 5)
  }

  @Test("spacing, weight and family change the width")
  func styles() throws {
    let plain = try size("Hello").width
    #expect(abs(try size("Hello") { $0.letterSpacing = 10 }.width - plain - 50) < 0.1)
    #expect(try size("Hello") { $0.fontWeight = 700 }.width > plain * 1.05)
    #expect(try size("Hello") { $0.fontFamily = "DejaVu Sans Mono" }.width > plain * 1.1)
    #expect(try size("Hello") { $0.fontFamily = "'dejavu sans mono' , x" }.width > plain * 1.1)
  }

  @Test("a size scales with the font, so that a picture of any scale has the same lines")
  func scaling() throws {
    let texts = PageTexts(try SystemFonts.shared())
    let small = texts.size(of: LayoutText("Hello world", style: Self.style(13)), width: .infinity).width
    let large = texts.size(of: LayoutText("Hello world", style: Self.style(1_300)), width: .infinity).width
    #expect(abs(large / small - 100) < 0.5)
  }

  @Test("the parts of a paragraph have styles of their own, and pictures take their room")
  func parts() throws {
    let texts = PageTexts(try SystemFonts.shared())
    let small = Self.style(20)
    let large = Self.style(40)
    var text = LayoutText(spans: [.init(text: "ab", style: small), .init(text: "cd", style: large)], style: small)
    let both = texts.size(of: text, width: .infinity)
    let alone = [("ab", small), ("cd", large)].map { texts.size(of: LayoutText($0.0, style: $0.1), width: .infinity) }
    #expect(abs(both.width - alone[0].width - alone[1].width) < 0.1)
    #expect(both.height == alone[1].height)
    text.spans.append(.init(text: "", picture: LayoutSize(width: 100, height: 80)))
    let pictured = texts.size(of: text, width: .infinity)
    #expect(abs(pictured.width - both.width - 100) < 0.1)
    #expect(pictured.height > 80)
  }

  // MARK: Fonts of pages

  @Test("a page's font is known to that page by the page's name for it")
  func pageFont() throws {
    let bytes = try TestFonts.bytes("DejaVuSansMono.ttf")
    let fonts = try SystemFonts.shared()
    let (page, other) = (PageTexts(fonts), PageTexts(fonts))
    func width(_ texts: PageTexts, _ family: String) -> Double {
      texts.size(of: LayoutText("Hello", style: Self.style { $0.fontFamily = family }), width: .infinity).width
    }
    let plain = width(page, "DejaVu Sans")
    #expect(width(page, "iconfont, DejaVu Sans") == plain)
    try page.addFont(family: "iconfont", bytes: bytes)
    #expect(width(page, "IconFont, DejaVu Sans") == width(page, "DejaVu Sans Mono"))
    #expect(width(other, "iconfont, DejaVu Sans") == plain)
    // A later font replaces it.
    try page.addFont(family: "iconfont", bytes: TestFonts.bytes("DejaVuSans-Bold.ttf"))
    #expect(width(page, "iconfont") == plain + (try size("Hello") { $0.fontWeight = 700 }.width - plain))
  }

  @Test("a page's fonts are gone when the page is, with their files")
  func goneFonts() throws {
    let fonts = try SystemFonts.shared()
    let bytes = try TestFonts.bytes("DejaVuSansMono.ttf")
    func files() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
    func use() throws {
      let page = PageTexts(fonts)
      try page.addFont(family: "a", bytes: bytes)
      _ = page.size(of: LayoutText("Hello", style: Self.style { $0.fontFamily = "a" }), width: .infinity)
    }
    try use()
    let before = try files()
    for _ in 0..<20 { try use() }
    // Other tests have files too.
    #expect(try files() < before + 15)
  }

  @Test("a page's font is not that of a page that has gone, whose file had the same number")
  func fontsOfLaterPages() throws {
    let fonts = try SystemFonts.shared()
    let files = [try TestFonts.bytes("DejaVuSansMono.ttf"), try TestFonts.bytes("DejaVuSans-Bold.ttf")]
    let text = LayoutText("Hello iiii", style: Self.style { $0.fontFamily = "icon" })
    /// Measures and draws with a font of a page.
    func use(_ texts: PageTexts, _ font: Int) throws -> (size: LayoutSize, file: [UInt8]) {
      try texts.addFont(family: "icon", bytes: files[font])
      let canvas = try Canvas(width: 400, height: 60, scale: 1, isOpaque: true)
      var room = 0
      _ = texts.draw(
        text, in: LayoutRect(x: 0, y: 0, width: 400, height: 60), paints: [PageTexts.Paint(color: Color(0xFFFFFF))],
        imageRoom: &room, canvas.cairo)
      return (texts.size(of: text, width: .infinity), try canvas.png(level: 1))
    }
    /// Those of two pages at once, whose files have other numbers.
    func useBoth() throws -> [(size: LayoutSize, file: [UInt8])] {
      let pages = [PageTexts(fonts), PageTexts(fonts)]
      return try withExtendedLifetime(pages) { try pages.indices.map { try use(pages[$0], $0) } }
    }
    let expected = try useBoth()
    #expect(expected[0].size != expected[1].size && expected[0].file != expected[1].file)
    for round in 0..<20 {
      let (first, drawn) = (expected[(round + 1) % 2], try use(PageTexts(fonts), (round + 1) % 2))
      #expect(drawn.size == first.size && drawn.file == first.file, "round \(round)")
    }
  }

  @Test("a file that is no font is refused by its name")
  func refusedFonts() throws {
    let texts = PageTexts(try SystemFonts.shared())
    let font = try TestFonts.bytes("DejaVuSansMono.ttf")
    let lies: [(String, [UInt8])] = [
      ("empty", []), ("words", Array("<html>not found</html>".utf8)),
      ("head alone", Array(font.prefix(12))), ("zeros", [0, 1, 0, 0] + [UInt8](repeating: 0, count: 4_000)),
      ("noise", [0, 1, 0, 0] + (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }),
      ("woff", Array("wOFF".utf8) + font.prefix(1_000)), ("tables cut", Array(font.prefix(2_000))),
    ]
    for (name, bytes) in lies {
      let error = #expect(throws: PictureError.self, "\(name)") { try texts.addFont(family: name, bytes: bytes) }
      #expect(error?.description.contains("\"\(name)\"") ?? false)
    }
  }

  @Test("a font whose tables are damaged is used without harm, or refused")
  func damagedFonts() throws {
    let font = try TestFonts.bytes("DejaVuSansMono.ttf")
    var random = UInt64(7)
    for round in 0..<40 {
      var bytes = font
      for _ in 0..<200 {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        bytes[Int(random >> 33) % bytes.count] = UInt8(truncatingIfNeeded: random >> 20)
      }
      let texts = PageTexts(try SystemFonts.shared())
      try? texts.addFont(family: "damaged", bytes: bytes)
      let size = texts.size(
        of: LayoutText("Hello 中 😀", style: Self.style { $0.fontFamily = "damaged" }), width: 100)
      #expect(size.width.isFinite && size.height.isFinite, "round \(round)")
    }
  }

  @Test("a page has no more fonts than it may")
  func manyFonts() throws {
    let texts = PageTexts(try SystemFonts.shared())
    let bytes = try TestFonts.bytes("DejaVuSansMono.ttf")
    for index in 0..<16 { try texts.addFont(family: "f\(index)", bytes: bytes) }
    #expect(throws: PictureError.font(family: "more", reason: "a page may have 16 fonts")) {
      try texts.addFont(family: "more", bytes: bytes)
    }
    try texts.addFont(family: "f3", bytes: bytes)
  }

  @Test("pages with the same font share its file, until the last of them has gone")
  func sharedFonts() throws {
    let fonts = try SystemFonts.shared()
    // A file that no other test has.
    let bytes = try TestFonts.bytes("DejaVuSansMono.ttf") + Array("shared".utf8)
    func users() throws -> [Int] {
      try fonts.withState { state throws(PictureError) in
        state.files.values.filter { $0.size == bytes.count && $0.has(bytes) }.map(\.users)
      }
    }
    func width(_ texts: PageTexts, _ family: String) -> Double {
      texts.size(of: LayoutText("Hello", style: Self.style { $0.fontFamily = family }), width: .infinity).width
    }
    var pages = (0..<30).map { _ in PageTexts(fonts) }
    for (index, page) in pages.enumerated() { try page.addFont(family: "own\(index)", bytes: bytes) }
    #expect(try users() == [30])
    #expect(width(pages[3], "own3") == width(pages[3], "DejaVu Sans Mono"))
    #expect(width(pages[3], "own4, DejaVu Sans") == width(pages[3], "DejaVu Sans"))
    try pages[3].addFont(family: "own3", bytes: TestFonts.bytes("DejaVuSans-Bold.ttf"))
    #expect(try users() == [29])
    #expect(width(pages[3], "own3") != width(pages[4], "own4"))
    pages.removeFirst(4)
    #expect(try users() == [26])
    #expect(width(pages[0], "own4") == width(pages[0], "DejaVu Sans Mono"))
    pages = []
    #expect(try users() == [])
  }

  @Test(
    "the fonts of all pages have a bound, and a font that replaces another counts in its place",
    arguments: [
      ([], 100, nil, true), (Array(repeating: 1, count: 23), 1, nil, true),
      (Array(repeating: 1, count: 24), 1, nil, false), (Array(repeating: 1, count: 24), 1, 1, true),
      ([32 << 20, 31 << 20], 1 << 20, nil, true), ([32 << 20, 31 << 20], (1 << 20) + 1, nil, false),
      ([32 << 20, 31 << 20], 32 << 20, 31 << 20, true),
    ] as [([Int], Int, Int?, Bool)])
  func fontBudget(_ sizes: [Int], _ size: Int, _ replaced: Int?, _ isAllowed: Bool) {
    var budget = FontBudget()
    for size in sizes { budget.add(size) }
    #expect((budget.refusal(of: size, replacing: replaced) == nil) == isAllowed)
    for size in sizes { budget.remove(size) }
    #expect(budget.count == 0 && budget.bytes == 0)
  }

  // MARK: What pages may try

  @Test("of a long text the beginning is measured, in bounded time")
  func longTexts() throws {
    let long = String(repeating: "The quick brown fox. ", count: 50_000_000 / 21)
    let start = ContinuousClock.now
    let measured = try size(long, 700)
    #expect(measured.height > 1_000 && measured.height < 100_000)
    // In a few lines there is room for little of it.
    #expect(try size(long, 700) { $0.lines = 3 }.height == 38 * 3)
    #expect(ContinuousClock.now - start < .seconds(30))
  }

  @Test(
    "any text and style gives a finite size",
    arguments: [
      String(repeating: "\u{301}", count: 30_000), String(repeating: "👩‍👩‍👧‍👦", count: 3_000),
      String(repeating: "\n", count: 30_000), String(repeating: "\u{202E}a\u{202C}", count: 5_000), "\0\0", "\u{FFFC}",
      String(repeating: "مرحبا ", count: 3_000), String(repeating: "x", count: 30_000), "\u{FEFF}\u{200B}",
    ])
  func hostileTexts(_ text: String) throws {
    let texts = PageTexts(try SystemFonts.shared())
    for size in [0, 1e-9, 32, 10_000, -5, .nan, .infinity] {
      for width in [0, 1e-9, 300, 1e300, .infinity, .nan, -1] {
        // The combinations that take long are not all tried.
        guard text.utf8.count < 100 || (size == 32 && width == 300) else { continue }
        var style = Self.style(size)
        (style.letterSpacing, style.lineHeight, style.lines) = (.nan, .infinity, .max)
        var measured = texts.size(of: LayoutText(text, style: style), width: width)
        #expect(measured.width.isFinite && measured.height.isFinite && measured.height >= 0)
        (style.letterSpacing, style.lineHeight, style.lines) = (-1e300, -1, 0)
        measured = texts.size(of: LayoutText(text, style: style), width: width)
        #expect(measured.width.isFinite && measured.height.isFinite && measured.height >= 0)
      }
    }
  }

  @Test("the sizes of more texts are kept than a page draws at once, until its fonts change")
  func keptSizes() throws {
    let fonts = try SystemFonts.shared()
    let texts = PageTexts(fonts)
    let all = (0..<900).map { LayoutText("a text \($0)", style: Self.style()) }
    for text in all { _ = texts.size(of: text, width: 100) }
    /// The number of texts whose sizes are known, and of those that are set in lines.
    func known() -> (sizes: Int, lines: Int) {
      let counts = try? fonts.withState { state throws(PictureError) -> (Int, Int) in
        all.reduce(into: (0, 0)) { counts, text in
          for number in state.pages.keys {
            if state.pages[number]?.sizes.find(.init(text: text, width: 100, paints: [])) != nil { counts.0 += 1 }
            if state.pages[number]?.texts.find(.init(text: text, width: 100, paints: [])) != nil { counts.1 += 1 }
          }
        }
      }
      return counts ?? (0, 0)
    }
    #expect(known().sizes == all.count && (1..<all.count).contains(known().lines), "\(known())")
    try texts.addFont(family: "own", bytes: try TestFonts.bytes("DejaVuSansMono.ttf"))
    #expect(known() == (0, 0))
  }

  @Test("texts that are kept count by the memory that they take in lines")
  func costs() throws {
    let fonts = try SystemFonts.shared()
    func cost(_ text: String, _ width: Double) -> Int {
      let cost = try? fonts.withState { state throws(PictureError) in
        state.set(LayoutText(text, style: Self.style()), width: width, paints: [], page: 0)?.cost
      }
      return (cost ?? nil) ?? 0
    }
    // 1.5 and 9.6 MB were measured for the last ones.
    #expect((2_000..<4_000).contains(cost("hello", 300)))
    #expect(cost(String(repeating: "x y ", count: 7_500), 300) > 1_500_000)
    #expect(cost(String(repeating: "word ", count: 6_000), 1) > 3_000_000)
    // One alone would push out all others.
    var cache = TextCache<Int>(limit: 1_000)
    let keys = (0..<3).map { TextCache<Int>.Key(text: LayoutText("\($0)"), width: 0, paints: []) }
    cache.insert(0, keys[0], cost: 251)
    cache.insert(1, keys[1], cost: 250)
    #expect(cache.find(keys[0]) == nil && cache.find(keys[1]) == 1 && cache.find(keys[2]) == nil)
  }

  @Test("of the pictures in a text so many are placed, and their places come in bounded time")
  func manyPictures() throws {
    let texts = PageTexts(try SystemFonts.shared())
    var text = LayoutText(spans: [], style: Self.style())
    text.spans = (0..<20_000).map { _ in
      LayoutText.Span(text: "", style: Self.style(), picture: LayoutSize(width: 10, height: 10))
    }
    let canvas = try Canvas(width: 50, height: 50, scale: 1, isOpaque: true)
    var room = 0
    let start = ContinuousClock.now
    let places = texts.draw(
      text, in: LayoutRect(x: 0, y: 0, width: 10, height: 50), paints: [], imageRoom: &room, canvas.cairo)
    #expect(places.count == 1_000 && .now - start < .seconds(20), "\(places.count)")
  }

  @Test("many threads measure at once")
  func threads() async throws {
    let texts = PageTexts(try SystemFonts.shared())
    let expected = try size("Hello 3 world", 100)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for index in 0..<200 {
            let size = texts.size(of: LayoutText("Hello \(index % 10) world", style: Self.style()), width: 100)
            if index % 10 == 3 { #expect(size == expected) }
          }
        }
      }
    }
  }
}
