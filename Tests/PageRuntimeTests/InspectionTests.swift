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

  @Test("debuggers see the elements of embedded pages at their places, and edit them")
  func embeddedPages() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let part = """
        // { "framework": "Vanilla" }
        var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
        b.appendChild(d.createElement('text', { attr: { value: 'inside' }, style: { height: 30, marginTop: 5 } }))
        """
      fixture.origin.serve("/pages/part.js", Array(part.utf8))
      let page = try await fixture.page(
        """
        add('div', { style: { height: 100 } })
        var around = add('div', { style: { marginLeft: 50 } })
        add('embed', { attr: { src: 'part.js' }, style: { height: 200 } }, around)
        """)
      await page.settle(within: .seconds(60))
      let embed = try #require(await page.first("embed")?.ref)
      let tree = try await ElementTree.read(record: try await page.answer(.tree))
      let text = try #require(tree.first(.text("inside")))
      #expect(text.ref.hasPrefix(embed + "/") && text.depth == 4)
      #expect(tree[text.parent ?? ""]?.parent == embed && tree[embed]?.children.count == 1)
      // The page itself has it not.
      #expect(await page.tree[text.ref] == nil)
      #expect(await page.embeddedPage(of: text.ref)?.element == embed)
      let box = try await Self.answer(page, .box(ref: text.ref))
      #expect(box["x"].int == 50 && box["y"].int == 105 && box["height"].int == 30, "\(box)")
      _ = try await page.answer(.edit(ref: text.ref, attributes: [:], style: ["height": .integer(40)]))
      #expect(try await Self.answer(page, .box(ref: text.ref))["height"].int == 40)
      let gone = try await Self.answer(page, .edit(ref: embed + "/none", attributes: [:], style: [:]))
      #expect(gone["refused"].string == "the page no longer has the element")
      #expect(try await Self.answer(page, .box(ref: embed + "/none")) == .null)
    }
  }

  @Test("an embedded page that makes the elements too many, or too deep, is left out")
  func embeddingLimits() throws {
    func tree(_ refs: [String], elements: Int = 10, depth: Int = 4) throws -> ElementTree {
      var tree = ElementTree(elementLimit: elements, depthLimit: depth)
      var description: ElementDescription?
      for ref in refs.reversed() {
        description = ElementDescription(ref: ref, type: "div", children: description.map { [$0] } ?? [])
      }
      if let description { try tree.apply(.createBody(description)) }
      return tree
    }
    let host = try tree(["r", "e"])
    for (page, count) in [
      (try tree(["a", "b"]), 4), (try tree(["a", "b", "c"]), 5), (try tree(["a", "b", "c", "d"]), 2), (try tree([]), 2),
    ] {
      var shown = host
      shown.embed(page, in: "e")
      #expect(shown.count == count)
      shown.embed(page, in: "none")
      #expect(shown.count == count)
    }
    var small = try tree(["r", "e"], elements: 3)
    small.embed(try tree(["a", "b"]), in: "e")
    #expect(small.count == 2)
    var twice = host
    for _ in 0..<2 { twice.embed(try tree(["a"]), in: "e") }
    #expect(twice.count == 3 && twice["e"]?.children == ["e/a"])
  }
}
