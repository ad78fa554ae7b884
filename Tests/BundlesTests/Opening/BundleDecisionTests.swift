import TestSupport
import Testing

@testable import Bundles
@testable import HTTPTransport

struct BundleDecisionTests {
  private static let here = ContentDigests.filled(1)
  private static let blob = here
  private static let same = ExpectedContent(md5: here.md5)
  private static let other = ExpectedContent(md5: ContentDigests.filled(2).md5)
  private static let nothingKnown = ExpectedContent(md5: nil)

  typealias Row = (
    stored: BundleDecision.Input.Stored, server: BundleDecision.ServerState, failed: Bool, policy: OpenPolicy,
    then: BundleDecision
  )

  /// The input and the decision of each row.
  private static let table: [Row] = [
    // stored and the same
    (.blob(blob), .expects(same), false, .networkFirst(), .runStored(blob, as: .verified)),
    (.blob(blob), .hints(here.md5), false, .networkFirst(), .runStored(blob, as: .verified)),
    // stored and different: fetched; run all the same if that fails, unless the caller forbids it
    (.blob(blob), .expects(other), false, .networkFirst(), .fetch(other)),
    (.blob(blob), .expects(other), true, .networkFirst(), .runStored(blob, as: .stale)),
    (.blob(blob), .expects(other), true, .networkOnly, .fail),
    // a different hint causes a fetch, but rejects no bytes
    (.blob(blob), .hints(ContentDigests.filled(2).md5), false, .networkFirst(), .fetch(nothingKnown)),
    (.blob(blob), .hints(ContentDigests.filled(2).md5), true, .networkFirst(), .runStored(blob, as: .stale)),
    // stored, the server's answer unknown
    (.blob(blob), .unknown, false, .networkFirst(), .runStored(blob, as: .unverified)),
    (.blob(blob), .unknown, false, .networkOnly, .fetch(nothingKnown)),
    (.blob(blob), .unknown, true, .networkOnly, .fail),
    // the server gives no MD5: its bytes are fetched once per launch
    (.blob(blob), .withoutChecksum, false, .networkFirst(), .fetch(nothingKnown)),
    (.blob(blob), .withoutChecksum, true, .networkFirst(), .runStored(blob, as: .unverified)),
    (.blob(blob), .withoutChecksum, true, .networkOnly, .fail),
    (.nothing, .withoutChecksum, false, .networkFirst(), .fetch(nothingKnown)),
    // the server was not asked
    (.blob(blob), .notAsked, false, .networkFirst(), .askServer),
    (.blob(blob), .notAsked, false, .networkOnly, .askServer),
    (.blob(blob), .notAsked, false, .cacheFirst, .runStored(blob, as: .unverified)),
    (.blob(blob), .notAsked, false, .staleWhileRevalidate, .runStored(blob, as: .unverified)),
    (.blob(blob), .notAsked, false, .cacheOnly, .runStored(blob, as: .unverified)),
    (.nothing, .notAsked, false, .networkFirst(), .askServer),
    (.nothing, .notAsked, false, .cacheFirst, .askServer),
    (.nothing, .notAsked, false, .staleWhileRevalidate, .askServer),
    (.nothing, .notAsked, false, .cacheOnly, .fail),
    // the server no longer has it
    (.blob(blob), .gone, false, .networkFirst(), .runStored(blob, as: .gone)),
    (.blob(blob), .gone, false, .networkOnly, .fail),
    (.nothing, .gone, false, .networkFirst(), .fetch(nothingKnown)),
    // the server's release is bad on this device
    (.blob(blob), .offersBad(good: same), false, .networkFirst(), .runStored(blob, as: .instead)),
    (.blob(blob), .offersBad(good: same), false, .networkOnly, .runStored(blob, as: .instead)),
    (.blob(blob), .offersBad(good: nil), false, .networkFirst(), .runStored(blob, as: .instead)),
    (.blob(blob), .offersBad(good: other), false, .networkFirst(), .fetch(other)),
    (.blob(blob), .offersBad(good: other), true, .networkFirst(), .runStored(blob, as: .stale)),
    (.nothing, .offersBad(good: same), false, .networkFirst(), .fetch(same)),
    (.nothing, .offersBad(good: same), true, .networkFirst(), .fail),
    (.nothing, .offersBad(good: nil), false, .networkFirst(), .fail),
    // not in the manifest
    (.blob(blob), .notListed, false, .networkFirst(), .askOtherSources),
    (.nothing, .notListed, false, .networkFirst(), .askOtherSources),
    // stored, but the bytes do not match
    (.damaged(blob), .expects(same), false, .networkFirst(), .quarantine(blob)),
    (.damaged(blob), .unknown, false, .networkFirst(), .quarantine(blob)),
    (.damaged(blob), .notListed, true, .networkFirst(), .quarantine(blob)),
    // not stored
    (.nothing, .expects(other), false, .networkFirst(), .fetch(other)),
    (.nothing, .unknown, false, .networkFirst(), .fetch(nothingKnown)),
    (.nothing, .hints(here.md5), false, .networkFirst(), .fetch(nothingKnown)),
    (.nothing, .expects(other), true, .networkFirst(), .fail),
    (.nothing, .unknown, true, .networkOnly, .fail),
  ]

  @Test("every row of the table is decided as it says", arguments: table.indices)
  func decisions(_ index: Int) {
    let row = Self.table[index]
    let situation = BundleDecision.Input(
      stored: row.stored, server: row.server, fetchHasFailed: row.failed, policy: row.policy)
    #expect(BundleDecision(for: situation) == row.then)
  }

  @Test("equal MD5s with different SHA-256s are not the same bytes")
  func differentSHA256() {
    let server = BundleDecision.ServerState.expects(
      ExpectedContent(md5: Self.here.md5, sha256: ContentDigests.filled(2).sha256))
    #expect(
      BundleDecision(for: .init(stored: .blob(Self.blob), server: server))
        == .fetch(ExpectedContent(md5: Self.here.md5, sha256: ContentDigests.filled(2).sha256)))
  }

  @Test(
    "a disabled bundle is refused whatever is stored and fetched, once the server was asked where it may be",
    arguments: [
      BundleDecision.Input.Stored.nothing, .blob(blob), .damaged(blob),
    ])
  func disabled(_ stored: BundleDecision.Input.Stored) {
    func decision(_ server: BundleDecision.ServerState, _ policy: OpenPolicy) -> BundleDecision {
      BundleDecision(for: .init(stored: stored, server: server, policy: policy, disabled: "Later."))
    }
    for policy in [OpenPolicy.networkFirst(), .networkOnly, .cacheFirst, .staleWhileRevalidate] {
      #expect(decision(.notAsked, policy) == .askServer)
    }
    #expect(decision(.notAsked, .cacheOnly) == .refuse(message: "Later."))
    for server in [
      BundleDecision.ServerState.expects(Self.same), .hints(Self.here.md5), .notListed, .unknown, .withoutChecksum,
      .gone,
    ] {
      for policy in [OpenPolicy.networkFirst(), .networkOnly, .cacheFirst, .cacheOnly, .staleWhileRevalidate] {
        #expect(decision(server, policy) == .refuse(message: "Later."))
      }
    }
  }
}
