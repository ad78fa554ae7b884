import Foundation
import HTTPTransport
import PageLayout
import PagePictures
import PageTesting
import ScriptEngine
import Synchronization
import TestSupport
import Testing

@testable import PageRuntime

/// Pages that are drawn without a browser. One after the other: some hold a thread while another page runs.
@Suite(.serialized, .timeLimit(.minutes(5))) struct PictureTests {
  private static let needed: Comment = "needs libpangocairo-1.0-0: run scripts/setup test"

  /// A blue pixel.
  private static let pixelText =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYPgPAAEDAQAIicLsAAAAAElFTkSuQmCC"
  private static let pixelURL = "data:image/png;base64,\(pixelText)"
  private static var pixel: [UInt8] { Data(base64Encoded: pixelText).map { Array($0) } ?? [] }

  /// A bundle whose script has `body` and `add` as those of the fixture.
  private static func bundle(_ script: String) -> [UInt8] {
    Array(
      """
      // { "framework": "Vanilla" }
      var document = weex.document, body = document.createBody('div', { attr: {} })
      document.documentElement.appendChild(body)
      function add(type, props, parent) { var e = document.createElement(type, props); (parent || body).appendChild(e); return e }
      \(script)
      """.utf8)
  }

  @Test("the layout for a picture is known as its page's work", .enabled(if: DrawnPicture.canDraw, needed))
  func knownWork() async throws {
    let moments = MomentList()
    try await PageFixture.running(observer: { moments.add($0, $1, $2) }) { (fixture: PageFixture) async throws in
      let page = try await fixture.page("add('div', { style: { height: 100 } })")
      _ = try await page.picture()
      #expect(moments.all == ["\(page.id) begin", "\(page.id) end"])
      await page.destroy()
    }
  }

  /// Has a page of one script, whose work has ended.
  ///
  /// - Parameter measurer: what measures its texts; `nil` for that of the fixture.
  private static func opened(
    _ script: String, measurer: (any TextMeasuring)? = nil, _ body: (PageInstance) async throws -> Void
  ) async throws {
    try await PageFixture.running { fixture in
      if let measurer { fixture.registry.register { $0.handlers.measurer = measurer } }
      let page = try await fixture.page(script)
      #expect(await page.settle(within: .seconds(50)))
      try await body(page)
      await page.destroy()
    }
  }

  /// The moments of work on pictures, with their pages.
  private final class MomentList: Sendable {
    private let texts = Mutex<[String]>([])
    var all: [String] { texts.withLock { $0 } }

    func add(_ page: String, _ work: PageWork, _ moment: PageWork.Moment) {
      if work == .picture { texts.withLock { $0.append("\(page) \(moment)") } }
    }
  }

  @Test("a page is drawn in the pixels of the screen", .enabled(if: DrawnPicture.canDraw, needed))
  func drawing() async throws {
    let script = """
      add('div', { style: { width: 750, height: 100, backgroundColor: 'red' } })
      add('text', { attr: { value: 'Hello' } })
      add('div', { style: { position: 'absolute', left: 0, bottom: 0, width: 750, height: 10, backgroundColor: 'blue' } })
      """
    try await Self.opened(script) { page in
      let screen = try #require(PictureOptions.Screen("375x812@2"))
      let picture = try DrawnPicture(await page.picture(PictureOptions(.png, screen: screen)))
      #expect(picture.size == "750x1624")
      #expect(picture.color(374, 50) == [255, 0, 0])
      #expect(picture.color(374, 1_000) == [255, 255, 255])
      #expect(picture.color(374, 1_620) == [0, 0, 255])
      // The page itself has the screen of its device.
      #expect(await page.layout.window.height == 1_334)
      let device = try DrawnPicture(await page.picture())
      #expect(device.size == "750x1334")
      let small = try DrawnPicture(await page.picture(PictureOptions(screen: .init("75x100"))))
      #expect(small.size == "75x100" && small.color(37, 5) == [255, 0, 0])
      let drawing = String(decoding: try await page.picture(PictureOptions(.svg, screen: screen)), as: UTF8.self)
      #expect(drawing.contains("<svg") && drawing.contains("750"))
    }
  }

  @Test("a full picture has what is below the screen, within its limit", .enabled(if: DrawnPicture.canDraw, needed))
  func full() async throws {
    try await PageFixture.running { fixture in
      let page = try await fixture.page(
        "var tall = add('div', { style: { width: 750, height: 3000, backgroundColor: 'red' } })")
      #expect(try DrawnPicture(await page.picture()).size == "750x1334")
      let full = try DrawnPicture(await page.picture(PictureOptions(isFull: true)))
      #expect(full.size == "750x3000" && full.color(10, 2_999) == [255, 0, 0])
      await page.destroy()
      let huge = try await fixture.page("add('div', { style: { width: 100000, height: 100000 } })")
      await #expect(throws: PictureError.tooLarge(width: 750, height: 100_000, limit: PictureOptions.pixelLimit)) {
        try await huge.picture(PictureOptions(isFull: true))
      }
      await huge.destroy()
      let long = try await fixture.page("add('div', { style: { width: 750, height: 40000 } })")
      let error = await #expect(throws: PictureError.self) { try await long.picture(PictureOptions(isFull: true)) }
      #expect(error == .tooLarge(width: 750, height: 40_000, limit: PictureOptions.pixelLimit))
      #expect(error?.description == "a picture of 750 x 40000 pixels is too large: sides of 32767 pixels are allowed")
      await long.destroy()
    }
  }

  @Test(
    "a design is at most a million units wide, and drawn in the device's pixels",
    .enabled(if: DrawnPicture.canDraw, needed))
  func wideDesign() async throws {
    let script = """
      weex.requireModule('meta').setViewport({ width: 1e308 })
      add('div', { style: { width: 1000000, height: 500000, backgroundColor: 'red' } })
      """
    try await Self.opened(script) { page in
      #expect(await page.layout.window.width == 1_000_000)
      let picture = try DrawnPicture(await page.picture())
      #expect(picture.size == "750x1334" && picture.color(374, 10) == [255, 0, 0])
    }
  }

  @Test("pictures of a page are drawn at their places", .enabled(if: DrawnPicture.canDraw, needed))
  func images() async throws {
    let script = "add('image', { attr: { src: '\(Self.pixelURL)' }, style: { width: 750, height: 100 } })"
    try await Self.opened(script) { page in
      let picture = try DrawnPicture(await page.picture())
      #expect(picture.color(374, 50) == [0, 0, 255])
    }
  }

  @Test("pictures whose files are too large together are drawn as damaged", .enabled(if: DrawnPicture.canDraw, needed))
  func largeFiles() async throws {
    try await PageFixture.running { fixture in
      // Decoders do not look at what follows a picture.
      let file = Self.pixel + [UInt8](repeating: 0, count: 24 << 20)
      let paths = ["/a.png", "/b.png", "/c.png"]
      for path in paths { fixture.origin.serve(path, file) }
      let page = try await fixture.page(
        """
        for (var src of \(paths)) add('image', { attr: { src: src }, style: { width: 750, height: 100 } })
        """)
      #expect(await page.settle(within: .seconds(50)))
      var options = PictureOptions()
      options.timeLimit = 60
      let picture = try DrawnPicture(await page.picture(options))
      let colors = [50, 150, 250].compactMap { picture.color(374, $0) }
      #expect(colors.count { $0 == [0, 0, 255] } == 2, "\(colors)")
      #expect(!colors.contains([255, 255, 255]), "\(colors)")
      await page.destroy()
    }
  }

  @Test(
    "a page that is embedded is drawn in its element's box, with its own units and scroll offset",
    .enabled(if: DrawnPicture.canDraw, needed))
  func embedded() async throws {
    try await PageFixture.running { fixture in
      // Its design is 1,500 wide: a unit is half of one of the page around it.
      fixture.origin.serve(
        "/pages/part.js",
        Self.bundle(
          """
          weex.requireModule('meta').setViewport({ width: 1500 })
          var list = add('list', { style: { height: 200 } }), cells = ['green', 'red', 'green'].map(function (color) {
            return add('cell', { style: { width: 2000, height: 100, backgroundColor: color } }, list)
          })
          add('embed', { attr: { src: 'inner.js' }, style: { width: 100, height: 100 } })
          add('div', { style: { position: 'fixed', left: 0, bottom: 0, width: 600, height: 40, backgroundColor: 'blue' } })
          weex.requireModule('dom').scrollToElement(cells[1], {})
          """))
      fixture.origin.serve("/pages/inner.js", Self.bundle("body.setStyle('backgroundColor', 'yellow')"))
      let page = try await fixture.page(
        """
        add('embed', { attr: { src: 'part.js' }, style: { marginLeft: 100, marginTop: 100, width: 300, height: 200 } })
        """)
      #expect(await page.settle(within: .seconds(50)))
      let picture = try DrawnPicture(await page.picture())
      let (red, blue, white): ([UInt8], [UInt8], [UInt8]) = ([255, 0, 0], [0, 0, 255], [255, 255, 255])
      // The list is scrolled by one cell, and what is wider than the box is cut off.
      #expect(picture.color(101, 101) == red && picture.color(398, 148) == red)
      #expect(picture.color(98, 110) == white && picture.color(402, 110) == white)
      #expect(picture.color(110, 155) == [0, 128, 0])
      // A page in the page, and nothing beside it.
      #expect(picture.color(149, 249) == [255, 255, 0] && picture.color(152, 249) == white)
      #expect(picture.color(110, 278) == white && picture.color(398, 282) == blue && picture.color(110, 298) == blue)
      #expect(picture.color(110, 302) == white)
      // On a screen of half the size, all of it is half as large.
      let small = try DrawnPicture(await page.picture(PictureOptions(screen: .init("375x667"))))
      #expect(small.color(51, 51) == red && small.color(198, 73) == red && small.color(201, 55) == white)
      #expect(small.color(60, 148) == blue)
      await page.destroy()
    }
  }

  @Test("a page is laid out for a screen while other pages run", .enabled(if: DrawnPicture.canDraw, needed))
  func layoutAside() async throws {
    try await PageFixture.running { fixture in
      let measurer = HeldMeasurer()
      fixture.registry.register { $0.handlers.measurer = measurer }
      let page = try await fixture.page("add('text', { attr: { value: 'Hello' } })")
      let screen = try #require(PictureOptions.Screen("100x100"))
      let picture = Task { try await page.picture(PictureOptions(screen: screen)) }
      for await _ in measurer.beginnings { break }
      // The layout goes on when another page has opened.
      let other = try await fixture.page("")
      measurer.release()
      #expect(try DrawnPicture(await picture.value).size == "100x100")
      #expect(measurer.wasReleased, "the other page has waited for the layout")
      await other.destroy()
      await page.destroy()
    }
  }

  @Test(
    "a page that ends, or is opened again, while it is laid out is drawn as it was",
    .enabled(if: DrawnPicture.canDraw, needed), arguments: [true, false])
  func endWhileLaidOut(_ ends: Bool) async throws {
    try await PageFixture.running { fixture in
      let measurer = HeldMeasurer()
      fixture.registry.register { $0.handlers.measurer = measurer }
      fixture.origin.serve("/pages/part.js", Self.bundle("body.setStyle('backgroundColor', 'blue')"))
      let page = try await fixture.page(
        """
        add('div', { style: { height: 100, backgroundColor: 'red' } }); add('text', { attr: { value: 'Hello' } })
        add('embed', { attr: { src: 'part.js' }, style: { position: 'absolute', top: 300, width: 750, height: 100 } })
        """)
      #expect(await page.settle(within: .seconds(50)))
      let drawing = Task { try await page.picture(PictureOptions()) }
      for await _ in measurer.beginnings { break }
      if ends {
        await page.destroy()
      } else {
        let url = try #require(await page.url)
        try await page.render(String(decoding: Self.bundle("body.setStyle('color', 'red')"), as: UTF8.self), at: url)
      }
      measurer.release()
      let picture = try DrawnPicture(await drawing.value)
      #expect(picture.color(374, 50) == [255, 0, 0] && picture.color(374, 350) == [0, 0, 255])
      await page.destroy()
    }
  }

  @Test("no more pictures are drawn at a time than may be, and no more wait")
  func turns() async throws {
    let turns = DrawingTurns(width: 1, limit: 2)
    let first = try await turns.begin(for: "a", within: .seconds(60))
    let cancelled = Task { try await turns.begin(for: "a", within: .seconds(60)) }
    let second = Task { try await turns.begin(for: "b", within: .seconds(60)) }
    func waitFor(_ count: Int) async throws {
      let deadline = ContinuousClock.now + .seconds(30)
      while turns.waiting != count, .now < deadline { try await Task.sleep(for: .milliseconds(1)) }
      #expect(turns.waiting == count)
    }
    try await waitFor(2)
    let error = await #expect(throws: PictureError.self) { try await turns.begin(for: "c", within: .seconds(60)) }
    #expect(error?.description.contains("2 other pictures wait") ?? false, "\(error.map { "\($0)" } ?? "")")
    // One that has gone gives its place to another one.
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    try await waitFor(1)
    await #expect(throws: PictureError.self) { try await turns.begin(for: "c", within: .milliseconds(1)) }
    try await waitFor(1)
    turns.end(first)
    turns.end(try await second.value)
    turns.end(try await turns.begin(for: "c", within: .seconds(60)))
  }

  @Test(
    "pages that wait for their pictures hold up no other page, and are drawn when these have come",
    .enabled(if: DrawnPicture.canDraw, needed))
  func waitingPages() async throws {
    try await PageFixture.running { fixture in
      let paths = (1...4).map { "/\($0).png" }
      for path in paths { fixture.origin.serve(path, Self.pixel, headers: [.cacheControl: "no-store"]) }
      var pages: [PageInstance] = []
      for path in paths {
        let page = try await fixture.page(
          "add('image', { attr: { src: '\(path)' }, style: { width: 750, height: 100 } })")
        #expect(await page.settle(within: .seconds(50)))
        pages.append(page)
      }
      let other = try await fixture.page("add('div', { style: { height: 100, backgroundColor: 'red' } })")
      for path in paths { fixture.origin.hold(path) }
      defer { for path in paths { fixture.origin.release(path) } }
      var options = PictureOptions()
      options.timeLimit = 100
      let drawings = pages.map { [options] page in Task { try await page.picture(options) } }
      for page in pages {
        try await eventually("a drawing waits for its picture") { await !page.loads.isEmpty }
      }
      // Its turn comes while they wait.
      options.timeLimit = 20
      #expect(try DrawnPicture(await other.picture(options)).color(374, 50) == [255, 0, 0])
      for page in pages { #expect(await !page.loads.isEmpty) }
      for path in paths { fixture.origin.release(path) }
      for drawing in drawings { #expect(try DrawnPicture(await drawing.value).color(374, 50) == [0, 0, 255]) }
      for page in pages + [other] { await page.destroy() }
    }
  }

  @Test(
    "a page is refused for now if others have taken the memory of drawings, unless it needs little",
    .enabled(if: DrawnPicture.canDraw, needed))
  func drawingMemory() async throws {
    try await PageFixture.running { fixture in
      fixture.origin.serve("/large.png", Self.pixel + [UInt8](repeating: 0, count: 3 << 20))
      let image = "{ attr: { src: 'SOURCE' }, style: { width: 750, height: 100 } }"
      func page(_ source: String) async throws -> PageInstance {
        let page = try await fixture.page("add('image', \(image.replacing("SOURCE", with: source)))")
        #expect(await page.settle(within: .seconds(50)))
        return page
      }
      let (large, small) = (try await page("/large.png"), try await page(Self.pixelURL))
      #expect(DrawingTurns.shared.take(DrawingTurns.roomLimit))
      let error = await #expect(throws: PictureError.self) { try await large.picture() }
      #expect(error.map { if case .busy = $0 { true } else { false } } ?? false, "\(error.map { "\($0)" } ?? "")")
      #expect(try DrawnPicture(await small.picture()).color(374, 50) == [0, 0, 255])
      DrawingTurns.shared.give(DrawingTurns.roomLimit)
      #expect(try DrawnPicture(await large.picture()).color(374, 50) == [0, 0, 255])
      // All is given back.
      #expect(DrawingTurns.shared.take(DrawingTurns.roomLimit))
      DrawingTurns.shared.give(DrawingTurns.roomLimit)
      await large.destroy()
      await small.destroy()
    }
  }

  @Test(
    "a text that the page has measured is not measured again for a picture",
    .enabled(if: DrawnPicture.canDraw, needed))
  func measuredTexts() async throws {
    let measurer = SlowMeasurer(pause: 0)
    let script = "for (var n = 0; n < 10; n++) add('text', { attr: { value: 'text ' + n } })"
    try await Self.opened(script, measurer: measurer) { page in
      let units = await page.layout.window.unitsPerPoint
      let measured = measurer.count.withLock { $0 }
      #expect(measured >= 10)
      // As wide as the page is, and lower.
      let screen = try #require(PictureOptions.Screen("\(Int(750 / units))x200"))
      #expect(try DrawnPicture(await page.picture(PictureOptions(screen: screen))).size == "\(Int(750 / units))x200")
      #expect(measurer.count.withLock { $0 } == measured)
    }
  }

  @Test("a picture has no more pixels than its options allow", .enabled(if: DrawnPicture.canDraw, needed))
  func allowedPixels() async throws {
    try await Self.opened("add('div', { style: { width: 750, height: 3000 } })") { page in
      var options = PictureOptions(isFull: true)
      options.allowedPixels = 750 * 3_000
      let picture = try DrawnPicture(await page.picture(options))
      #expect(picture.size == "750x3000")
      options.allowedPixels -= 1
      await #expect(throws: PictureError.tooLarge(width: 750, height: 3_000, limit: options.allowedPixels)) {
        try await page.picture(options)
      }
    }
  }

  @Test("a layout that takes longer than a picture may ends it", .enabled(if: DrawnPicture.canDraw, needed))
  func slowLayout() async throws {
    let measurer = SlowMeasurer(pause: 5_000)
    let script = "for (var n = 0; n < 500; n++) add('text', { attr: { value: 'text ' + n } })"
    try await Self.opened(script, measurer: measurer) { page in
      var options = PictureOptions(screen: .init("100x100"))
      options.timeLimit = 0.1
      await #expect(throws: PictureError.tooSlow(.seconds(0.1))) { try await page.picture(options) }
      #expect(measurer.count.withLock { $0 } < 500)
    }
  }

  @Test(
    "pictures and fonts that do not come are given up together, and their places are empty",
    .enabled(if: DrawnPicture.canDraw, needed))
  func missingFiles() async throws {
    try await PageFixture.running { fixture in
      let held = ["/a.png", "/b.png", "/a.ttf", "/b.ttf"]
      for path in held {
        let file = path.hasSuffix("png") ? Self.pixel : Array("font".utf8)
        fixture.origin.serve(path, file, headers: [.cacheControl: "no-store"])
      }
      let page = try await fixture.page(
        """
        var dom = weex.requireModule('dom')
        dom.addRule('fontFace', { fontFamily: 'a', src: "url('/a.ttf')" })
        dom.addRule('fontFace', { fontFamily: 'b', src: "url('/b.ttf')" })
        function picture(src) { add('image', { attr: { src: src }, style: { width: 750, height: 100 } }) }
        picture('/a.png'); picture('/b.png'); picture('\(Self.pixelURL)')
        """)
      #expect(await page.settle(within: .seconds(50)))
      for path in held { fixture.origin.hold(path) }
      defer { for path in held { fixture.origin.release(path) } }
      var options = PictureOptions()
      options.timeLimit = 20
      let picture = try DrawnPicture(await page.picture(options))
      #expect(picture.color(374, 50) == [255, 255, 255] && picture.color(374, 150) == [255, 255, 255])
      await page.destroy()
    }
  }

  @Test(
    "a page that ends while its pictures are loaded is drawn at once, and one that has ended is not",
    .enabled(if: DrawnPicture.canDraw, needed))
  func endedPage() async throws {
    try await PageFixture.running { fixture in
      fixture.origin.serve("/a.png", Self.pixel, headers: [.cacheControl: "no-store"])
      let page = try await fixture.page(
        """
        add('image', { attr: { src: '/a.png' }, style: { width: 750, height: 100 } })
        add('div', { style: { height: 100, backgroundColor: 'red' } })
        """)
      #expect(await page.settle(within: .seconds(50)))
      fixture.origin.hold("/a.png")
      defer { fixture.origin.release("/a.png") }
      var options = PictureOptions()
      options.timeLimit = 100
      let start = ContinuousClock.now
      let drawing = Task { try await page.picture(options) }
      try await eventually("the drawing waits for the picture") { await !page.loads.isEmpty }
      await page.destroy()
      let picture = try DrawnPicture(await drawing.value)
      #expect(picture.color(374, 50) == [255, 255, 255] && picture.color(374, 150) == [255, 0, 0])
      #expect(.now - start < .seconds(40))
      await #expect {
        _ = try await page.picture()
      } throws: {
        if case PageError.destroyed = $0 { true } else { false }
      }
    }
  }

  @Test("texts have the measurer that the app has registered, or the system's fonts")
  func measurers() async throws {
    try await PageFixture.running { fixture in
      let script = "add('text', { attr: { value: 'iiii' }, style: { alignSelf: 'flex-start' } })"
      let fixed = try await fixture.page(script)
      let ref = try #require(await fixed.tree.first(.text("iiii"))?.ref)
      #expect(await fixed.layout.box(ref)?.frame.width == 64)
      #expect(await fixed.ownTexts == nil, "no library is loaded for a measurer of the app's")
      await fixed.destroy()
      fixture.registry.register { $0.handlers.measurer = nil }
      let page = try await fixture.page(script)
      #expect(await page.ownTexts == nil, "no library is loaded for a page that asks for no place")
      let measured = try #require(await page.tree.first(.text("iiii"))?.ref)
      let width = try #require(await page.layout.box(measured)?.frame.width)
      #expect(DrawnPicture.canDraw ? width < 64 : width == 64)
      await page.destroy()
    }
  }

  @Test("a screen is read from a text")
  func screens() {
    #expect(PictureOptions.Screen("375x812@2")?.description == "375x812@2")
    #expect(PictureOptions.Screen("375x812")?.scale == 1)
    #expect(PictureOptions.Screen("375x812@1.5")?.description == "375x812@1.5")
    for text in ["", "375", "375x", "x812", "0x1", "375x812@", "375x812@0", "375x812@nan", "99999x1", "1x2x3", "-1x5"] {
      #expect(PictureOptions.Screen(text) == nil, "\(text)")
    }
  }

  @Test("a screen is coded as its text, and decoded within the same bounds")
  func codedScreens() throws {
    let options = PictureOptions(.svg, screen: PictureOptions.Screen("375x812@1.5"), isFull: true)
    let coded = try JSONEncoder().encode(options)
    #expect(String(decoding: coded, as: UTF8.self).contains(#""screen":"375x812@1.5""#))
    #expect(try JSONDecoder().decode(PictureOptions.self, from: coded) == options)
    for text in [#""0x1""#, #""375x812@0""#, #"{"width":0,"height":-1,"scale":0}"#] {
      #expect(throws: DecodingError.self, "\(text)") {
        try JSONDecoder().decode(PictureOptions.Screen.self, from: Data(text.utf8))
      }
    }
  }
}

