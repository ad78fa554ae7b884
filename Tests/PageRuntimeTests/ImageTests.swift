import Foundation
import HTTPCache
import HTTPTransport
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

struct ImageTests {
  /// The beginnings of small pictures, up to their format and size.
  private static let heads: [(ImageFormat, [UInt8], Int, Int)] = [
    (
      .png,
      [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + [0, 0, 1, 44, 0, 0, 0, 200],
      300, 200
    ),
    (.gif, Array("GIF89a".utf8) + [0x2C, 0x01, 0xC8, 0x00, 0, 0, 0], 300, 200),
    (
      .jpeg,
      [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xFF, 0xC2, 0, 17, 8, 0, 200, 1, 44, 3], 300, 200
    ),
    (
      .webp,
      Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBPVP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0, 0x2B, 1, 0, 199, 0, 0],
      300, 200
    ),
    (
      .webp, Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBPVP8L".utf8) + [10, 0, 0, 0, 0x2F, 0x2B, 0xC1, 0x31, 0], 300,
      200
    ),
    (
      .webp,
      Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBPVP8 ".utf8) + [
        10, 0, 0, 0, 0, 0, 0, 0x9D, 1, 0x2A, 0x2C, 1, 200, 0,
      ], 300, 200
    ),
    (
      .avif,
      [0, 0, 0, 24] + Array("ftypavif".utf8) + [UInt8](repeating: 0, count: 12) + [0, 0, 0, 20] + Array("ispe".utf8)
        + [0, 0, 0, 0, 0, 0, 1, 44, 0, 0, 0, 200], 300, 200
    ),
    (.svg, Array("<?xml version=\"1.0\"?><!-- a --><svg width=\"300px\" height='200'>".utf8), 300, 200),
    (.svg, Array("\u{FEFF}<svg viewBox=\"0 0 300 200\" xmlns=\"x\">".utf8), 300, 200),
  ]

  @Test("format and size are read from the beginning of the file", arguments: heads)
  func formatsAndSizes(_ format: ImageFormat, _ bytes: [UInt8], _ width: Int, _ height: Int) throws {
    #expect(ImageFormat(bytes) == format)
    let size = try #require(ImageSize(of: bytes, format: format))
    let image = LoadedImage(bytes: bytes, cacheType: .none)
    #expect((image.format, image.size, ImageSize(of: bytes)) == (format.rawValue, size, size))
    #expect((size.width, size.height) == (width, height))
  }

  @Test("a cut or damaged beginning never crashes", arguments: heads)
  func damagedHeads(_ format: ImageFormat, _ bytes: [UInt8], _ width: Int, _ height: Int) {
    var generator = SeededGenerator(seed: 7)
    for count in 0...bytes.count { _ = ImageSize(of: Array(bytes.prefix(count)), format: format) }
    for _ in 0..<2_000 {
      var changed = bytes
      changed[Int.random(in: 0..<changed.count, using: &generator)] = .random(in: 0...255, using: &generator)
      for format in ImageFormat.allCases { _ = ImageSize(of: changed, format: format) }
    }
  }

  @Test("other files are not recognised as pictures", arguments: ["", "<html>", "hello", "RIFFxxxxWAVE", "{\"a\": 1}"])
  func otherFiles(_ text: String) { #expect(ImageFormat(Array(text.utf8)) == nil) }

  static let picture = heads[0].1

  @Test("a picture's size is in its element, and the script gets its load event")
  func loading() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve(
        "/pages/a.png", Self.picture, contentType: "text/plain", headers: [.cacheControl: "max-age=60"])
      let page = try await fixture.page(
        """
        var text = add('text'), image = add('image', { attr: { src: 'a.png' } })
        image.addEvent('load', function (e) { text.setAttr('value', e.success + ' ' + e.size.naturalWidth) })
        """)
      await page.settle(within: .seconds(60))
      let size = try #require(ImageSize(width: 300, height: 200))
      #expect(await page.first("image")?.image == .loaded(url: "a.png", "png", size, .network))
      #expect(await page.shown == "true 300")
      await page.destroy()
      let again = try await fixture.page("add('image', { attr: { src: 'a.png' } })")
      await again.settle(within: .seconds(60))
      #expect(await again.first("image")?.image == .loaded(url: "a.png", "png", size, .memory))
      await again.destroy()
    }
  }

  @Test(
    "a picture that cannot be shown is refused by name",
    arguments: [("/html", "is not a picture"), ("/cut", "is damaged"), ("/gone", "answers 404"), ("/huge", "pixels")])
  func failures(_ path: String, _ reason: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/html", Array("<html></html>".utf8), contentType: "image/png")
      fixture.origin.serve("/cut", Self.picture.prefix(18), contentType: "image/png")
      fixture.origin.serve(
        "/huge", Array(Self.picture.prefix(16)) + [0, 1, 0, 0, 0, 1, 0, 0], contentType: "image/png")
      let page = try await fixture.page("add('image', { attr: { src: '\(path)' } })")
      await page.settle(within: .seconds(60))
      guard case .failed(_, let said)? = await page.first("image")?.image else {
        Issue.record("\(String(describing: await page.first("image")?.image))")
        return
      }
      #expect(said.contains(reason))
      await page.destroy()
    }
  }

  /// Three pictures of a source; the text has what their load events have said.
  private static func three(_ source: String) -> String {
    """
    var text = add('text', { attr: { value: '' } }), said = []
    for (var i = 0; i < 3; i++) add('image', { attr: { src: '\(source)' } }).addEvent('load', function (e) {
      said.push(e.success + ' ' + e.size.naturalWidth); text.setAttr('value', said.join())
    })
    """
  }

  @Test("a picture that a former run has loaded is there at once without a request, and the script hears of it")
  func knownPictures() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve(
        "/pages/a.png", Self.picture, contentType: "image/png", headers: [.cacheControl: "no-store"])
      let former = try await fixture.page(Self.three("a.png"))
      await former.settle(within: .seconds(60))
      let count = fixture.origin.requestCount(path: "/pages/a.png")
      let page = try await fixture.page(Self.three("a.png"), after: former)
      let state = ImageState.loaded(url: "a.png", "png", ImageSize(width: 300, height: 200), .memory)
      #expect(await page.first("image")?.image == state)
      await page.settle(within: .seconds(60))
      #expect(await page.shown == "true 300,true 300,true 300")
      #expect(await page.timings.requests == 0)
      // The next run has it from this one.
      let next = try await fixture.page(Self.three("a.png"), after: page)
      #expect(await next.first("image")?.image == state)
      #expect(fixture.origin.requestCount(path: "/pages/a.png") == count)
      for page in [former, page, next] { await page.destroy() }
    }
  }

  @Test("a picture that a former run could not load shows nothing until it comes, and is asked for once")
  func failedPictures() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/pages/b.png", Array("<html></html>".utf8), headers: [.cacheControl: "no-store"])
      let former = try await fixture.page(Self.three("b.png"))
      await former.settle(within: .seconds(60))
      let count = fixture.origin.requestCount(path: "/pages/b.png")
      let page = try await fixture.page(Self.three("b.png"), after: former)
      guard case .failed(url: "b.png", _)? = await page.first("image")?.image else {
        Issue.record("\(String(describing: await page.first("image")?.image))")
        return
      }
      // Nothing waits for it before it is asked for.
      #expect(await page.settle(within: .zero))
      fixture.origin.serve("/pages/b.png", Self.picture, headers: [.cacheControl: "no-store"])
      await page.askForFailedPictures()
      await page.settle(within: .seconds(60))
      #expect(await page.shown == "true 300,true 300,true 300")
      #expect(await page.timings.requests == 1)
      #expect(fixture.origin.requestCount(path: "/pages/b.png") == count + 1)
      // Whoever shows the page hears of each that there is something to show.
      await page.destroy()
      var states: [String: [ImageState?]] = [:]
      for await event in page.events {
        if case .image(let ref, let state) = event { states[ref, default: []].append(state) }
      }
      #expect(states.count == 3)
      for states in states.values {
        #expect(
          states.dropFirst() == [
            .loading(url: "b.png"), .loaded(url: "b.png", "png", ImageSize(width: 300, height: 200), .network),
          ])
      }
      await former.destroy()
    }
  }

  @Test("a picture that fails again is told to the script, changes nothing, and is asked for anew by a later element")
  func failedAgain() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/pages/c.png", Array("<html></html>".utf8), headers: [.cacheControl: "no-store"])
      let script =
        Self.three("c.png") + "\ntext.addEvent('click', function () { add('image', { attr: { src: 'c.png' } }) })"
      let former = try await fixture.page(script)
      await former.settle(within: .seconds(60))
      let page = try await fixture.page(script, after: former)
      await page.askForFailedPictures()
      await page.settle(within: .seconds(60))
      #expect(await page.shown == "false 0,false 0,false 0")
      let ref = try #require(await page.first("text")?.ref)
      try await page.fireEvent(ref, "click")
      await page.settle(within: .seconds(60))
      #expect(await page.timings.requests == 2)
      await page.destroy()
      var count = 0
      for await event in page.events { if case .image = event { count += 1 } }
      // Each has its state from the beginning.
      #expect(count == 4)
      await former.destroy()
    }
  }

  @Test("what is known of pictures is bounded, and one that has come stays known")
  func boundOfKnownPictures() throws {
    let url = try #require(PageURL("http://127.0.0.1/page.js"))
    var earlier = KnownPictures()
    for number in 0..<(2 * KnownPictures.limit) { earlier.add(.failed(url: "\(number)", reason: "x"), at: url) }
    var known = KnownPictures()
    known.add(.loading(url: "a"), at: url)
    #expect(known["a", at: url] == nil)
    let loaded = ImageState.loaded(url: "a", "png", nil, .memory)
    known.add(loaded, at: url)
    known.add(.failed(url: "a", reason: "x"), at: url)
    known.add(earlier)
    #expect(known["a", at: url] == loaded)
    let count = (0..<(2 * KnownPictures.limit)).count { known["\($0)", at: url] != nil }
    #expect(count == KnownPictures.limit - 1)
    #expect(known["a", at: nil] == nil)
  }

  @Test("the request of a removed element is cancelled")
  func removal() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.script("/slow.png", [.stallBeforeHead])
      let page = try await fixture.page(
        "var image = add('image', { attr: { src: '/slow.png' } }), text = add('text'); text.addEvent('click', function () { body.removeChild(image) })"
      )
      try await fixture.origin.waitForRequests(1, to: "/slow.png")
      let ref = try #require(await page.first("text")?.ref)
      try await page.fireEvent(ref, "click")
      #expect(await page.sourceTasks.isEmpty)
      await page.destroy()
    }
  }

  @Test("a loader of the app replaces the default one")
  func ownLoader() async throws {
    struct Painted: ImageLoading {
      func load(_ request: ImageRequest) -> ImageTask {
        let (updates, continuation) = AsyncStream.makeStream(of: ImageTask.Update.self)
        continuation.yield(
          .image(LoadedImage(bytes: [], format: "gif", size: ImageSize(width: 7, height: 8), cacheType: .none)))
        continuation.finish()
        return ImageTask(updates: updates, onCancel: {})
      }
    }
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let token = fixture.registry.register(Painted() as any ImageLoading, as: \.images)
      let page = try await fixture.page("add('image', { attr: { src: '/x' } })")
      await page.settle(within: .seconds(60))
      #expect(await page.first("image")?.image == .loaded(url: "/x", "gif", ImageSize(width: 7, height: 8), .none))
      #expect(fixture.origin.requests.isEmpty)
      token.remove()
      await page.destroy()
    }
  }
}
