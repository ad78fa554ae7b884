import Foundation
import PageKit
import PageTesting
import Testing

struct RenderCommandTests {
  private static let script = """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div')
    d.documentElement.appendChild(b)
    b.appendChild(d.createElement('text', { attr: { value: 'hello' }, style: { color: 'red' } }))
    b.appendChild(d.createElement('image', { attr: { src: 'i.svg' } }))
    console.log('said', { a: 1 })
    """

  private static func render(_ site: Site, _ more: String...) async throws -> Command.Result {
    try site.write(script, to: "pages/a.js")
    try site.write("<svg width='4' height='3'></svg>", to: "pages/i.svg")
    return try await Command.start(
      ["render", site.folder.file("pages/a.js"), "--store", site.store] + more
    ).result()
  }

  @Test("the elements of a file are printed one to a line")
  func outline() async throws {
    try await Site.running { (site: Site) async throws in
      let result = try await Self.render(site)
      #expect(result.status == 0)
      #expect(result.output.contains("text #"))
      #expect(result.output.contains("value=\"hello\""))
      #expect(result.output.contains("(svg 4×3, from none)"))
      #expect(result.error.contains("log: said {\"a\":1}"))
    }
  }

  @Test("HTML and JSON show the same elements")
  func formats() async throws {
    try await Site.running { (site: Site) async throws in
      let html = try await Self.render(site, "--format", "html").output
      #expect(html.hasPrefix("<!doctype html>"))
      #expect(html.contains("style=\"color:red\">hello</div>"))
      let json = try await Self.render(site, "--format", "json").json
      #expect((json["children"] as? [Any])?.count == 2)
    }
  }

  @Test("an error has its place, and the exit status is 1")
  func scriptError() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write("// { \"framework\": \"Vanilla\" }\n\nmissing()", to: "bad.js")
      let result = try await Command.run("render", site.folder.file("bad.js"), "--store", site.store)
      #expect(result.status == 1)
      #expect(result.error.contains("bad.js:3"))
      #expect(result.error.contains("missing"))
    }
  }

  @Test(
    "HTML with text that no font here has is written with a note",
    arguments: [
      ("你好", "", "Chinese"), ("ひらがな", "", "Japanese"), ("한국어", "", "Korean"), ("你好", "Noto Sans CJK SC", nil),
      ("hello", "", nil),
    ] as [(String, String, String?)])
  func fonts(_ text: String, _ fonts: String, _ language: String?) async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Self.script.replacing("hello", with: text), to: "pages/text.js")
      try site.write("#!/bin/sh\necho '\(fonts)' | grep .\nexit 0\n", to: "bin/fc-list")
      let program = site.folder.file("bin/fc-list")
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
      let path = "\(site.folder.file("bin")):\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")"
      let result = try await Command.run(
        "render", site.folder.file("pages/text.js"), "--store", site.store, "--format", "html",
        environment: ["PATH": path])
      #expect(result.output.contains(text))
      #expect(result.error.contains("no font") == (language != nil))
      if let language { #expect(result.error.contains("the page has \(language) text")) }
    }
  }
}
