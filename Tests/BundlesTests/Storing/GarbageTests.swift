import Blobs
import Bundles
import Foundation
import HTTPTransport
import PageTesting
import TestSupport
import Testing

struct GarbageTests {
  @Test("the bytes of the current release stay")
  func currentRelease() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "A", "b": "B"])
    let report = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
    #expect((report.releases, report.blobs, report.bytes) == (0, 0, 0))
    #expect(report.kept.map(\.reason) == ["current"])
    for entry in try await fixture.store.contents(of: release) {
      try await fixture.store.check(try #require(entry.blob))
    }
  }

  @Test("former releases are removed with the bytes that only they had")
  func formerReleases() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "A", "b": "shared"], named: "r1")
    let second = try await fixture.activated(["a": "A2", "b": "shared"], named: "r2")
    let report = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
    #expect(report.releases == 1)
    #expect(report.blobs == 1)
    #expect(report.bytes == 1)
    #expect(try await fixture.store.source(fixture.source)?.previous == nil)
    #expect(try await fixture.store.contents(of: second).allSatisfy { $0.blob != nil })
  }

  @Test func thePreviousReleaseMayBeKept() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "1"], named: "r1")
    let second = try await fixture.activated(["a": "2"], named: "r2")
    _ = try await fixture.activated(["a": "3"], named: "r3")
    let report = try await fixture.store.collectGarbage(keepingPrevious: true, dryRun: false)
    #expect(report.releases == 1)
    #expect(try await fixture.store.source(fixture.source)?.previous?.id == second.id)
    #expect(try await fixture.store.contents(of: second).allSatisfy { $0.blob != nil })
  }

  @Test("a release that was just replaced may be kept for the grace time")
  func graceTime() async throws {
    let fixture = try StoreFixture()
    for number in 1...4 { _ = try await fixture.activated(["a": "\(number)"], named: "r\(number)") }
    let patient = try BundleStore(at: StoreDirectory(fixture.folder.path), releaseGrace: .seconds(3600))
    #expect(try await patient.collectGarbage(keepingPrevious: true, dryRun: false).releases == 0)
    #expect(try await patient.usage().blobs == 4)
    let hasty = try BundleStore(at: StoreDirectory(fixture.folder.path), releaseGrace: .nanoseconds(1))
    #expect(try await hasty.collectGarbage(keepingPrevious: true, dryRun: false).releases == 2)
    // Without the previous release the grace time does not apply.
    #expect(try await patient.collectGarbage(keepingPrevious: false, dryRun: false).releases == 1)
  }

  @Test("as many former releases as the store keeps stay, the newest ones")
  func keptReleases() async throws {
    let fixture = try StoreFixture()
    for number in 1...6 { _ = try await fixture.activated(["a": "\(number)"], named: "r\(number)") }
    let store = try BundleStore(at: StoreDirectory(fixture.folder.path), formerReleases: 3)
    let report = try await store.collectGarbage(keepingPrevious: true, dryRun: false)
    #expect(report.kept.map(\.name).map { $0.prefix(10) } == ["release r6", "release r5", "release r4", "release r3"])
    #expect(report.kept.last?.reason == "its bytes shorten the downloads of newer ones")
    #expect(try await store.usage().blobs == 4)
  }

  @Test("a dry run reports the same and removes nothing")
  func dryRun() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "1"], named: "r1")
    _ = try await fixture.activated(["a": "2"], named: "r2")
    let dry = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: true)
    #expect(try await fixture.store.source(fixture.source)?.previous != nil)
    #expect(try await fixture.store.usage().blobs == 2)
    #expect(try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false) == dry)
  }

  @Test func anIncomingReleaseAndItsBytesStay() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "1"], named: "r1")
    let incoming = try await fixture.register(
      [StoreFixture.bundle("a", "2"), StoreFixture.bundle("b", "3")], named: "r2")
    try await fixture.add("2", to: incoming)
    _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
    #expect(try await fixture.store.contents(of: incoming).map { $0.blob != nil } == [true, false])
  }

  @Test("files that no entry names are removed")
  func unnamedFiles() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "A"])
    let orphan = try ContentDigests(of: Array("orphan".utf8)).sha256.hex
    try Damage.makeFolder(fixture.folder.file("blobs/\(orphan.prefix(2))"))
    let path = fixture.folder.file("blobs/\(orphan.prefix(2))/\(orphan)")
    try Damage.overwrite(path, with: "orphan")
    #expect(try await fixture.store.collectGarbage(keepingPrevious: true, dryRun: false).blobs == 1)
    #expect(!Damage.exists(path))
  }

  @Test("after a switch the bytes of the release before the previous one go, and the folders are searched once a day")
  func afterASwitch() async throws {
    let fixture = try StoreFixture()
    let orphan = try ContentDigests(of: Array("orphan".utf8)).sha256.hex
    let path = fixture.folder.file("blobs/\(orphan.prefix(2))/\(orphan)")
    func leaveOrphan() throws {
      try Damage.makeFolder(fixture.folder.file("blobs/\(orphan.prefix(2))"))
      try Damage.overwrite(path, with: "orphan")
    }
    for number in 1...3 { _ = try await fixture.activated(["a": "\(number)"], named: "r\(number)") }
    try leaveOrphan()
    try await fixture.store.collectAfterSwitch()
    #expect(try await fixture.store.usage().blobs == 2)
    #expect(!Damage.exists(path))

    _ = try await fixture.activated(["a": "4"], named: "r4")
    try leaveOrphan()
    try await fixture.store.collectAfterSwitch()
    #expect(try await fixture.store.usage().blobs == 2)
    #expect(try fixture.names(in: "blobs").reduce(0) { try $0 + fixture.names(in: "blobs/\($1)").count } == 3)
    #expect(Damage.exists(path))

    let tomorrow = try BundleStore(
      at: StoreDirectory(fixture.folder.path), now: { Date().timeIntervalSince1970 + 90_000 })
    try await tomorrow.collectAfterSwitch()
    #expect(!Damage.exists(path))
  }

  @Test("a running download stays, and an abandoned one is removed")
  func downloads() async throws {
    let fixture = try StoreFixture()
    let busy = try await fixture.download("busy", of: fixture.store)
    let abandoned = try await fixture.download("abandoned", of: fixture.store)
    abandoned.close()
    _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
    let left = try fixture.names(in: "partial")
    let md5 = try ContentDigests(of: Array("busy".utf8)).md5.hex
    #expect(left == [md5])
    busy.close()
  }

  @Test func bundlesOutsideManifestsStay() async throws {
    let fixture = try StoreFixture()
    let url = try #require(PageURL("http://elsewhere/x.js"))
    let download = try await fixture.download("X", of: fixture.store)
    _ = try await fixture.store.add(download, digests: ContentDigests(of: Array("X".utf8)), for: url)
    _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
    let blob = try #require(try await fixture.store.bundle(at: url)?.blob)
    #expect(try await fixture.store.bytes(of: blob).bytes == Array("X".utf8))
  }

  @Test("simultaneous collections, registrations, leases and readings all end")
  func simultaneousOperations() async throws {
    let fixture = try StoreFixture()
    let current = try await fixture.activated(["a": "A"])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<50 {
        group.addTask { _ = try await fixture.store.collectGarbage(keepingPrevious: true, dryRun: false) }
        group.addTask { _ = try await fixture.register([StoreFixture.bundle("b", "\(number)")], named: "n\(number)") }
        group.addTask { _ = try await fixture.store.lease(current) }
        for _ in 0..<10 { group.addTask { _ = try await fixture.store.bundle(at: fixture.source) } }
      }
      try await group.waitForAll()
    }
    #expect(try await fixture.store.contents(of: current).compactMap(\.blob).count == 1)
  }

  @Test("garbage is collected with any clock", arguments: [9_300_000_000, 1e12, -1e10])
  func clock(_ time: Double) async throws {
    let fixture = try StoreFixture()
    let store = try BundleStore(at: StoreDirectory(fixture.folder.path), now: { time })
    try await fixture.download("abandoned", of: store).close()
    _ = try await store.collectGarbage(keepingPrevious: true, dryRun: false)
    #expect(try fixture.names(in: "partial").isEmpty == (time > 0))
  }
}
