import Foundation
import PageTesting
import Releases
import TestSupport
import Testing

@testable import Bundles
@testable import HTTPTransport

/// Finding a page by its URL.
struct PageIdentityTests {
  private static func text(_ bundle: LoadedBundle) -> String { String(decoding: bundle.bytes, as: UTF8.self) }

  @Test(
    "ignored parameters are removed",
    arguments: [
      (PageIdentity.ignoringAllParameters, "http://h/a.js?id=1&b", "http://h/a.js"),
      (.ignoringAllParameters, "http://h/a.js", "http://h/a.js"),
      (.ignoring(["id"]), "http://h/a.js?id=1", "http://h/a.js"),
      (.ignoring(["id"]), "http://h/a.js?id=1&lang=de&id=2", "http://h/a.js?lang=de"),
      (.ignoring([]), "http://h/a.js?id=1", "http://h/a.js?id=1"),
    ])
  func ignoredParameters(_ identity: PageIdentity, _ url: String, _ reduced: String) throws {
    #expect(identity.reduced(try #require(PageURL(url))).text == reduced)
  }

  @Test("a page with parameters is the manifest's page, online and offline")
  func pageWithParameters() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["home": "var home"])
      _ = try await fixture.preload()
      let url = try fixture.url("/b/home.js?id=1")
      let page = try await fixture.loader(try fixture.verifier()).load(url)
      #expect((page.url, page.isVerified, page.source) == (url, true, .store))
      #expect(page.view?.release.name == "r1")
      #expect(fixture.origin.requestCount(path: "/b/home.js") == 1)
      try await fixture.origin.refuseConnections()
      #expect(
        Self.text(try await fixture.loader(try fixture.verifier()).load(try fixture.url("/b/home.js?id=2")))
          == "var home")
    }
  }

  @Test("a manifest may name the ignored parameters")
  func manifestRule() async throws {
    try await LoadingFixture.running { fixture in
      var manifest = try fixture.publish(["home": "var home"])
      manifest.identity = .ignoring(["id"])
      fixture.origin.serve("/manifest.json", try JSON.encode(manifest), etag: "\"identity\"")
      fixture.origin.serve("/b/home.js?lang=de", Array("var heim".utf8))
      _ = try await fixture.preload()
      for verifier in [try fixture.verifier(), try fixture.verifier()] {
        let loader = try fixture.loader(verifier)
        #expect(Self.text(try await loader.load(try fixture.url("/b/home.js?id=1"))) == "var home")
        #expect(Self.text(try await loader.load(try fixture.url("/b/home.js?lang=de"))) == "var heim")
      }
    }
  }

  @Test(arguments: ["{\"ignore\": \"some\"}", "{\"ignore\": 3}", "\"*\""])
  func anIdentityThatCannotBeReadMakesTheManifestInvalid(_ identity: String) {
    let text = """
      {"schema": 1, "release": "r", "bundles": [], "identity": \(identity)}
      """
    #expect {
      try Manifest(reading: Array(text.utf8))
    } throws: { error in
      "\(error)".contains("identity") || "\(error)".contains("ignore")
    }
  }

  @Test func anIdentityIsWrittenBackAsItWasRead() throws {
    for identity in [PageIdentity.ignoringAllParameters, .ignoring(["b", "a"])] {
      let manifest = Manifest(release: "r", bundles: [], identity: identity)
      #expect(try Manifest(reading: Array(try JSONEncoder().encode(manifest))).identity == identity)
    }
  }

  // MARK: Without a manifest

  @Test(arguments: [404, 410])
  func aServerWithoutAManifestIsAskedOncePerLaunchForEachPage(_ status: Int) async throws {
    try await LoadingFixture.running { fixture in
      func serve(_ text: String) throws {
        fixture.origin.serve("/b/a.js", Array(text.utf8))
        fixture.origin.serve("/b/a.js.md5", Array("\(try ContentDigests(of: Array(text.utf8)).md5)\n".utf8))
      }
      fixture.origin.always("/manifest.json", .status(status))
      try serve("var a = 1")
      let verifier = try fixture.verifier()
      let loader = try fixture.loader(verifier)
      let url = try fixture.url("/b/a.js")
      for _ in 1...3 { #expect(try await loader.load(url).isVerified) }
      #expect(fixture.origin.requestCount(path: "/manifest.json") == 1)
      #expect(fixture.origin.requestCount(path: "/b/a.js.md5") == 1)
      #expect(fixture.origin.requestCount(path: "/b/a.js") == 1)
      try serve("var a = 2")
      await verifier.relaunch()
      await loader.relaunch()
      #expect(Self.text(try await loader.load(url)) == "var a = 2")
    }
  }

  @Test("only 404 and 410 mean that there is no manifest")
  func otherFailures() async throws {
    try await LoadingFixture.running { fixture in
      fixture.origin.always("/manifest.json", .status(500))
      fixture.origin.serve("/b/a.js", Array("var a".utf8))
      let page = try await fixture.loader(try fixture.verifier()).load(try fixture.url("/b/a.js"))
      #expect(!page.isVerified)
      #expect(fixture.origin.requestCount(path: "/b/a.js.md5") == 0)
    }
  }

  @Test("a page that was removed from manifest and server is shown as kept")
  func removedPage() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["a": "var a", "b": "var b"])
      _ = try await fixture.preload()
      try fixture.publish(["b": "var b"], release: "r2")
      fixture.origin.always("/b/a.js", .status(404))
      _ = try await fixture.preload()
      let url = try fixture.url("/b/a.js")
      let loader = try fixture.loader(try fixture.verifier())
      let page = try await loader.load(url)
      #expect((page.source, Self.text(page), page.isVerified) == (.kept, "var a", false))
      #expect(page.note?.contains("404") == true)
      await #expect(throws: BundleError.self) { try await loader.load(url, options: .init(policy: .networkOnly)) }
    }
  }
}
