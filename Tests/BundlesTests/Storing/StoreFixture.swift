import Blobs
import Bundles
import HTTPCaching
import HTTPTransport
import PageTesting
import Releases
import TestSupport
import Testing

/// A store in a folder of its own, with short functions to fill it.
struct StoreFixture {
  let folder: TemporaryDirectory
  let store: BundleStore
  let source: PageURL

  init(source: String = "http://h/manifest.json") throws {
    folder = try TemporaryDirectory()
    store = try BundleStore(at: StoreDirectory(folder.path))
    self.source = try #require(PageURL(source))
  }

  /// Another store on the same folder, as another process would open it.
  func reopened() throws -> BundleStore { try BundleStore(at: StoreDirectory(folder.path)) }

  static func bundle(
    _ name: String, _ text: String, preload: Manifest.Preload = .launch, withSHA256: Bool = false,
    host: String = "h"
  ) throws -> PageBundle {
    let digests = try ContentDigests(of: Array(text.utf8))
    return PageBundle(
      kind: .bundle, name: name, url: try #require(PageURL("http://\(host)/\(name).js")), size: digests.size,
      md5: digests.md5, sha256: withSHA256 ? digests.sha256 : nil, preload: preload)
  }

  func register(_ bundles: [PageBundle], named name: String = "r1", for other: PageURL? = nil) async throws
    -> StoredRelease
  {
    let manifest = Manifest(release: name, sequence: 1, bundles: [])
    // The manifest's bytes stand for its identity.
    let text = name + bundles.map { "\($0.url)\($0.md5)" }.joined()
    return try await store.register(
      manifest, bytes: Array(text.utf8), bundles: bundles, for: other ?? source,
      validators: Validators(etag: "\"\(name)\""))
  }

  @discardableResult
  func add(_ text: String, to release: StoredRelease, of other: BundleStore? = nil) async throws -> Blob {
    let store = other ?? store
    let download = try await self.download(text, of: store)
    return try await store.add(download, digests: try ContentDigests(of: Array(text.utf8)), to: release)
  }

  func download(_ text: String, of store: BundleStore) async throws -> BundleDownload {
    let digests = try ContentDigests(of: Array(text.utf8))
    let url = try #require(PageURL("http://h/x.js"))
    let download = try await store.download(for: ExpectedContent(md5: digests.md5), url: url)
    try download.begin(DownloadHead(url: url))
    try download.append(wire: Array(text.utf8))
    return download
  }

  /// A release of these texts, complete and current.
  func activated(_ texts: [String: String], named name: String = "r1") async throws -> StoredRelease {
    let bundles = try texts.sorted { $0.key < $1.key }.map { try Self.bundle($0.key, $0.value) }
    let release = try await register(bundles, named: name)
    for text in texts.values { try await add(text, to: release) }
    #expect(try await store.activate(release))
    return release
  }

  func path(of blob: Blob) -> String {
    folder.file("blobs/\(blob.sha256.hex.prefix(2))/\(blob.sha256.hex)")
  }

  func names(in subfolder: String) throws -> [String] {
    try folder.names(in: subfolder)
  }
}

extension BundleStore {
  /// The numbers of a release of which nothing is to be fetched; `nil` for any other.
  func countsIfStored(of release: StoredRelease) async throws -> ReleaseCounts? {
    try await stock(of: release).flatMap { $0.absent.isEmpty ? $0.counts : nil }
  }
}
