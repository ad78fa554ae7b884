import Testing

@testable import ScriptEngine

struct SyntaxCheckTests {
  private static func failure(_ script: String) async throws -> ScriptException? {
    let group = try ScriptGroup.make()
    do {
      try await group.perform { group in
        _ = try group.makeContext(named: "test").evaluate(script, url: "a.js")
      }
      return nil
    } catch ScriptError.exception(let exception) {
      return exception
    }
  }

  @Test(
    "a syntax error has the column of the text that does not fit",
    arguments: [
      ("var a = = 1", 1, 9), ("\n\n  var b = ]", 3, 11), ("var a = 1;\r\nvar b = = 2", 2, 9), ("foo bar", 1, 5),
      ("var é = 'ü' 'x'", 1, 13), ("if (a { b }", 1, 7), ("function f() { return 1", 1, 24), ("var 1a", 1, 6),
      ("var a = \"abc", 1, 9),
      ("/* 🙂 */ a b", 1, 12), ("var x = {a: 1,, b: 2}", 1, 15),
    ])
  func column(_ script: String, _ line: Int, _ column: Int) async throws {
    let exception = try #require(try await Self.failure(script))
    #expect(exception.message.hasPrefix("SyntaxError"))
    #expect((exception.line, exception.column) == (line, column), "\(exception.message)")
  }

  @Test("an error that a script throws keeps the engine's place")
  func thrownErrors() async throws {
    let thrown = try #require(try await Self.failure("\n  JSON.parse('{')"))
    #expect(thrown.line == 2)
    let plain = try #require(try await Self.failure("throw { status: 404, list: [1] }"))
    #expect(plain.message == #"{"status":404,"list":[1]}"#)
    #expect(try await Self.failure("var a = 1") == nil)
  }

  @Test("a thrown value is described with its contents, also if it refers to itself")
  func thrownValues() async throws {
    for (script, message) in [
      ("throw [1, { a: 2 }]", #"[1,{"a":2}]"#), ("var o = { p: 1 }; o.o = o; throw o", "an object with p, o"),
      ("throw 'text'", "text"), ("throw undefined", "undefined"), ("throw new TypeError('x')", "TypeError: x"),
      ("throw { toString: function () { return 'own' } }", "own"), ("throw []", "[]"),
    ] {
      #expect(try await Self.failure(script)?.message == message)
    }
  }
}
