import HTTPCache
import HTTPTransport
import PageTesting
import ScriptEngine
import Synchronization
import Testing

@testable import PageRuntime

/// The default image loader, and one of the app.
@Suite(.timeLimit(.minutes(5))) struct ImageLoaderTests {
  /// The beginning of a PNG, up to its size.
  private static func png(_ width: UInt8, padding: Int = 0) -> [UInt8] {
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + [0, 0, 0, width, 0, 0, 0, 9]
      + [UInt8](repeating: 0, count: padding)
  }

  /// The widths of an element's pictures, in order.
  private static func widths(_ page: PageInstance) async -> [Int] {
    await page.settle(within: .seconds(10))
    await page.destroy()
    var widths: [Int] = []
    for await event in page.events {
      if case .image(_, .loaded(_, "png", let size?, _)?) = event { widths.append(size.width) }
    }
    return widths
  }

  @Test("equal pictures are fetched once")
  func equalPictures() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/a.png", Self.png(7), headers: [.cacheControl: "max-age=60"])
      let page = try await fixture.page("for (var i = 0; i < 20; i++) add('image', { attr: { src: '/a.png' } })")
      #expect(await Self.widths(page) == [Int](repeating: 7, count: 20))
      #expect(fixture.origin.requestCount(path: "/a.png") == 1)
    }
  }

  @Test("under cacheThenNetwork a picture is replaced by the newer one")
  func cacheThenNetwork() async throws {
    let rule = ResourceRule(types: [.image], behavior: .cacheThenNetwork)
    try await PageFixture.running(rules: [rule]) { (fixture: PageFixture) async throws in
      let script = "add('image', { attr: { src: '/a.png' } })"
      fixture.origin.serve("/a.png", Self.png(1), headers: [.cacheControl: "max-age=60"])
      #expect(await Self.widths(try await fixture.page(script)) == [1])
      fixture.origin.serve("/a.png", Self.png(2), headers: [.cacheControl: "max-age=60"])
      #expect(await Self.widths(try await fixture.page(script)) == [1, 2])
      #expect(await Self.widths(try await fixture.page(script)) == [2])
      try await fixture.origin.refuseConnections()
      #expect(await Self.widths(try await fixture.page(script)) == [2])
    }
  }

  @Test("an app's loader gets the size and the quality that the element has")
  func requests() async throws {
    final class Noting: ImageLoading {
      let requests = Mutex<[ImageRequest]>([])
      func load(_ request: ImageRequest) -> ImageTask {
        requests.withLock { $0.append(request) }
        return ImageTask(updates: AsyncStream { $0.finish() }, onCancel: {})
      }
    }
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let loader = Noting()
      fixture.registry.register(loader as any ImageLoading, as: \.images)
      let page = try await fixture.page(
        """
        add('image', { attr: { src: 'a.png', quality: 'high', sharpen: 'sharpen' },
          style: { width: 30, height: '40px', filter: 'blur(4px)' } })
        """)
      await page.settle(within: .seconds(10))
      let request = try #require(loader.requests.withLock { $0.first })
      #expect(request.url == "a.png")
      #expect(request.pageURL?.text == fixture.origin.url(for: "/pages/page.js"))
      #expect(request.page == page.id)
      #expect(request.frame.map { [$0.width, $0.height] } == [30, 40])
      #expect(request.quality == "high")
      #expect(request.isSharpened)
      #expect(request.blurRadius == 4)
      await page.destroy()
    }
  }

  @Test("a task reports progress and the cache that the picture came from")
  func progress() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let picture = Self.png(7, padding: 200_000)
      fixture.origin.serve("/a.png", picture, headers: [.cacheControl: "max-age=60"])
      let loader = DefaultImageLoader(fixture.loader)
      var sources: [LoadedImage.CacheType] = []
      for _ in 0..<2 {
        var received: [Int64] = []
        for await update in loader.load(ImageRequest(url: fixture.origin.url(for: "/a.png"))).updates {
          switch update {
          case .progress(let count, let total):
            received.append(count)
            #expect(total == Int64(picture.count))
          case .image(let image): sources.append(image.cacheType)
          case .failed(let error): Issue.record(error)
          }
        }
        if sources.count == 1 {
          #expect(received.last == Int64(picture.count))
          #expect(received == received.sorted())
        }
      }
      #expect(sources == [.network, .memory])
      let own = loader.load(ImageRequest(url: "data:image/svg+xml,<svg width='1' height='1'></svg>"))
      for await case .image(let image) in own.updates { #expect(image.cacheType == .none) }
    }
  }

  @Test("a file over the limit is refused by name")
  func largeFile() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/a.png", Self.png(7, padding: 5_000), headers: [.cacheControl: "max-age=60"])
      // From the network, and from memory.
      for _ in 0..<2 {
        var failures: [String] = []
        let task = DefaultImageLoader(fixture.loader, byteLimit: 1_000).load(
          ImageRequest(url: fixture.origin.url(for: "/a.png")))
        for await update in task.updates {
          switch update {
          case .failed(let error): failures.append("\(error)")
          case .image: Issue.record("it was taken")
          case .progress: break
          }
        }
        #expect(failures.count == 1)
        #expect(failures.first?.contains("/a.png") == true)
        #expect(failures.first?.contains("limit of 1000 bytes") == true, "\(failures)")
        _ = try await fixture.loader.response(for: ResourceRequest(fixture.origin.url(for: "/a.png"))).body.collect()
      }
    }
  }

  @Test("a prefetched picture is in the cache")
  func prefetching() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/a.png", Self.png(7), headers: [.cacheControl: "max-age=60"])
      await DefaultImageLoader(fixture.loader).prefetch([fixture.origin.url(for: "/a.png")], base: nil)
      let page = try await fixture.page("add('image', { attr: { src: '/a.png' } })")
      #expect(await Self.widths(page) == [7])
      #expect(fixture.origin.requestCount(path: "/a.png") == 1)
    }
  }
}
