import HTTPTypes
import PageTesting
import Releases
import TestSupport
import Testing

@testable import Bundles
@testable import HTTPCache
@testable import HTTPTransport

/// A bundle store with a loader in front of it, and a preloader that prefetches through the loader.
struct PrefetchFixture {
  let loading: LoadingFixture
  let resources: ResourceLoader
  let cache: ResponseCache
  let saver = DataSaver()

  static func running(_ body: (PrefetchFixture) async throws -> Void) async throws {
    try await LoadingFixture.running { try await body(try PrefetchFixture($0)) }
  }

  private init(_ loading: LoadingFixture) throws {
    self.loading = loading
    cache = try ResponseCache(store: ResponseStore(at: ResponseDirectory(loading.folder.file("responses"))))
    resources = ResourceLoader(
      cache: cache, transport: loading.transport, files: ReleaseFiles(loading.store).file,
      saver: saver)
  }

  var origin: FaultOrigin { loading.origin }

  /// A new loader, as after the next launch.
  func nextLaunch() -> ResourceLoader {
    ResourceLoader(
      cache: cache, transport: loading.transport, files: ReleaseFiles(loading.store).file,
      saver: saver)
  }

  /// Publishes a release of these bundles, each with its prefetched URLs.
  func publish(
    _ prefetch: [String: [String]], files: [String: String] = [:], release: String = "r1",
    preload: [String: Manifest.Preload] = [:]
  ) throws {
    let scripts = prefetch.keys.map { ($0, "var \($0) = '\(release)'") }
    var manifest = try loading.publish(
      Dictionary(uniqueKeysWithValues: scripts), files: files, release: release, preload: preload)
    for index in manifest.bundles.indices {
      manifest.bundles[index].prefetch = prefetch[manifest.bundles[index].name] ?? []
    }
    origin.serve("/manifest.json", try JSON.encode(manifest), etag: "\"\(release)\"")
  }

  func serve(_ path: String, _ text: String, _ fields: HTTPFields = [.cacheControl: "max-age=60"]) {
    origin.serve(path, Array(text.utf8), contentType: "text/plain", headers: fields)
  }

  func preload() async throws -> PreloadReport { await (try preloader()).start().report() }

  func preloader(
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) throws -> Preloader {
    Preloader(
      store: loading.store, verifier: try loading.verifier(), downloader: try loading.downloader(),
      options: .init(jobs: 1), prefetch: Prefetcher(resources, jobs: 1).prefetch, saver: resources.saver,
      sleep: sleep)
  }

  func text(_ path: String, _ behavior: LoadBehavior? = nil, by loader: ResourceLoader? = nil) async throws -> String {
    let request = ResourceRequest(origin.url(for: path), behavior: behavior)
    let loaded = try await (loader ?? resources).response(for: request)
    return String(decoding: try await loaded.body.collect(), as: UTF8.self)
  }
}
