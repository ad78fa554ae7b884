import Foundation
import PageTesting
import Testing

/// The targets of `render`, and the manifests that they are found in.
struct RenderTargetTests {
  private static func page(_ text: String) -> String {
    """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div')
    d.documentElement.appendChild(b)
    b.appendChild(d.createElement('text', { attr: { value: '\(text) ' + weex.config.bundleUrl } }))
    """
  }

  private static func shown(_ json: [String: Any]) -> String? {
    let children = (json["root"] as? [String: Any])?["children"] as? [[String: Any]]
    return (children?.first?["attr"] as? [String: Any])?["value"] as? String
  }

  @Test("a named bundle opens from the network, then from the store, and offline")
  func namedBundle() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["home.js": Self.page("one"), "other.js": Self.page("two")])
      func render(_ more: String...) async throws -> [String: Any] {
        try await Command.start(["render", "home", "--store", site.store, "--json"] + more).result().json
      }
      let first = try await render("--manifest", site.manifest)
      #expect(first["source"] as? String == "network")
      #expect(Self.shown(first) == "one \(site.origin.url(for: "/b/home.js"))", "\(first)")
      let bundle = try #require(first["bundle"] as? [String: Any])
      #expect(bundle["name"] as? String == "home")
      #expect(bundle["url"] as? String == site.origin.url(for: "/b/home.js"))
      #expect((bundle["md5"] as? String)?.count == 32)
      // The store has the manifest now.
      let second = try await render()
      #expect(second["source"] as? String == "store")
      #expect(site.origin.requests.count { $0.path == "/b/home.js" } == 1)
      try await site.origin.stop()
      let offline = try await render()
      // If the deadline passes while the server is found to be unreachable, the bytes are read twice, the second time
      // from memory.
      #expect(["store", "memory"].contains(offline["source"] as? String))
      #expect(Self.shown(offline) == "one \(site.origin.url(for: "/b/home.js"))")
    }
  }

  @Test("a file in a folder with a manifest runs as it is, and adds no source to the store")
  func fileBesideManifest() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["home.js": Self.page("one")])
      _ = try await site.preload()
      try site.write(Self.page("file"), to: "pages/a.js")
      try await site.run("manifest", "build", "pages", "-o", "pages/manifest.json")
      let rendered = try await site.run("render", "pages/a.js", "--store", site.store)
      #expect(rendered.output.contains("file "), "\(rendered.output)")
      let sources = try await Command.run("source", "list", "--store", site.store, "--json").json
      #expect((sources["sources"] as? [[String: Any]])?.compactMap { $0["source"] as? String } == [site.manifest])
      let offline = try await site.run("render", "home", "--offline", "--store", site.store)
      #expect(offline.output.contains("one "))
      // The only source is preloaded where there is no other manifest.
      #expect(try await Command.run("preload", "--store", site.store, "--json", in: site.folder.path).status == 0)
    }
  }

  @Test("a URL opens through the store that lists it")
  func listedURL() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["home.js": Self.page("one")])
      _ = try await site.preload()
      let url = site.origin.url(for: "/b/home.js")
      let json = try await Command.run("render", url, "--store", site.store, "--json").json
      #expect(json["source"] as? String == "store")
      #expect((json["bundle"] as? [String: Any])?["name"] as? String == "home")
      // The server has confirmed it by the manifest that lists it.
      #expect(json["note"] == nil)
      #expect(site.origin.requests.count { $0.path == "/manifest.json" } == 2)
      // Its parameters are not part of its name.
      let other = try await Command.run("render", url + "?id=1", "--store", site.store, "--json").json
      #expect((other["bundle"] as? [String: Any])?["name"] as? String == "home")
    }
  }

  @Test("the JSON of a file has the source file, timings and requests")
  func fileSource() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Self.page("here"), to: "a.js")
      let json = try await Command.run("render", site.folder.file("a.js"), "--store", site.store, "--json", "--timings")
        .json
      #expect(json["source"] as? String == "file")
      #expect((json["errors"] as? [Any])?.isEmpty == true)
      let timings = try #require(json["timings"] as? [String: Any])
      #expect((timings["createFinish"] as? Double ?? 0) > 0)
      #expect(timings["interaction"] is NSNull)
      #expect((json["requests"] as? [String: Any])?["total"] as? Int == 0)
    }
  }

  @Test("an unknown bundle is an error that lists the known ones")
  func unknownBundle() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["home.js": Self.page("one")])
      let unknown = try await Command.run(
        "render", "hom", "--store", site.store, "--manifest", site.manifest, in: site.folder.path)
      #expect(unknown.status == 1)
      #expect(unknown.error.contains("lists no bundle \"hom\"; it has home"))
      let file = try await Command.run("render", "no/such.js", "--store", site.store, in: site.folder.path)
      #expect(file.status == 1)
      #expect(file.error.contains("there is no file no/such.js"))
      let nowhere = try await Command.run(
        "render", "home", "--store", site.folder.file("empty"), in: site.folder.path)
      #expect(nowhere.status == 1)
      #expect(nowhere.error.contains("--manifest"))
    }
  }
}
