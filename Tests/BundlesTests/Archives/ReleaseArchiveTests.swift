import Foundation
import GRDB
import PageTesting
import Releases
import TestSupport
import Testing

@testable import Blobs
@testable import Bundles
@testable import HTTPTransport

/// Releases in one file, and what comes of files that are none.
struct ReleaseArchiveTests {
  private static let scripts = ["home": "var home = 1", "cart": "var cart = 2", "late": "var late = 3"]

  /// A store without network, into which archives are imported.
  private struct Importer {
    let folder: TemporaryDirectory
    let store: BundleStore
    let trust: ReleaseTrust?
    let now: Int64

    init(trust: ReleaseTrust? = nil, now: Int64 = 1_800_000_000) throws {
      folder = try TemporaryDirectory()
      store = try BundleStore(at: StoreDirectory(folder.file("store")), requiresSignatures: trust != nil)
      (self.trust, self.now) = (trust, now)
    }

    func run(_ path: String, of source: PageURL) async throws -> PreloadReport {
      let transport = try ArchiveTransport(try ReleaseArchive(reading: path), of: source)
      let client = OriginClient(transport)
      let retry = RetryPolicy(attempts: 1)
      let verifier = LaunchVerifier(
        source: source, store: store, client: client, trust: trust,
        keepsSignatures: true, retry: retry, sleep: { _ in },
        date: { [now] in Date(timeIntervalSince1970: Double(now)) })
      let fetcher = BundleFetcher(
        client: client, store: store, retry: retry, sleep: { _ in })
      let downloader = BundleDownloader(store: store, fetcher: fetcher)
      return await Preloader(store: store, verifier: verifier, downloader: downloader).start().report()
    }

    func texts(_ source: PageURL) async throws -> [String: String] {
      guard let release = try await store.source(source)?.current else { return [:] }
      var texts: [String: String] = [:]
      for entry in try await store.contents(of: release) {
        guard let blob = entry.blob else { continue }
        texts[entry.bundle.name] = String(decoding: try await store.bytes(of: blob).bytes, as: UTF8.self)
      }
      return texts
    }
  }

