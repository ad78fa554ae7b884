import Foundation
import PageTesting
import Testing

/// The reports of `render` about failing pages.
struct RenderFaultTests {
  private static let head = "// { \"framework\": \"Vanilla\" }\n"
  private static let body = head + "var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)\n"

  private static func render(_ site: Site, _ script: String, _ more: String...) async throws -> Command.Result {
    try site.write(script, to: "a.js")
    return try await Command.start(["render", site.folder.file("a.js"), "--store", site.store] + more).result()
  }

  @Test("a page that throws while its pictures load always has exit status 1")
  func throwingBesidePictures() async throws {
    try await Site.running { (site: Site) async throws in
      let secure = site.origin.url(for: "/i.svg").replacing("http:", with: "https:")
      let script =
        Self.body
        + "for (var i = 0; i < 8; i++) b.appendChild(d.createElement('image', { attr: { src: '\(secure)?' + i } }))\nmissing()"
      for round in 0..<25 {
        let result = try await Self.render(site, script)
        #expect(result.status == 1 && !result.wasKilled, "round \(round): \(result.error)")
      }
    }
  }

  @Test("a page without a body has its own state, and fails")
  func withoutABody() async throws {
    try await Site.running { (site: Site) async throws in
      let result = try await Self.render(site, Self.head + "var a = 1", "--json")
      #expect(result.status == 1)
      #expect(result.error.contains("has created no body"))
      #expect(try result.json["state"] as? String == "empty")
      let late = try await Self.render(
        site,
        Self.head
          + "Promise.resolve().then(function () { var d = weex.document; d.documentElement.appendChild(d.createBody('div')) })",
        "--json")
      #expect(late.status == 0)
      #expect(try late.json["state"] as? String == "rendered")
    }
  }

  @Test("logs from the level of --fail-on fail the run")
  func failOn() async throws {
    try await Site.running { (site: Site) async throws in
      let script = Self.body + "console.error(new TypeError('bad'))"
      #expect(try await Self.render(site, script).status == 0)
      let failed = try await Self.render(site, script, "--fail-on", "error")
      #expect(failed.status == 1)
      #expect(failed.error.contains("error: TypeError: bad"))
      #expect(failed.error.contains("1 line that --fail-on error counts"))
      let warning = Self.body + "console.warn('careful')"
      #expect(try await Self.render(site, warning, "--fail-on", "error").status == 0)
      #expect(try await Self.render(site, warning, "--fail-on", "warning").status == 1)
      let unknown = Self.body + "b.appendChild(d.createElement('tabbar'))"
      #expect(try await Self.render(site, unknown, "--fail-on", "warning").status == 1)
      #expect(try await Self.render(site, unknown, "--fail-on", "nonsense").status == 64)
    }
  }

  @Test("unregistered modules and components are in the report, each once")
  func missing() async throws {
    try await Site.running { (site: Site) async throws in
      let script =
        Self.body
        + "b.appendChild(d.createElement('tabbar')); b.appendChild(d.createElement('tabbar')); weex.requireModule('titleBar')"
      let result = try await Self.render(site, script, "--json")
      #expect(result.status == 0)
      let missing = try #require(try result.json["missing"] as? [String: [String]])
      #expect(missing == ["components": ["tabbar"], "modules": ["titleBar"], "methods": []])
      #expect(result.error.ranges(of: "\"tabbar\"").count == 1)
    }
  }

  @Test(
    "a bundle without a framework is an error that names the option, and another file is an error that names its kind")
  func frameworks() async throws {
    try await Site.running { (site: Site) async throws in
      let unnamed = try await Self.render(site, "var a = 1")
      #expect(unnamed.status == 1)
      #expect(unnamed.error.contains("--framework FILE"))
      #expect(!unnamed.error.contains("frameworks:"))
      #expect(try await Self.render(site, "export default 1").error.contains("ES module"))
      #expect(try await Self.render(site, "{\"a\": 1}").error.contains("it is JSON"))
      #expect(try await Self.render(site, "").error.contains("it is empty"))
    }
  }

  @Test("an unknown framework is an error that lists the known ones")
  func unknownFramework() async throws {
    try await Site.running { (site: Site) async throws in
      let result = try await Self.render(site, "// { \"framework\": \"Zork\" }\nvar a = 1")
      #expect(result.status == 1)
      #expect(result.error.contains("names the framework \"Zork\""), "\(result.error)")
      #expect(result.error.contains("Vanilla, Vue, Rax, Weex"))
    }
  }

