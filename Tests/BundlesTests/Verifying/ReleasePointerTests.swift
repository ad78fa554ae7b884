import Foundation
import HTTPTypes
import PageTesting
import Testing

@testable import Bundles
@testable import HTTPTransport

/// Sources that have a pointer in the place of a manifest, and contents in a folder of their own.
struct ReleasePointerTests {
  /// Publishes scripts below `/blobs/`, their manifest, and a pointer to it.
  @discardableResult
  private static func publish(
    _ scripts: [String: String], _ release: String, sequence: Int64, on fixture: LoadingFixture,
    blob: String? = nil
  ) throws -> ReleasePointer.Release {
    var manifest = Manifest(release: release, sequence: sequence, base: "pages/", bundles: [])
    manifest.blobs = "blobs/"
    for (name, text) in scripts.sorted(by: { $0.key < $1.key }) {
      let digests = try ContentDigests(of: Array(text.utf8))
      var entry = Manifest.Entry(
        name: name, path: "\(name).js", size: digests.size, md5: digests.md5, sha256: digests.sha256)
      entry.blob = blob
      fixture.origin.serve("/blobs/\(blob ?? digests.sha256.hex)", Array(text.utf8))
      manifest.bundles.append(entry)
    }
    let bytes = try manifest.fileBytes()
    let digest = try SHA256Digest(of: bytes)
    fixture.origin.serve("/\(digest.hex).manifest.json", bytes)
    let published = ReleasePointer.Release(
      release: release, sequence: sequence, manifest: .init(url: "\(digest.hex).manifest.json", sha256: digest),
      publishedAt: "2026-11-26T00:00:00Z")
    try point(to: published, on: fixture)
    return published
  }

  private static func point(
    to release: ReleasePointer.Release, collections: Int64 = 0, on fixture: LoadingFixture
  ) throws {
    let bytes = Array(try JSONEncoder().encode(ReleasePointer(current: release, collections: collections)))
    fixture.origin.serve("/manifest.json", bytes, etag: "\"\(release.release)-\(collections)\"")
  }

  private static func host(_ fixture: LoadingFixture) throws -> Preloader {
    Preloader(store: fixture.store, verifier: try fixture.verifier(), downloader: try fixture.downloader())
  }

