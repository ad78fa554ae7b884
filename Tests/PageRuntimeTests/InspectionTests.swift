import Foundation
import HTTPTransport
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// Questions of debuggers to the script of a page.
@Suite struct InspectionTests {
  private static func answer(_ page: PageInstance, _ inspection: PageInspection) async throws -> ScriptValue {
    ScriptValue(try JSONValue(reading: try await page.answer(inspection)))
  }

  private static func call(
    _ page: PageInstance, _ function: String, on handle: String? = nil, _ arguments: ScriptValue = [],
    session: String = "s", group: String? = nil, byValue: Bool = false
  ) async throws -> ScriptValue {
    try await answer(
      page,
      .call(
        session: session, function, on: handle, arguments: arguments.json, group: group, byValue: byValue,
        preview: false))
  }

  private static func handle(_ page: PageInstance, _ expression: String, group: String = "") async throws -> String {
    let kept = try await answer(
      page, .evaluate(session: "s", expression, group: group, byValue: false, preview: false))
    return try #require(kept["result"]["objectId"].string)
  }

  @Test("a function has its object as `this`, and its arguments by value, by object and by what JSON has no value for")
  func calls() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page("var n = 4")
      let object = try await Self.handle(page, "({ a: 1, get b () { return this.a + 1 } })")
      let other = try await Self.handle(page, "({ c: 7 })")
      let sum = try await Self.call(
        page, "function (x, o, y) { return this.a + x + o.c + y }", on: object,
        [["value": 10], ["objectId": .string(other)], ["unserializableValue": "Infinity"]])
      #expect(sum["result"]["unserializableValue"].string == "Infinity")
      let kinds = try await Self.call(
        page, "function () { return Array.from(arguments, function (v) { return typeof v + ' ' + String(v) }) } // all",
        [
          ["unserializableValue": "12n"], ["unserializableValue": "NaN"], ["unserializableValue": "-0"], [:],
          ["value": .null], ["value": ["x": 1]],
        ], byValue: true)
      #expect(
        kinds["result"]["value"].array == [
          "bigint 12", "number NaN", "number 0", "undefined undefined", "object null", "object [object Object]",
        ])
      // As Chrome has an accessor called.
      let members = try await Self.answer(
        page, .properties(session: "s", handle: object, preview: false, withIndexes: true))
      let getter = try #require(members["result"].array?.first { $0["name"] == "b" }?["get"]["objectId"])
      let called = try await Self.call(
        page, "function (getter) { return Reflect.apply(getter, this, []) }", on: object, [["objectId": getter]])
      #expect(called["result"]["value"].int == 2)
      let global = try await Self.call(page, "() => [n, this === globalThis]", byValue: true)
      #expect(global["result"]["value"][0].int == 4)
      #expect(try await Self.call(page, "function () { return this === globalThis }")["result"]["value"].bool == true)
      // A page that is changed by a call shows it.
      _ = try await Self.call(page, "function (t) { body.setAttr('title', t) }", [["value": "called"]])
      #expect(await page.tree.body?.attributes["title"] == "called")
    }
  }

  @Test("a function that throws, is none, or gets what is not kept, is answered with the reason")
  func failures() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page("")
      let object = try await Self.handle(page, "({})", group: "g")
      let thrown = try await Self.call(page, "function () { throw new RangeError('no') }", on: object)
      #expect(thrown["thrown"]["message"].string == "RangeError: no")
      for (text, expected) in [("1", "the functionDeclaration is not a function"), ("function (", "SyntaxError")] {
        let answer = try await Self.call(page, text, on: object)
        #expect(answer["thrown"]["message"].string?.contains(expected) == true, "\(answer)")
      }
      let odd = try await Self.call(page, "function () {}", on: object, [["unserializableValue": "x"]])
      #expect(odd["thrown"]["message"].string == "TypeError: an argument is x, which is no value")
      #expect(try await Self.call(page, "function () {}", on: "s.999") == .null)
      #expect(try await Self.call(page, "function () {}", on: object, [["objectId": "s.999"]]) == .null)
      #expect(try await Self.call(page, "function () {}", on: object, session: "other") == .null)
      let long = try await Self.call(page, "function () { return ['x'.repeat(5 << 20)] }", byValue: true)
      #expect(long["thrown"]["message"].string?.contains("the limit is 4194304") == true)
      // What it returns is in the group of its object, or in the one that is named.
      let inGroup = try await Self.call(page, "function () { return {} }", on: object)["result"]["objectId"]
      let named = try await Self.call(page, "function () { return {} }", on: object, group: "h")["result"]["objectId"]
      _ = try await Self.answer(page, .release(session: "s", handle: nil, group: "g"))
      for (handle, isKept) in [(inGroup, false), (named, true)] {
        let properties = try await Self.answer(
          page,
          .properties(session: "s", handle: try #require(handle.string), preview: false, withIndexes: true))
        #expect((properties != .null) == isKept)
      }
    }
  }

  @Test("the elements of an array are left out if a debugger has them in ranges")
  func indexes() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page("")
      let array = try await Self.handle(page, "Object.assign([1, 2, 3], { '01': 4, name: 5 })")
      func names(_ withIndexes: Bool) async throws -> [String] {
        let properties = try await Self.answer(
          page, .properties(session: "s", handle: array, preview: false, withIndexes: withIndexes))
        return (properties["result"].array ?? []).compactMap { $0["name"].string }
      }
      #expect(try await names(true) == ["0", "1", "2", "length", "01", "name"])
      #expect(try await names(false) == ["length", "01", "name"])
    }
  }
}
