import HTTPTypes
import Testing

@testable import HTTPCaching

struct CacheTagsTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let lines: [(String, String)]
    let tags: [String]

    init(_ lines: [(String, String)], _ tags: [String]) {
      self.lines = lines
      self.tags = tags
    }

    var testDescription: String { "\(lines)" }

    var fields: HTTPFields {
      var fields = HTTPFields()
      for (name, value) in lines {
        if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
      }
      return fields
    }
  }

  private static let long = String(repeating: "x", count: 256)

  @Test(
    "the tags of both fields are joined without repetitions",
    arguments: [
      Row([], []),
      Row([("Surrogate-Key", "")], []),
      Row([("Surrogate-Key", "a b\tc  d")], ["a", "b", "c", "d"]),
      Row([("Surrogate-Key", "a,b c")], ["a,b", "c"]),
      Row([("Cache-Tag", "a, b ,c,,\t,d")], ["a", "b", "c", "d"]),
      Row([("Cache-Tag", "a b, c")], ["a b", "c"]),
      Row([("cache-tag", "a,c"), ("surrogate-key", "b a"), ("Cache-Tag", "d,b")], ["b", "a", "c", "d"]),
      Row([("Cache-Tag", "A,a,é")], ["A", "a", "é"]),
      Row([("Cache-Tag", long + "x," + long)], [long]),
    ])
  func bothFields(_ row: Row) { #expect(CacheTags.of(row.fields) == row.tags) }

  @Test("tags beyond the limits are ignored")
  func limits() {
    let names = (0..<300).map { "t\($0)" }
    let fields = Row(
      [("Surrogate-Key", names.prefix(200).joined(separator: " ")), ("Cache-Tag", names.joined(separator: ","))], []
    ).fields
    #expect(CacheTags.of(fields) == Array(names.prefix(256)))
  }

  @Test(
    "tags that are not kept are noticed",
    arguments: [
      (Row([], []), true), (Row([("Cache-Tag", ",\t, ,")], []), true),
      (Row([("Cache-Tag", (0..<256).map { "t\($0)" }.joined(separator: ",") + ",t0,t255")], []), true),
      (Row([("Cache-Tag", (0...256).map { "t\($0)" }.joined(separator: ","))], []), false),
      (Row([("Surrogate-Key", (0..<256).map { "t\($0)" }.joined(separator: " ")), ("Cache-Tag", "more")], []), false),
      (Row([("Surrogate-Key", long + " a")], []), true), (Row([("Surrogate-Key", "a " + long + "x")], []), false),
    ])
  func unkeptTags(_ row: Row, _ areAllKept: Bool) { #expect(CacheTags.areAllKept(row.fields) == areAllKept) }
}
