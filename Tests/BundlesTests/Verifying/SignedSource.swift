import CurlTransport
import Foundation
import HTTPTypes
import PageTesting
import Releases
import Synchronization
import TestSupport
import Testing

@testable import Blobs
@testable import Bundles
@testable import HTTPTransport

/// An origin whose manifests are signed, and a host that asks for signatures.
final class SignedSource: Sendable {
  let origin: FaultOrigin
  /// The keys that sign: the first three are root keys, of which two must sign, the fourth is the release key, and the
  /// sixth the online key, if the root has that role.
  let keys: [SigningKey]
  let root: TrustRoot
  let source: PageURL
  private let folder: TemporaryDirectory
  private let transport: CurlTransport
  private let seconds = Mutex<Int64>(1_800_000_000)
  private let files = Mutex<[String: [UInt8]]>([:])
  let freshFor: Duration?

  private init(_ origin: FaultOrigin, freshFor: Duration?, online: [Int], threshold: Int) throws {
    self.origin = origin
    self.freshFor = freshFor
    folder = try TemporaryDirectory()
    transport = try CurlTransport()
    keys = try (0..<6).map { _ in try SigningKey() }
    root = Self.root(1, of: keys, release: 3, online: online, threshold: threshold)
    source = try #require(PageURL(origin.url(for: "/manifest.json")))
  }

  /// - Parameters:
  ///   - online: the keys of the role `online`; none for a root without it.
  ///   - threshold: the number of them that must sign.
  static func running(
    freshFor: Duration? = nil, online: [Int] = [], threshold: Int = 1,
    _ body: (SignedSource) async throws -> Void
  ) async throws {
    let origin = try await FaultOrigin.start()
    do {
      try await body(try SignedSource(origin, freshFor: freshFor, online: online, threshold: threshold))
      try await origin.stop()
    } catch {
      try await origin.stop()
      throw error
    }
  }

  var now: Int64 { seconds.withLock(\.self) }

  func advance(by seconds: Int64) { self.seconds.withLock { $0 += seconds } }

  // MARK: The publisher

  func manifest(_ scripts: [String: String], sequence: Int64, for time: Int64 = 86_400) throws -> Manifest {
    var manifest = Manifest(
      release: "r\(sequence)", sequence: sequence, base: "b/",
      bundles: try scripts.sorted { $0.key < $1.key }.map { name, text in
        let digests = try ContentDigests(of: Array(text.utf8))
        return .init(
          name: name, path: "\(name).js", size: digests.size, md5: digests.md5, sha256: digests.sha256)
      })
    manifest.setTimes(signed: SignedTime(seconds: now), expires: SignedTime(seconds: now + time))
    return manifest
  }

  /// Serves scripts with their manifest, signed by keys.
  func publish(_ scripts: [String: String], sequence: Int64 = 1, by signers: [Int] = [3]) throws {
    for (name, text) in scripts { serve(name, text) }
    try publish(try manifest(scripts, sequence: sequence), by: signers)
  }

  func serve(_ name: String, _ text: String) {
    origin.serve("/b/\(name).js", Array(text.utf8), contentType: "text/javascript", etag: "\"\(text.hashValue)\"")
  }

  func publish(_ manifest: Manifest, by signers: [Int] = [3]) throws {
    try publish(Array(try JSONEncoder().encode(manifest)), by: signers)
  }

  func publish(_ bytes: [UInt8], at path: String = "/manifest.json", by signers: [Int] = [3]) throws {
    put(path, bytes, etag: "\"\(try ContentDigests(of: bytes).md5)\"")
    try sign(bytes, as: .manifest, at: path, by: signers)
  }

  func publish(_ root: TrustRoot, by signers: [Int]) throws {
    let bytes = try root.encoded()
    put("/\(root.version).root.json", bytes)
    try sign(bytes, as: .root, at: "/\(root.version).root.json", by: signers)
  }

  /// A status of the manifest that was published last.
  func status(
    _ sequence: Int64, disabled: [String: String] = [:], for time: Int64 = 3600
  ) throws -> ReleaseStatus {
    let bytes = served("/manifest.json")
    let manifest = try Manifest(reading: bytes)
    return ReleaseStatus(
      sequence: sequence, signed: SignedTime(seconds: now), expires: SignedTime(seconds: now + time),
      release: .init(name: manifest.release, sequence: manifest.sequence, sha256: try SHA256Digest(of: bytes)),
      disabled: disabled.map { .init(bundle: $0.key, message: $0.value) })
  }

