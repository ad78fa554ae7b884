import Foundation
import HTTPTransport
import Testing

struct JSONReaderTests {
  private static func read(_ text: String, limits: JSONLimits = .standard) throws -> JSONValue {
    try JSONValue(reading: Array(text.utf8), limits: limits)
  }

  private static func complaint(_ text: String, limits: JSONLimits = .standard) -> String {
    do { return "\(try read(text, limits: limits))" } catch { return "\(error)" }
  }

  @Test(arguments: [
    ("null", JSONValue.null), (" true ", .bool(true)), ("false", .bool(false)), ("0", .integer(0)), ("-0", .integer(0)),
    ("1.0", .integer(1)), ("1e3", .integer(1_000)), ("1.5", .number(1.5)), ("-2.5e-1", .number(-0.25)),
    ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
    ("9223372036854775808", .number(9_223_372_036_854_775_808)),
    ("-9223372036854775809", .number(-9_223_372_036_854_775_808)), ("1E+19", .number(1e19)), ("1e-400", .integer(0)),
    ("\"\"", .string("")), ("\"é \u{1F600}\"", .string("é \u{1F600}")),
    (#""\"\\\/\b\f\n\r\t\u0041\uD83D\ude00""#, .string("\"\\/\u{8}\u{C}\n\r\tA\u{1F600}")),
    ("[]", .array([])), ("{}", .object([:])), ("\u{FEFF}[1]", .array([.integer(1)])),
    (
      "[1, [2, {\"a\": []}], {}]",
      .array([.integer(1), .array([.integer(2), .object(["a": .array([])])]), .object([:])])
    ),
    ("{\"a\" : {\"b\": null}, \"c\":\t\"d\"\r\n}", .object(["a": .object(["b": .null]), "c": .string("d")])),
    ("[1,]", .array([.integer(1)])), ("{\"a\":1,}", .object(["a": .integer(1)])),
    ("{\"a\":1,\"\\u0061\":2}", .object(["a": .integer(1)])),
  ])
  func aTextIsReadAsItsValue(_ text: String, _ value: JSONValue) throws {
    #expect(try Self.read(text) == value)
  }

  @Test(
    "an error names the fault and its place",
    arguments: [
      ("", "expected a value, found the end at byte 0"),
      ("[1,\n 2\n}", #"expected "," or "]", found "}" at byte 7, in line 3"#),
      ("[1 2]", #"expected "," or "]", found "2" at byte 3"#), ("[,1]", #"expected a value, found "," at byte 1"#),
      ("{1:2}", #"expected a member's name or "}", found "1" at byte 1"#),
      ("{\"a\" 1}", #"expected ":", found "1" at byte 5"#), ("{\"a\":}", #"expected a value, found "}" at byte 5"#),
      ("true false", #"expected the end, found "f" at byte 5"#), ("nul", #"expected "null", found the end at byte 3"#),
      ("01", #"expected no digit behind a leading zero, found "1" at byte 1"#),
      ("-", "expected a digit, found the end at byte 1"), ("1.e5", #"expected a digit, found "e" at byte 2"#),
      ("+1", #"expected a value, found "+" at byte 0"#), ("NaN", #"expected a value, found "N" at byte 0"#),
      ("[1e400]", #"expected a number up to 1.7976931348623157e+308, found "1e400" at byte 1"#),
      ("\"abc", "expected the closing quote of a string, found the end at byte 4"),
      ("\"\\x\"", #"expected an escape of JSON, found "x" at byte 2"#),
      ("\"\\u00g0\"", #"expected a hexadecimal digit, found "g" at byte 5"#),
      ("\"\\ud800\"", "expected both halves of a surrogate pair, found one at byte 1"),
      ("\"\\ud800\\u0041\"", "expected both halves of a surrogate pair, found one at byte 1"),
      ("\"a\u{1}\"", "expected control characters as escapes, found \"\u{FFFD}\" at byte 2"),
      ("// c\n1", #"expected a value, found "/" at byte 0"#),
      ("[1]\u{0}", "expected the end, found \"\u{FFFD}\" at byte 3"),
    ])
  func faults(_ text: String, _ complaint: String) {
    #expect(Self.complaint(text) == complaint)
  }

  @Test func aStringThatIsNotUTF8IsRefused() {
    #expect(throws: JSONError.self) { try JSONValue(reading: [0x22, 0x61, 0xFF, 0x22]) }
    #expect(throws: JSONError.self) { try JSONValue(reading: [0x22, 0xED, 0xA0, 0x80, 0x22]) }
    #expect(throws: JSONError.self) { try JSONValue(reading: Array("[]".utf8) + [0xFF]) }
  }

  @Test("nesting deeper than the limit is refused")
  func depthLimit() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    _ = try Self.read(nested(64))
    #expect(Self.complaint(nested(65)) == "expected at most 64 levels of nesting, found more at byte 64")
    let objects = String(repeating: #"{"a":"#, count: 65)
    #expect(Self.complaint(objects) == "expected at most 64 levels of nesting, found more at byte 320")
    // Where the limit is far, the depth is not that of the reader's own calls.
    #expect(
      Self.complaint(String(repeating: "[", count: 1 << 20), limits: JSONLimits(depth: .max, values: .max))
        == "expected a value, found the end at byte 1048576")
  }

  @Test("more values than the limit are refused")
  func valueLimit() throws {
    let limits = JSONLimits(values: 5)
    _ = try Self.read("[1,2,{\"a\":3}]", limits: limits)
    #expect(
      Self.complaint("[1,2,{\"a\":3},4]", limits: limits) == "expected at most 5 values, found more at byte 13")
    let many = "[" + String(repeating: "0,", count: 300_000)
    #expect(Self.complaint(many).hasPrefix("expected at most 250000 values"))
  }

  @Test func aMegabyteOfFlatContentIsRead() throws {
    let numbers = (0..<200_000).map { "\($0 % 10_000)" }.joined(separator: ",")
    guard case .array(let values) = try Self.read("[\(numbers)]") else {
      Issue.record("it is not an array")
      return
    }
    #expect(values.count == 200_000)
    let text = String(repeating: "\\n\\u00e9x", count: 100_000)
    #expect(try Self.read("\"\(text)\"") == .string(String(repeating: "\néx", count: 100_000)))
  }

  /// The texts are so long that reading in more than linear time would not end.
  @Test(
    .timeLimit(.minutes(1)),
    arguments: [
      String(repeating: "[[[[[[[[]]]]]]]],", count: 60_000),
      String(repeating: #"{"a":{"b":{"c":{"d":{}}}}},"#, count: 40_000),
      "\"" + String(repeating: "\\u0041", count: 200_000) + "\"", String(repeating: "9", count: 1_000_000),
      "0." + String(repeating: "1", count: 1_000_000), "{" + (0..<50_000).map { "\"\($0)\":0," }.joined() + "}",
      String(repeating: " ", count: 1_000_000) + "1",
    ])
  func aMegabyteOfAnyShapeIsReadOrRefused(_ text: String) {
    let whole = text.hasSuffix(",") ? "[\(text)]" : text
    _ = try? Self.read(whole, limits: JSONLimits(values: 1_000_000))
  }
}

/// Decoding types from values.
struct JSONDecodingTests {
  private struct Everything: Codable, Equatable {
    enum Kind: String, Codable { case one, two }
    enum Choice: Codable, Equatable {
      case plain
      case pair(Int, name: String)
    }
    struct Inner: Codable, Equatable {
      var flag: Bool
      var rest: JSONValue?
    }

    var text: String
    var whole: Int
    var small: UInt8
    var large: UInt64
    var fraction: Double
    var missing: String?
    var kind: Kind
    var choices: [Choice]
    var inner: [String: Inner]
    var optionals: [Int?]
    var any: JSONValue
    var single: Float
  }

  @Test func everyTypeIsDecodedAsByFoundation() throws {
    let value = Everything(
      text: "a", whole: -7, small: 255, large: 1 << 60, fraction: 0.25, kind: .two,
      choices: [.plain, .pair(3, name: "n")], inner: ["x": .init(flag: true, rest: .array([.null]))],
      optionals: [1, nil, 3], any: .object(["k": .array([.integer(1), .number(1.5), .string("s"), .null])]), single: 2.5
    )
    let bytes = try JSONEncoder().encode(value)
    #expect(try JSONValue(reading: Array(bytes)).decoded(as: Everything.self) == value)
    #expect(try JSONDecoder().decode(Everything.self, from: bytes) == value)
  }

  @Test(arguments: [
    (#"{"a":[{"b":"x"}]}"#, "a[0].b: expected a whole number, found a text"),
    (#"{"a":[{"b":1},{"b":300}]}"#, "a[1].b: Number 300 does not fit into UInt8"),
    (#"{"a":[{"b":1.5}]}"#, "a[0].b: Number 1.5 is not a whole one that fits into UInt8"),
    (#"{"a":[{}]}"#, #"a[0]: "b" is missing"#), (#"{"a":{}}"#, "a: expected a list, found an object"),
    (#"{"a":[7]}"#, "a[0]: expected an object, found a number"), (#"{"a":null}"#, "a: expected a list, found null"),
    ("[]", "expected an object, found a list"),
  ])
  func aValueOfTheWrongTypeIsNamedByItsPath(_ text: String, _ complaint: String) throws {
    struct Item: Decodable { let b: UInt8 }
    struct List: Decodable { let a: [Item] }
    let value = try JSONValue(reading: Array(text.utf8))
    do {
      _ = try value.decoded(as: List.self)
      Issue.record("it was decoded")
    } catch {
      #expect(error.jsonReason == complaint)
    }
  }

  @Test("other decoders decode values up to the depth limit")
  func otherDecoders() throws {
    func nested(_ depth: Int) -> Data {
      Data((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
    }
    #expect(try JSONDecoder().decode(JSONValue.self, from: nested(64)) == JSONValue(reading: Array(nested(64))))
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: nested(490)) }
  }

  @Test("other tasks go on while a long text is read")
  func longText() async throws {
    let text = Array("[\((0..<100_000).map { "\($0)" }.joined(separator: ","))]".utf8)
    #expect(try await JSONValue.decode([Int].self, from: text).count == 100_000)
    await #expect(throws: JSONError.self) { try await JSONValue.decode([Int].self, from: text + [0x5D]) }
    await #expect(throws: DecodingError.self) { try await JSONValue.decode([String].self, from: text) }
  }
}
