import Foundation
import Testing

@testable import HTTPTransport
@testable import Releases

/// Which of a source's releases a host gets.
struct RolloutTests {
  private static let installs = (0..<10_000).map { "install \($0)" }
  private static let reference = ManifestReference(url: "old.json", sha256: ContentDigests.filled(1).sha256)
  private static let beta = ManifestReference(url: "beta.json", sha256: ContentDigests.filled(2).sha256)

  @Test("as many installs as the percentage says are in a rollout", arguments: [0, 0.5, 5, 50, 99, 100])
  func share(_ percent: Double) throws {
    let rollout = Rollout(percent: percent, salt: "r1")
    let share = Double(try Self.installs.count { try rollout.includes($0) }) / 100
    #expect(abs(share - percent) < 1.6, "\(share)")
    if percent == 0 || percent == 100 { #expect(share == percent) }
  }

  @Test("a higher percentage only adds installs, and another salt begins with others")
  func growing() throws {
    func included(_ percent: Double, _ salt: String) throws -> Set<String> {
      let rollout = Rollout(percent: percent, salt: salt)
      return Set(try Self.installs.filter { try rollout.includes($0) })
    }
    let shares = try [1, 5, 20, 50, 100].map { try included($0, "r1") }
    for (lower, higher) in zip(shares, shares.dropFirst()) { #expect(lower.isStrictSubset(of: higher)) }
    let both = try included(20, "r1").intersection(included(20, "r2")).count
    #expect((250...550).contains(both), "\(both)")
  }

  @Test("the fraction is that of the first 64 bits, so that others can compute it")
  func vector() throws {
    // printf 'r1\n00112233445566778899aabbccddeeff' | sha256sum
    let install = "00112233445566778899aabbccddeeff"
    let digest = try SHA256Digest(of: Array("r1\n\(install)".utf8))
    let fraction = Double(try #require(UInt64(digest.hex.prefix(16), radix: 16))) / 0x1p64 * 100
    #expect(try Rollout(percent: fraction + 0.001, salt: "r1").includes(install))
    #expect(try !Rollout(percent: fraction - 0.001, salt: "r1").includes(install))
  }

  typealias Row = (
    channel: String?, version: String?, change: @Sendable (inout Manifest) -> Void, hasTaken: Bool, then: ManifestChoice
  )

  private static let table: [Row] = [
    (nil, nil, { _ in }, false, .this),
    ("beta", nil, { _ in }, false, .this),
    ("beta", nil, { $0.channels = ["beta": beta] }, false, .other(beta)),
    ("alpha", nil, { $0.channels = ["beta": beta] }, false, .this),
    (nil, nil, { $0.channels = ["beta": beta] }, false, .this),
    // the rollout
    (nil, nil, { $0.rollout = Rollout(percent: 0, salt: "") }, false, .other(reference)),
    (nil, nil, { $0.rollout = Rollout(percent: 0, salt: "") }, true, .this),
    (nil, nil, { $0.rollout = Rollout(percent: 100, salt: "") }, false, .this),
    // the runtime
    (nil, "1.4", { $0.minimumRuntime = "1.4.0" }, false, .this),
    (nil, "1.10", { $0.minimumRuntime = "1.9" }, false, .this),
    (nil, "1.3.9", { $0.minimumRuntime = "1.4" }, false, .other(reference)),
    (nil, "1.3.9", { $0.minimumRuntime = "1.4" }, true, .other(reference)),
    (nil, "no version", { $0.minimumRuntime = "1.4" }, false, .other(reference)),
    (nil, nil, { $0.minimumRuntime = "1.4" }, false, .this),
    (
      nil, "1.3", { ($0.minimumRuntime, $0.otherwise) = ("1.4", nil) }, false,
      .none("release r2 needs the runtime 1.4, and this is 1.3: update the app")
    ),
  ]

  @Test("every row of the table is decided as it says", arguments: table.indices)
  func choices(_ index: Int) throws {
    let row = Self.table[index]
    var manifest = Manifest(release: "r2", sequence: 2, bundles: [])
    manifest.otherwise = Self.reference
    row.change(&manifest)
    var audience = Audience()
    (audience.channel, audience.runtimeVersion) = (row.channel, row.version)
    let choice = try ManifestChoice(of: manifest, for: audience, install: "a", hasTaken: row.hasTaken)
    #expect(choice == row.then)
    audience.isInEveryRollout = true
    if manifest.rollout != nil {
      #expect(try ManifestChoice(of: manifest, for: audience, install: "a", hasTaken: false) == .this)
    }
  }

  @Test("members that say who gets a release are read, written and checked")
  func members() throws {
    var manifest = Manifest(
      release: "r2", sequence: 2, bundles: [.init(name: "a", path: "a.js", md5: ContentDigests.filled(1).md5)])
    manifest.rollout = Rollout(percent: 12.5, salt: "r2")
    (manifest.otherwise, manifest.channels, manifest.minimumRuntime) = (Self.reference, ["beta": Self.beta], "1.4")
    let bytes = Array(try JSONEncoder().encode(manifest))
    #expect(try Manifest(reading: bytes) == manifest)
    #expect(manifest.additional.isEmpty)
    let absolute = manifest.namingOthersAbsolutely(from: try #require(PageURL("https://h/p/manifest.json")))
    #expect(
      (absolute.otherwise?.url, absolute.channels["beta"]?.url) == ("https://h/p/old.json", "https://h/p/beta.json"))

    let faults: [((inout Manifest) -> Void, String)] = [
      ({ $0.rollout?.percent = 101 }, "from 0 to 100"),
      ({ $0.rollout?.percent = -1 }, "from 0 to 100"),
      ({ $0.otherwise = nil }, "no \"otherwise\""),
      ({ $0.minimumRuntime = "new" }, "numbers with dots"),
      ({ $0.minimumRuntime = "1..2" }, "numbers with dots"),
      ({ $0.channels = ["": Self.beta] }, "the name of the channel"),
      ({ $0.otherwise?.url = "" }, "URL of another manifest"),
      ({ $0.channels["beta"]?.url = "ftp://h/x" }, "URL of another manifest"),
      ({ $0.rollout?.salt = String(repeating: "s", count: 201) }, "longer than 200 bytes"),
    ]
    for (change, reason) in faults {
      var faulty = manifest
      change(&faulty)
      let text = Array(try JSONEncoder().encode(faulty))
      let error = #expect(throws: ManifestError.self) { try Manifest(reading: text) }
      #expect("\(try #require(error))".contains(reason), "\(reason)")
    }
  }
}
