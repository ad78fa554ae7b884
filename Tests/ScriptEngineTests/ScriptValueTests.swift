import Testing

@testable import ScriptEngine

/// Values on their way into a script, and out of it.
struct ScriptValueTests {
  private static func evaluate(_ script: String, with value: ScriptValue = .undefined) async throws -> ScriptValue {
    let group = try ScriptGroup.make()
    return try await group.perform { group in
      let context = try group.makeContext(named: "a")
      try context.global.set("value", value)
      return try context.evaluate(script).value()
    }
  }

  private static let values: [ScriptValue] = [
    .undefined, nil, true, false, 0, -1, 1.5, .number(.infinity), .number(-.infinity),
    .number(.greatestFiniteMagnitude),
    .number(.leastNonzeroMagnitude), 9_007_199_254_740_991, "", "text", "with\0zero", "😀 é\u{301}", "\u{feff}\u{2028}",
    .string(String(repeating: "long ", count: 50_000)), [], [1, [2, [nil, .undefined]]], [:],
    ["a": ["b": ["c": 1]], "": 0, "x y": "z", "\0": 1],
    ["__proto__": 1, "constructor": 2, "toString": "s", "length": 3],
    .data([]), .data([0, 1, 255]), ["bytes": .data([7]), "list": [.data([8, 9])]],
  ]

  @Test("a value is the same after it was in a script", arguments: values)
  func roundTrip(_ value: ScriptValue) async throws {
    #expect(try await Self.evaluate("value", with: value) == value)
  }

  @Test(
    "a script sees values as JavaScript's own",
    arguments: [
      ("typeof value", .undefined, "undefined"), ("value === null", nil, true), ("value.length", "with\0zero", 9),
      ("value.length", "😀", 2), ("Object.is(value, -0)", .number(-0.0), true), ("value !== value", .number(.nan), true),
      ("value instanceof ArrayBuffer && value.byteLength", .data([1, 2, 3]), 3), ("Array.isArray(value)", [1], true),
      ("Object.keys(value).join()", ["b": 1, "a": 2], "a,b"), ("value.x === undefined", ["__proto__": ["x": 1]], true),
      ("Object.getPrototypeOf(value) === Object.prototype", ["__proto__": nil], true),
    ] as [(String, ScriptValue, ScriptValue)])
  func scriptSide(_ script: String, _ value: ScriptValue, _ expected: ScriptValue) async throws {
    #expect(try await Self.evaluate(script, with: value) == expected)
  }

  @Test(
    "values of a script are read as plain data",
    arguments: [
      ("-0", .number(-0.0)), ("NaN", .number(.nan)), ("1/3", .number(1.0 / 3)), ("'\\ud83d'", "\u{fffd}"),
      ("'a\\0b'", "a\0b"),
      ("new Date(0)", "1970-01-01T00:00:00.000Z"), ("[new Date(NaN)]", [nil]), ("(function () {})", .undefined),
      ("({ f: function () {}, s: Symbol('s'), b: 10n })", ["f": .undefined, "s": .undefined, "b": .undefined]),
      ("[1,,3]", [1, .undefined, 3]), ("new Uint8Array([1, 2, 3]).subarray(1)", .data([2, 3])),
      ("new Uint16Array([258])", .data([2, 1])), ("new ArrayBuffer(2)", .data([0, 0])),
      ("new DataView(new ArrayBuffer(3), 1)", [:]), ("new Map([[1, 2]])", [:]),
      ("Object('boxed')", ["0": "b"]),
      ("Object.create({ inherited: 1 })", ["inherited": 1]), ("Object.defineProperty({}, 'hidden', { value: 1 })", [:]),
      ("new Proxy([1], {})", ["0": 1]), ("/x/", [:]),
    ] as [(String, ScriptValue)])
  func swiftSide(_ script: String, _ expected: ScriptValue) async throws {
    let found = try await Self.evaluate(script)
    if case .number(let number) = expected, number.isNaN {
      #expect(found.number?.isNaN == true)
    } else if script.contains("boxed") {
      #expect(found["0"] == "b")
    } else {
      #expect(found == expected)
    }
  }

  @Test(
    "a value that is not plain data is refused",
    arguments: [
      ("var a = []; a.push(a); a", "nested too deeply"), ("var o = {}; o.o = o; o", "nested too deeply"),
      ("var d = []; for (var i = 0; i < 100000; i++) d = [d]; d", "nested too deeply"),
      ("new Array(4294967295)", "too many elements"), ("({ get x() { throw new Error('getter') } })", "getter"),
      ("new Proxy({ a: 1 }, { get: function () { throw new Error('trap') } })", "trap"),
    ])
  func otherValues(_ script: String, _ reason: String) async throws {
    do {
      let value = try await Self.evaluate(script)
      Issue.record("\(value)")
    } catch let error as ScriptError {
      #expect(error.description.contains(reason))
    }
  }
}
