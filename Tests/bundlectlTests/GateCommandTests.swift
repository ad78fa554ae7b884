import Foundation
import PageKit
import PageTesting
import TestSupport
import Testing

@testable import PageWorkers

/// `--gate` of `bundlectl manifest build` and `publish`, with real pages.
@Suite(.timeLimit(.minutes(5)))
struct GateCommandTests {
  private static let head = "// { \"framework\": \"Vanilla\" }\n"
  /// A page with a text for each word.
  private static func page(_ words: String..., more: String = "") -> String {
    let texts = words.map { "b.appendChild(d.createElement('text', { attr: { value: '\($0)' } }));\n" }.joined()
    let start = "var d = weex.document, b = d.createBody('div');\n"
    return "\(head)\(start)\(texts)d.documentElement.appendChild(b);\n\(more)\n"
  }

  private static func build(_ site: Site, _ more: String...) async throws -> Command.Result {
    try await Command.start(["manifest", "build", "pages", "-o", "manifest.json"] + more, in: site.folder.path).result()
  }

  private static func exists(_ path: String, _ site: Site) -> Bool {
    FileManager.default.fileExists(atPath: site.folder.file(path))
  }

  @Test("pages that run are published, and the differences from the release before are shown")
  func passed() async throws {
    try await Site.running { site in
      try site.write(Self.page("one"), to: "old/home.js")
      try site.write(Self.page("gone"), to: "old/gone.js")
      try site.write(Self.page("one", "two"), to: "pages/home.js")
      try site.write(#"{"budgets": {"elements": 3, "processorTime": "20s", "bundleBrotli": 4000}}"#, to: "gate.json")
      let result = try await Self.build(site, "--former", "old", "--gate")
      #expect(result.status == 0, "\(result.error)")
      #expect(result.error.contains("home  has more elements: 1 text in div"), "\(result.error)")
      #expect(result.error.contains("gone  is not in the release any more"), "\(result.error)")
      #expect(result.error.contains("gate: 1 page of ") && result.error.contains(" beside old in "))
      #expect(Self.exists("manifest.json", site))
    }
  }

  @Test("a page that throws, hangs, shows nothing, lacks a module or exceeds a budget keeps all from being written")
  func refused() async throws {
    try await Site.running { site in
      try site.write(Self.page("ok"), to: "pages/sound.js")
      try site.write(Self.page("a", more: "gone.name();"), to: "pages/throws.js")
      try site.write(Self.page("a", more: "while (true) {}"), to: "pages/hangs.js")
      try site.write(Self.head + "var nothing = 1", to: "pages/empty.js")
      try site.write(Self.page("a", more: "weex.requireModule('cart').add(1)"), to: "pages/lacks.js")
      try site.write(Self.page("a", "b", "c"), to: "pages/large.js")
      try site.write(#"{"pages": {"large": {"elements": 3}}, "pageTime": "300ms"}"#, to: "gate.json")
      let result = try await Self.build(site, "--gate", "--report", "junit=gate.xml", "--json")
      #expect(result.status == 1)
      #expect(!Self.exists("manifest.json", site))
      let gate = try #require(try result.json["gate"] as? [String: Any])
      let findings = try #require(gate["findings"] as? [[String: Any]])
      let told = findings.map { "\($0["page"] ?? "") \($0["effect"] ?? "") \($0["rule"] ?? "")" }
      #expect(
        told == [
          "empty refused empty", "hangs refused stopped", "lacks refused exception", "lacks refused missing",
          "large refused elements", "throws refused exception",
        ])
      #expect((try result.json["error"] as? String)?.hasPrefix("the gate refuses release ") == true)
      let text = findings.last?["text"] as? String ?? ""
      #expect(text.contains("gone") && text.contains("(pages/throws.js:5:"), "\(text)")
      let report = try String(contentsOfFile: site.folder.file("gate.xml"), encoding: .utf8)
      #expect(
        report.contains("tests=\"6\" failures=\"5\"") && report.contains("name=\"hangs\" file=\"pages/hangs.js\""),
        "\(report)")
    }
  }

