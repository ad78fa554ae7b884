import PageTesting
import Releases
import Testing

@testable import Bundles
@testable import HTTPTransport

/// Manifests of other tools, whose digests of scripts are right and those of pictures and fonts may be wrong.
struct ForeignManifestTests {
  private static func md5(_ text: String) throws -> MD5Digest { try ContentDigests(of: Array(text.utf8)).md5 }

  private static func publishEros(_ fixture: LoadingFixture, script: String = "var a = 1", picture: String) throws {
    fixture.origin.serve("/pages/a.js", Array(script.utf8))
    fixture.origin.serve("/assets/i.png", Array("picture".utf8))
    let list = try [("/pages/a.js", md5("var a = 1")), ("/assets/i.png", md5(picture))].map {
      #"{"page": "\#($0.0)", "md5": "\#($0.1)"}"#
    }
    fixture.origin.serve(
      "/manifest.json", Array(#"{"filesMd5": [\#(list.joined(separator: ","))], "jsVersion": "e1"}"#.utf8))
  }

  @Test("an Eros release becomes current although a picture's MD5 is wrong, and this is reported")
  func wrongPicture() async throws {
    try await LoadingFixture.running { fixture in
      try Self.publishEros(fixture, picture: "read as text")
      let report = try await fixture.preload()
      #expect(report.activated)
      #expect(report.failures == [])
      #expect(report.leftOut.map(\.name) == ["assets/i.png"])
      #expect(report.leftOut.first?.error.contains("MD5") == true)
      #expect(try await fixture.stored == ["pages/a": "var a = 1"])
      // The next launch finds the same state.
      let next = try await fixture.preload()
      #expect((next.failures.count, next.leftOut.count, next.activated) == (0, 1, false))
      let offline = try await fixture.preload(.init(isOffline: true))
      #expect((offline.failures.count, offline.leftOut.count) == (0, 1))
    }
  }

  @Test("a wrong picture is requested once by each process, not by each preload")
  func repeatedPreloads() async throws {
    try await LoadingFixture.running { fixture in
      try Self.publishEros(fixture, picture: "read as text")
      let preloader = Preloader(
        store: fixture.store, verifier: try fixture.verifier(.everyOpen), downloader: try fixture.downloader())
      #expect(await preloader.start().report().activated)
      let asked = fixture.origin.requestCount(path: "/assets/i.png")
      for _ in 0..<3 { #expect(await preloader.start().report().leftOut.count == 1) }
      #expect(fixture.origin.requestCount(path: "/assets/i.png") == asked)
    }
  }

  @Test("an Eros release with a wrong script does not become current")
  func wrongScript() async throws {
    try await LoadingFixture.running { fixture in
      try Self.publishEros(fixture, script: "var a = 2", picture: "picture")
      let report = try await fixture.preload()
      #expect(!report.activated)
      #expect(report.failures.map(\.name) == ["pages/a"])
      #expect(report.leftOut == [])
    }
  }

  @Test("a picture that is temporarily unavailable is waited for")
  func unavailablePicture() async throws {
    try await LoadingFixture.running { fixture in
      try Self.publishEros(fixture, picture: "picture")
      fixture.origin.always("/assets/i.png", .status(503))
      let report = try await fixture.preload(attempts: 1)
      #expect((report.activated, report.failures.map(\.name)) == (false, ["assets/i.png"]))
      fixture.origin.always("/assets/i.png", .normal)
      #expect(try await fixture.preload().activated)
    }
  }

  @Test("a release of a PageKit manifest with a wrong picture does not become current")
  func pageKitManifest() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["a": "var a = 1"], files: ["i.png": "picture"])
      fixture.origin.always("/b/i.png", .replace(Array("another".utf8)))
      let report = try await fixture.preload()
      #expect((report.activated, report.failures.map(\.name)) == (false, ["i.png"]))
    }
  }

  // MARK: weexbox

  private static func publishWeexbox(_ fixture: LoadingFixture) throws {
    fixture.origin.serve("/page/home.js", Array("var a = 1".utf8))
    fixture.origin.serve(
      "/manifest.json", Array(#"[{"path": "page/home.js", "md5": "\#(try md5("var a = 1"))"}]"#.utf8), etag: "\"1\"")
  }

  @Test("a weexbox release gets its name from update-config.json beside the manifest")
  func name() async throws {
    try await LoadingFixture.running { fixture in
      try Self.publishWeexbox(fixture)
      fixture.origin.serve("/update-config.json", Array(#"{"name": "app", "release": "2019.09.02"}"#.utf8))
      #expect(try await fixture.preload().release == "2019.09.02")
      #expect(try await fixture.store.source(try fixture.source)?.current?.name == "2019.09.02")
      // With an unchanged manifest the name is not requested again.
      #expect(try await fixture.preload().release == "2019.09.02")
      #expect(fixture.origin.requestCount(path: "/update-config.json") == 1)
    }
  }

  @Test(
    "without a name beside the manifest a release of weexbox is complete all the same",
    arguments: [nil, "", "<html>", #"{"release": ""}"#, #"{"release": 5}"#, "{\"release\": \"a\\u0007b\"}"])
  func aMissingNameIsNoFailure(_ text: String?) async throws {
    try await LoadingFixture.running { fixture in
      try Self.publishWeexbox(fixture)
      if let text { fixture.origin.serve("/update-config.json", Array(text.utf8)) }
      let report = try await fixture.preload()
      #expect((report.release, report.activated, report.failures) == (Manifest.unnamed, true, []))
    }
  }

  @Test("a name that could not be fetched is taken with the next manifest")
  func laterName() async throws {
    try await LoadingFixture.running { fixture in
      try Self.publishWeexbox(fixture)
      #expect(try await fixture.preload().release == Manifest.unnamed)
      fixture.origin.serve("/update-config.json", Array(#"{"release": "r7"}"#.utf8))
      let verifier = try fixture.verifier()
      #expect(try await verifier.verifiedUnconditionally().release.name == "r7")
      fixture.origin.remove("/update-config.json")
      #expect(try await fixture.verifier().verifiedUnconditionally().release.name == "r7")
    }
  }
}
