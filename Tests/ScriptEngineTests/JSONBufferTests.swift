import ScriptEngine
import Testing

/// JSON that a script collects for native code.
struct JSONBufferTests {
  /// Returns the values that native code reads after a script has run, in which `buffer` is the buffer; for one that is
  /// nested too deeply a text.
  private static func taken(_ script: String) async throws -> [ScriptValue] {
    let group = try ScriptGroup.make()
    return try await group.perform { group in
      let context = try group.makeContext(named: "buffer")
      let buffer = JSONBuffer(in: context)
      try context.global.set("buffer", buffer.object)
      try context.evaluate(script)
      var values: [ScriptValue] = []
      try buffer.drain { reader in
        repeat {
          let value = try reader.value()
          values.append(reader.removeDepthFault() ? "too deep" : value)
        } while reader.accept(",")
      }
      try buffer.drain { _ in values.append("taken twice") }
      return values
    }
  }

  /// Returns the value that native code reads of an expression.
  private static func plain(_ expression: String) async throws -> ScriptValue {
    try await taken("buffer.text = JSON.stringify(\(expression))").first ?? .undefined
  }

  @Test(
    "the text is read once, part by part",
    arguments: [
      ("", []), ("buffer.text = '1'", [1]),
      (
        "buffer.text += '1'; buffer.text += ',{\"a\":[2]},123456789012'",
        [1, ["a": [2]], 123_456_789_012]
      ),
      ("buffer.text = 7", []), ("delete buffer.text", []),
    ] as [(String, [ScriptValue])])
  func parts(_ script: String, _ expected: [ScriptValue]) async throws {
    #expect(try await Self.taken(script) == expected)
  }

  @Test("an object that is written as one before reads as a dictionary of its own text")
  func repeatedObjects() async throws {
    let group = try ScriptGroup.make()
    let texts = [
      "{\"a\":1}", "{\"a\":12}", "1", "12", "{}", "\"{}\"", "[{\"a\":1}]", "{\"a\":{\"b\":\"}\"}}", "{\"a\":1}",
    ]
    let expected: [[String: ScriptValue]] = [
      ["a": 1], ["a": 12], [:], [:], [:], [:], [:], ["a": ["b": "}"]], ["a": 1],
    ]
    let taken = try await group.perform { group in
      let context = try group.makeContext(named: "buffer")
      let buffer = JSONBuffer(in: context)
      // Each twice in turn, and more of them than are remembered.
      try buffer.object.set("text", .string((texts + texts).joined(separator: ",")))
      var members: [[String: ScriptValue]] = []
      try buffer.drain { reader in repeat { members.append(try reader.members()) } while reader.accept(",") }
      return members
    }
    #expect(taken == expected + expected)
  }

  @Test("an object that is nested too deeply is refused also where it is written again at a lesser depth")
  func repeatedDepth() async throws {
    let group = try ScriptGroup.make()
    let deep = String(repeating: "[", count: 600) + String(repeating: "]", count: 600)
    let faults = try await group.perform { group in
      let context = try group.makeContext(named: "buffer")
      let buffer = JSONBuffer(in: context)
      try buffer.object.set("text", .string("{\"a\":\(deep)},{\"a\":\(deep)}"))
      var faults: [Bool] = []
      try buffer.drain { reader in
        repeat {
          _ = try reader.members()
          faults.append(reader.removeDepthFault())
        } while reader.accept(",")
      }
      return faults
    }
    #expect(faults == [true, true])
  }

  @Test(
    "a text that is not JSON is refused",
    arguments: ["[1", "{\"a\"}", "\"a", "[1,]", "tru", "x", "{\"a\":1", "[\"\\u00\"]", "\"\\", "-"])
  func malformed(_ text: String) async throws {
    let script = "buffer.text = '\(text.replacing("\\", with: "\\\\"))'"
    await #expect(throws: ScriptError.self) { try await Self.taken(script) }
  }

  private static let kept: [(String, ScriptValue)] = [
    (
      "{ a: 1, b: 'two', c: [true, false, null], d: {} , e: [] }",
      ["a": 1, "b": "two", "c": [true, false, .null], "d": [:], "e": []]
    ),
    ("[-0.5, 1e300, 1e-7, 1.5e20]", [-0.5, 1e300, 1e-7, 1.5e20]),
    (
      #"['', 'q"\\/', '\n\t\r\b\f\u0001', 'naïve ☃ 😀', '\ud83d']"#,
      ["", "q\"\\/", "\n\t\r\u{8}\u{c}\u{1}", "naïve ☃ 😀", "\u{fffd}"]
    ),
    ("{ a: undefined, b: function () {}, c: NaN, d: Infinity }", ["c": .null, "d": .null]),
    ("{ '': 1, 'a\\u0000b': 2 }", ["": 1, "a\u{0}b": 2]),
    ("'text'", "text"), ("7", 7), ("undefined", .undefined), ("null", .null),
    ("new Date(0)", "1970-01-01T00:00:00.000Z"), ("{ toJSON: function () { return [1] } }", [1]),
  ]

  @Test("values are those that JSON has", arguments: kept)
  func values(_ expression: String, _ expected: ScriptValue) async throws {
    #expect(try await Self.plain(expression) == expected)
  }

  @Test("a value that is nested too deeply is skipped")
  func depth() async throws {
    let script = """
      function nested(depth) { var a = ['}]\\"']; for (var i = 1; i < depth; i++) a = i % 2 ? [a, 1] : { a: a, b: 1 }; return a }
      buffer.text = [1, nested(512), nested(513), nested(2000), 2].map(function (v) { return JSON.stringify(v) }).join()
      """
    let values = try await Self.taken(script)
    #expect(values.count == 5 && values[0] == 1 && values[1].array != nil && values[4] == 2)
    #expect(values[2] == "too deep" && values[3] == "too deep")
  }

  @Test("a text of a million characters is passed whole")
  func longText() async throws {
    #expect(try await Self.plain("['x'.repeat(1000000)]").array?.first?.string?.utf8.count == 1_000_000)
  }
}
