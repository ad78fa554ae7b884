import Foundation
import PageKit
import PageTesting
import Testing

/// How `render` opens a bundle: by which policy, and what it says where the server has not confirmed what is shown.
struct RenderOpeningTests {
  private static func script(_ text: String) -> String {
    """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div')
    d.documentElement.appendChild(b)
    b.appendChild(d.createElement('text', { attr: { value: '\(text)' } }))
    """
  }

  /// A site whose release is stored.
  private static func stored(_ body: (Site) async throws -> Void) async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["home.js": script("one")])
      #expect(try await site.preload().status == 0)
      try await body(site)
    }
  }

  private static func render(_ site: Site, _ more: String...) async throws -> Command.Result {
    try await Command.start(
      ["render", "home", "--manifest", site.manifest, "--store", site.store] + more
    ).result()
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

  @Test("cacheOnly and --offline ask nobody, also where nothing is stored")
  func asksNobody() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["home.js": Self.script("one")])
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
}