  @Test("the release before stays when one is refused, which --gate=warn publishes")
  func warn() async throws {
    try await Site.running { site in
      try site.write(Self.page("a"), to: "pages/home.js")
      #expect(try await Self.build(site, "--gate").status == 0)
      let before = try Data(contentsOf: URL(fileURLWithPath: site.folder.file("manifest.json")))
      try site.write(Self.head, to: "pages/home.js")
      let refused = try await Self.build(site, "--gate")
      #expect(refused.status == 1 && refused.error.contains("gate: the release is refused"), "\(refused.error)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: site.folder.file("manifest.json"))) == before)
      let warned = try await Self.build(site, "--gate=warn")
      #expect(warned.status == 0 && warned.error.contains("the release goes on (--gate warn)"), "\(warned.error)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: site.folder.file("manifest.json"))) != before)
    }
  }

  @Test("an exception that the release before had too, and an exempt one, are let pass")
  func known() async throws {
    try await Site.running { site in
      try site.write(Self.page("a", more: "known();"), to: "old/home.js")
      try site.write(Self.page("a", "b", more: "known();"), to: "pages/home.js")
      let known = try await Self.build(site, "--former", "old", "--gate")
      #expect(known.status == 0 && known.error.contains("as in the release before"), "\(known.error)")
      #expect(try await Self.build(site, "--gate").status == 1)
      try site.write(
        #"{"exemptions": [{"page": "home", "rule": "exception", "reason": "soon", "until": "9999-12-31"}]}"#,
        to: "gate.json")
      let exempt = try await Self.build(site, "--gate")
      #expect(exempt.status == 0 && exempt.error.contains("(exempt: soon)"), "\(exempt.error)")
    }
  }

