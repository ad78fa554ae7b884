import HTTPTransport
import PageLayout
import PagePictures
import ScriptEngine
import TestSupport
import Testing

@testable import PageRuntime

/// Pages that are drawn without a browser.
struct PictureTests {
  private static let needed: Comment = "needs libpangocairo-1.0-0: run scripts/setup test"

  @Test("a page is drawn in the pixels of the screen", .enabled(if: DrawnPicture.canDraw, needed))
  func drawing() async throws {
    try await PageFixture.running { fixture in
      let page = try await fixture.page(
        """
        add('div', { style: { width: 750, height: 100, backgroundColor: 'red' } })
        add('text', { attr: { value: 'Hello' } })
        add('div', { style: { position: 'absolute', left: 0, bottom: 0, width: 750, height: 10, backgroundColor: 'blue' } })
        """)
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
      await page.destroy()
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
    }
  }

  @Test("pictures of a page are drawn at their places", .enabled(if: DrawnPicture.canDraw, needed))
  func images() async throws {
    try await PageFixture.running { fixture in
      let source =
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYPgPAAEDAQAIicLsAAAAAElFTkSuQmCC"
      let page = try await fixture.page(
        "add('image', { attr: { src: '\(source)' }, style: { width: 750, height: 100 } })")
      _ = await page.pendingWork(within: .seconds(10), timers: .zero)
      #expect(try DrawnPicture(await page.picture()).color(374, 50) == [0, 0, 255])
      await page.destroy()
    }
  }

  @Test("pictures are drawn one at a time, and no more wait than may")
  func turns() async throws {
    let turns = DrawingTurns(limit: 2)
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

  @Test("a picture has no more pixels than its options allow", .enabled(if: DrawnPicture.canDraw, needed))
  func allowedPixels() async throws {
    try await PageFixture.running { fixture in
      let page = try await fixture.page("add('div', { style: { width: 750, height: 3000 } })")
      var options = PictureOptions(isFull: true)
      options.allowedPixels = 750 * 3_000
      #expect(try DrawnPicture(await page.picture(options)).size == "750x3000")
      options.allowedPixels -= 1
      await #expect(throws: PictureError.tooLarge(width: 750, height: 3_000, limit: options.allowedPixels)) {
        try await page.picture(options)
      }
      await page.destroy()
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
}
