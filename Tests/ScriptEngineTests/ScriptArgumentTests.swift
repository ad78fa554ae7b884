import ScriptEngine
import Testing

/// The arguments that native functions read.
struct ScriptArgumentTests {
  /// Returns the plain value of an expression.
  private static func plain(_ expression: String) async throws -> ScriptValue {
    let group = try ScriptGroup.make()
    return try await group.perform { group in
      let context = try group.makeContext(named: "arguments")
      var found: ScriptValue = .undefined
      let function = context.makeFunction(named: "take") { arguments in
        found = try arguments.first?.plainValue() ?? .undefined
        return .undefined
      }
      try context.global.set("take", function)
      try context.evaluate("take(\(expression))")
      return found
    }
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

  @Test("plain values are those that JSON has", arguments: kept)
  func plainValues(_ expression: String, _ expected: ScriptValue) async throws {
    #expect(try await Self.plain(expression) == expected)
  }

  @Test("a value that refers to itself is an error of the script")
  func cycles() async throws {
    await #expect(throws: ScriptError.self) {
      try await Self.plain("(function () { var a = {}; a.a = a; return a })()")
    }
  }

  @Test("a value that is nested too deeply is refused")
  func depth() async throws {
    await #expect(throws: ScriptError.self) {
      try await Self.plain("(function () { var a = []; for (var i = 0; i < 600; i++) a = [a]; return a })()")
    }
  }

  @Test("a text of a million characters is passed whole")
  func longText() async throws {
    #expect(try await Self.plain("['x'.repeat(1000000)]").array?.first?.string?.utf8.count == 1_000_000)
  }
}
