import Foundation
import HTTPTransport
import Synchronization
import TestSupport
import Testing

@testable import Publishing

struct ReleaseCollectionTests {
  private static let day: TimeInterval = 86_400

  /// Publishes releases `r1` to `rN`, two days apart.
  private static func publish(_ count: Int, on site: PublishingSite) async throws {
    for number in 1...count {
      try site.write("home.js", "// \(number)")
      try site.write("same.js", "// same")
      try await site.publish("r\(number)")
      site.bucket.advance(by: 2 * day)
    }
  }

  @Test("old releases are given up, and what only they have is removed")
  func collected() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try await Self.publish(4, on: site)
      site.bucket["app/notes.txt"] = [1]
      site.bucket["other/blobs/x"] = [1]
      site.bucket.advance(by: 2 * Self.day)
      let before = site.bucket.objects.count
      let trial = try await site.releases.collect(keeping: 1, isTrial: true)
      #expect(trial.releases.map(\.release) == ["r2", "r1"] && site.bucket.objects.count == before)

      let removed = Mutex<[String]>([])
      let collection = try await site.releases.collect(keeping: 1) { object in
        removed.withLock { $0.append(object.name) }
      }
      #expect(collection.objects == trial.objects && removed.withLock { $0 } == collection.objects.map(\.name))
      // Two manifests and two contents.
      #expect(collection.objects.count == 4)
      #expect(try await site.pointer().releases.map(\.release) == ["r4", "r3"])
      #expect(site.bucket["app/notes.txt"] != nil && site.bucket["other/blobs/x"] != nil)
      try await site.expectComplete()
      let none = try await site.releases.collect(keeping: 1)
      #expect(none.objects.isEmpty && none.releases.isEmpty)
    }
  }

  @Test("files of the last 24 hours stay")
  func young() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try await Self.publish(1, on: site)
      let left = "blobs/\(String(repeating: "0", count: 64))"
      site.bucket["app/\(left)"] = [1]
      site.bucket.advance(by: 0.9 * Self.day)
      #expect(try await site.releases.collect(keeping: 0).objects.isEmpty)
      site.bucket.advance(by: 0.2 * Self.day)
      #expect(try await site.releases.collect(keeping: 0).objects.map(\.name) == [left])
    }
  }

  @Test("the release of the other installs stays with one that is rolled out")
  func rollout() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try await Self.publish(2, on: site)
      try site.write("home.js", "// 3")
      try await site.publish("r3", percent: 5)
      site.bucket.advance(by: 2 * Self.day)
      _ = try await site.releases.collect(keeping: 0)
      let others = try #require(try await site.manifest().otherwise)
      let manifest = try await site.releases.manifest(others)
      #expect(manifest.release == "r2")
      #expect(try site.text("home", in: manifest) == "// 2")
    }
  }

  @Test("long lists come in pages")
  func pages() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try await Self.publish(3, on: site)
      site.bucket.setPageSize(2)
      let names = try await site.releases.store.objects().map { "app/\($0.name)" }
      #expect(names.sorted() == site.bucket.objects.keys.filter { $0.hasPrefix("app/") }.sorted())
    }
  }

  @Test("a publisher who began before a collection does not rely on what it removes")
  func publisherBefore() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try await Self.publish(2, on: site)
      // The content of the first release, which the collection removes, comes back.
      try site.write("home.js", "// 1")
      let isCollected = Mutex(false)
      let releases = site.releases
      site.bucket.beforeWrite { key in
        guard key.hasSuffix(".manifest.json"), !isCollected.withLock({ $0 }) else { return }
        isCollected.withLock { $0 = true }
        // The publisher waits for the store's answer meanwhile.
        _ = try? await releases.collect(keeping: 0)
      }
      let report = try await site.publish("r3")
      #expect(isCollected.withLock { $0 })
      #expect(report.release == "r3")
      #expect(try await site.pointer().collections == 1)
      try await site.expectComplete()
    }
  }

  @Test("a slow collection removes nothing that a publisher after it has written")
  func slowCollection() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try await Self.publish(2, on: site)
      let planned = try await site.releases.collect(keeping: 0)
      #expect(planned.objects.contains { $0.name.hasPrefix("blobs/") && !$0.name.contains("deltas") })
      // The same content as in the first release is published again.
      try site.write("home.js", "// 1")
      try await site.publish("r3")
      // Another process, which has made the same plan, goes on with it.
      for object in planned.objects { try await site.releases.store.remove(object.name) }
      try await site.expectComplete()
    }
  }
}

