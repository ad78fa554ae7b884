import Foundation
import HTTPTransport
import Testing

@testable import Releases

struct ManifestTrustTests {
  private let key: SigningKey
  private let trust: ManifestTrust
  private let now = SignedTime(seconds: 1_800_000_000)

  init() throws {
    key = try SigningKey()
    trust = ManifestTrust(
      root: TrustRoot(
        version: 1, expires: SignedTime(seconds: 1_900_000_000),
        roles: [.root: ([key.verificationKey], 1), .release: ([key.verificationKey], 1)]),
      freshFor: .seconds(3600))
  }

  private func manifest(sequence: Int64 = 7, signed: Int64 = -60, expires: Int64 = 60) throws -> Manifest {
    let digests = try ContentDigests(of: Array("a".utf8))
    var manifest = Manifest(
      release: "r", sequence: sequence,
      bundles: [.init(name: "a", path: "a.js", size: 1, md5: digests.md5, sha256: digests.sha256)])
    manifest.setTimes(
      signed: SignedTime(seconds: now.seconds + signed), expires: SignedTime(seconds: now.seconds + expires))
    return manifest
  }

  private func check(_ manifest: Manifest, after known: Manifest? = nil, at time: SignedTime? = nil) throws {
    let bytes = Array(try JSONEncoder().encode(manifest))
    var signatures = try SignatureFile(of: bytes, as: .manifest)
    signatures.add(try key.sign(bytes, as: .manifest))
    let known = known.map { (sequence: $0.sequence, manifest: Optional($0)) }
    try trust.check(try Manifest(reading: bytes), bytes, signatures, after: known, at: time ?? now)
  }

  @Test("a signed manifest is trusted for as long as it says")
  func signed() throws {
    try check(try manifest())
    try check(try manifest(), at: SignedTime(seconds: now.seconds + 59))
    #expect(throws: TrustError.expired(at: SignedTime(seconds: now.seconds + 60))) {
      try check(try manifest(), at: SignedTime(seconds: now.seconds + 60))
    }
  }

  @Test("one changed byte of a signed manifest is noticed")
  func changed() throws {
    let bytes = Array(try JSONEncoder().encode(try manifest()))
    var signatures = try SignatureFile(of: bytes, as: .manifest)
    signatures.add(try key.sign(bytes, as: .manifest))
    #expect(throws: TrustError.wronglySigned(.manifest, valid: 0, threshold: 1)) {
      try trust.check(try manifest(), bytes + [10], signatures, after: nil, at: now)
    }
    #expect(throws: TrustError.unsigned(.manifest)) {
      try trust.check(try manifest(), bytes, nil, after: nil, at: now)
    }
  }

  @Test("a manifest without an end is refused")
  func unlimited() throws {
    var endless = try manifest()
    endless.additional["expires"] = nil
    #expect(throws: TrustError.unlimited) { try check(endless) }
  }

  @Test("a server cannot go back to a lower sequence, and may have a manifest signed anew")
  func rollback() throws {
    #expect(throws: TrustError.rollback(known: 8, found: 7)) { try check(try manifest(), after: manifest(sequence: 8)) }
    try check(try manifest(), after: manifest(signed: -120, expires: 30))
    try check(try manifest(sequence: 8), after: manifest())
  }

  @Test("two releases with one sequence are refused")
  func ambiguous() throws {
    var other = try manifest()
    other.bundles[0].preload = .idle
    #expect(throws: TrustError.ambiguous(sequence: 7)) { try check(try manifest(), after: other) }
  }

  @Test("a manifest that was signed too long ago is refused, so that a server cannot hide newer ones for ever")
  func frozen() throws {
    let oldest = SignedTime(seconds: now.seconds - 3600)
    #expect(throws: TrustError.frozen(signed: oldest, oldest: oldest)) { try check(try manifest(signed: -3600)) }
    try check(try manifest(signed: -3599))
  }

  @Test("entries without a SHA-256 or a size are refused, since the signature would not bind their bytes")
  func unbound() throws {
    var manifest = try manifest()
    manifest.bundles[0].size = nil
    #expect(throws: TrustError.unbound(entry: "\"a\"", count: 1)) { try check(manifest) }
    manifest.bundles[0].size = 1
    manifest.bundles[0].sha256 = nil
    #expect(throws: TrustError.unbound(entry: "\"a\"", count: 1)) { try check(manifest) }
  }

  @Test("manifests of other programs are refused", arguments: [("eros", "Eros"), ("weexbox", "weexbox")])
  func foreign(_ dialect: String, _ name: String) throws {
    let md5 = String(repeating: "a", count: 32)
    let text =
      dialect == "eros"
      ? #"{"filesMd5": [{"page": "a.js", "md5": "\#(md5)"}], "jsVersion": "1", "jsPath": "x"}"#
      : #"[{"path": "a.js", "md5": "\#(md5)"}]"#
    let bytes = Array(text.utf8)
    var signatures = try SignatureFile(of: bytes, as: .manifest)
    signatures.add(try key.sign(bytes, as: .manifest))
    #expect(throws: TrustError.foreign(dialect: name)) {
      try trust.check(try Manifest(reading: bytes), bytes, signatures, after: nil, at: now)
    }
  }

  @Test("an expired root trusts nothing")
  func expiredRoot() throws {
    let end = SignedTime(seconds: 1_900_000_000)
    #expect(throws: TrustError.expiredRoot(version: 1, at: end)) { try check(try manifest(), at: end) }
  }
}
