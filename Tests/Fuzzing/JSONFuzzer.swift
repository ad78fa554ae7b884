import HTTPTransport

/// Texts of JSON: what is read and written again reads the same.
enum JSONFuzzer: Fuzzer {
  static let name = "json"
  static let seeds = [
    #"{"schema": 1, "release": "r1", "bundles": [{"name": "home", "size": 5213, "md5": "9001"}], "files": []}"#,
    #"[1, -2.5e3, 0.125, true, false, null, "a\u00e9\n\"b\"", {"a": {"b": [[], {}]}}]"#,
    #"{"id":"é😀","n":9223372036854775807,"m":-9223372036854775809,"e":1e19,"s":"\ud83d\ude00\\\/"}"#,
    #" [ [ [ [ "x" , 1 ] ] , { "y" : 0 } ] ] "#, "-0.0", "\"\"", "1E+2", "1e999", #""\ud800""#, "[1,]", "{\"a\":1,}",
    "\u{FEFF}null",
  ].map { Array($0.utf8) }

  private static let limits = JSONLimits(depth: 16, values: 200)

  static func read(_ bytes: [UInt8]) {
    let value: JSONValue
    do {
      value = try JSONValue(reading: bytes, limits: limits)
    } catch {
      hold((0...bytes.count).contains(error.offset), "the fault lies within the text: \(error.offset)")
      let lines = 1 + bytes.count { $0 == UInt8(ascii: "\n") }
      hold((1...lines).contains(error.place.line), "the fault's line is one of the text: \(error.place.line)")
      return
    }
    let (depth, count) = size(value)
    hold(depth <= limits.depth, "no deeper than the limit: \(depth)")
    hold(count <= limits.values, "no more values than the limit: \(count)")
    do {
      let again = try JSONValue(reading: value.text, limits: limits)
      hold(again.rounded == value.rounded, "what was written reads the same: \(value) \(again)")
    } catch {
      hold(false, "what was written reads: \(error)")
    }
  }

  /// How deep arrays and objects lie in each other, and how many values there are.
  private static func size(_ value: JSONValue) -> (depth: Int, count: Int) {
    let inner: [JSONValue]
    switch value {
    case .array(let elements): inner = elements
    case .object(let members): inner = Array(members.values)
    default: return (0, 1)
    }
    let sizes = inner.map { size($0) }
    return (1 + (sizes.map(\.depth).max() ?? 0), 1 + sizes.reduce(0) { $0 + $1.count })
  }
}

extension JSONValue {
  /// The same with whole numbers as integers, also those that were rounded to one: `-9223372036854775809` reads as the
  /// number next to it, which is written as it is.
  var rounded: JSONValue {
    switch self {
    case .number(let number): Int64(exactly: number).map { .integer($0) } ?? self
    case .array(let elements): .array(elements.map(\.rounded))
    case .object(let members): .object(members.mapValues(\.rounded))
    case .null, .bool, .integer, .string: self
    }
  }
}
