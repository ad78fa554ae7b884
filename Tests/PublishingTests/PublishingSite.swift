import CurlTransport
import Foundation
import HTTPTransport
import PageTesting
import Releases
import TestSupport
import Testing

@testable import Publishing

/// A folder and a bucket that it is published to.
struct PublishingSite: Sendable {
  let bucket: TestBucket
  let folder: TemporaryDirectory
  let releases: PublishedReleases

  static func running(_ body: (PublishingSite) async throws -> Void) async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      let bucket = TestBucket(on: origin)
      let location = try #require(S3Location("s3://bucket/app"))
      let access = try S3Access(environment: bucket.environment)
      let transport = try CurlTransport()
      let store = try S3Store(
        location, access: access, transport: transport, sleep: { _ in try Task.checkCancellation() })
      let site = PublishingSite(
        bucket: bucket, folder: try TemporaryDirectory(),
        releases: PublishedReleases(store, now: { bucket.now }))
      try await body(site)
    }
  }

  /// Writes a script into the folder.
  func write(_ path: String, _ text: String) throws {
    let file = URL(fileURLWithPath: "\(folder.path)/\(path)")
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  @discardableResult
  func publish(
    _ release: String? = nil, percent: Double? = nil, isAlone: Bool = false, signers: [VerificationKey] = [],
    statusIsElsewhere: Bool = false, sign: FolderPublication.Signing? = nil
  ) async throws -> FolderPublication.Report {
    var options = FolderPublication.Options()
    (options.release, options.percent, options.isAlone) = (release, percent, isAlone)
    (options.signers, options.statusIsElsewhere) = (signers, statusIsElsewhere)
    return try await FolderPublication(folder.path, to: releases, options: options, sign: sign).publish()
  }

  /// Signs with keys, for the time from the bucket's clock at its start.
  static func signing(by keys: [SigningKey], until end: Int64 = 1_900_000_000) -> FolderPublication.Signing {
    { manifest in
      var manifest = manifest
      manifest.setTimes(signed: SignedTime(seconds: 1_800_000_000), expires: SignedTime(seconds: end))
      let bytes = try manifest.fileBytes()
      var file = try SignatureFile(of: bytes, as: .manifest)
      for key in keys { file.add(try key.sign(bytes, as: .manifest)) }
      return (bytes, try file.encoded())
    }
  }

  /// Writes a root into the folder, with the signatures of keys.
  func write(_ root: TrustRoot, signedBy keys: [SigningKey] = []) throws {
    let bytes = try root.encoded()
    let name = PublishedRoot.name(of: root.version)
    try write(name, String(decoding: bytes, as: UTF8.self))
    var file = try SignatureFile(of: bytes, as: .root)
    for key in keys { file.add(try key.sign(bytes, as: .root)) }
    try write(name + SignatureFile.suffix, String(decoding: try file.encoded(), as: UTF8.self))
  }

  func pointer() async throws -> ReleasePointer { try #require(try await releases.state()).pointer }

  /// The manifest of the current release.
  func manifest() async throws -> Manifest { try await releases.manifest(try await pointer().current.manifest) }

  /// The text of a bundle of a release, as hosts find it.
  func text(_ name: String, in manifest: Manifest) throws -> String? {
    let entry = try #require(manifest.bundles.first { $0.name == name })
    let digits = try #require(entry.sha256).hex
    return bucket["app/blobs/\(entry.blob ?? digits)"].map { String(decoding: $0, as: UTF8.self) }
  }

  /// Expects that everything that the pointer names is there.
  func expectComplete(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    for release in try await pointer().releases {
      let manifest = try await releases.manifest(release.manifest)
      for entry in manifest.bundles {
        let found = try text(entry.name, in: manifest)
        #expect(
          try found.map { try SHA256Digest(of: Array($0.utf8)) } == entry.sha256,
          "\(entry.name) of \(release.release)", sourceLocation: sourceLocation)
      }
    }
  }
}
