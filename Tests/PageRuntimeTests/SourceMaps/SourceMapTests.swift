import HTTPTransport
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

struct SourceMapTests {
  /// Mappings of lines of segments, as a generator writes them.
  private static func mappings(_ lines: [[[Int]]]) -> String {
    lines.map { $0.map { $0.map(vlq).joined() }.joined(separator: ",") }.joined(separator: ";")
  }

  private static func vlq(_ value: Int) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var rest = value < 0 ? (-value << 1) | 1 : value << 1
    var text = ""
    repeat {
      let digit = rest & 31
      rest >>= 5
      text.append(digits[rest > 0 ? digit | 32 : digit])
    } while rest > 0
    return text
  }

  private static func map(
    _ mappings: String, sources: String = #"["a.ts","b.ts"]"#, more: String = "", at url: String? = nil
  ) throws -> SourceMap {
    let text = #"{"version":3,"sources":\#(sources),"names":["one","two"],"mappings":"\#(mappings)"\#(more)}"#
    return try SourceMap(reading: Array(text.utf8), at: url.flatMap { PageURL($0) })
  }

  private static let simple = mappings([
    [[0, 0, 0, 0], [10, 0, 4, 2, 0]], [], [[4, 1, 1, -2, 1], [5], [6, -1, -3, 7]],
  ])

  @Test(
    "a place is mapped by the segment that it is in",
    arguments: [
      (1, 1, "a.ts:1:1", nil), (1, 10, "a.ts:1:1", nil), (1, 11, "a.ts:5:3", "one"), (1, 900, "a.ts:5:3", "one"),
      (3, 5, "b.ts:6:1", "two"), (3, 9, "b.ts:6:1", "two"), (3, 16, "a.ts:3:8", nil),
    ])
  func positions(_ line: Int, _ column: Int, _ expected: String, _ name: String?) throws {
    let position = try #require(try Self.map(Self.simple).position(line: line, column: column))
    #expect(position.description == expected)
    #expect(position.name == name)
  }

  @Test(
    "a place without a segment is not mapped",
    arguments: [
      (1, 0), (0, 1), (2, 1), (3, 4), (3, 10), (4, 1), (-1, -1), (Int.max, 1), (1 << 40, 1 << 40), (3, 1 << 40),
    ])
  func unmappedPlaces(_ line: Int, _ column: Int) throws {
    #expect(try Self.map(Self.simple).position(line: line, column: column) == nil)
  }

  @Test("a line without a column is mapped by its first segment")
  func lines() throws {
    let map = try Self.map(Self.simple)
    #expect(map.position(line: 3, column: nil)?.description == "b.ts:6:1")
    #expect(map.position(line: 2, column: nil) == nil)
  }

  @Test("segments out of order are found")
  func unorderedSegments() throws {
    let map = try Self.map(Self.mappings([[[20, 0, 7, 0], [-15, 0, -3, 0]]]))
    #expect(map.position(line: 1, column: 7)?.line == 5)
    #expect(map.position(line: 1, column: 25)?.line == 8)
  }

  @Test(
    "sources are resolved against the root and the map's URL",
    arguments: [
      (#"["a.ts"]"#, "", nil, "a.ts"), (#"["a.ts"]"#, #","sourceRoot":"src""#, nil, "src/a.ts"),
      (#"["a.ts"]"#, #","sourceRoot":"/src/""#, "https://x.org/js/a.js.map", "https://x.org/src/a.ts"),
      (#"["../a.ts"]"#, "", "https://x.org/js/a.js.map", "https://x.org/a.ts"),
      (#"["webpack:///./a.vue"]"#, "", "https://x.org/js/a.js.map", "webpack:///./a.vue"),
      (#"["https://y.org/a.ts"]"#, "", "https://x.org/js/a.js.map", "https://y.org/a.ts"),
    ])
  func relativeSources(_ sources: String, _ more: String, _ url: String?, _ expected: String) throws {
    let map = try Self.map("AAAA", sources: sources, more: more, at: url)
    #expect(map.position(line: 1, column: 1)?.source == expected)
  }

  @Test("a source without a name gives no place")
  func namelessSource() throws {
    #expect(try Self.map("AAAA", sources: "[null]").position(line: 1, column: 1) == nil)
  }

  @Test("sections are read as one map")
  func sections() throws {
    func section(_ line: Int, _ column: Int, _ source: String) -> String {
      #"{"offset":{"line":\#(line),"column":\#(column)},"map":{"version":3,"sources":["\#(source)"],"names":[],"mappings":"AAAA;AACA"}}"#
    }
    let text = #"{"version":3,"sections":[\#(section(0, 0, "a")),\#(section(2, 8, "b"))]}"#
    let map = try SourceMap(reading: Array(text.utf8))
    #expect(map.position(line: 2, column: 1)?.description == "a:2:1")
    #expect(map.position(line: 3, column: 9)?.description == "b:1:1")
    // Its second line begins at the left again.
    #expect(map.position(line: 4, column: 1)?.description == "b:2:1")
    let crossed = #"{"version":3,"sections":[\#(section(2, 8, "b")),\#(section(0, 0, "a"))]}"#
    #expect(throws: DescribedError.self) { try SourceMap(reading: Array(crossed.utf8)) }
  }

  @Test("a first line that keeps the map from running is left out")
  func guardLine() throws {
    let text = ")]}'\n{\"version\":3,\"sources\":[\"a\"],\"names\":[],\"mappings\":\"AAAA\"}"
    #expect(try SourceMap(reading: Array(text.utf8)).position(line: 1, column: 1)?.source == "a")
  }

  @Test("a source's line is given if the map has its text")
  func sourceText() throws {
    let map = try Self.map("AAAA", more: #","sourcesContent":["one\ntwo\n"]"#)
    #expect(map.text(of: "a.ts", line: 2) == "two")
    #expect(map.text(of: "a.ts", line: 4) == nil)
    #expect(map.text(of: "b.ts", line: 1) == nil)
  }

  @Test(
    "an invalid map is refused with the reason",
    arguments: [
      ("", "JSON"), ("[]", "JSON"), ("{}", "version unknown"), (#"{"version":2}"#, "version 2"),
      (#"{"version":3,"sources":5}"#, "sources"), (#"{"version":3,"mappings":"A!"}"#, "character 1"),
      (#"{"version":3,"mappings":"AA"}"#, "2 fields"), (#"{"version":3,"mappings":"AAA"}"#, "3 fields"),
      (#"{"version":3,"mappings":"AAAAAA"}"#, "more than 5"), (#"{"version":3,"mappings":"D"}"#, "out of range"),
      (#"{"version":3,"mappings":"g"}"#, "cut short"), (#"{"version":3,"mappings":"gggggggggggggC"}"#, "too large"),
      (#"{"version":3,"sections":[{"offset":{"line":0,"column":0}}]}"#, "section 1"),
      (#"{"version":3,"sections":[{"offset":{"line":-1,"column":0},"map":{"version":3}}]}"#, "out of range"),
      (#"{"version":3,"sections":[{"offset":{"line":0,"column":0},"map":{"sections":[]}}]}"#, "sections itself"),
      (
        #"{"version":3,"sections":[{"offset":{"line":2147483647,"column":0},"map":{"version":3,"mappings":";A"}}]}"#,
        "damaged at character 0: an offset is out of range"
      ),
    ])
  func invalidMaps(_ text: String, _ reason: String) {
    let error = #expect(throws: DescribedError.self) { try SourceMap(reading: Array(text.utf8)) }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }

  @Test("a segment of a source that is not listed gives no place")
  func unlistedSources() throws {
    #expect(try Self.map(Self.mappings([[[0, 7, 0, 0]]])).position(line: 1, column: 1) == nil)
    #expect(try Self.map(Self.mappings([[[0, -1, 0, 0]]])).position(line: 1, column: 1) == nil)
    #expect(try Self.map(Self.mappings([[[0, 0, -5, 0]]])).position(line: 1, column: 1) == nil)
  }

  @Test("a map over the limits is refused")
  func limits() {
    var limits = SourceMap.Limits()
    limits.segments = 2
    let text = #"{"version":3,"sources":["a"],"names":[],"mappings":"AAAA,CAAC,CAAC"}"#
    #expect(throws: DescribedError("the source map has more than 2 segments")) {
      try SourceMap(reading: Array(text.utf8), limits: limits)
    }
    limits.bytes = 10
    #expect(throws: DescribedError("the source map has more than 10 bytes")) {
      try SourceMap(reading: Array(text.utf8), limits: limits)
    }
  }

  @Test("random bytes never crash the reader")
  func garbage() {
    var generator = SeededGenerator(seed: 11)
    let text = Array(
      #"{"version":3,"sources":["a",null],"names":["n"],"mappings":"AAAA,IAAIA;;CCDE,gggggD","sourcesContent":["x"]}"#
        .utf8)
    for _ in 0..<5_000 {
      var changed = text
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        changed[Int.random(in: 0..<changed.count, using: &generator)] = .random(in: 0...255, using: &generator)
      }
      guard let map = try? SourceMap(reading: changed) else { continue }
      for line in 0...4 { _ = map.position(line: line, column: .random(in: 0...100, using: &generator)) }
    }
  }
}