  @Test("an exception has the place of the source map that the bundle names, in the release or in its own text")
  func sourceMaps() async throws {
    try await Site.running { site in
      // Line 5 of the bundle is line 10 of the source.
      let map = #"{"version": 3, "sources": ["src/home.vue"], "names": [], "mappings": ";;;;AASE"}"#
      let throwing = "gone.name();\n//# sourceMappingURL="
      try site.write(Self.page("a", more: throwing + "beside.js.map"), to: "pages/beside.js")
      try site.write(map, to: "pages/beside.js.map")
      let inText = "data:application/json;base64,\(Data(map.utf8).base64EncodedString())"
      try site.write(Self.page("a", more: throwing + inText), to: "pages/inside.js")
      try site.write(Self.page("a", more: throwing + "none.js.map"), to: "pages/none.js")
      try site.write(Self.page("a", more: throwing + "bad.js.map"), to: "pages/bad.js")
      try site.write("{}", to: "pages/bad.js.map")
      try site.write("secret", to: "outside.js.map")
      try site.write(Self.page("a", more: throwing + "../outside.js.map"), to: "pages/outside.js")
      let result = try await Self.build(site, "--gate", "--json")
      #expect(result.status == 1)
      let gate = try #require(try result.json["gate"] as? [String: Any])
      let findings = try #require(gate["findings"] as? [[String: Any]])
      let places = findings.map { finding -> String in
        let text = finding["text"] as? String ?? ""
        return "\(finding["page"] ?? "") \(text.split(separator: "(").last ?? "")"
      }
      #expect(places.count == 5, "\(places)")
      for (place, expected) in zip(
        places,
        [
          "bad pages/bad.js:5:", "beside pages/src/home.vue:10:3)", "inside pages/src/home.vue:10:3)",
          "none pages/none.js:5:", "outside pages/outside.js:5:",
        ])
      {
        #expect(place.hasPrefix(expected), "\(places)")
      }
    }
  }

  @Test("modules that gate.json names as registered are there and do nothing; built-in ones work as ever")
  func registeredModules() async throws {
    let script = """
      var cart = weex.requireModule('cart');
      if (!weex.isRegisteredModule('cart') || cart.add(1, function () { gone() }) !== undefined) gone();
      b.appendChild(d.createElement('map', {}));
      weex.requireModule('stream').fetch({ url: 'data/own.json', type: 'json' }, function (r) {
        b.appendChild(d.createElement('switch', { attr: { value: r.data } }))
      })
      """
    try await Site.running { site in
      try site.write(Self.page("a"), to: "old/home.js")
      try site.write(Self.page("a", more: script), to: "pages/home.js")
      try site.write("1", to: "pages/data/own.json")
      try site.write(#"{"registered": ["cart", "map", "stream"]}"#, to: "gate.json")
      let result = try await Self.build(site, "--former", "old", "--gate")
      #expect(result.status == 0, "\(result.error)")
      #expect(result.error.contains("has more elements: 1 map in div, 1 switch in div"), "\(result.error)")
      #expect(!result.error.contains("not registered") && !result.error.contains("no method"), "\(result.error)")
      // Others are missing as ever.
      try site.write(Self.page("a", more: "weex.requireModule('carts').add(1)"), to: "pages/home.js")
      let missing = try await Self.build(site, "--former", "old", "--gate")
      #expect(missing.status == 1 && missing.error.contains("the module \"carts\" is not registered"))
    }
  }

  @Test("requests are answered from the release and from recordings, and others fail without being the page's fault")
  func answers() async throws {
    let fetch = """
      var stream = weex.requireModule('stream');
      function add(url) {
        stream.fetch({ url: url, type: 'json', method: 'GET' }, function (r) {
          var names = r.ok ? r.data.map(function (item) { return item.name }) : [];
          names.forEach(function (name) { b.appendChild(d.createElement('switch', { attr: { value: name } })) })
        })
      }
      add('https://api.example.com/items?page=1'); add('https://api.example.com/other'); add('data/own.json')
      """
    try await Site.running { site in
      try site.write(Self.page("a"), to: "old/home.js")
      try site.write(Self.page("a", more: fetch), to: "pages/home.js")
      try site.write(#"[{"name": "own"}]"#, to: "pages/data/own.json")
      try site.write(
        #"[{"url": "https://api.example.com/items*", "body": [{"name": "x"}, {"name": "y"}]}]"#,
        to: "answers/answers.json")
      let result = try await Self.build(site, "--former", "old", "--gate", "--answers", "answers")
      #expect(result.status == 0, "\(result.error)")
      #expect(result.error.contains("has more elements: 3 switch in div"), "\(result.error)")
      #expect(
        result.error.contains("asked for what has no recorded answer: GET https://api.example.com/other\n"),
        "\(result.error)")
      #expect(result.error.contains("new requests: GET ") && result.error.contains("api.example.com/items,"))
    }
  }

  @Test("a recording that cannot be used is named with its line and column")
  func badAnswers() async throws {
    try await Site.running { site in
      try site.write(Self.page("a"), to: "pages/home.js")
      try site.write("[\n  {\"url\": \"ftp://a\"}]", to: "answers/answers.json")
      let result = try await Self.build(site, "--gate", "--answers", "answers")
      #expect(result.status == 1)
      #expect(result.error.contains("answers/answers.json:2:11: \"url\" is \"ftp://a\""), "\(result.error)")
      try site.write("[{\"url\": \"https://a.example/\", \"file\": \"../secret\"}]", to: "answers/answers.json")
      #expect(try await Self.build(site, "--gate", "--answers", "answers").error.contains("1:40: \"file\" is"))
    }
  }

  @Test("a page that comes too late for the time of the gate was not run")
  func deadline() async throws {
    try await Site.running { site in
      for name in ["a", "b", "c", "d"] {
        try site.write(Self.page("a", more: "while (true) {}"), to: "pages/\(name).js")
      }
      try site.write(#"{"time": "1s", "pageTime": "30s"}"#, to: "gate.json")
      let result = try await Self.build(site, "--gate")
      #expect(result.status == 1 && result.time < .seconds(60))
      #expect(result.error.contains("d  was not run: the time of the gate was over"), "\(result.error)")
    }
  }

  @Test(
    "options of the gate need it",
    arguments: [
      (["--former", "old"], "--former belongs to --gate"), (["--answers", "a"], "--answers belongs to --gate"),
      (["--gate", "--report", "tap=x"], "--report must be junit=FILE"),
      (["--gate", "maybe"], "Unexpected argument 'maybe'"),
    ])
  func usage(_ options: [String], _ message: String) async throws {
    let result = try await Command.start(["manifest", "build", "pages", "-o", "m.json"] + options).result()
    #expect(result.status == 64 && result.error.contains(message), "\(result.error)")
  }
}
