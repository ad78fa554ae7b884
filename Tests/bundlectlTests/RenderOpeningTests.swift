import Foundation
import PageKit
import PageTesting
import Testing

/// The opening policies of `render`, and its notices about unconfirmed bundles.
struct RenderOpeningTests {
  /// A site whose release is stored.
  private static func stored(_ body: (Site) async throws -> Void) async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["home.js": Site.script("one")])
      #expect(try await site.preload().status == 0)
      try await body(site)
    }
  }

  private static func render(_ site: Site, _ more: String...) async throws -> Command.Result {
    try await Command.start(
      ["render", "home", "--manifest", site.manifest, "--store", site.store] + more
    ).result()
  }

  enum Trouble: CaseIterable {
    case hangs, status, html, refused, gone
  }

  @Test("an unconfirmed page is rendered with a line that names the reason", arguments: Trouble.allCases)
  func unconfirmed(_ trouble: Trouble) async throws {
    try await Self.stored { site in
      let reason: String
      switch trouble {
      case .hangs:
        site.origin.always("/*", .stallBeforeHead)
        reason = "the server's MD5s were not known after 0.3 s"
      case .status:
        site.origin.always("/*", .status(500))
        reason = "the server answers 500"
      case .html:
        site.origin.always("/*", .html("<html>sign in</html>"))
        reason = "/manifest.json"
      case .refused:
        try await site.origin.refuseConnections()
        reason = "cannot connect"
      case .gone:
        site.origin.always("/*", .status(404))
        reason = "(it answers 404)"
      }
      let wait = trouble == .hangs ? "300ms" : "60s"
      let result = try await Self.render(site, "--deadline", wait)
      #expect(result.status == 0)
      #expect(result.output.contains("one"))
      let lines = result.error.split(separator: "\n").filter { !$0.contains("waiting for the server") }
      #expect(lines.count == 1, "\(result.error)")
      #expect(lines.first?.hasPrefix("bundlectl: not confirmed by the server: ") == true, "\(result.error)")
      #expect(result.error.contains(reason), "\(result.error)")
    }
  }

  @Test("a confirmed page is rendered without a notice")
  func confirmed() async throws {
    try await Self.stored { site in
      let result = try await Self.render(site)
      #expect((result.status, result.error) == (0, ""))
    }
  }

  @Test("a page rendered without asking the server is reported as such")
  func withoutAsking() async throws {
    try await Self.stored { site in
      let cached = try await Self.render(site, "--policy", "cacheFirst")
      #expect(cached.error.contains("the server was not asked"))
      let offline = try await Self.render(site, "--offline")
      #expect(offline.error.contains("the network is set to offline"))
    }
  }

  @Test("each opening policy can be chosen")
  func policies() async throws {
    try await Self.stored { site in
      let asked = site.origin.requests.count
      for policy in ["cacheFirst", "cacheOnly"] {
        let result = try await Self.render(site, "--policy", policy)
        #expect(result.output.contains("one"))
      }
      #expect(site.origin.requests.count == asked)
      let refreshed = try await Self.render(site, "--policy", "staleWhileRevalidate")
      #expect(refreshed.output.contains("one"))
      #expect(try await Self.render(site, "--policy", "networkOnly").status == 0)
      try await site.origin.refuseConnections()
      #expect(try await Self.render(site, "--policy", "networkOnly").status == 1)
      #expect(try await Self.render(site, "--policy", "cacheFirst").status == 0)
    }
  }

  @Test("cacheOnly and --offline send no request, even if nothing is stored")
  func asksNobody() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["home.js": Site.script("one")])
      for option in [["--policy", "cacheOnly"], ["--offline"]] {
        let result = try await Command.start(
          ["render", "home", "--manifest", site.manifest, "--store", site.store] + option
        ).result()
        #expect(result.status == 1)
        #expect(!result.error.contains("has no bundles"), "\(result.error)")
      }
      #expect(site.origin.requests.isEmpty)
      _ = try await site.preload()
      let asked = site.origin.requests.count
      let offline = try await Self.render(site, "--offline")
      #expect(offline.output.contains("one"))
      #expect(site.origin.requests.count == asked)
    }
  }

  @Test("a deadline belongs to networkFirst")
  func deadlineWithoutUse() async throws {
    let result = try await Command.run("render", "home", "--policy", "cacheFirst", "--deadline", "1s")
    #expect(result.status == 64)
    #expect(result.error.contains("--deadline belongs to --policy networkFirst"))
  }

  @Test("a page of a held release opens without an answer of the server")
  func held() async throws {
    try await Self.stored { site in
      try site.publish(["home.js": Site.script("two")], release: "r2")
      _ = try await site.preload()
      let held = try await Command.run("release", "use", "r1", "--manifest", site.manifest, "--store", site.store)
      #expect(held.status == 0)
      let asked = site.origin.requests.count
      for target in ["home", site.origin.url(for: "/b/home.js")] {
        let result = try await Command.run("render", target, "--manifest", site.manifest, "--store", site.store)
        #expect(result.output.contains("one"))
        #expect(result.error.contains("release r1 is held"))
      }
      #expect(site.origin.requests.count == asked)
    }
  }
}
