import HTTPTransport
import Releases
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

  private static func signing(_ published: ReleaseStatus?, isHalted: Bool = false) -> ReleaseStatus {
    ReleaseStatus(
      published.map { ReleaseStatus.Directives($0) }, of: release, sequence: 9, signed: now,
      expires: now.advanced(by: .seconds(60)), isHalted: isHalted)
  }

  private func signer(isBounded: Bool) throws -> StatusSigner {
    StatusSigner(
      SigningCommand("false", key: try SigningKey().verificationKey), validity: .seconds(3600), isBounded: isBounded)
  }

  private static func later(_ seconds: Int) -> SignedTime { now.advanced(by: .seconds(seconds)) }

  @Test("without a published status it says no more than the release")
  func first() {
    #expect(
      Self.signing(nil)
        == ReleaseStatus(sequence: 9, signed: Self.now, expires: Self.later(60), release: Self.release))
    #expect(Self.signing(nil, isHalted: true).isHalted)
  }

  @Test("disabled bundles stay disabled, and a halt and a way back stay with their release")
  func kept() {
    let same = Self.signing(Self.published(isHalted: true))
    #expect(same.disabled.map(\.bundle) == ["pay"])
    #expect(same.rollbackTo?.sequence == 4 && same.isHalted && same.release == Self.release)
    // Signed anew, the manifest has other bytes, and is of the same release.
    let anew = ReleaseStatus.Release(name: "r5", sequence: 5, sha256: ContentDigests.filled(6).sha256)
    #expect(Self.signing(Self.published(of: anew)).rollbackTo?.sequence == 4)
    for (name, sequence) in [("r4", Int64(5)), ("r5", 6)] {
      let other = ReleaseStatus.Release(name: name, sequence: sequence, sha256: Self.release.sha256)
      let status = Self.signing(Self.published(of: other, isHalted: true))
      #expect(status.disabled.map(\.bundle) == ["pay"] && status.rollbackTo == nil && !status.isHalted)
    }
  }

  @Test("a folder's status need not be a whole one")
  func directives() throws {
    func status(_ text: String) throws -> ReleaseStatus {
      ReleaseStatus(
        try ReleaseStatus.Directives(reading: Array(text.utf8)), of: Self.release, sequence: 9, signed: Self.now,
        expires: Self.later(60), isHalted: false)
    }
    #expect(try status("{}") == Self.signing(nil))
    #expect(try status(#"{"disabled":[{"bundle":"pay","message":"Later."}]}"#).disabled.map(\.message) == ["Later."])
    #expect(try status(#"{"halted":true}"#).isHalted)
    #expect(try !status(#"{"halted":true,"release":{"name":"r4","sequence":4}}"#).isHalted)
    for text in ["", "[]", #"{"disabled":"pay"}"#, #"{"halted":"yes"}"#] {
      #expect(throws: TrustError.self) { try status(text) }
    }
  }

  @Test("the status of another server is signed for its last answer, and ends with its own")
  func bounded() throws {
    let signer = try signer(isBounded: true)
    func times(_ published: ReleaseStatus?, verified: SignedTime?) -> StatusTimes? {
      signer.times(published.map { PublishedDirectives($0) }, verified: verified, at: Self.now)
    }
    let long = Self.published(expiringIn: 9999)
    #expect(times(long, verified: Self.now) == StatusTimes(signed: Self.now, expires: Self.later(3600)))
    #expect(times(long, verified: Self.later(-600)) == StatusTimes(signed: Self.later(-600), expires: Self.later(3000)))
    #expect(times(long, verified: Self.later(5))?.signed == Self.now)
    #expect(times(Self.published(), verified: Self.now)?.expires == Self.later(600))
    // Before the other server has answered, its own time counts.
    #expect(times(Self.published(), verified: nil) == StatusTimes(signed: Self.later(-60), expires: Self.later(600)))
    #expect(times(nil, verified: nil) == nil)
    #expect(times(long, verified: Self.later(-3600)) == nil)
    #expect(times(Self.published(expiringIn: 0), verified: Self.now) == nil)
  }

  @Test("the status of a folder is signed for now, and anew in the middle of its time")
  func folder() throws {
    let times = try signer(isBounded: false).times(nil, verified: nil, at: Self.now)
    #expect(times == StatusTimes(signed: Self.now, expires: Self.later(3600)))
    #expect(times?.renewed == Self.later(1800))
  }

  @Test("a key that the root does not give the role signs no status")
  func otherKey() throws {
    let (root, online, release, other) = try (SigningKey(), SigningKey(), SigningKey(), SigningKey())
    let trusted = TrustRoot(
      version: 1, expires: Self.later(9999),
      roles: [
        .root: ([root.verificationKey], 1), .release: ([release.verificationKey], 1),
        .online: ([online.verificationKey], 1),
      ])
    #expect(
      [online, release, root, other].map { trusted.allowsStatuses(of: $0.verificationKey) } == [
        true, true, false, false,
      ])
  }
}
