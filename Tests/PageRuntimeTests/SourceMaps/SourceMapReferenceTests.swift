import CurlTransport
import Foundation
import HTTPCache
import HTTPTransport
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

struct SourceMapReferenceTests {
  @Test(
    "the reference at the end of a script is found",
    arguments: [
      ("a()\n//# sourceMappingURL=a.js.map", "a.js.map"), ("a()\n//@ sourceMappingURL=a.js.map\n", "a.js.map"),
      ("a() //# sourceMappingURL=a.js.map\r\n\r\n", "a.js.map"), ("/*# sourceMappingURL=a.css.map */", "a.css.map"),
      ("//# sourceMappingURL=a.map\n// more\n\n//\tlast\n", "a.map"),
      ("//# sourceMappingURL=old.map\n//# sourceMappingURL=new.map", "new.map"),
      ("//# sourceMappingURL=data:application/json;base64,e30=", "data:application/json;base64,e30="),
    ])
  func references(_ source: String, _ expected: String) {
    #expect(SourceMap.reference(in: source) == expected)
  }

  @Test(
    "other texts are not taken for a reference",
    arguments: [
      "", "\n\n", "a()", "//# sourceMappingURL=", "//# sourceMappingURL=a.map\na()",
      "var a = '//# sourceMappingURL=a.map'", "//#sourceMappingURL=a.map", "/*# sourceMappingURL=a.map",
      "// sourceMappingURL=a.map", "sourceMappingURL=a.map",
    ])
  func otherComments(_ source: String) { #expect(SourceMap.reference(in: source) == nil) }

  private static let map = try? SourceMap(
    reading: Array(#"{"version":3,"sources":["src/a.ts"],"names":[],"mappings":"AAAA;AACA;AAIE"}"#.utf8))

  @Test("an exception and its calls are mapped")
  func mapping() throws {
    let exception = ScriptException(
      message: "no", url: "http://x/a.js", line: 3, column: 9,
      stack:
        "inner@http://x/a.js:3:9\nforEach@[native code]\nhttp://x/a.js:1:1\nother@http://x/b.js:1:1\nout@http://x/a.js:9:1"
    )
    let mapped = exception.mapped(through: try #require(Self.map), of: "http://x/a.js")
    #expect(mapped.description == "no (src/a.ts:6:3)")
    #expect(
      mapped.stack
        == "inner@src/a.ts:6:3\nforEach@[native code]\nsrc/a.ts:1:1\nother@http://x/b.js:1:1\nout@http://x/a.js:9:1")
  }

  @Test("an exception without a place has that of its innermost call")
  func innermostCall() throws {
    let exception = ScriptException(message: "no", stack: "map@[native code]\ninner@http://x/a.js:3:9")
    #expect(exception.located.description == "no (http://x/a.js:3:9)")
    #expect(exception.mapped(through: try #require(Self.map), of: "http://x/a.js").line == 6)
  }

  @Test("a script from the network cannot read a local map")
  func localMaps() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let json = #"{"version":3,"sources":["a.ts"],"names":[],"mappings":"AAAA"}"#
      try Data(json.utf8).write(to: URL(fileURLWithPath: fixture.folder.file("a.map")))
      var configuration = ResourceLoader.Configuration()
      configuration.localFolder = fixture.folder.path
      let loader = ResourceLoader(
        cache: fixture.loader.cache, transport: try CurlTransport(),
        configuration: configuration)
      let source = "a()\n//# sourceMappingURL=file://\(fixture.folder.file("a.map"))"
      let here = try #require(PageURL(filePath: fixture.folder.file("a.js")))
      #expect(try await loader.sourceMap(of: source, at: here) != nil)
      let there = try #require(PageURL(fixture.origin.url(for: "/a.js")))
      await #expect(throws: LoadError.self) { try await loader.sourceMap(of: source, at: there) }
    }
  }

  @Test("a map is found in the script, beside it and on the network")
  func lookup() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let json = #"{"version":3,"sources":["a.ts"],"names":[],"mappings":"AAAA"}"#
      fixture.origin.serve("/maps/a.map", Array(json.utf8), contentType: "application/json")
      fixture.origin.serve("/maps/bad.map", Array("<html>".utf8), contentType: "text/html")
      let url = try #require(PageURL(fixture.origin.url(for: "/pages/a.js")))
      func find(_ reference: String) async throws -> String? {
        try await fixture.loader.sourceMap(of: "a()\n//# sourceMappingURL=\(reference)", at: url)?.position(
          line: 1, column: 1)?
          .source
      }
      #expect(try await find("../maps/a.map") == fixture.origin.url(for: "/maps/a.ts"))
      #expect(
        try await find("data:application/json,\(json.replacing("\"", with: "%22"))")
          == fixture.origin.url(for: "/pages/a.ts"))
      #expect(try await fixture.loader.sourceMap(of: "a()", at: url) == nil)
      for bad in ["/maps/bad.map", "/maps/none.map", "file:///etc/passwd", "data:,x"] {
        await #expect(throws: (any Error).self, "\(bad)") { try await find(bad) }
      }
    }
  }
}
