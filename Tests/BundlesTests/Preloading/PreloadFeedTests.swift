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

  @Test func aLateSubscriberGetsTheWholeStateFirst() async {
    let feed = Self.feed(bundles: 3)
    feed.setState(.done, of: 1)
    let iterator = PreloadUpdates(feed: feed).makeAsyncIterator()
    let first = await iterator.next()
    #expect(first?.changed.map(\.state) == [.waiting, .done, .waiting])
    #expect(first?.totals.fetched == 1)
  }

  @Test func laterUpdatesHaveOnlyWhatChanged() async {
    let feed = Self.feed(bundles: 3)
    let iterator = PreloadUpdates(feed: feed).makeAsyncIterator()
    _ = await iterator.next()
    feed.received(4, by: 2)
    feed.received(3, by: 2)
    #expect(await iterator.next()?.changed == [.init(name: "b2", kind: .bundle, size: 10, state: .fetching(7))])
  }

  @Test("what is here from former tries counts, and a new try begins behind it")
  func resumedDownloads() async {
    let feed = Self.feed(bundles: 2)
    feed.began(at: 6, size: 10, by: 0)
    feed.received(2, by: 0)
    let iterator = PreloadUpdates(feed: feed).makeAsyncIterator()
    var update = await iterator.next()
    #expect(update?.changed.first?.state == .fetching(8))
    #expect((update?.totals.bytes, update?.totals.bytesHere) == (2, 8))
    // Useless after all: the next try begins anew.
    feed.began(at: 0, size: 10, by: 0)
    feed.received(3, by: 0)
    update = await iterator.next()
    #expect((update?.totals.bytes, update?.totals.bytesHere) == (5, 3))
    // It came encoded, and is whole.
    feed.setState(.done, of: 0)
    #expect(await iterator.next()?.totals.bytesHere == 10)
  }

  @Test("nothing of what has failed is waited for, and it does not count as done")
  func failedDownloads() async {
    let feed = Self.feed(bundles: 2)
    feed.setTotals { $0.bytesToFetch = 20 }
    feed.began(at: 0, size: 10, by: 0)
    feed.received(4, by: 0)
    feed.setState(.failed("gone"), of: 0)
    let update = await PreloadUpdates(feed: feed).makeAsyncIterator().next()
    #expect((update?.totals.bytesHere, update?.totals.bytesToFetch) == (0, 10))
    #expect((update?.totals.fetched, update?.totals.failed) == (0, 1))
  }

  @Test("a try that follows a failed one is said until it begins")
  func retries() async {
    let feed = Self.feed(bundles: 1)
    let retry = PreloadUpdate.Retry(number: 2, limit: 4, delay: .seconds(1), reason: "the server answers 503")
    feed.retries(retry, by: 0)
    let iterator = PreloadUpdates(feed: feed).makeAsyncIterator()
    #expect(await iterator.next()?.changed.first?.retry == retry)
    feed.began(at: 0, size: 10, by: 0)
    #expect(await iterator.next()?.changed.first?.retry == nil)
  }

  @Test("a size that the manifest does not tell is the answer's")
  func sizesOfAnswers() async {
    let feed = PreloadFeed()
    feed.setBundles([.init(name: "b", kind: .bundle, size: nil, state: .waiting)]) { $0.toFetch = 1 }
    feed.began(at: 0, size: 1_000, by: 0)
    feed.received(500, by: 0)
    let update = await PreloadUpdates(feed: feed).makeAsyncIterator().next()
    #expect(update?.changed.first?.size == 1_000)
    #expect(update?.totals.bytesToFetch == 1_000)
  }

  @Test func everySubscriberGetsTheReportAndThenTheEnd() async {
    let feed = Self.feed(bundles: 1)
    let early = PreloadUpdates(feed: feed).makeAsyncIterator()
    feed.finish(PreloadReport())
    let late = PreloadUpdates(feed: feed).makeAsyncIterator()
    for iterator in [early, late] {
      #expect(await iterator.next()?.report != nil)
      #expect(await iterator.next() == nil)
    }
  }

  @Test func whoWaitsIsWokenByAChange() async {
    let feed = Self.feed(bundles: 1)
    let iterator = PreloadUpdates(feed: feed).makeAsyncIterator()
    _ = await iterator.next()
    async let next = iterator.next()
    feed.setState(.failed("gone"), of: 0)
    #expect(await next?.totals.failed == 1)
  }

  @Test func aCancelledReaderStopsWaiting() async {
    let feed = Self.feed(bundles: 1)
    let task = Task {
      var count = 0
      for await _ in PreloadUpdates(feed: feed) { count += 1 }
      return count
    }
    while feed.subscriberCount == 0 { await Task.yield() }
    task.cancel()
    #expect(await task.value <= 1)
  }
}
