import PageCore
import Testing

@testable import PageLoading

struct BundleDecisionTests {
  private static let here = ContentDigests.filled(1)
  private static let blob = Blob(here)
  private static let same = ExpectedContent(md5: here.md5)
  private static let other = ExpectedContent(md5: ContentDigests.filled(2).md5)
  private static let nothingKnown = ExpectedContent(md5: nil)

  typealias Row = (
    stored: BundleDecision.Situation.Stored, server: BundleDecision.ServerWord, failed: Bool, stale: Bool,
    then: BundleDecision
  )

  /// Walk B, row by row.
  private static let table: [Row] = [
    // stored and the same
    (.blob(blob), .expects(same), false, true, .runStored(blob, as: .verified)),
    (.blob(blob), .hints(here.md5), false, true, .runStored(blob, as: .verified)),
    // stored and different: fetched; run all the same if that fails, unless the caller forbids it
    (.blob(blob), .expects(other), false, true, .fetch(other)),
    (.blob(blob), .expects(other), true, true, .runStored(blob, as: .stale)),
    (.blob(blob), .expects(other), true, false, .fail),
    // a hint that differs makes it fetch, but rejects nothing
    (.blob(blob), .hints(ContentDigests.filled(2).md5), false, true, .fetch(nothingKnown)),
    (.blob(blob), .hints(ContentDigests.filled(2).md5), true, true, .runStored(blob, as: .stale)),
    // stored, the server's word unknown
    (.blob(blob), .unknown, false, true, .runStored(blob, as: .unverified)),
    (.blob(blob), .unknown, true, false, .runStored(blob, as: .unverified)),
    // not in the manifest
    (.blob(blob), .notListed, false, true, .askOtherSources),
    (.nothing, .notListed, false, true, .askOtherSources),
    // stored, but the bytes do not match
    (.damaged(blob), .expects(same), false, true, .quarantine(blob)),
    (.damaged(blob), .unknown, false, true, .quarantine(blob)),
    (.damaged(blob), .notListed, true, true, .quarantine(blob)),
    // not stored
    (.nothing, .expects(other), false, true, .fetch(other)),
    (.nothing, .unknown, false, true, .fetch(nothingKnown)),
    (.nothing, .hints(here.md5), false, true, .fetch(nothingKnown)),
    (.nothing, .expects(other), true, true, .fail),
    (.nothing, .unknown, true, false, .fail),
  ]

  @Test(arguments: table.indices)
  func everyRowOfTheTableHolds(_ index: Int) {
    let row = Self.table[index]
    let situation = BundleDecision.Situation(
      stored: row.stored, server: row.server, fetchHasFailed: row.failed, allowsStale: row.stale)
    #expect(BundleDecision(for: situation) == row.then)
  }

  @Test func aDigestThatMatchesOnlyInMD5IsNotTheSame() {
    let server = BundleDecision.ServerWord.expects(
      ExpectedContent(md5: Self.here.md5, sha256: ContentDigests.filled(2).sha256))
    #expect(
      BundleDecision(for: .init(stored: .blob(Self.blob), server: server))
        == .fetch(ExpectedContent(md5: Self.here.md5, sha256: ContentDigests.filled(2).sha256)))
  }
}