/// Holds the first text that it measures until it is released, for at most 10 s.
private final class HeldMeasurer: TextMeasuring {
  /// Tells of the first text.
  let beginnings: AsyncStream<Void>
  private let begin: AsyncStream<Void>.Continuation
  private let gate = DispatchSemaphore(value: 0)
  private let state = Mutex((isFirst: true, wasReleased: false))

  init() { (beginnings, begin) = AsyncStream.makeStream() }

  func release() { gate.signal() }

  /// `false` if the first text has waited in vain.
  var wasReleased: Bool { state.withLock { $0.wasReleased } }

  func size(of text: LayoutText, width: Double) -> LayoutSize {
    let isFirst = state.withLock { state in
      defer { state.isFirst = false }
      return state.isFirst
    }
    if isFirst {
      begin.yield()
      let wasReleased = gate.wait(timeout: .now() + 10) == .success
      state.withLock { $0.wasReleased = wasReleased }
    }
    return FixedAdvances().size(of: text, width: width)
  }
}

/// Takes a time for each text.
private final class SlowMeasurer: TextMeasuring {
  let count = Mutex(0)
  private let pause: UInt32

  /// - Parameter pause: in microseconds.
  init(pause: UInt32) { self.pause = pause }

  func size(of text: LayoutText, width: Double) -> LayoutSize {
    count.withLock { $0 += 1 }
    usleep(pause)
    return FixedAdvances().size(of: text, width: width)
  }
}
