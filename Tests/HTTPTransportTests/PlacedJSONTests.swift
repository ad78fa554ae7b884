import HTTPTransport
import Testing

struct PlacedJSONTests {
  private static func read(_ text: String) throws -> PlacedJSON { try PlacedJSON(reading: Array(text.utf8)) }

  private static let text = """
    {
      "page": "home.js",
      "é": {"b": [1, {"c": null}], "a": 2},
      "page": 3
    }
    """

  @Test("each value knows its line and column, and each member that of its name")
  func places() throws {
    let file = try Self.read(Self.text)
    #expect(file.place == TextPlace(line: 1, column: 1))
    #expect(file["page"]?.place == TextPlace(line: 2, column: 11))
    #expect(file["page"]?.namePlace == TextPlace(line: 2, column: 3))
    #expect(file["é"]?["b"]?.elements?.map(\.place.column) == [15, 18])
    #expect(file["é"]?["b"]?.elements?.last?["c"]?.place == TextPlace(line: 3, column: 24))
    #expect(file["é"]?["b"]?.elements?.first?.namePlace == TextPlace(line: 3, column: 15))
  }

  @Test("members come in the order of the text, the first of each name")
  func order() throws {
    let file = try Self.read(Self.text)
    #expect(file.members?.map(\.name) == ["page", "é"])
    #expect(file["é"]?.members?.map(\.name) == ["b", "a"])
    #expect(file["page"]?.value == .string("home.js"))
    #expect(file["none"] == nil && file["page"]?.members == nil && file["page"]?.elements == nil)
  }

  @Test("a column counts characters, and no byte order mark")
  func columns() throws {
    #expect(try Self.read("\u{FEFF}[\"😀é\", 1]").elements?.last?.place == TextPlace(line: 1, column: 8))
  }

  @Test(
    "a text that is not JSON has the place of its fault",
    arguments: [
      ("{\n  \"a\" 1}", 2, 7, "expected \":\", found \"1\""), ("", 1, 1, "expected a value, found the end"),
      ("[1,\n2\n", 3, 1, "expected \",\" or \"]\", found the end"),
    ])
  func faults(_ text: String, _ line: Int, _ column: Int, _ reason: String) throws {
    let error = #expect(throws: JSONError.self) { try Self.read(text) }
    #expect(error?.place == TextPlace(line: line, column: column))
    #expect(error?.reason == reason)
  }
}
