import Foundation
import PageKit
import PageTesting
import TestSupport
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

  private static let red = """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div')
    d.documentElement.appendChild(b)
    b.appendChild(d.createElement('div', { style: { width: 750, height: 100, backgroundColor: 'red' } }))
    b.appendChild(d.createElement('text', { attr: { value: WXEnvironment.deviceWidth + ' ' + WXEnvironment.scale } }))
    b.appendChild(d.createElement('div', { style: { height: 4000 } }))

    """

  @Test(
    "a page is drawn in a confined process, and in the command's own", .enabled(if: DrawnPicture.canDraw),
    arguments: [[], ["--in-process"]])
  func pictures(_ more: [String]) async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Self.red, to: "a.js")
      func draw(_ options: String...) async throws -> DrawnPicture {
        let file = site.folder.file("a.png")
        let arguments = ["render", site.folder.file("a.js"), "--store", site.store, "--format", "png", "-o", file]
        let result = try await Command.start(arguments + options + more).result()
        #expect(result.status == 0 && result.output.isEmpty, "\(result.error)")
        return try DrawnPicture(Array(Data(contentsOf: URL(fileURLWithPath: file))))
      }
      let screen = try await draw("--size", "375x812@2")
      #expect(screen.size == "750x1624" && screen.color(700, 50) == [255, 0, 0])
      let small = try await draw("--size", "100x100")
      #expect(small.size == "100x100" && small.color(90, 5) == [255, 0, 0] && small.color(90, 90) == [255, 255, 255])
      #expect(try await draw().size == "750x1334")
      let full = try await draw("--full")
      #expect(full.size.hasPrefix("750x41"), "\(full.size)")
      let drawing = try await Command.start(
        ["render", site.folder.file("a.js"), "--store", site.store, "--format", "svg", "--size", "320x480"] + more
      ).result()
      #expect(drawing.output.contains("<svg") && drawing.output.contains("320"), "\(drawing.error)")
      // The script has the same screen.
      let outline = try await Command.run("render", site.folder.file("a.js"), "--store", site.store)
      #expect(outline.output.contains("value=\"750 2\""))
    }
  }

  private static let font = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"

  @Test(
    "a confined process draws texts as the command's own does, in any size and with a font of the page",
    .enabled(if: DrawnPicture.canDraw && FileManager.default.fileExists(atPath: font)))
  func fontsInPictures() async throws {
    let script = """
      // { "framework": "Vanilla" }
      var d = weex.document, b = d.createBody('div')
      d.documentElement.appendChild(b)
      weex.requireModule('dom').addRule('fontFace', { fontFamily: 'mine', src: "url('mine.ttf')" })
      for (var n = 20; n < 60; n += 7) {
        b.appendChild(d.createElement('text', { attr: { value: 'iiWW 汉字' }, style: { fontSize: n, fontFamily: 'mine' } }))
        b.appendChild(d.createElement('text', { attr: { value: 'iiWW 汉字' }, style: { fontSize: n, fontWeight: 'bold' } }))
      }
      """
    try await Site.running { (site: Site) async throws in
      try site.write(script, to: "a.js")
      try FileManager.default.copyItem(atPath: Self.font, toPath: site.folder.file("mine.ttf"))
      var pictures: [Data] = []
      for more in [[], ["--in-process"]] {
        let file = site.folder.file("a\(more.count).png")
        let arguments = ["render", site.folder.file("a.js"), "--store", site.store, "--format", "png", "-o", file]
        let result = try await Command.start(arguments + more).result()
        #expect(result.status == 0, "\(result.error)")
        pictures.append(try Data(contentsOf: URL(fileURLWithPath: file)))
      }
      #expect(pictures.first == pictures.last)
    }
  }

  @Test("a screen that is too large, or without a picture, is refused before the page is opened")
  func screens() async throws {
    try await Site.running { (site: Site) async throws in
      let large = try await Self.render(site, "--format", "png", "--size", "9999x9999@2", "-o", "/dev/null")
      #expect(large.status == 64 && large.error.contains("9999x9999@2 has more than 33554432 pixels"), "\(large.error)")
      let unclear = try await Self.render(site, "--format", "png", "--size", "big")
      #expect(unclear.status == 64 && unclear.error.contains("a width and a height in points"), "\(unclear.error)")
      let text = try await Self.render(site, "--size", "375x812@2")
      #expect(text.status == 64 && text.error.contains("belong to --format png and svg"), "\(text.error)")
    }
  }

  @Test("where a library is missing, the package to install is named, and texts are shown as before")
  func missingLibraries() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Self.red, to: "a.js")
      try site.write("no library", to: "lib/libpangocairo-1.0.so.0")
      let former = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":" + $0 } ?? ""
      let libraries = ["LD_LIBRARY_PATH": site.folder.file("lib") + former]
      let picture = try await Command.run(
        "render", site.folder.file("a.js"), "--store", site.store, "--format", "png", environment: libraries)
      #expect(picture.status == 1 && picture.output.isEmpty)
      #expect(picture.error.contains("install libpangocairo-1.0-0 ("), "\(picture.error)")
      let outline = try await Command.run(
        "render", site.folder.file("a.js"), "--store", site.store, environment: libraries)
      #expect(outline.status == 0 && outline.error.isEmpty)
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
