import CurlTransport
import Foundation
import HTTPCaching
import HTTPTypes
import PageTesting
import Releases
import TestSupport
import Testing

@testable import Blobs
@testable import Bundles
@testable import HTTPTransport

/// An origin with a manifest and bundles, and a client with a store of its own.
struct LoadingFixture {
  let origin: FaultOrigin
  let folder: TemporaryDirectory
  let store: BundleStore
  let transport: CurlTransport
  /// The client of all parts, so that requests are counted together.
  private let plainClient: OriginClient
  /// The requested waits between attempts, which take no time.
  let waits = Recorder<Duration>()

  private init(origin: FaultOrigin, folder: TemporaryDirectory) throws {
    self.origin = origin
    self.folder = folder
    store = try BundleStore(at: StoreDirectory(folder.file("store")))
    transport = try CurlTransport()
    plainClient = OriginClient(transport)
  }

  static func running<Result>(_ body: (LoadingFixture) async throws -> Result) async throws -> Result {
    let origin = try await FaultOrigin.start()
    do {
      let result = try await body(try LoadingFixture(origin: origin, folder: try TemporaryDirectory()))
      try await origin.stop()
      return result
    } catch {
      try await origin.stop()
      throw error
    }
  }

  /// A store with a good release `r1`, and `r2`, which is current and on trial, each with the page `a`.
  ///
  /// - Parameter body: receives `r2`.
  static func onTrial(_ body: (LoadingFixture, StoredRelease) async throws -> Void) async throws {
    try await running { (fixture: LoadingFixture) async throws in
      try fixture.publish(["a": "1"], release: "r1")
      _ = try await fixture.preload()
      let first = try #require(try await fixture.store.source(fixture.source)?.current)
      try await fixture.store.mark(first, as: .good)
      try fixture.publish(["a": "2"], release: "r2")
      #expect(try await fixture.preload().activated)
      try await body(fixture, try #require(try await fixture.store.source(fixture.source)?.current))
    }
  }

  /// The same origin and folder, as another process has them. Locks belong to open files: two stores in one process
  /// exclude each other as those of two processes do.
  func anotherProcess() throws -> LoadingFixture { try LoadingFixture(origin: origin, folder: folder) }

  func url(_ path: String) throws -> PageURL { try #require(PageURL(origin.url(for: path))) }

  var source: PageURL { get throws { try url("/manifest.json") } }

  /// Serves these scripts and a manifest of them.
  @discardableResult
  func publish(
    _ scripts: [String: String], files: [String: String] = [:], release: String = "r1",
    preload: [String: Manifest.Preload] = [:], etag: String? = nil, withSizes: Bool = true
  ) throws -> Manifest {
    func entry(_ name: String, _ path: String, _ text: String) throws -> Manifest.Entry {
      let bytes = Array(text.utf8)
      origin.serve(
        "/b/\(path)", bytes, contentType: "text/javascript",
        etag: "\"\(try ContentDigests(of: bytes).sha256.hex.prefix(8))\"")
      return Manifest.Entry(
        name: name, path: path, size: withSizes ? Int64(bytes.count) : nil, md5: try ContentDigests(of: bytes).md5,
        preload: preload[name] ?? .launch)
    }
    let manifest = Manifest(
      release: release, sequence: 1, base: "b/",
      bundles: try scripts.sorted { $0.key < $1.key }.map { try entry($0.key, $0.key + ".js", $0.value) },
      files: try files.sorted { $0.key < $1.key }.map { try entry($0.key, $0.key, $0.value) })
    origin.serve("/manifest.json", Array(try JSONEncoder().encode(manifest)), etag: etag ?? "\"\(release)\"")
    return manifest
  }

  func client(_ fields: HTTPFields = [:], limits: TransferLimits = .standard) throws -> OriginClient {
    guard fields.isEmpty, limits == .standard else {
      return OriginClient(transport, fields: OriginFields(fields, for: try source), limits: limits)
    }
    return plainClient
  }

  func fetcher(
    attempts: Int = 3, fileLimit: Int64 = 10 << 20, limits: TransferLimits = .standard,
    client other: OriginClient? = nil
  ) throws -> BundleFetcher {
    BundleFetcher(
      client: try other ?? client(limits: limits), store: store,
      retry: RetryPolicy(attempts: attempts), fileLimit: fileLimit, sleep: { [waits] in waits.append($0) })
  }

  func downloader(
    attempts: Int = 3, fileLimit: Int64 = 10 << 20, client: OriginClient? = nil
  ) throws -> BundleDownloader {
    BundleDownloader(store: store, fetcher: try fetcher(attempts: attempts, fileLimit: fileLimit, client: client))
  }

  func verifier(
    _ verification: Verification = .perLaunch, attempts: Int = 1, client other: OriginClient? = nil,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    sleep: (@Sendable (Duration) async throws -> Void)? = nil
  ) throws -> LaunchVerifier {
    LaunchVerifier(
      source: try source, store: store, client: try other ?? client(),
      verification: verification,
      retry: RetryPolicy(attempts: attempts), sleep: sleep ?? { [waits] in waits.append($0) }, now: now)
  }

  func preload(_ options: PreloadOptions = .init(), attempts: Int = 3) async throws -> PreloadReport {
    let preloader = Preloader(
      store: store, verifier: try verifier(), downloader: try downloader(attempts: attempts), options: options)
    return await preloader.start().report()
  }

  func loader(
    _ verifier: LaunchVerifier?, consistency: Consistency = .bundle,
    policy: OpenPolicy = .networkFirst(deadline: .seconds(60)), news: Broadcast<BundleNews> = Broadcast(),
    time: TimeSource = .system, change: (inout BundleLoader.Configuration) -> Void = { _ in }
  ) throws -> BundleLoader {
    var configuration = BundleLoader.Configuration()
    (configuration.consistency, configuration.policy) = (consistency, policy)
    change(&configuration)
    return BundleLoader(
      store: store, verifier: verifier, downloader: try downloader(), verification: .perLaunch,
      configuration: configuration, news: news, time: time)
  }

  func target(_ name: String, _ text: String, kind: PageBundle.Kind = .bundle) throws -> FetchTarget {
    let digests = try ContentDigests(of: Array(text.utf8))
    return FetchTarget(
      kind: kind, name: name, url: try url("/b/\(name).js"),
      expected: ExpectedContent(md5: digests.md5, size: digests.size))
  }

  var stored: [String: String] {
    get async throws {
      guard let release = try await store.source(try source)?.current else { return [:] }
      var texts: [String: String] = [:]
      for entry in try await store.contents(of: release) {
        guard let blob = entry.blob else { continue }
        texts[entry.bundle.name] = String(decoding: try await store.bytes(of: blob).bytes, as: UTF8.self)
      }
      return texts
    }
  }

  /// The files that must not be in a store without running downloads.
  var leftovers: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.file("store/partial"))) ?? []
  }
}

extension LoadingFixture {
  /// A registered release of these scripts, without bytes.
  func registered(_ scripts: [String: String]) async throws -> StoredRelease {
    let manifest = try publish(scripts)
    return try await store.register(
      manifest, bytes: try JSON.encode(manifest), bundles: try manifest.located(at: try source), for: try source,
      validators: Validators())
  }
}
