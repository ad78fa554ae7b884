import Synchronization
import Testing

@testable import ScriptEngine

/// The errors of scripts that fail.
struct ScriptErrorTests {
  private static func thrown(_ script: String) async throws -> ScriptException? {
    let group = try ScriptGroup.make()
    do {
      _ = try await group.perform { try $0.makeContext(named: "a").evaluate(script, url: "a.js").value() }
      return nil
    } catch ScriptError.exception(let exception) {
      return exception
    }
  }

  @Test("an error has its message, its place and its stack")
  func errors() async throws {
    let exception = try #require(
      try await Self.thrown("function inner() {\n  null.x\n}\nfunction outer() { inner() }\nouter()"))
    #expect(exception.message.hasPrefix("TypeError: null is not an object"))
    #expect((exception.url, exception.line) == ("a.js", 2))
    #expect(exception.column.map { $0 > 0 } == true)
    let stack = try #require(exception.stack)
    #expect(stack.contains("inner@a.js:2") && stack.contains("outer@a.js:4"))
    #expect(exception.description.contains("(a.js:2:"))
  }

  @Test(
    "any thrown value has a message",
    arguments: [
      ("throw 'words'", "words"), ("throw 42", "42"), ("throw null", "null"), ("throw undefined", "undefined"),
      ("throw { message: 'm', toString: function () { return 'said' } }", "said"), ("throw {}", "{}"),
      ("throw { get message() { throw 1 }, toString: function () { throw 2 } }", "an object was thrown"),
      ("throw Symbol('s')", ""), ("var a = ;", "SyntaxError: Unexpected token ';'"),
      ("class E extends Error { get name() { return 'Own' } }; throw new E('m')", "Own: m"),
    ])
  func thrownValues(_ script: String, _ message: String) async throws {
    #expect(try await Self.thrown(script)?.message == message)
  }

  @Test("the texts of an exception have a limit in bytes, also one that is a single character")
  func longTexts() async throws {
    let accents = try #require(try await Self.thrown("throw 'a' + '\\u0301'.repeat(1e6)"))
    #expect(accents.message.utf8.count == 10_000 && accents.message.hasSuffix("…"))
    let fields = try #require(
      try await Self.thrown("var long = 'x'.repeat(1e6); throw { message: long, sourceURL: long, stack: long }"))
    #expect(fields.url?.utf8.count == 10_000 && fields.stack?.utf8.count == 10_000)
  }

  @Test(
    "a text is cut between characters of Unicode, and the mark is within the limit",
    arguments: [
      ("", 3, ""), ("abc", 3, "abc"), ("abcd", 3, "…"), ("abcd", 4, "abcd"), ("abcde", 4, "a…"), ("ééé", 5, "é…"),
      ("ééé", 4, "…"), ("a😀😀", 8, "a😀…"), ("a😀😀", 7, "a…"), ("a😀😀", 9, "a😀😀"),
    ])
  func cutting(_ text: String, _ limit: Int, _ cut: String) { #expect(text.cut(toBytes: limit) == cut) }

  @Test("an unhandled rejection is reported")
  func unhandledRejection() async throws {
    let group = try ScriptGroup.make()
    let seen = Mutex<[String]>([])
    try await group.perform { group in
      let context = try group.makeContext(named: "a")
      context.onUnhandledRejection(
        context.makeRejectionHandler { exception in seen.withLock { $0.append(exception.message) } })
      try context.evaluate("Promise.reject(new Error('one')); Promise.reject(1).catch(function () {})")
      try context.evaluate("(async function () { await null; throw new TypeError('two') })()")
    }
    #expect(seen.withLock { $0 } == ["Error: one", "TypeError: two"])
  }

  @Test("eval and Function are refused if they are forbidden")
  func evaluation() async throws {
    let group = try ScriptGroup.make()
    let value = try await group.perform { group in
      let context = try group.makeContext(named: "a")
      context.setEvalAllowed(false)
      return try context.evaluate(
        """
        ['eval("1")', 'new Function("1")', 'Function("1")', '(async function () {}).constructor("1")',
          '(function * () {}).constructor("1")', '[].map.constructor("1")'].length
        var said = []
        ;[function () { return eval('1') }, function () { return Function('1') }, function () { return new Function('1') },
          function () { return (async function () {}).constructor('1') }, function () { return (function * () {}).constructor('1') },
          function () { return Reflect.construct(Function, ['1']) }].forEach(function (f) {
          try { f(); said.push('made') } catch (e) { said.push(e.name) }
        })
        said
        """
      ).value()
    }
    #expect(value == .array(Array(repeating: "EvalError", count: 6)))
  }
}
