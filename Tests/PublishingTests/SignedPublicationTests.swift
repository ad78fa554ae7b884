import Foundation
import HTTPTransport
import Releases
import Testing

@testable import Publishing

/// Releases that hosts with keys would refuse are not published.
struct SignedPublicationTests {
  private let keys: [SigningKey]

  init() throws { keys = try (0..<5).map { _ in try SigningKey() } }

  /// A root whose next one two of the first three keys must sign, with other keys for releases.
  private func root(
    _ version: Int64, release: [Int] = [3], threshold: Int = 1, online: [Int] = [], expires: Int64 = 1_900_000_000
  ) -> TrustRoot {
    var roles: [TrustRoot.Role: (keys: [VerificationKey], threshold: Int)] = [
      .root: (keys[0..<3].map(\.verificationKey), 2), .release: (release.map { keys[$0].verificationKey }, threshold),
    ]
    if !online.isEmpty { roles[.online] = (online.map { keys[$0].verificationKey }, 1) }
    return TrustRoot(version: version, expires: SignedTime(seconds: expires), roles: roles)
  }

  /// Publishes a release that keys sign.
  private func publish(
    _ site: PublishingSite, by signers: [Int] = [3], until end: Int64 = 1_900_000_000, statusIsElsewhere: Bool = false
  ) async throws {
    let keys = signers.map { self.keys[$0] }
    try await site.publish(
      signers: keys.map(\.verificationKey), statusIsElsewhere: statusIsElsewhere,
      sign: PublishingSite.signing(by: keys, until: end))
  }

  /// Expects that nothing is uploaded, for a reason.
  private func refuses(
    _ reason: String, _ site: PublishingSite, by signers: [Int] = [3], sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let before = site.bucket.objects.keys.sorted()
    let error = await #expect(throws: PublishError.self, sourceLocation: sourceLocation) {
      try await publish(site, by: signers)
    }
    guard case .refusedByHosts(_, let found) = error else {
      Issue.record("\(error.map { "\($0)" } ?? "nothing")", sourceLocation: sourceLocation)
      return
    }
    #expect(found.contains(reason), "\(found)", sourceLocation: sourceLocation)
    #expect(site.bucket.objects.keys.sorted() == before, sourceLocation: sourceLocation)
  }

  @Test("roots are published if those who must have signed them")
  func roots() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      try site.write(root(1))
      try site.write(root(2, release: [4]), signedBy: [keys[0]])
      try await refuses("the root has valid signatures of 1 trusted keys, 2 are needed", site, by: [4])
      try site.write(root(2, release: [4]), signedBy: [keys[0], keys[2]])
      try await refuses("which is to sign the manifest, is not among its keys for releases", site, by: [3])
      try await publish(site, by: [4])
      #expect(try site.bucket["app/2.root.json"] == root(2, release: [4]).encoded())
      // The next one needs the one before, which may be only there.
      for name in ["1.root.json", "1.root.json.sig", "2.root.json", "2.root.json.sig"] {
        try FileManager.default.removeItem(atPath: "\(site.folder.path)/\(name)")
      }
      try site.write("home.js", "// 2")
      try site.write(root(3), signedBy: [keys[1]])
      try await refuses("2 are needed", site)
      try site.write(root(3), signedBy: [keys[1], keys[2]])
      try await publish(site)
      #expect(site.bucket["app/3.root.json"] != nil)
    }
  }

  @Test("a root without the one before it, or with other bytes than the published one, is not published")
  func chain() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      try site.write(root(2), signedBy: [keys[0], keys[1]])
      try await refuses("hosts come to it by 1.root.json, which is neither in", site)
      try site.write(root(1))
      try site.write(root(4), signedBy: [keys[0], keys[1]])
      try await refuses("hosts come to it by 3.root.json", site)
      try FileManager.default.removeItem(atPath: "\(site.folder.path)/4.root.json")
      try FileManager.default.removeItem(atPath: "\(site.folder.path)/4.root.json.sig")
      try await publish(site)
      try site.write("home.js", "// 2")
      try site.write(root(2, expires: 1_900_000_001), signedBy: [keys[0], keys[1]])
      try await refuses("has other bytes, and hosts have trusted those", site)
    }
  }

  @Test("a release that too few keys sign, by a root that has expired, or that needs a status, is not published")
  func release() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      try site.write(root(1, release: [3, 4], threshold: 2))
      try await refuses("a manifest needs the signatures of 2 of its keys, and 1 is to sign", site)
      try site.write(root(1, expires: 1_700_000_000))
      try await refuses("has expired", site)
      try site.write(root(1, online: [4]))
      try await refuses("hosts ask for a status", site)
      try await publish(site, statusIsElsewhere: true)
      #expect(try await site.pointer().current.sequence == 1)
    }
  }

  @Test("a manifest that is over when it is signed does not become current")
  func expired() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      try site.write(root(1))
      let error = await #expect(throws: PublishError.self) { try await publish(site, until: 1_800_000_000) }
      #expect(error.map { "\($0)" }?.contains("the manifest has expired") == true)
      #expect(site.bucket["app/current.json"] == nil && site.bucket["app/1.root.json"] == nil)
    }
  }

  @Test("a pointer or a manifest with the largest sequence is not counted on from")
  func largestSequence() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      try await site.publish("r1")
      var pointer = try await site.pointer()
      pointer.current.sequence = Int64.sequenceLimit
      site.bucket["app/current.json"] = try pointer.fileBytes()
      try site.write("home.js", "// 2")
      await #expect(throws: DescribedError.self) { try await site.publish("r2") }
      for number in [Int64.max, Int64.sequenceLimit] {
        pointer.current.sequence = 1
        pointer.collections = number
        site.bucket["app/current.json"] = try pointer.fileBytes()
        await #expect(throws: PublishError.self) { try await site.publish("r2") }
        await #expect(throws: PublishError.self) { try await site.releases.collect(keeping: 1) }
      }
    }
  }
}
