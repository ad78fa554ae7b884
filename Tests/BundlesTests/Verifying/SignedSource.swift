import CurlTransport
import Foundation
import HTTPTypes
import PageTesting
import Signing
import Synchronization
import TestSupport
import Testing

@testable import Bundles
@testable import DiskStorage
@testable import HTTPTransport

/// An origin whose manifests are signed, and a host that asks for signatures.
final class SignedSource: Sendable {
  let origin: FaultOrigin
  /// The keys that sign: the first three are root keys, of which two must sign, the fourth is the release key.
  let keys: [SigningKey]
  let root: TrustRoot
  let source: PageURL
  private let folder: TemporaryDirectory
  private let transport: CurlTransport
  private let seconds = Mutex<Int64>(1_800_000_000)
  private let files = Mutex<[String: [UInt8]]>([:])
  let freshFor: Duration?

  private init(_ origin: FaultOrigin, freshFor: Duration?) throws {
    self.origin = origin
    self.freshFor = freshFor
    folder = try TemporaryDirectory()
    transport = try CurlTransport()
    keys = try (0..<6).map { _ in try SigningKey() }
    root = TrustRoot(
      version: 1, expires: SignedTime(seconds: 1_900_000_000),
      roles: [.root: (keys[0..<3].map(\.verificationKey), 2), .release: ([keys[3].verificationKey], 1)])
    source = try #require(PageURL(origin.url(for: "/manifest.json")))
  }

  static func running(freshFor: Duration? = nil, _ body: (SignedSource) async throws -> Void) async throws {
    let origin = try await FaultOrigin.start()
    do {
      try await body(try SignedSource(origin, freshFor: freshFor))
      try await origin.stop()
    } catch {
      try await origin.stop()
      throw error
    }
  }

  var now: Int64 { seconds.withLock(\.self) }

  func advance(by seconds: Int64) { self.seconds.withLock { $0 += seconds } }

  // MARK: The publisher

  func manifest(_ scripts: [String: String], sequence: Int64) throws -> Manifest {
    var manifest = Manifest(
      release: "r\(sequence)", sequence: sequence, base: "b/",
      bundles: try scripts.sorted { $0.key < $1.key }.map { name, text in
        let digests = try ContentDigests(of: Array(text.utf8))
        return .init(
          name: name, path: "\(name).js", size: digests.size, md5: digests.md5, sha256: digests.sha256)
      })
    manifest.setTimes(signed: SignedTime(seconds: now), expires: SignedTime(seconds: now + 86_400))
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
  func nextRoot(release: Int, expires: Int64 = 1_900_000_000) -> TrustRoot {
    TrustRoot(
      version: 2, expires: SignedTime(seconds: expires),
      roles: [.root: (keys[0..<3].map(\.verificationKey), 2), .release: ([keys[release].verificationKey], 1)])
  }

  // MARK: The host

  /// A launch of the host: what it has stored stays.
  ///
  /// - Parameter keeping: `true` for one that others get its releases from.
  func host(requiringSignatures: Bool = true, keeping: Bool = false) throws -> Host {
    let store = try BundleStore(
      at: StoreDirectory(folder.file("store")), requiresSignatures: requiringSignatures,
      now: { [self] in Double(now) })
    let client = OriginClient(transport)
    let verifier = LaunchVerifier(
      source: source, store: store, client: client, decoding: ContentDecoder(),
      trust: requiringSignatures ? ReleaseTrust(root, freshFor: freshFor) : nil, keepsSignatures: keeping,
      retry: RetryPolicy(attempts: 1), sleep: { _ in },
      date: { [self] in Date(timeIntervalSince1970: Double(now)) })
    let downloader = BundleDownloader(
      store: store,
      fetcher: BundleFetcher(
        client: client, store: store, decoding: ContentDecoder(), retry: RetryPolicy(attempts: 1),
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

    /// What a page gets.
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