extension ReleaseCollectionTests {
  @Test("objects with names that publishers do not write are counted, and stay")
  func otherNames() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try await Self.publish(1, on: site)
      let digits = String(repeating: "0", count: 64)
      let names = [
        "blobs/../../other/secret", "blobs/x", "blobs/\(digits)/x", "blobs/\(digits)-01", "blobs/\(digits)--1",
        "blobs/\(digits)-1", "blobs/\(digits.dropLast())A", "blobs/deltas/../\(digits)", "blobs/deltas/x",
        "../\(digits).manifest.json", "x.manifest.json", "\(digits).manifest.json.old", "blobs/%2e%2e/x",
      ]
      // The one with a number is of a publisher who has read a later pointer.
      for name in names { site.bucket["app/\(name)"] = [1] }
      site.bucket["other/secret"] = [1]
      for name in ["1.root.json", "1.root.json.sig", "condition.check"] { site.bucket["app/\(name)"] = [1] }
      site.bucket.advance(by: 2 * Self.day)
      let before = site.bucket.objects.keys.sorted()
      let collection = try await site.releases.collect(keeping: 0)
      #expect(collection.objects.isEmpty && collection.others == names.count - 1)
      #expect(site.bucket.objects.keys.sorted() == before)
      for name in ["blobs/\(digits)", "\(digits).manifest.json.sig", "blobs/deltas/\(digits).\(digits).dcz"] {
        site.bucket["app/\(name)"] = [1]
      }
      site.bucket.advance(by: 2 * Self.day)
      #expect(try await site.releases.collect(keeping: 0).objects.count == 3)
    }
  }

  @Test(
    "a list that has no end is given up",
    arguments: [
      ("<NextContinuationToken>same</NextContinuationToken>", 3),
      ("<NextContinuationToken>NUMBER</NextContinuationToken>", 102),
      ("<NextContinuationToken>NUMBER</NextContinuationToken>OBJECT", 102),
      ("<NextContinuationToken>\(String(repeating: "x", count: 5000))</NextContinuationToken>", 1),
    ])
  func endlessLists(_ members: String, _ limit: Int) async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      let count = Mutex(0)
      site.bucket.setListing { _ in
        let number = count.withLock { count in
          count += 1
          return count
        }
        let object =
          "<Contents><Key>app/x</Key><LastModified>2026-11-26T10:00:00Z</LastModified><Size>1</Size></Contents>"
        let text = members.replacing("NUMBER", with: "\(number)").replacing("OBJECT", with: object)
        return "<ListBucketResult><IsTruncated>true</IsTruncated>\(text)</ListBucketResult>"
      }
      await #expect(throws: DescribedError.self) { try await site.releases.store.objects() }
      #expect(count.withLock { $0 } <= limit)
    }
  }

  @Test("of two collections at once, neither removes what a publisher writes between them")
  func twoCollections() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try await Self.publish(3, on: site)
      try site.write("home.js", "// 4")
      let (releases, bucket) = (site.releases, site.bucket)
      let (manifestIsThere, mayEnd) = (Gate(), Gate())
      let publication = Mutex<Task<Void, any Error>?>(nil)
      // The second collection has read the pointer, and the first one replaces it then.
      bucket.beforeList {
        bucket.beforeList(nil)
        _ = try? await releases.collect(keeping: 0)
        let isFirst = Mutex(true)
        bucket.beforeWrite { key in
          let isPublisher = isFirst.withLock { isFirst in
            defer { if key == "app/current.json" { isFirst = false } }
            return isFirst
          }
          guard key == "app/current.json", isPublisher else { return }
          manifestIsThere.open()
          await mayEnd.wait()
        }
        publication.withLock { $0 = Task { _ = try await site.publish("r4") } }
        await manifestIsThere.wait()
        bucket.advance(by: 2 * Self.day)
      }
      _ = try? await releases.collect(keeping: 0)
      mayEnd.open()
      try await publication.withLock { $0 }?.value
      #expect(try await site.pointer().current.release == "r4")
      try await site.expectComplete()
    }
  }
}

/// Lets tasks wait until it is opened.
private final class Gate: Sendable {
  private let (stream, continuation) = AsyncStream.makeStream(of: Void.self)

  func open() { continuation.finish() }
  func wait() async { for await _ in stream {} }
}

struct ListPageTests {
  private static func page(_ text: String) throws -> ListPage { try ListPage(reading: Array(text.utf8), below: "app/") }

  @Test("a page has objects, and the token of the next one")
  func objects() throws {
    let page = try Self.page(
      """
      <?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>
      <Contents><Key>app/a&amp;b</Key><LastModified>2026-11-26T10:00:00.123Z</LastModified><Size>5</Size>
      <Owner><ID>x</ID></Owner></Contents>
      <Contents><Key>app/c</Key><LastModified>2026-11-26T10:00:00Z</LastModified><Size>0</Size></Contents>
      <IsTruncated>true</IsTruncated><NextContinuationToken>a/b+c</NextContinuationToken></ListBucketResult>
      """)
    #expect(page.objects.map(\.name) == ["a&b", "c"] && page.objects.map(\.size) == [5, 0])
    #expect(page.objects.map { Int64($0.modified.timeIntervalSince1970) } == [1_795_687_200, 1_795_687_200])
    #expect(page.next == "a/b+c")
  }

  @Test(
    "anything else is no page",
    arguments: [
      "", "<html>", "<a></a>", "{}", "<ListBucketResult>",
      "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
      "<ListBucketResult><Contents><Key>app/a</Key></Contents></ListBucketResult>",
      "<ListBucketResult><Contents><Key>else/a</Key><LastModified>2026-11-26T10:00:00Z</LastModified><Size>1</Size></Contents></ListBucketResult>",
      "<ListBucketResult><Contents><Key>app/a</Key><LastModified>now</LastModified><Size>1</Size></Contents></ListBucketResult>",
    ])
  func unreadable(_ text: String) { #expect(throws: DescribedError.self) { try Self.page(text) } }
}
