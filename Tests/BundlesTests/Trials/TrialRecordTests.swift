import Blobs
import Bundles
import HTTPTransport
import Testing

/// The results of openings, and the standings of releases, in the store.
struct TrialRecordTests {
  private static let page = ContentDigests.filled(1).md5
  private static let other = ContentDigests.filled(2).md5
  private static let failure = TrialFailure(.exception, page: "http://h/a.js", message: "x is not defined")

  /// A good release `r1`, and the current one `r2` on trial.
  private static func onTrial(_ body: (StoreFixture, StoredRelease, StoredRelease) async throws -> Void) async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.activated(["a": "1"], named: "r1")
    _ = try await note(.passed, of: first, in: fixture)
    try await body(fixture, first, try await fixture.activated(["a": "2"], named: "r2"))
  }

  @discardableResult
  private static func note(
    _ result: BundleStore.TrialResult, of release: StoredRelease, page: MD5Digest = page, opening: String? = nil,
    others: Int = 0, in fixture: StoreFixture
  ) async throws -> BundleStore.TrialEffect {
    try await fixture.store.record(
      result, of: release.id, page: page, opening: opening ?? "\(UInt64.random(in: 0...(.max)))",
      otherOpenings: others, options: ReleaseTrial())
  }

  private static func standing(_ release: StoredRelease, in fixture: StoreFixture) async throws -> ReleaseStanding? {
    try await fixture.reopened().releases(of: fixture.source).first { $0.release.id == release.id }?.release.standing
  }

  @Test("a release is on trial until a page of it has passed")
  func passing() async throws {
    try await Self.onTrial { (fixture: StoreFixture, first: StoredRelease, second: StoredRelease) async throws in
      #expect(try await Self.standing(first, in: fixture) == .good)
      #expect(try await Self.standing(second, in: fixture) == .trial)
      #expect(try await fixture.store.isOnTrial(second))
      #expect(try await Self.note(.passed, of: second, others: 1, in: fixture) == .none)
      #expect(try await Self.note(.passed, of: second, page: Self.other, in: fixture) == .good)
      #expect(try await Self.standing(second, in: fixture) == .good)
      #expect(try await !fixture.store.isOnTrial(second))
    }
  }

  @Test("a second failure puts the good release back, and says why")
  func failing() async throws {
    try await Self.onTrial { (fixture: StoreFixture, first: StoredRelease, second: StoredRelease) async throws in
      #expect(try await Self.note(.failed(Self.failure), of: second, in: fixture) == .none)
      #expect(try await fixture.store.source(fixture.source)?.current?.id == second.id)
      let effect = try await Self.note(.failed(Self.failure), of: second, page: Self.other, in: fixture)
      guard case .bad(let bad, let current) = effect else { return #expect(Bool(false), "\(effect)") }
      #expect(current.id == first.id)
      #expect((bad.name, bad.failures, bad.failure) == ("r2", 2, Self.failure))
      #expect(
        "\(bad)" == "release r2 failed 2 times on this device: http://h/a.js threw an exception: x is not defined")
      let source = try #require(try await fixture.reopened().source(fixture.source))
      #expect((source.current?.id, source.previous?.id) == (first.id, nil))
      // The server's manifest is still known, for the next conditional request.
      #expect((source.latest?.id, source.latest?.standing) == (second.id, .bad))
      #expect(source.openable.map(\.id) == [first.id])
      #expect(try await fixture.store.badRelease(second) == bad)
    }
  }

  @Test("a page of a bad release is not found, and the release is not switched to or held")
  func notOpened() async throws {
    try await Self.onTrial { (fixture: StoreFixture, first: StoredRelease, second: StoredRelease) async throws in
      for _ in 0..<2 { try await Self.note(.failed(Self.failure), of: second, in: fixture) }
      let url = try #require(PageURL("http://h/a.js"))
      #expect(try await fixture.store.candidates(at: url, of: nil).map(\.release?.id) == [first.id])
      let blob = try #require(try await fixture.store.bundle(at: url)?.blob)
      #expect(try await fixture.store.bytes(of: blob).bytes == Array("1".utf8))
      #expect(try await fixture.store.activate(second) == false)
      #expect(try await fixture.store.follow(fixture.source)?.id == first.id)
      await #expect(throws: StoreError.badRelease(name: "r2")) { try await fixture.store.hold(second) }
    }
  }

  @Test("an opening counts once, and results after the verdict count no more")
  func once() async throws {
    try await Self.onTrial { (fixture: StoreFixture, _: StoredRelease, second: StoredRelease) async throws in
      for _ in 0..<3 {
        let effect = try await Self.note(.failed(Self.failure), of: second, opening: "one", in: fixture)
        #expect(effect == .none)
      }
      #expect(try await Self.standing(second, in: fixture) == .trial)
      #expect(try await Self.note(.passed, of: second, in: fixture) == .good)
      for _ in 0..<5 { #expect(try await Self.note(.failed(Self.failure), of: second, in: fixture) == .none) }
      #expect(try await Self.standing(second, in: fixture) == .good)
      #expect(try await fixture.store.source(fixture.source)?.current?.id == second.id)
    }
  }

  @Test("without a good release the failed one stays, and may still become good")
  func nothingToGoBackTo() async throws {
    let fixture = try StoreFixture()
    let only = try await fixture.activated(["a": "1"])
    for _ in 0..<5 { #expect(try await Self.note(.failed(Self.failure), of: only, in: fixture) == .none) }
    #expect(try await fixture.store.source(fixture.source)?.current?.id == only.id)
    await #expect(throws: StoreError.noGoodRelease(name: "r1")) { try await fixture.store.mark(only, as: .bad) }
    #expect(try await Self.note(.ready, of: only, in: fixture) == .good)
  }

  @Test("a release that comes in fails before it is complete, and the current one stays")
  func incoming() async throws {
    try await Self.onTrial { (fixture: StoreFixture, _: StoredRelease, second: StoredRelease) async throws in
      try await Self.note(.passed, of: second, in: fixture)
      let third = try await fixture.register([StoreFixture.bundle("a", "3")], named: "r3")
      for _ in 0..<2 { try await Self.note(.failed(Self.failure), of: third, in: fixture) }
      let source = try #require(try await fixture.store.source(fixture.source))
      #expect((source.current?.id, source.incoming?.standing) == (second.id, .bad))
      try await fixture.add("3", to: third)
      #expect(try await fixture.store.activate(third) == false)
    }
  }

  @Test("the same contents are bad under another name too, and other contents are not")
  func remembered() async throws {
    try await Self.onTrial { (fixture: StoreFixture, first: StoredRelease, second: StoredRelease) async throws in
      for _ in 0..<2 { try await Self.note(.failed(Self.failure), of: second, in: fixture) }
      let renamed = try await fixture.register([StoreFixture.bundle("a", "2")], named: "r2 again")
      #expect(renamed.standing == .bad)
      #expect(try await fixture.store.activate(renamed) == false)
      #expect(try await fixture.store.badRelease(renamed)?.description.contains("r2 again failed 2 times") == true)
      let mended = try await fixture.register([StoreFixture.bundle("a", "4")], named: "r2")
      #expect(mended.standing == .trial)
      try await fixture.add("4", to: mended)
      #expect(try await fixture.store.activate(mended))
      // Also when the server has gone back to its good release in between.
      _ = try await fixture.register([StoreFixture.bundle("a", "1")], named: "r1")
      #expect(try await fixture.register([StoreFixture.bundle("a", "2")], named: "r2").standing == .bad)
      #expect(try await fixture.store.badReleases(of: fixture.source).count == 1)
      _ = first
    }
  }

  @Test("the reason is kept when the release and its bytes are collected")
  func collected() async throws {
    try await Self.onTrial { (fixture: StoreFixture, first: StoredRelease, second: StoredRelease) async throws in
      for _ in 0..<2 { try await Self.note(.failed(Self.failure), of: second, in: fixture) }
      let mended = try await fixture.activated(["a": "4"], named: "r3")
      _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
      let kept = try await fixture.store.releases(of: fixture.source).map(\.release.id)
      // The good release stays while the current one is on trial.
      #expect(kept == [mended.id, first.id])
      try await Self.note(.passed, of: mended, in: fixture)
      _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
      #expect(try await fixture.store.releases(of: fixture.source).map(\.release.id) == [mended.id])
      #expect(try await fixture.register([StoreFixture.bundle("a", "2")], named: "r2").standing == .bad)
    }
  }

  @Test("a held release is not on trial, and a person's word changes a standing")
  func persons() async throws {
    try await Self.onTrial { (fixture: StoreFixture, first: StoredRelease, second: StoredRelease) async throws in
      try await fixture.store.hold(second)
      #expect(try await !fixture.store.isOnTrial(second))
      for _ in 0..<3 { try await Self.note(.failed(Self.failure), of: second, in: fixture) }
      #expect(try await fixture.store.source(fixture.source)?.current?.id == second.id)
      try await fixture.store.mark(second, as: .bad)
      var source = try #require(try await fixture.store.source(fixture.source))
      #expect((source.current?.id, source.isHeld) == (first.id, false))
      #expect(
        try await fixture.store.badRelease(second)?.description == "release r2 was marked as bad on this device")
      try await fixture.store.mark(second, as: .trial)
      #expect(try await fixture.store.badReleases(of: fixture.source) == [])
      #expect(try await fixture.store.activate(second))
      for _ in 0..<2 { try await Self.note(.failed(Self.failure), of: second, in: fixture) }
      source = try #require(try await fixture.store.source(fixture.source))
      #expect(source.current?.id == first.id)
    }
  }

  @Test("a long message is cut, and only the latest bad releases are remembered")
  func bounds() async throws {
    try await Self.onTrial { (fixture: StoreFixture, first: StoredRelease, second: StoredRelease) async throws in
      let long = TrialFailure(
        .exception, page: String(repeating: "p", count: 100_000), message: String(repeating: "m", count: 100_000))
      #expect((long.page.count, long.message.count) == (1_000, 1_000))
      for number in 0..<120 {
        let release = try await fixture.register([StoreFixture.bundle("a", "bad \(number)")], named: "b\(number)")
        for _ in 0..<2 { try await Self.note(.failed(long), of: release, in: fixture) }
      }
      let bad = try await fixture.store.badReleases(of: fixture.source)
      #expect(bad.count == 100)
      #expect(bad.contains { $0.name == "b119" } && !bad.contains { $0.name == "b0" })
      _ = (first, second)
    }
  }

  @Test("a store that takes releases as good needs no openings")
  func takenAsGood() async throws {
    let fixture = try StoreFixture()
    let store = try BundleStore(at: StoreDirectory(fixture.folder.path), takesAsGood: true)
    let release = try await fixture.register([StoreFixture.bundle("a", "1")])
    try await fixture.add("1", to: release, of: store)
    #expect(try await store.activate(release))
    #expect(try await Self.standing(release, in: fixture) == .good)
  }
}
