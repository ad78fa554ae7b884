import Blobs
import Bundles
import Foundation
import HTTPTransport
import PageTesting
import Releases
import TestSupport
import Testing

@testable import RenderHost
@testable import ServerKit

/// A host that signs the releases of its folder.
struct FolderSigningTests {
  private let directory: TemporaryDirectory
  private let upstream: SignedUpstream

  init() throws {
    directory = try TemporaryDirectory()
    upstream = try SignedUpstream()
    try upstream.writeRoot(to: directory.file("1.root.json"))
    try Data(try upstream.key.pem().utf8).write(to: URL(fileURLWithPath: directory.file("key.pem")))
    try Data(try upstream.key.verificationKey.pem().utf8).write(to: URL(fileURLWithPath: directory.file("key.pub")))
    try ServingFixture.write("// one", to: directory.file("bundles/home.js"))
  }

  private var command: String {
    let (message, key) = (directory.file("message"), directory.file("key.pem"))
    return "cat >\(message) && openssl pkeyutl -sign -rawin -inkey \(key) -in \(message)"
  }

  private func publishing(
    _ command: String? = nil, for time: Duration = .seconds(3600),
    _ body: @escaping @Sendable (ServingFixture) async throws -> Void
  ) async throws {
    let (bundles, key, command) = (directory.file("bundles"), directory.file("key.pub"), command ?? self.command)
    try await ServingFixture.running(
      directory,
      {
        $0.bundles = bundles
        $0.signWith = command
        $0.publicKey = key
        $0.signedFor = time
      }, body)
  }

  private func trusted(_ host: ServingFixture) async throws -> (manifest: Manifest, span: SignedSpan) {
    let bytes = try await host.get("/manifest.json").body
    let manifest = try Manifest(reading: bytes)
    let span = try ManifestTrust(root: upstream.root).check(
      manifest, bytes, try SignatureFile(reading: try await host.get("/manifest.json.sig").body), after: nil, at: .now)
    return (manifest, span)
  }

  @Test("a release of a folder is signed, and a host with keys follows it from one release to the next")
  func following() async throws {
    try await publishing { (host: ServingFixture) async throws in
      let (first, span) = try await trusted(host)
      #expect(span.signed.map { span.expires.seconds - $0.seconds } == 3600)
      #expect(abs(first.sequence - SignedTime.now.seconds) < 100)
      let (url, root, store) = (
        PageURL("http://127.0.0.1:\(host.port)/manifest.json"), directory.file("1.root.json"), directory.file("end")
      )
      try await ServingFixture.running(
        directory,
        {
          $0.manifest = url
          $0.follow = .milliseconds(50)
          $0.root = root
          $0.store = StoreDirectory(store)
        }
      ) { (end: ServingFixture) async throws in
        #expect(try await end.get("/bundles/home.js").text == "// one")
        try host.write("// two", "home.js")
        try await end.waitForRelease("home.js", "// two")
        #expect(try await end.manifest().sequence > first.sequence)
      }
    }
  }

