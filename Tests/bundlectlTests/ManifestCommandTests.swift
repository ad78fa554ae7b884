import Foundation
import PageKit
import Testing

struct ManifestCommandTests {
  private static func built(_ site: Site, _ more: String...) async throws -> Manifest {
    let result = try await Command.start(
      ["manifest", "build", "pages", "-o", "manifest.json"] + more, in: site.folder.path
    ).result()
    #expect(result.status == 0, "\(result.error)")
    return try manifest(site)
  }

  @Test("scripts become bundles named after their paths, and other files become files")
  func scriptsAndFiles() async throws {
    try await Site.running { site in
      for path in ["home.js", "shop/list.js", "i/a.png", ".hidden", ".git/config"] {
        try site.write("x", to: "pages/\(path)")
      }
      let manifest = try await Self.built(site)
      #expect(manifest.bundles.map(\.name) == ["home", "shop/list"])
      #expect(manifest.files.map(\.path) == ["i/a.png"])
      #expect(manifest.base == "pages/")
      #expect(manifest.bundles.first?.sha256 != nil)
      #expect(manifest.sequence == 1)
    }
  }

  @Test("building again changes the release only after a change")
  func rebuild() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      let first = try await Self.built(site)
      #expect(try await Self.built(site) == first)
      try site.write("var b", to: "pages/a.js")
      let next = try await Self.built(site)
      #expect(next.sequence == 2)
      #expect(next.release != first.release)
    }
  }

  @Test("deltas from older releases are written beside the files, and listed", arguments: ["old", "old.json"])
  func deltas(former: String) async throws {
    try await Site.running { site in
      let text = (0..<2000).map { "var a\($0 * 7919 % 2003) = \($0);" }.joined()
      try site.write(text, to: "old/a.js")
      try site.write("var same", to: "old/same.js")
      _ = try await Command.run("manifest", "build", "old", "-o", "old.json", in: site.folder.path)
      try site.write(text + "var more;", to: "pages/a.js")
      try site.write("var same", to: "pages/same.js")
      try site.write("var new", to: "pages/new.js")
      let manifest = try await Self.built(site, "--deltas-from", former)
      let new = try #require(manifest.bundles.first { $0.name == "a" }?.sha256)
      let old = try ContentDigests(of: Array(text.utf8)).sha256
      let path = site.folder.file("pages/\(Manifest.deltaPath(to: new, from: old))")
      let delta = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
      #expect(manifest.bundles.map(\.deltas) == [[old: Int64(delta.count)], [:], [:]])
      #expect(delta.count < 150)
      let decoder = try ContentDecoder(
        for: "dcz", url: "", limit: 1 << 20, dictionary: ContentDictionary(Array(text.utf8), digest: old))
      #expect(try decoder.decode(delta) == Array((text + "var more;").utf8))
      // The deltas are no files of the release, and those of a changed content are dropped.
      #expect(try await Self.built(site) == manifest)
      try site.write(text + "var yet;", to: "pages/a.js")
      #expect(try await Self.built(site).bundles.allSatisfy(\.deltas.isEmpty))
    }
  }

  @Test("an older release that cannot be read is named")
  func unreadableFormer() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      let result = try await Command.run(
        "manifest", "build", "pages", "--deltas-from", "gone", in: site.folder.path)
      #expect(result.status == 1)
      #expect(result.error.contains("gone is no folder or manifest of an older release: there is no such file"))
    }
  }

  @Test("manual settings are kept")
  func manualSettings() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      var manifest = try await Self.built(site)
      manifest.bundles[0].preload = .idle
      manifest.bundles[0].prefetch = ["https://api/x"]
      manifest.additional["expires"] = .string("2027-01-01T00:00:00Z")
      manifest.identity = .ignoring(["id"])
      try JSONEncoder().encode(manifest).write(to: URL(fileURLWithPath: site.folder.file("manifest.json")))
      try site.write("var a = 2", to: "pages/a.js")
      let next = try await Self.built(site)
      #expect(next.bundles.first?.preload == .idle)
      #expect(next.bundles.first?.prefetch == ["https://api/x"])
      #expect(next.additional == manifest.additional)
      #expect(next.identity == .ignoring(["id"]))
    }
  }

  @Test("a base may be given")
  func base() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      #expect(try await Self.built(site, "--base", "https://cdn.example.com/x/").base == "https://cdn.example.com/x/")
    }
  }

  @Test("a script that no client would run is not published", arguments: [("", "empty"), ("<html>", "HTML")])
  func unusableScripts(_ text: String, _ reason: String) async throws {
    try await Site.running { site in
      try site.write(text, to: "pages/a.js")
      let result = try await Command.run("manifest", "build", "pages", in: site.folder.path)
      #expect(result.status == 1)
      #expect(result.error.contains("a.js") && result.error.contains(reason))
    }
  }

  @Test("unpublishable files are named, and nothing is written")
  func unpublishable() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      try FileManager.default.createSymbolicLink(
        atPath: site.folder.file("pages/link.txt"), withDestinationPath: "/etc/hostname")
      let result = try await Command.run("manifest", "build", "pages", "-o", "manifest.json", in: site.folder.path)
      #expect(result.status == 1)
      #expect(result.error.contains("pages/link.txt is a symbolic link"))
      #expect(!FileManager.default.fileExists(atPath: site.folder.file("manifest.json")))
    }
  }

  @Test("a pipe is written to and not replaced")
  func pipe() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      let result = try await Command.run("manifest", "build", "pages", "-o", "/dev/stdout", in: site.folder.path)
      #expect(result.status == 0)
      #expect(result.output.contains("\"schema\" : 1"))
    }
  }

  @Test("a file that is not a manifest is not overwritten")
  func foreignFile() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      try site.write("precious", to: "notes.txt")
      let result = try await Command.run("manifest", "build", "pages", "-o", "notes.txt", in: site.folder.path)
      #expect(result.status == 1)
      #expect(try String(contentsOfFile: site.folder.file("notes.txt"), encoding: .utf8) == "precious")
    }
  }

  @Test("check finds files that differ from the manifest")
  func check() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      _ = try await Self.built(site)
      #expect(try await Command.run("manifest", "check", "manifest.json", in: site.folder.path).status == 0)
      try site.write("var b", to: "pages/a.js")
      let result = try await Command.run("manifest", "check", "manifest.json", "--json", in: site.folder.path)
      #expect(result.status == 1)
      #expect((try result.json["faults"] as? [String])?.first?.contains("build the manifest again") == true)
    }
  }

  @Test("check reads a manifest from a server")
  func checkServer() async throws {
    try await Site.running { site in
      try site.publish(["a.js": "var a"])
      #expect(try await Command.run("manifest", "check", site.manifest).status == 0)
      site.origin.serve("/manifest.json", Array("<html>".utf8))
      let result = try await Command.run("manifest", "check", site.manifest)
      #expect(result.status == 1)
      #expect(result.output.contains("HTML"))
    }
  }

  @Test("diff shows the changes")
  func diff() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      try site.write("var b", to: "pages/b.js")
      _ = try await Self.built(site)
      try FileManager.default.copyItem(atPath: site.folder.file("manifest.json"), toPath: site.folder.file("old.json"))
      try site.write("var a = 2", to: "pages/a.js")
      try FileManager.default.removeItem(atPath: site.folder.file("pages/b.js"))
      try site.write("var c", to: "pages/c.js")
      _ = try await Self.built(site)
      let json = try await Command.run("manifest", "diff", "old.json", "manifest.json", "--json", in: site.folder.path)
        .json
      #expect(json["added"] as? [String] == ["c.js"])
      #expect(json["changed"] as? [String] == ["a.js"])
      #expect(json["removed"] as? [String] == ["b.js"])
    }
  }

  @Test("a release is rolled out step by step, builds keep the share, and no share is lowered by mistake")
  func rollout() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write("var a", to: "v1/pages/a.js")
      let first = try await Command.run(
        "manifest", "build", "v1/pages", "-o", "v1/manifest.json", in: site.folder.path)
      #expect(first.status == 0, "\(first.error)")
      try site.write("var b", to: "pages/a.js")
      let second = try await Self.built(site, "--sequence", "2", "--release", "r2")
      func rollout(_ arguments: String...) async throws -> (output: String, error: String) {
        let result = try await Command.start(["manifest", "rollout"] + arguments, in: site.folder.path).result()
        return (result.output, result.error)
      }
      #expect(try await rollout("--percent", "5").error.contains("with --otherwise FILE"))
      #expect(
        try await rollout("--percent", "5", "--otherwise", "manifest.json").error.contains("must be lower than 2"))
      let begun = try await rollout("--percent", "5", "--otherwise", "v1/manifest.json")
      #expect(begun.output.contains("release r2 for 5 % of the installs, v1/manifest.json for the others"), "\(begun)")
      let bytes = try Data(contentsOf: URL(fileURLWithPath: site.folder.file("v1/manifest.json")))
      var manifest = try Self.manifest(site)
      #expect(manifest.rollout == Rollout(percent: 5, salt: "r2"))
      #expect(manifest.otherwise?.sha256 == (try ContentDigests(of: Array(bytes)).sha256))
      #expect((manifest.sequence, manifest.bundles) == (2, second.bundles))
      #expect(try await rollout("--percent", "2").error.contains("is rolled out to 5 % already"))
      #expect(try await rollout("--percent", "2", "--lower").error == "")
      #expect(try await rollout("--percent", "12.5").output.contains("12.5 %"))
      try site.write("var c", to: "pages/a.js")
      manifest = try await Self.built(site, "--release", "r3")
      #expect(manifest.rollout == Rollout(percent: 12.5, salt: "r3"))
      #expect(try await rollout("--percent", "100").output.contains("release r3 for all installs"))
      manifest = try Self.manifest(site)
      #expect(manifest.rollout == nil && manifest.otherwise == nil)
    }
  }

  private static func manifest(_ site: Site) throws -> Manifest {
    try Manifest(reading: Array(try Data(contentsOf: URL(fileURLWithPath: site.folder.file("manifest.json")))))
  }
}