  /// Exports the release of a store, and passes the archive's path to `body`.
  private static func exporting(
    preload: [String: Manifest.Preload] = [:],
    _ body: (_ path: String, _ source: PageURL, _ summary: ReleaseArchive.Summary) async throws -> Void
  ) async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(scripts, files: ["logo.svg": "<svg/>"], preload: preload)
      #expect(try await fixture.preload().activated)
      let release = try #require(try await fixture.store.source(try fixture.source)?.current)
      let path = fixture.folder.file("release.sqlar")
      let summary = try await ReleaseArchive.write(release, of: fixture.store, to: path)
      try await body(path, try fixture.source, summary)
    }
  }

  /// Changes an archive with a statement.
  private static func change(_ path: String, _ sql: String) throws {
    try DatabaseQueue(path: path).write { try $0.execute(sql: sql) }
  }

  @Test("an export removes what a killed one to the same file has left, and nothing else")
  func lostDrafts() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      #expect(try await fixture.preload().activated)
      let release = try #require(try await fixture.store.source(try fixture.source)?.current)
      let path = fixture.folder.file("release.sqlar")
      let lost = "\(path).0123ABCD.part"
      let others = [
        "\(path).89ABCDEF.part", "\(path).part", "\(path).0123ABCX.part", fixture.folder.file("other.0123ABCD.part"),
      ]
      for file in [lost] + others { try Data([1]).write(to: URL(fileURLWithPath: file)) }
      // Another process is writing this one.
      let lock = open(others[0], O_RDWR | O_CLOEXEC)
      #expect(flock(lock, LOCK_EX) == 0)
      _ = try await ReleaseArchive.write(release, of: fixture.store, to: path)
      #expect(!FileManager.default.fileExists(atPath: lost))
      for file in others { #expect(FileManager.default.fileExists(atPath: file), "\(file)") }
      close(lock)
      _ = try await ReleaseArchive.write(release, of: fixture.store, to: path)
      #expect(!FileManager.default.fileExists(atPath: others[0]))
    }
  }

  @Test("an archive brings a release to a store without network")
  func roundTrip() async throws {
    try await Self.exporting { path, source, summary in
      #expect(summary.bundles == 3 && summary.files == 1 && !summary.isSigned && summary.leftOut.isEmpty)
      #expect(try ReleaseArchive(reading: path).source() == source)
      let importer = try Importer()
      let report = try await importer.run(path, of: source)
      #expect(report.activated && report.downloaded == 3 && report.filesDownloaded == 1)
      #expect(try await importer.texts(source) == Self.scripts.merging(["logo.svg": "<svg/>"]) { $1 })
      #expect(try await importer.run(path, of: source).failures.isEmpty)
      // A release that was imported makes the same archive.
      let release = try #require(try await importer.store.source(source)?.current)
      let copy = importer.folder.file("copy.sqlar")
      _ = try await ReleaseArchive.write(release, of: importer.store, to: copy)
      #expect(FileManager.default.contentsEqual(atPath: path, andPath: copy))
    }
  }

  @Test("an archive may be imported as the release of another URL")
  func otherSource() async throws {
    try await Self.exporting { path, _, _ in
      let source = try #require(PageURL("https://other.example/app/manifest.json"))
      let importer = try Importer()
      #expect(try await importer.run(path, of: source).activated)
      #expect(try await importer.texts(source)["home"] == "var home = 1")
    }
  }

  @Test("bundles on demand that are not stored are left out")
  func onDemand() async throws {
    try await Self.exporting(preload: ["late": .demand]) { path, source, summary in
      #expect(summary.bundles == 2 && summary.leftOut == ["late"])
      let importer = try Importer()
      #expect(try await importer.run(path, of: source).activated)
      #expect(try await importer.texts(source)["late"] == nil)
    }
  }

  @Test("a release that is not complete is not exported, and a file at the path stays")
  func incomplete() async throws {
    try await LoadingFixture.running { fixture in
      let release = try await fixture.registered(Self.scripts)
      let path = fixture.folder.file("release.sqlar")
      try Files.write("precious", to: path)
      await #expect(throws: ArchiveError.self) {
        try await ReleaseArchive.write(release, of: fixture.store, to: path)
      }
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
      #expect(try fixture.folder.names(in: "").filter { $0.hasSuffix(".part") }.isEmpty)
    }
  }

  @Test("an archive replaces a regular file, also behind a link, and nothing else")
  func targets() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      let release = try #require(try await fixture.store.source(try fixture.source)?.current)
      func path(_ name: String) -> String { fixture.folder.file(name) }
      mkfifo(path("pipe"), 0o600)
      try Files.write("old", to: path("target"))
      try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: path("target"))
      for place in [path("pipe"), fixture.folder.path] {
        await #expect(throws: ArchiveError.self) {
          try await ReleaseArchive.write(release, of: fixture.store, to: place)
        }
      }
      _ = try await ReleaseArchive.write(release, of: fixture.store, to: path("link"))
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path("link")) == path("target"))
      #expect(try ReleaseArchive(reading: path("target")).source() == (try fixture.source))
    }
  }

  // MARK: Files that are no archives

  @Test(
    "a file with other contents is no archive",
    arguments: [
      "CREATE TABLE more (a)", "CREATE VIEW v AS SELECT 1", "DROP TABLE sqlar",
      "CREATE TRIGGER t AFTER INSERT ON sqlar BEGIN SELECT 1; END",
      "DROP TABLE sqlar; CREATE VIEW sqlar AS SELECT 'manifest.json' AS name, 1 AS mode, 1 AS mtime, 1 AS sz, 'x' AS data",
    ])
  func otherSchema(sql: String) async throws {
    try await Self.exporting { path, _, _ in
      try Self.change(path, sql)
      #expect(throws: ArchiveError.self) { try ReleaseArchive(reading: path) }
    }
  }

  @Test("a file that is no database, and none at all, are named")
  func noDatabase() throws {
    let folder = try TemporaryDirectory()
    try Files.write(String(repeating: "no database", count: 1000), to: folder.file("text"))
    try Files.write("", to: folder.file("empty"))
    for name in ["text", "empty", "gone"] {
      let error = #expect(throws: ArchiveError.self) { try ReleaseArchive(reading: folder.file(name)) }
      #expect("\(try #require(error))".hasPrefix(folder.file(name)))
    }
  }

  @Test(
    "an archive that lacks something, or has other bytes, changes nothing",
    arguments: [
      "UPDATE sqlar SET data = CAST('var home = 9' AS BLOB) WHERE name = 'content/home.js'",
      "UPDATE sqlar SET data = zeroblob(1000000), sz = 1000000 WHERE name = 'content/home.js'",
      "UPDATE sqlar SET sz = 5 WHERE name = 'content/home.js'",
      "UPDATE sqlar SET data = 'var home = 1' WHERE name = 'content/home.js'",
      "DELETE FROM sqlar WHERE name = 'content/home.js'",
    ])
  func damaged(sql: String) async throws {
    try await Self.exporting { path, source, _ in
      try Self.change(path, sql)
      let importer = try Importer()
      let error = await #expect(throws: ArchiveError.self) { try await importer.run(path, of: source) }
      #expect("\(try #require(error))".contains("\"home.js\""))
      #expect(try await importer.store.source(source) == nil)
    }
  }

  @Test("an archive without a manifest, or with one that is too large, is refused")
  func noManifest() async throws {
    try await Self.exporting { path, source, _ in
      let archive = try ReleaseArchive(reading: path)
      #expect(throws: ArchiveError.self) {
        try ArchiveTransport(archive, of: source, limits: ManifestLimits(manifestBytes: 10))
      }
      try Self.change(path, "DELETE FROM sqlar WHERE name IN ('manifest.json', 'source')")
      #expect(throws: ArchiveError.self) { try ArchiveTransport(try ReleaseArchive(reading: path), of: source) }
      #expect(throws: ArchiveError.self) { try ReleaseArchive(reading: path).source() }
    }
  }

  /// A bit of a name in the manifest may be flipped without a trace: it takes signatures to find that.
  @Test("an archive that was cut or has flipped bytes is refused, or its contents are as their digests say")
  func flipped() async throws {
    try await Self.exporting { path, source, _ in
      let published = Self.scripts.values + ["<svg/>"]
      let bytes = Array(try #require(FileManager.default.contents(atPath: path)))
      for position in stride(from: 0, to: bytes.count, by: 97) {
        var flipped = bytes
        flipped[position] ^= 0x20
        if position % 5 == 0 { flipped.removeLast(bytes.count / 3) }
        try Data(flipped).write(to: URL(fileURLWithPath: path))
        let importer = try Importer()
        guard let report = try? await importer.run(path, of: source) else { continue }
        let texts = try await importer.texts(source)
        #expect(report.activated == !texts.isEmpty)
        for text in texts.values { #expect(published.contains(text), "byte \(position)") }
      }
    }
  }

  // MARK: Signatures

  /// Exports a signed release of which a host with keys has the second root.
  private static func exportingSigned(
    online: [Int] = [], _ body: (_ path: String, _ signed: SignedSource) async throws -> Void
  ) async throws {
    try await SignedSource.running(online: online) { signed in
      try signed.publish(signed.nextRoot(release: 4, online: online), by: [0, 1])
      try signed.publish(["home": "var home = 1"], sequence: 5, by: [4])
      if !online.isEmpty { try signed.publish(signed.status(1)) }
      let host = try signed.host(keeping: true)
      let preloader = Preloader(store: host.store, verifier: host.verifier, downloader: host.downloader)
      #expect(await preloader.start().report().activated)
      let release = try #require(try await host.store.source(signed.source)?.current)
      let folder = try TemporaryDirectory()
      let path = folder.file("release.sqlar")
      #expect(try await ReleaseArchive.write(release, of: host.store, to: path).isSigned)
      try await body(path, signed)
    }
  }

  @Test("a host with an old root trusts a signed archive by the roots in it")
  func signed() async throws {
    try await Self.exportingSigned { path, signed in
      let importer = try Importer(trust: ReleaseTrust(signed.root, freshFor: nil), now: signed.now)
      let report = try await importer.run(path, of: signed.source)
      #expect(report.activated && report.failures.isEmpty)
      #expect(try await importer.store.trustRecord(of: signed.source).sequence == 5)
    }
  }

  @Test("an archive needs no status, also where the server does")
  func withoutStatus() async throws {
    try await Self.exportingSigned(online: [5]) { path, signed in
      let trust = ReleaseTrust(signed.root, freshFor: nil)
      #expect(try await !Importer(trust: trust, now: signed.now).run(path, of: signed.source).activated)
      let importer = try Importer(trust: trust.withoutStatus, now: signed.now + 7200)
      let report = try await importer.run(path, of: signed.source)
      #expect(report.activated && report.failures.isEmpty)
    }
  }

  @Test(
    "an archive whose signatures do not hold is refused as its server would be",
    arguments: [
      ("DELETE FROM sqlar WHERE name = 'manifest.json.sig'", Int64(0)),
      ("DELETE FROM sqlar WHERE name = '2.root.json'", 0),
      ("UPDATE sqlar SET data = CAST(data || ' ' AS BLOB), sz = sz + 1 WHERE name = 'manifest.json'", 0),
      ("SELECT 1", 90_000),
    ])
  func notSigned(sql: String, later: Int64) async throws {
    try await Self.exportingSigned { path, signed in
      if sql.hasPrefix("SELECT") { #expect(later > 0) } else { try Self.change(path, sql) }
      let importer = try Importer(trust: ReleaseTrust(signed.root, freshFor: nil), now: signed.now + later)
      let report = try await importer.run(path, of: signed.source)
      #expect(!report.activated && report.failures.count == 1)
      #expect(try await importer.store.source(signed.source)?.current == nil)
    }
  }
}