  @Test("a host that has lost its store goes on with a higher sequence")
  func lostStore() async throws {
    try await publishing { (host: ServingFixture) async throws in
      #expect(try await trusted(host).manifest.sequence > 1_000_000_000)
    }
    let former = try Manifest(
      reading: Array(try #require(FileManager.default.contents(atPath: try manifestPath()))))
    try FileManager.default.removeItem(atPath: directory.file("store"))
    try await publishing { (host: ServingFixture) async throws in
      #expect(try await trusted(host).manifest.sequence >= former.sequence)
    }
  }

  private func manifestPath() throws -> String {
    try FolderSource(folder: directory.file("bundles"), store: StoreDirectory(directory.file("store"))).manifestPath
  }

  @Test("a release of the time before the folder was signed gets a sequence from the time")
  func signedLater() async throws {
    let bundles = directory.file("bundles")
    try await ServingFixture.running(directory, { $0.bundles = bundles }) { (host: ServingFixture) async throws in
      #expect(try await host.manifest().sequence == 1)
      #expect(try await host.get("/manifest.json.sig").status == 404)
    }
    try await publishing { (host: ServingFixture) async throws in
      #expect(try await trusted(host).manifest.sequence > 1_000_000_000)
    }
  }

  @Test("the roots in the folder are published, also one that comes later, and are no files of the release")
  func roots() async throws {
    try await FaultOrigin.running { origin in
      let two = try upstream.publishRoot(2, on: origin)
      for (path, bytes) in two { try Data(bytes).write(to: URL(fileURLWithPath: directory.file("bundles\(path)"))) }
      try await publishing { (host: ServingFixture) async throws in
        for (path, bytes) in two { #expect(try await host.get(path).body == bytes, "\(path)") }
        #expect(try await host.manifest().files.isEmpty)
        let three = try upstream.publishRoot(3, on: origin)
        for (path, bytes) in three.sorted(by: { $0.key > $1.key }) {
          try Data(bytes).write(to: URL(fileURLWithPath: directory.file("bundles\(path)")))
        }
        try await host.wait { $0.current?.signed?.roots.map(\.version) == [2, 3] }
        #expect(host.feed.history.count == 1)
      }
    }
  }

  @Test("the status in the folder is published, also one that comes later, and is no file of the release")
  func status() async throws {
    try await publishing { (host: ServingFixture) async throws in
      let manifest = try await host.get("/manifest.json").body
      for number: Int64 in [1, 2] {
        let files = try upstream.status(number, of: manifest, disabling: number == 2 ? ["home"] : [])
        for (path, bytes) in files.sorted(by: { $0.key > $1.key }) {
          try Data(bytes).write(to: URL(fileURLWithPath: directory.file("bundles\(path)")))
        }
        try await host.wait { $0.current?.statusSequence == number }
        for (path, bytes) in files { #expect(try await host.get(path).body == bytes, "\(path)") }
        // Signed anew, it would not be the one that the status is of.
        #expect(try await host.get("/manifest.json").body == manifest)
      }
      #expect(try await host.manifest().files.isEmpty)
      #expect(host.feed.history.map(\.isStatus) == [false, true, true])
    }
  }

  @Test("a file of that name without signatures is one of the release")
  func ownFile() async throws {
    try ServingFixture.write("{}", to: directory.file("bundles/status.json"))
    try await publishing { (host: ServingFixture) async throws in
      #expect(try await host.manifest().files.map(\.path) == ["status.json"])
    }
  }

  @Test("where the command does not sign, the release before is served, and the reason is reported")
  func failure() async throws {
    try await publishing("exit 3") { (host: ServingFixture) async throws in
      #expect(host.feed.current == nil)
      #expect(host.feed.problem?.contains("the command of --sign-with, exit 3, ended with 3") == true)
    }
    let switched = "test ! -e \(directory.file("off")) && { \(command); }"
    try await publishing(switched) { (host: ServingFixture) async throws in
      try await host.waitForRelease("home.js", "// one")
      try ServingFixture.write("", to: directory.file("off"))
      try host.write("// two", "home.js")
      try await host.wait { $0.problem != nil }
      #expect(try await host.get("/bundles/home.js").text == "// one")
      #expect(try await trusted(host).manifest.bundles.count == 1)
    }
  }

  @Test("a manifest is signed anew in the middle of its time, or when there are other roots")
  func renewal() async throws {
    let signer = try #require(try ReleaseSigner(settings()))
    let manifest = Manifest(release: "r", sequence: 1, base: "", bundles: [])
    let now = SignedTime.now
    let signed = try await signer.sign(manifest, at: now)
    for (seconds, isDue) in [(0, false), (1799, false), (1800, true)] {
      #expect(try await signer.isDue(signed, at: now.advanced(by: .seconds(seconds))) == isDue, "\(seconds)")
    }
    try upstream.writeRoot(to: directory.file("bundles/1.root.json"))
    #expect(try await signer.isDue(signed, at: now))
  }

  private func settings() -> Settings {
    var settings = Settings()
    settings.bundles = directory.file("bundles")
    settings.signWith = command
    settings.publicKey = directory.file("key.pub")
    settings.signedFor = .seconds(3600)
    return settings
  }

  @Test("settings that do not fit are refused")
  func settingsThatDoNotFit() throws {
    var settings = settings()
    try settings.checkCombinations()
    #expect(settings.problems.isEmpty)
    settings.publicKey = directory.file("1.root.json")
    #expect(settings.problems.contains { $0.hasPrefix("--public-key: ") })
    settings.publicKey = nil
    #expect(throws: SettingsError.self) { try settings.checkCombinations() }
    settings = self.settings()
    (settings.bundles, settings.manifest) = (nil, PageURL("https://pages.example.com/manifest.json"))
    #expect(throws: SettingsError.self) { try settings.checkCombinations() }
  }
}
