import Blobs
import Bundles
import HTTPTransport
import PageTesting
import TestSupport
import Testing

struct ReleaseLeaseTests {
  @Test("a leased release and its bytes survive every collection")
  func leasedRelease() async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.activated(["a": "1"], named: "r1")
    var lease: ReleaseLease? = try await fixture.store.lease(first)
    for number in 2...4 { _ = try await fixture.activated(["a": "\(number)"], named: "r\(number)") }
    let other = try fixture.reopened()
    _ = try await other.collectGarbage(keepingPrevious: false, dryRun: false)
    #expect(try await fixture.store.contents(of: first).compactMap(\.blob).count == 1)
    #expect(lease != nil)
    lease = nil
    #expect(try await other.collectGarbage(keepingPrevious: false, dryRun: false).releases == 1)
    #expect(try await fixture.store.contents(of: first).isEmpty)
    #expect(try fixture.names(in: "views").isEmpty)
  }

  @Test("a lock file without release and process is removed by the next collection")
  func lockFiles() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "1"])
    try Damage.overwrite(fixture.folder.file("views/77"), with: "")
    _ = try await fixture.store.collectGarbage(keepingPrevious: true, dryRun: true)
    #expect(try fixture.names(in: "views") == ["77"])
    _ = try await fixture.store.collectGarbage(keepingPrevious: true, dryRun: false)
    #expect(try fixture.names(in: "views").isEmpty)
  }

  @Test func aLeaseOfOneHolderOutlivesThatOfAnother() async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.activated(["a": "1"], named: "r1")
    var one: ReleaseLease? = try await fixture.store.lease(first)
    let two = try await fixture.store.lease(first)
    for number in 2...3 { _ = try await fixture.activated(["a": "\(number)"], named: "r\(number)") }
    #expect(one != nil)
    one = nil
    #expect(try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false).releases == 1)
    #expect(try await fixture.store.contents(of: first).count == 1)
    withExtendedLifetime(two) {}
  }

  @Test func anIncomingReleaseThatAPageSeesOutlivesTheNextOne() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "1"], named: "r1")
    let incoming = try await fixture.register([StoreFixture.bundle("a", "2")], named: "r2")
    try await fixture.add("2", to: incoming)
    let lease = try await fixture.store.lease(incoming)
    let next = try await fixture.register([StoreFixture.bundle("a", "3")], named: "r3")
    #expect(try await fixture.store.source(fixture.source)?.incoming?.id == next.id)
    _ = try await fixture.store.collectGarbage(keepingPrevious: true, dryRun: false)
    #expect(try await fixture.store.contents(of: incoming).compactMap(\.blob).count == 1)
    // The server also withdraws the third release.
    _ = try await fixture.register([StoreFixture.bundle("a", "1")], named: "r1")
    #expect(try await fixture.store.source(fixture.source)?.incoming == nil)
    #expect(try await fixture.store.contents(of: incoming).compactMap(\.blob).count == 1)
    withExtendedLifetime(lease) {}
  }

  @Test("a release that is published again is another one than the leased one")
  func republishedRelease() async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.activated(["a": "1"], named: "r1")
    let lease = try await fixture.store.lease(first)
    _ = try await fixture.activated(["a": "2"], named: "r2")
    let again = try await fixture.register([StoreFixture.bundle("a", "1")], named: "r1")
    #expect(again.id != first.id)
    #expect(try await fixture.store.contents(of: first).compactMap(\.blob).count == 1)
    withExtendedLifetime(lease) {}
  }

  @Test("a collected release cannot be leased")
  func collectedRelease() async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.activated(["a": "1"], named: "r1")
    for number in 2...3 { _ = try await fixture.activated(["a": "\(number)"], named: "r\(number)") }
    _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
    await #expect(throws: StoreError.releaseGone(name: "r1")) { try await fixture.store.lease(first) }
  }

  @Test("candidates are the releases, newest first, and then the unlisted bundle")
  func candidates() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "1"], named: "r1")
    _ = try await fixture.activated(["a": "2"], named: "r2")
    _ = try await fixture.register([StoreFixture.bundle("a", "3")], named: "r3")
    let url = try #require(PageURL("http://h/a.js"))
    _ = try await fixture.store.add(
      fixture.download("loose", of: fixture.store), digests: ContentDigests(of: Array("loose".utf8)), for: url)
    let other = try #require(PageURL("http://h/other.json"))
    _ = try await fixture.register([StoreFixture.bundle("a", "neighbour")], named: "n", for: other)
    let found = try await fixture.store.candidates(at: url, of: fixture.source)
    #expect(found.map(\.place) == [.incoming, .current, .previous, .unlisted])
    #expect(found.map(\.release?.name) == ["r3", "r2", "r1", nil])
    #expect(found.map { $0.blob != nil } == [false, true, true, true])
    #expect(try await fixture.store.candidates(at: url, of: nil).count == 5)
  }
}