  @Test("a file that is not text is one error")
  func noText() async throws {
    try await Site.running { (site: Site) async throws in
      _ = FileManager.default.createFile(
        atPath: site.folder.file("a.png"), contents: Data([0x89, 0x50, 0x4E, 0x47, 0xFF]))
      let picture = try await Command.run("render", site.folder.file("a.png"), "--store", site.store)
      #expect(picture.status == 1)
      #expect(picture.error.contains("is not a bundle: it is not UTF-8 text"), "\(picture.error)")
      #expect(!picture.error.contains("no body"))
      let empty = try await Command.run("render", "/dev/null", "--store", site.store)
      #expect(empty.error.contains("/dev/null is not a bundle: it is empty"), "\(empty.error)")
      let folder = try await Command.run("render", "/tmp", "--store", site.store)
      #expect(folder.error.contains("/tmp is a folder"), "\(folder.error)")
    }
  }

  @Test("a run that fails by --fail-on warning prints the reason")
  func failingWarnings() async throws {
    try await Site.running { (site: Site) async throws in
      let script = Self.body + "b.appendChild(d.createElement('tabbar'))"
      let result = try await Self.render(site, script, "--fail-on", "warning")
      #expect(result.status == 1)
      #expect(
        result.error.contains("1 unregistered name, which --fail-on warning counts"), "\(result.error)")
    }
  }

  @Test("a syntax error has its line, its column and a mark below it, also after wide characters")
  func syntaxErrors() async throws {
    try await Site.running { (site: Site) async throws in
      let result = try await Self.render(site, Self.head + "var 天气 = '🙂' = 2")
      #expect(result.status == 1)
      #expect(result.error.contains("a.js:2:15"))
      let lines = result.error.split(separator: "\n")
      let index = try #require(lines.firstIndex { $0.contains("var 天气") })
      // The two letters and the emoji have two columns each.
      #expect(lines[index + 1].hasSuffix("│                 ^"), "\(lines[index + 1])")
    }
  }

  @Test("a source map without its sources' text shows the line of the file beside it")
  func sourceFiles() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(#"{"version":3,"sources":["src/page.ts"],"mappings":";CAEE"}"#, to: "a.js.map")
      try site.write("one\r\ntwo\r\n  missing()\r\n", to: "src/page.ts")
      let result = try await Self.render(site, Self.head + ";missing()\n//# sourceMappingURL=a.js.map")
      #expect(result.error.contains("/src/page.ts:3:3"))
      #expect(result.error.contains("3 │   missing()\n"))
      try FileManager.default.removeItem(atPath: site.folder.file("src/page.ts"))
      let without = try await Self.render(site, Self.head + ";missing()\n//# sourceMappingURL=a.js.map")
      #expect(without.error.contains("/src/page.ts:3:3"))
      #expect(!without.error.contains("│"))
    }
  }

  @Test("an ephemeral run uses and leaves no stored state, and prints the same each time")
  func ephemeral() async throws {
    try await Site.running { (site: Site) async throws in
      let script =
        Self.body
        + "weex.requireModule('storage').getItem('k', function (e) { b.setAttr('stored', e.result); weex.requireModule('storage').setItem('k', '1') })"
      try site.write(script, to: "a.js")
      try site.write("", to: "home/x")
      try site.write("", to: "tmp/x")
      let environment = [
        "HOME": site.folder.file("home"), "TMPDIR": site.folder.file("tmp"), "XDG_DATA_HOME": site.folder.file("home"),
        "XDG_CACHE_HOME": site.folder.file("home"),
      ]
      func run(_ more: String...) async throws -> Command.Result {
        try await Command.start(
          ["render", site.folder.file("a.js"), "--json"] + more, environment: environment
        ).result()
      }
      let (first, second) = (try await run("--ephemeral"), try await run("--ephemeral"))
      #expect(first.status == 0)
      #expect(first.output == second.output)
      #expect(first.output.contains("\"stored\" : \"failed\""))
      #expect(try first.json["timings"] == nil)
      let path = site.folder.file("tmp")
      _ = try await Command.start(
        shell: "TMPDIR=\(path) \(Command.executable.path) render \(site.folder.file("a.js")) --ephemeral --json | true"
      ).result()
      for folder in ["home", "tmp"] {
        #expect(try FileManager.default.subpathsOfDirectory(atPath: site.folder.file(folder)) == ["x"], "\(folder)")
      }
      #expect(try await run("--ephemeral", "--timings").json["timings"] is [String: Any])
      #expect(try await run("--ephemeral", "--store", site.store).status == 64)
    }
  }

  @Test("a bundle's name may contain slashes, and may be given with its file's extension")
  func namesWithSlashes() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["pages/home/index.js": Self.body])
      for name in ["pages/home/index", "pages/home/index.js"] {
        let result = try await Command.run(
          "render", name, "--manifest", site.manifest, "--store", site.store, in: site.folder.path)
        #expect(result.status == 0, "\(name): \(result.error)")
        #expect(result.output.contains("div #_root"))
      }
      let unknown = try await Command.run(
        "render", "pages/none", "--manifest", site.manifest, "--store", site.store, in: site.folder.path)
      #expect(unknown.status == 1)
      #expect(unknown.error.contains("there is no file pages/none"))
      #expect(unknown.error.contains("it has pages/home/index"))
    }
  }
}
