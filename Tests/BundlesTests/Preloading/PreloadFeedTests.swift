import Testing

@testable import Bundles

struct PreloadFeedTests {
  private static func feed(bundles: Int) -> PreloadFeed {
    let feed = PreloadFeed()
    feed.setBundles((0..<bundles).map { .init(name: "b\($0)", kind: .bundle, size: 10, state: .waiting) }) {
      $0.toFetch = bundles
    }
    return feed
  }

  @Test("a late reader gets the whole state first")
  func lateReader() async {
    let feed = Self.feed(bundles: 3)
    feed.setState(.done, of: 1)
    var iterator = feed.updates.makeAsyncIterator()
    let first = await iterator.next()
    #expect(first?.changed.map(\.state) == [.waiting, .done, .waiting])
    #expect(first?.totals.fetched == 1)
  }

  @Test("later updates have only the bundles that changed")
  func changes() async {
    let feed = Self.feed(bundles: 3)
    var iterator = feed.updates.makeAsyncIterator()
    _ = await iterator.next()
    feed.received(4, by: 2)
    feed.received(3, by: 2)
    #expect(await iterator.next()?.changed == [.init(name: "b2", kind: .bundle, size: 10, state: .fetching(7))])
  }

  @Test("bytes of earlier attempts count, and a new attempt continues behind them")
  func resumedDownloads() async {
    let feed = Self.feed(bundles: 2)
    feed.began(at: 6, size: 10, by: 0)
    feed.received(2, by: 0)
    var iterator = feed.updates.makeAsyncIterator()
    var update = await iterator.next()
    #expect(update?.changed.first?.state == .fetching(8))
    #expect((update?.totals.bytes, update?.totals.bytesHere) == (2, 8))
    // The bytes were useless: the next attempt begins again.
    feed.began(at: 0, size: 10, by: 0)
    feed.received(3, by: 0)
    update = await iterator.next()
    #expect((update?.totals.bytes, update?.totals.bytesHere) == (5, 3))
    // The content was encoded, and is complete.
    feed.setState(.done, of: 0)
    #expect(await iterator.next()?.totals.bytesHere == 10)
  }

  @Test("a failed bundle counts neither as present nor as still to fetch")
  func failedDownloads() async {
    let feed = Self.feed(bundles: 2)
    feed.setTotals { $0.bytesToFetch = 20 }
    feed.began(at: 0, size: 10, by: 0)
    feed.received(4, by: 0)
    feed.setState(.failed("gone"), of: 0)
    let update = await feed.updates.first { _ in true }
    #expect((update?.totals.bytesHere, update?.totals.bytesToFetch) == (0, 10))
    #expect((update?.totals.fetched, update?.totals.failed) == (0, 1))
  }

  @Test("the next attempt is announced until it begins")
  func retries() async {
    let feed = Self.feed(bundles: 1)
    let retry = PreloadUpdate.Retry(number: 2, limit: 4, delay: .seconds(1), reason: "the server answers 503")
    feed.retries(retry, by: 0)
    var iterator = feed.updates.makeAsyncIterator()
    #expect(await iterator.next()?.changed.first?.retry == retry)
    feed.began(at: 0, size: 10, by: 0)
    #expect(await iterator.next()?.changed.first?.retry == nil)
  }

  @Test("a size that the manifest does not give is taken from the response")
  func sizesOfAnswers() async {
    let feed = PreloadFeed()
    feed.setBundles([.init(name: "b", kind: .bundle, size: nil, state: .waiting)]) { $0.toFetch = 1 }
    feed.began(at: 0, size: 1_000, by: 0)
    feed.received(500, by: 0)
    let update = await feed.updates.first { _ in true }
    #expect(update?.changed.first?.size == 1_000)
    #expect(update?.totals.bytesToFetch == 1_000)
  }

  @Test("every reader gets the report, and then the end")
  func end() async {
    let feed = Self.feed(bundles: 1)
    let early = feed.updates
    feed.finish(PreloadReport())
    let late = feed.updates
    for updates in [early, late] {
      var iterator = updates.makeAsyncIterator()
      #expect(await iterator.next()?.report != nil)
      #expect(await iterator.next() == nil)
    }
  }

  @Test("a change wakes a reader that waits")
  func waitingReader() async {
    let feed = Self.feed(bundles: 1)
    let updates = feed.updates
    _ = await updates.first { _ in true }
    async let next = updates.first { _ in true }
    feed.setState(.failed("gone"), of: 0)
    #expect(await next?.totals.failed == 1)
  }

  @Test("a slow reader gets the changes of all bundles in one update")
  func mergedChanges() async {
    let feed = Self.feed(bundles: 3)
    var iterator = feed.updates.makeAsyncIterator()
    _ = await iterator.next()
    feed.setState(.done, of: 2)
    feed.setState(.done, of: 0)
    let update = await iterator.next()
    #expect(update?.changed.map(\.name) == ["b0", "b2"])
    #expect(update?.totals.fetched == 2)
  }

  @Test("a cancelled reader stops waiting")
  func cancelledReader() async {
    let feed = Self.feed(bundles: 1)
    let (starts, start) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      var count = 0
      for await _ in feed.updates {
        count += 1
        start.yield()
      }
      return count
    }
    _ = await starts.first { _ in true }
    task.cancel()
    #expect(await task.value == 1)
  }
}