  /// Serves a status, signed by keys.
  func publish(_ status: ReleaseStatus, by signers: [Int] = [5]) throws {
    try publish(status: try status.encoded(), by: signers)
  }

  func publish(status bytes: [UInt8], by signers: [Int] = [5]) throws {
    put("/status.json", bytes, etag: "\"\(try ContentDigests(of: bytes).md5)\"")
    try sign(bytes, as: .status, at: "/status.json", by: signers)
  }

  private func sign(_ bytes: [UInt8], as kind: SignedKind, at path: String, by signers: [Int]) throws {
    var file = try SignatureFile(of: bytes, as: kind)
    for number in signers {
      let key = keys[number]
      file.add(try key.sign(bytes, as: kind))
    }
    put(path + SignatureFile.suffix, try file.encoded())
  }

  private func put(_ path: String, _ bytes: [UInt8], etag: String? = nil) {
    origin.serve(path, bytes, etag: etag)
    files.withLock { $0[path] = bytes }
  }

  /// The manifest, a root or signatures, as they were published last.
  func served(_ path: String) -> [UInt8] { files.withLock { $0[path] ?? [] } }

  /// The next root, with another release key.
  func nextRoot(release: Int, online: [Int] = [], expires: Int64 = 1_900_000_000) -> TrustRoot {
    Self.root(2, of: keys, release: release, online: online, threshold: 1, expires: expires)
  }

  /// A root of a later version with the same root keys.
  func laterRoot(_ version: Int64, release: Int) -> TrustRoot {
    Self.root(version, of: keys, release: release, online: [], threshold: 1)
  }

  private static func root(
    _ version: Int64, of keys: [SigningKey], release: Int, online: [Int], threshold: Int,
    expires: Int64 = 1_900_000_000
  ) -> TrustRoot {
    var roles: [TrustRoot.Role: (keys: [VerificationKey], threshold: Int)] = [
      .root: (keys[0..<3].map(\.verificationKey), 2), .release: ([keys[release].verificationKey], 1),
    ]
    if !online.isEmpty { roles[.online] = (online.map { keys[$0].verificationKey }, threshold) }
    return TrustRoot(version: version, expires: SignedTime(seconds: expires), roles: roles)
  }

  // MARK: The host

  /// A launch of the host: what it has stored stays.
  ///
  /// - Parameters:
  ///   - keeping: `true` for one that others get its releases from.
  ///   - actingOnStatus: `false` for one that switches to releases which the status holds back.
  func host(
    requiringSignatures: Bool = true, keeping: Bool = false, actingOnStatus: Bool = true
  ) throws -> Host {
    let store = try BundleStore(
      at: StoreDirectory(folder.file("store")), requiresSignatures: requiringSignatures, actsOnStatus: actingOnStatus,
      now: { [self] in Double(now) })
    let client = OriginClient(transport)
    let verifier = LaunchVerifier(
      source: source, store: store, client: client,
      trust: requiringSignatures ? ReleaseTrust(root, freshFor: freshFor) : nil, keepsSignatures: keeping,
      retry: RetryPolicy(attempts: 1), sleep: { _ in },
      date: { [self] in Date(timeIntervalSince1970: Double(now)) })
    let downloader = BundleDownloader(
      store: store,
      fetcher: BundleFetcher(
        client: client, store: store, retry: RetryPolicy(attempts: 1),
        fileLimit: 10 << 20, sleep: { _ in }))
    return Host(verifier: verifier, store: store, downloader: downloader, origin: origin)
  }

  struct Host {
    let verifier: LaunchVerifier
    let store: BundleStore
    let downloader: BundleDownloader
    let origin: FaultOrigin

    func preload() async -> PreloadReport {
      await Preloader(store: store, verifier: verifier, downloader: downloader, options: PreloadOptions()).start()
        .report()
    }

    /// The text that a page gets.
    func open(_ name: String, _ policy: OpenPolicy = .networkFirst(deadline: .seconds(60))) async throws -> LoadedBundle
    {
      var configuration = BundleLoader.Configuration()
      configuration.policy = policy
      let loader = BundleLoader(
        store: store, verifier: verifier, downloader: downloader, verification: .perLaunch,
        configuration: configuration)
      return try await loader.load(try #require(PageURL(origin.url(for: "/b/\(name).js"))))
    }

    func text(_ name: String) async throws -> String {
      String(decoding: try await open(name).bytes, as: UTF8.self)
    }
  }
}