  @Test("a release is preloaded by its pointer, and an unchanged launch asks for the pointer alone")
  func preload() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try Self.publish(["a": "var a = 1"], "r1", sequence: 1, on: fixture)
      let report = try await Self.host(fixture).start().report()
      #expect(report.failures.isEmpty && report.release == "r1" && report.activated, "\(report)")
      #expect(try await fixture.stored == ["a": "var a = 1"])
      let requests = fixture.origin.requests.count
      _ = try await Self.host(fixture).start().report()
      #expect(fixture.origin.requests.dropFirst(requests).map(\.path) == ["/manifest.json"])
    }
  }

  @Test("a page is opened by the URL below the base, and its content comes from the folder of contents")
  func opening() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try Self.publish(["a": "var a = 1"], "r1", sequence: 1, on: fixture, blob: "first-2")
      let loader = try fixture.loader(try fixture.verifier())
      let loaded = try await loader.load(try fixture.url("/pages/a.js"))
      #expect(String(decoding: loaded.bytes, as: UTF8.self) == "var a = 1" && loaded.isVerified)
      #expect(fixture.origin.requestCount(path: "/blobs/first-2") == 1)
      #expect(fixture.origin.requestCount(path: "/pages/a.js") == 0)
    }
  }

  @Test("a switched pointer brings the next release, and back")
  func switched() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      let first = try Self.publish(["a": "var a = 1"], "r1", sequence: 1, on: fixture)
      _ = try await Self.host(fixture).start().report()
      try Self.publish(["a": "var a = 2"], "r2", sequence: 2, on: fixture)
      #expect(try await Self.host(fixture).start().report().activated)
      #expect(try await fixture.stored == ["a": "var a = 2"])
      try Self.point(to: first, on: fixture)
      #expect(try await Self.host(fixture).start().report().activated)
      #expect(try await fixture.stored == ["a": "var a = 1"])
      // The bytes were there already.
      #expect(fixture.origin.requests.filter { $0.path.hasPrefix("/blobs/") }.count == 2)
    }
  }

  @Test("a pointer that changes beside its current release changes nothing")
  func collection() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      let first = try Self.publish(["a": "var a = 1"], "r1", sequence: 1, on: fixture)
      _ = try await Self.host(fixture).start().report()
      let id = try await fixture.store.source(fixture.source)?.current?.id
      try Self.point(to: first, collections: 1, on: fixture)
      #expect(try await !Self.host(fixture).start().report().activated)
      #expect(try await fixture.store.source(fixture.source)?.current?.id == id)
      // It is asked for with the new tag.
      _ = try await Self.host(fixture).start().report()
      #expect(fixture.origin.requests.last?.headers[.ifNoneMatch] == "\"r1-1\"")
    }
  }

  @Test("content at another place is another entry")
  func moved() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try Self.publish(["a": "var a = 1"], "r1", sequence: 1, on: fixture)
      _ = try await Self.host(fixture).start().report()
      try Self.publish(["a": "var a = 1"], "r2", sequence: 2, on: fixture, blob: "second-1")
      _ = try await Self.host(fixture).start().report()
      let current = try #require(try await fixture.store.source(fixture.source)?.current)
      let entry = try #require(try await fixture.store.contents(of: current).first)
      #expect(entry.bundle.location == (try fixture.url("/blobs/second-1")) && entry.blob != nil)
    }
  }

  @Test("a manifest that is missing, or has other bytes, leaves the stored release")
  func damaged() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try Self.publish(["a": "var a = 1"], "r1", sequence: 1, on: fixture)
      _ = try await Self.host(fixture).start().report()
      let second = try Self.publish(["a": "var a = 2"], "r2", sequence: 2, on: fixture)
      fixture.origin.serve("/\(second.manifest.url)", Array("{}".utf8))
      let other = try await Self.host(fixture).start().report()
      #expect(other.failures.first?.error.contains("it names \(try fixture.url("/\(second.manifest.url)"))") == true)
      fixture.origin.remove("/\(second.manifest.url)")
      let missing = try await Self.host(fixture).start().report()
      #expect(missing.failures.first?.error.contains("which the server does not have") == true)
      #expect(try await fixture.stored == ["a": "var a = 1"])
    }
  }

  @Test(
    "a pointer that cannot be used says why",
    arguments: [
      (#"{"schema": 2, "current": {}}"#, "schema 2"),
      (#"{"current": {"release": "r"}}"#, "sequence"),
      (
        #"{"current": {"release": "", "sequence": 1, "manifest": {"url": "m", "sha256": "00"}, "publishedAt": ""}}"#,
        "sha256"
      ),
    ])
  func unusable(_ text: String, _ reason: String) {
    let error = #expect(throws: ManifestError.self) { try ReleasePointer(reading: Array(text.utf8)) }
    #expect(error.map { "\($0)" }?.contains(reason) == true, "\(error.map { "\($0)" } ?? "")")
  }

  @Test(
    "manifests and other files are no pointers", arguments: ["", "[]", "{}", #"{"bundles": []}"#, #"{"current": 1}"#])
  func others(_ text: String) throws { #expect(try ReleasePointer(reading: Array(text.utf8)) == nil) }

  @Test("faults of contents' places are found")
  func faults() throws {
    let digests = try ContentDigests(of: [1])
    func faults(_ change: (inout Manifest) -> Void) -> [String] {
      var manifest = Manifest(
        release: "r", bundles: [.init(name: "a", path: "a.js", size: 1, md5: digests.md5, sha256: digests.sha256)])
      manifest.blobs = "blobs/"
      change(&manifest)
      return manifest.faults(limits: .standard).map(\.description)
    }
    #expect(faults { _ in } == [])
    #expect(faults { $0.blobs = "a b" }.count == 1)
    #expect(faults { $0.bundles[0].blob = "../x" }.count == 1)
    #expect(faults { $0.bundles[0].blob = "" }.count == 1)
    #expect(faults { $0.bundles[0].sha256 = nil }.count == 1)
    #expect(
      faults {
        $0.blobs = nil
        $0.bundles[0].blob = "x"
      }.count == 1)
  }
}
