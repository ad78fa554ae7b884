import Testing

@testable import HTTPTransport

struct PlacedJSONTests {
  private static let text = """
    {
      "one": 1, "list": [{"a": "x\\"]}"}, {"b": [1, [2], {"c": null}]}],
      "käse": {"\\u0061": "später", "n": -1}
    }
    """

  @Test(
    "a value is found at its line and column, which count characters",
    arguments: [
      (["one"], "2:10"), (["list"], "2:21"), (["list", "1"], "2:38"), (["list", "1", "b", "2", "c"], "2:59"),
      (["käse"], "3:11"), (["käse", "a"], "3:22"), (["käse", "n"], "3:37"), ([], "1:1"),
    ] as [([String], String)])
  func places(_ path: [String], _ place: String) throws {
    var value = try PlacedJSON(Array(Self.text.utf8), named: "f.json")
    for key in path {
      if case .array = value.value {
        value = try value.elements()[try #require(Int(key))]
      } else {
        value = try #require(try value.members().first { $0.name == key }?.value)
      }
    }
    #expect(value.place.description == place)
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
    #expect(try message("[1, 2]") { try $0.elements(upTo: 1) } == "f.json:1:7: it has 2 elements, and the limit is 1")
    #expect(
      try message("[true]") { try $0.elements()[0].text() } == "f.json:1:8: expected a text, found true")
  }
}
