import Testing

@testable import HTTPTransport

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

  @Test("a text that is not JSON is refused with its place")
  func notJSON() {
    #expect(throws: DescribedError("f.json:2:8: expected a value, found \"x\"")) {
      _ = try PlacedJSON(Array("{\n  \"a\": x}".utf8), named: "f.json")
    }
  }

  private static func value(_ text: String) throws -> PlacedJSON {
    try #require(try PlacedJSON(Array("{\"a\": \(text)}".utf8), named: "f.json").object(["a"])["a"])
  }

  @Test("a value of another kind is refused with what was found, and what is to be written")
  func kinds() throws {
    func message<Value>(_ text: String, _ read: (PlacedJSON) throws -> Value) throws -> String {
      let value = try Self.value(text)
      do {
        _ = try read(value)
        return "taken"
      } catch {
        return error.sentence
      }
    }
    #expect(
      try message("\"many\"") { try $0.count(in: 0...9) }
        == "f.json:1:7: \"a\" is \"many\": write a whole number from 0 to 9")
    #expect(try message("10") { try $0.count(in: 0...9) }.hasPrefix("f.json:1:7: \"a\" is 10: write a whole"))
    #expect(try message("1.5") { try $0.count(in: 0...9) }.contains("is 1.5"))
    #expect(try message("7") { try $0.count(in: 0...9) } == "taken")
    #expect(try message("[]") { try $0.text() } == "f.json:1:7: \"a\" is a list: write a text")
    #expect(try message("\"abc\"") { try $0.text(upTo: 2) } == "f.json:1:7: it has 3 bytes, and the limit is 2")
    #expect(try message("40") { try $0.time(in: .zero ... .seconds(1)) }.contains("\"a\" is 40: write a time from 0 s"))
    #expect(try message("\"2s\"") { try $0.time(in: .zero ... .seconds(1)) }.contains("is \"2s\": write a time"))
    #expect(try message("{\"b\": 1}") { try $0.object(["c"]) } == "f.json:1:13: there is no member \"b\": there are c")
    #expect(try message("[1, 2]") { try $0.list(upTo: 1) } == "f.json:1:7: it has 2 elements, and the limit is 1")
    #expect(
      try message("[true]") { try $0.list()[0].text() } == "f.json:1:8: expected a text, found true")
  }
}
