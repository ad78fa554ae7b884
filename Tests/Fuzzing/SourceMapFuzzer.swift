import Foundation
import HTTPTransport

@testable import PageRuntime

/// Source maps, and what scripts say of where theirs is.
enum SourceMapFuzzer: Fuzzer {
  static let name = "source-maps"

  /// `J` and a map's JSON, `M` and its mappings alone, or `R` and a script.
  static let seeds = [
    #"J{"version":3,"sources":["a.js",null],"names":["x"],"mappings":"AAAA,CAACA;;ACDA","sourcesContent":["a\nb"],"sourceRoot":"s"}"#,
    #"J{"version":3,"sections":[{"offset":{"line":0,"column":5},"map":{"version":3,"sources":["a"],"mappings":"AAAA"}}]}"#,
    "J)]}'\n{\"version\":3,\"mappings\":\"\"}", #"J{"version":2}"#, "MAAAA,CAAC;AAgggggggggB,gggggE",
    "MA,C,D;;E;AAAAA,AAAAAA",
    "Rvar a\n//# sourceMappingURL=a.map\n", "R/*# sourceMappingURL=a.map */ \n// x", "R//@ sourceMappingURL=\"a\"\r\n",
  ].map { Array($0.utf8) }

  private static let url = PageURL("https://a.example/b/c.js.map")
  private static let limits: SourceMap.Limits = {
    var limits = SourceMap.Limits()
    (limits.bytes, limits.segments, limits.sections) = (4000, 500, 10)
    return limits
  }()

  static func read(_ bytes: [UInt8]) {
    let rest = Array(bytes.dropFirst())
    switch bytes.first {
    case UInt8(ascii: "R"): reference(String(decoding: rest, as: UTF8.self))
    case UInt8(ascii: "M"):
      let mappings = JSONValue.string(String(decoding: rest, as: UTF8.self))
      let map: JSONValue = .object([
        "version": .integer(3), "mappings": mappings, "sources": .array([.string("a.js"), .null, .string("//b")]),
        "names": .array([.string("x"), .string("y")]), "sourcesContent": .array([.string("1\n2\r\n3")]),
      ])
      self.map(map.text)
    default: map(rest)
    }
  }

  private static func reference(_ script: String) {
    guard let found = SourceMap.reference(in: script) else { return }
    hold(!found.isEmpty && script.contains(found), "a reference stands in the script: \(found)")
    hold(!found.contains { " \t\"'`".contains($0) }, "a reference is one word: \(found)")
  }

  private static func map(_ bytes: [UInt8]) {
    let map: SourceMap
    do {
      map = try SourceMap(reading: bytes, at: url, limits: limits)
    } catch {
      hold(!"\(error)".isEmpty, "a refusal says why")
      return
    }
    hold(map.segments.count <= limits.segments, "no more segments than the limit")
    hold(map.contents.count == map.sources.count, "each source may have its text")
    hold(
      zip(map.segments, map.segments.dropFirst()).allSatisfy { !$1.isBefore($0) },
      "segments are in order: \(map.segments)")
    for segment in map.segments.prefix(50) {
      let (line, column) = (Int(segment.line) + 1, Int(segment.column) + 1)
      for place in [map.position(line: line, column: column), map.position(line: line, column: nil)] {
        guard let place else { continue }
        hold(place.line > 0 && place.column > 0, "places count from 1: \(place)")
        hold(map.sources.contains(place.source), "a place is in one of the sources: \(place)")
        _ = map.text(of: place.source, line: place.line)
      }
    }
    for place in [0, 1, Int.max, Int(Int32.max), Int.min] { _ = map.position(line: place, column: place) }
  }
}
