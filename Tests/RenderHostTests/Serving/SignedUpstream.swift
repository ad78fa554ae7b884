import Bundles
import Foundation
import HTTPTransport
import PageTesting
import Releases

/// Somebody who signs releases with one key.
struct SignedUpstream {
  let key: SigningKey
  let root: TrustRoot

  init() throws {
    key = try SigningKey()
    root = Self.root(1, of: key)
  }

  private static func root(_ version: Int64, of key: SigningKey) -> TrustRoot {
    TrustRoot(
      version: version, expires: SignedTime(seconds: Int64(Date().timeIntervalSince1970) + 3600),
      roles: [.root: ([key.verificationKey], 1), .release: ([key.verificationKey], 1)])
  }

  /// The root with a role `online`, which has the same key.
  var onlineRoot: TrustRoot {
    var root = root
    root.roles[.online] = root.roles[.release]
    return root
  }

  /// Writes the first root into a file.
  func writeRoot(to path: String) throws {
    try Data(try root.encoded()).write(to: URL(fileURLWithPath: path))
  }

  /// Serves a signed release of one bundle, `home.js`.
  ///
  /// - Parameters:
  ///   - base: of the manifest's paths.
  ///   - time: that it is signed for.
  /// - Returns: the manifest and its signatures, by their paths.
  @discardableResult
  func publish(
    _ text: String, sequence: Int64, base: String? = nil, for time: Duration = .seconds(3600), on origin: FaultOrigin
  ) throws -> [String: [UInt8]] {
    let base = base ?? "cdn/\(sequence)/"
    let digests = try ContentDigests(of: Array(text.utf8))
    var manifest = Manifest(
      release: "r\(sequence)", sequence: sequence, base: base,
      bundles: [
        .init(name: "home", path: "home.js", size: digests.size, md5: digests.md5, sha256: digests.sha256)
      ])
    let now = SignedTime.now
    manifest.setTimes(signed: now, expires: now.advanced(by: time))
    let bytes = Array(try JSONEncoder().encode(manifest))
    origin.serve("/\(base)home.js", Array(text.utf8))
    let signatures = try signatures(of: bytes, as: .manifest)
    origin.serve("/manifest.json.sig", signatures)
    origin.serve("/manifest.json", bytes, etag: "\"\(try ContentDigests(of: bytes).md5)\"")
    return ["/manifest.json": bytes, "/manifest.json.sig": signatures]
  }

  /// Serves the root of a version from 2 on.
  ///
  /// - Returns: the root and its signatures, by their paths.
  @discardableResult
  func publishRoot(_ version: Int64, on origin: FaultOrigin) throws -> [String: [UInt8]] {
    let bytes = try Self.root(version, of: key).encoded()
    let signatures = try signatures(of: bytes, as: .root)
    let path = "/\(version).root.json"
    origin.serve(path + ".sig", signatures)
    origin.serve(path, bytes)
    return [path: bytes, path + ".sig": signatures]
  }

  /// The status of a manifest, with its signatures, by their paths.
  func status(_ sequence: Int64, of manifest: [UInt8], disabling names: [String] = [], isHalted: Bool = false) throws
    -> [String: [UInt8]]
  {
    let read = try Manifest(reading: manifest)
    let bytes = try ReleaseStatus(
      sequence: sequence, signed: .now, expires: SignedTime.now.advanced(by: .seconds(3600)),
      release: .init(name: read.release, sequence: read.sequence, sha256: ContentDigests(of: manifest).sha256),
      disabled: names.map { .init(bundle: $0, message: "Back at noon.") }, isHalted: isHalted
    ).encoded()
    return ["/status.json.sig": try signatures(of: bytes, as: .status), "/status.json": bytes]
  }

  /// Serves the status of a manifest.
  @discardableResult
  func publishStatus(
    _ sequence: Int64, of manifest: [UInt8], disabling names: [String] = [], isHalted: Bool = false,
    on origin: FaultOrigin
  ) throws -> [String: [UInt8]] {
    let files = try status(sequence, of: manifest, disabling: names, isHalted: isHalted)
    for (path, bytes) in files.sorted(by: { $0.key > $1.key }) { origin.serve(path, bytes) }
    return files
  }

  private func signatures(of bytes: [UInt8], as kind: SignedKind) throws -> [UInt8] {
    var file = try SignatureFile(of: bytes, as: kind)
    file.add(try key.sign(bytes, as: kind))
    return try file.encoded()
  }
}
