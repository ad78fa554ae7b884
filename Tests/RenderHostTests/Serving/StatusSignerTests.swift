import HTTPTransport
import Signing
import TestSupport
import Testing

@testable import RenderHost

/// The status that a host signs in the place of a published one.
struct StatusSignerTests {
  private static let now = SignedTime(seconds: 1_800_000_000)
  private static let release = ReleaseStatus.Release(name: "r5", sequence: 5, sha256: ContentDigests.filled(5).sha256)

  private static func published(
    of release: ReleaseStatus.Release = release, expiringIn seconds: Int = 600, isHalted: Bool = false
  ) -> ReleaseStatus {
    ReleaseStatus(
      sequence: 7, signed: now.advanced(by: .seconds(-60)), expires: now.advanced(by: .seconds(seconds)),
      release: release, disabled: [.init(bundle: "pay", message: "Later.")],
      rollbackTo: .init(sequence: 4, sha256: ContentDigests.filled(4).sha256), isHalted: isHalted)
  }

  private static func renewing(
    _ published: ReleaseStatus?, isHalted: Bool = false, isBounded: Bool = true
  ) -> ReleaseStatus? {
    ReleaseStatus(
      renewing: published, of: release, sequence: 9, isHalted: isHalted, signedFor: .seconds(3600),
      isBounded: isBounded, at: now)
  }

  @Test("without a published status it says no more than the release")
  func first() {
    let status = Self.renewing(nil)
    #expect(
      status
        == ReleaseStatus(
          sequence: 9, signed: Self.now, expires: Self.now.advanced(by: .seconds(3600)), release: Self.release))
    #expect(Self.renewing(nil, isHalted: true)?.isHalted == true)
  }

  @Test("what is disabled stays so, and a halt and a way back stay with their release")
  func kept() {
    let same = Self.renewing(Self.published(isHalted: true))
    #expect(same?.disabled.map(\.bundle) == ["pay"])
    #expect(same?.rollbackTo?.sequence == 4 && same?.isHalted == true && same?.release == Self.release)
    // Signed anew, the manifest has other bytes, and is of the same release.
    let anew = ReleaseStatus.Release(name: "r5", sequence: 5, sha256: ContentDigests.filled(6).sha256)
    #expect(Self.renewing(Self.published(of: anew))?.rollbackTo?.sequence == 4)
    for (name, sequence) in [("r4", Int64(5)), ("r5", 6)] {
      let other = ReleaseStatus.Release(name: name, sequence: sequence, sha256: Self.release.sha256)
      let status = Self.renewing(Self.published(of: other, isHalted: true))
      #expect(status?.disabled.map(\.bundle) == ["pay"])
      #expect(status?.rollbackTo == nil && status?.isHalted == false)
    }
  }

  @Test("the status of another server is not extended, and one that is over is not renewed")
  func bounded() {
    #expect(Self.renewing(Self.published())?.expires == Self.now.advanced(by: .seconds(600)))
    #expect(Self.renewing(Self.published(expiringIn: 9999))?.expires == Self.now.advanced(by: .seconds(3600)))
    #expect(Self.renewing(Self.published(expiringIn: 0)) == nil)
    // That of a folder is what its owner wants now.
    let folder = Self.renewing(Self.published(expiringIn: -5), isBounded: false)
    #expect(folder?.expires == Self.now.advanced(by: .seconds(3600)))
  }

  @Test(
    "a sequence is the time, and grows",
    arguments: [(0, 1_800_000_000), (1_799_999_999, 1_800_000_000), (1_800_000_000, 1_800_000_001)] as [(Int64, Int64)])
  func sequence(_ last: Int64, _ next: Int64) {
    #expect(StatusSigner.sequence(after: last, at: Self.now) == next)
    #expect(StatusSigner.sequence(after: .max, at: Self.now) == .max)
  }
}
