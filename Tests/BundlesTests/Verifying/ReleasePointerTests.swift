import Foundation
import HTTPTypes
import PageTesting
import Testing

@testable import Bundles
@testable import HTTPTransport
@testable import Releases

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

  // MARK: Files of this machine

  /// A manifest in a file, which nobody but this machine should read, and its digest.
  private static func secret(_ fixture: LoadingFixture) throws -> (path: String, digest: SHA256Digest) {
    let bytes = try Manifest(release: "secret", sequence: 9, bundles: []).fileBytes()
    try Data(bytes).write(to: URL(fileURLWithPath: fixture.folder.file("secret.json")))
    return (fixture.folder.file("secret.json"), try SHA256Digest(of: bytes))
  }

  /// - Parameter path: a local manifest or pointer; `nil` for the server's.
  private static func failure(_ fixture: LoadingFixture, at path: String? = nil) async throws -> String {
    let file: PageURL? = path.flatMap { PageURL(filePath: $0) }
    let verifier = LaunchVerifier(
      source: try file ?? fixture.source, store: fixture.store, client: try fixture.client(),
      retry: RetryPolicy(attempts: 1), sleep: { _ in })
    let report = await Preloader(
      store: fixture.store, verifier: verifier, downloader: try fixture.downloader()
    ).start().report()
    #expect(report.failures.count == 1 && !report.activated)
    return report.failures.first?.error ?? ""
  }

  @Test("a server's pointer or manifest that names a file of this machine is refused, and the file not read")
  func serversFile() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      let (path, digest) = try Self.secret(fixture)
      let url = try #require(PageURL(filePath: path)).text
      // With the right digest, and with another one: nobody learns which it is.
      for named in [digest, try SHA256Digest(of: [])] {
        try Self.point(
          to: .init(release: "r", sequence: 1, manifest: .init(url: url, sha256: named), publishedAt: ""), on: fixture)
        let byPointer = try await Self.failure(fixture)
        #expect(byPointer.contains("it names \(url), a file of this machine"), "\(byPointer)")
        #expect(!byPointer.contains(digest.hex))
        var manifest = try fixture.publish(["a": "1"])
        manifest.rollout = Rollout(percent: 0, salt: "s")
        manifest.otherwise = .init(url: url, sha256: named)
        fixture.origin.serve("/manifest.json", try manifest.fileBytes())
        let byManifest = try await Self.failure(fixture)
        #expect(byManifest.contains("it names \(url), a file of this machine"), "\(byManifest)")
        #expect(!byManifest.contains(digest.hex))
      }
    }
  }

  @Test("a server's manifest names no file beside a local pointer to it")
  func fileBesidePointer() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      let (_, digest) = try Self.secret(fixture)
      var manifest = try fixture.publish(["a": "1"])
      manifest.base = fixture.origin.url(for: "/b/")
      manifest.rollout = Rollout(percent: 0, salt: "s")
      manifest.otherwise = .init(url: "secret.json", sha256: digest)
      let bytes = try manifest.fileBytes()
      fixture.origin.serve("/r.manifest.json", bytes)
      let pointer = ReleasePointer(
        current: .init(
          release: "r", sequence: 1,
          manifest: .init(url: fixture.origin.url(for: "/r.manifest.json"), sha256: try SHA256Digest(of: bytes)),
          publishedAt: ""))
      let file = fixture.folder.file("current.json")
      try JSONEncoder().encode(pointer).write(to: URL(fileURLWithPath: file))
      let failure = try await Self.failure(fixture, at: file)
      #expect(failure.contains("a file of this machine"), "\(failure)")
    }
  }

  @Test("a local pointer's manifest with other bytes is refused without its digest")
  func localDigest() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      let (_, digest) = try Self.secret(fixture)
      let other = try SHA256Digest(of: [])
      let pointer = ReleasePointer(
        current: .init(
          release: "r", sequence: 1, manifest: .init(url: "secret.json", sha256: other), publishedAt: ""))
      let file = fixture.folder.file("current.json")
      try JSONEncoder().encode(pointer).write(to: URL(fileURLWithPath: file))
      let failure = try await Self.failure(fixture, at: file)
      #expect(failure.contains("the file has other bytes") && !failure.contains(digest.hex), "\(failure)")
    }
  }

  @Test("a FIFO, a device or a folder in the place of a manifest is refused at once", .timeLimit(.minutes(1)))
  func irregularFiles() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      let fifo = fixture.folder.file("fifo")
      #expect(mkfifo(fifo, 0o600) == 0)
      for path in [fifo, "/dev/zero", fixture.folder.path] {
        let failure = try await Self.failure(fixture, at: path)
        #expect(failure.hasSuffix("it is not a regular file"), "\(failure)")
      }
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
