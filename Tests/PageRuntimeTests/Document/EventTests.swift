import ScriptEngine
import Testing

@testable import PageRuntime

/// Events and their handlers.
struct EventTests {
  /// Returns the reports of the handlers after an event of the element `inner`, which is in `outer`.
  private static func told(
    _ script: String, type: String = "click", event: ScriptValue = [:], changes: ScriptValue = .undefined
  ) async throws -> String? {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var told = [], text = add('text')
        function tell(v) { told.push(v); text.setAttr('value', told.join(' ')) }
        var outer = add('div'), inner = add('button', {}, outer)
        \(script)
        """)
      let ref = try #require(await page.first("button")?.ref)
      try await page.fireEvent(ref, type, event, changes: changes)
      let shown = await page.shown
      await page.destroy()
      return shown
    }
  }

  private static let both = """
    outer.addEvent('click', function () { tell('outer') }); inner.addEvent('click', function () { tell('inner') })

    """

  @Test(
    "a tap bubbles if the page asks for it",
    arguments: [
      ("", "inner"), ("body.setAttr('bubble', 'true')", "inner outer"), ("body.setAttr('bubble', true)", "inner"),
      (
        "body.setAttr('bubble', 'true'); inner.removeEvent('click'); inner.addEvent('click', function (e) { tell('own'); e.stopPropagation() })",
        "own"
      ),
      ("body.setAttr('bubble', 'true'); inner.removeEvent('click')", "outer"),
      (
        "body.setAttr('bubble', 'true'); body.addEvent('click', function (e) { tell(e.currentTarget === body) })",
        "inner outer true"
      ),
      (
        "body.setAttr('bubble', 'true'); outer.removeEvent('click'); outer.addEvent('click', function (e) { tell(e.target === inner); e.stopPropagation() }); body.addEvent('click', tell)",
        "inner true"
      ),
    ])
  func bubbling(_ script: String, _ expected: String) async throws {
    #expect(try await Self.told(Self.both + script) == expected)
  }

  @Test("events that are not gestures do not bubble")
  func otherEvents() async throws {
    let script = """
      body.setAttr('bubble', 'true')
      outer.addEvent('scroll', function () { tell('outer') }); inner.addEvent('scroll', function () { tell('inner') })
      """
    #expect(try await Self.told(script, type: "scroll") == "inner")
  }

  @Test("an event has its type and its target")
  func eventProperties() async throws {
    let script = """
      inner.addEvent('click', function (e) {
        tell(e.type); tell(e.x); tell(e.target === inner); tell(e.currentTarget === inner)
        tell(typeof e.timestamp); tell(this === inner)
      })
      """
    #expect(try await Self.told(script, event: ["x": 7]) == "click 7 true true number true")
  }

  @Test("a user's change is in the script's element and in the host's, and is not sent again")
  func changesOfTheUser() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var told = ''
        var input = add('input'); input.addEvent('input', function () { told = input.attr.value + input.style.color })
        input.addEvent('check', function () { add('text', { attr: { value: told } }) })
        """)
      let ref = try #require(await page.first("input")?.ref)
      try await page.fireEvent(ref, "input", changes: ["attrs": ["value": "v"], "style": ["color": "red"]])
      try await page.fireEvent(ref, "check")
      #expect(await page.shown == "vred")
      #expect(await page.first("input")?.attributes["value"] == "v")
      #expect(await page.first("input")?.style["color"] == "red")
      await page.destroy()
      let changes = await page.commands.map(\.short).filter { $0.hasPrefix("attrs") }
      #expect(changes == [#"attrs \#(ref) {"value":"v"}"#])
    }
  }

  @Test(
    "an event of the user changes the attribute that devices change",
    arguments: [
      ("input", "input", ["value": "Ann"], "value", "Ann"), ("textarea", "change", ["value": "Ann"], "value", "Ann"),
      ("input", "return", ["value": "Ann", "returnKeyType": "done"], "value", "Ann"),
      ("switch", "change", ["value": true], "checked", true), ("slider", "change", ["index": 2], "index", 2),
      ("input", "focus", ["value": "Ann"], "value", nil), ("cell", "change", ["value": "Ann"], "value", nil),
      ("input", "input", [:], "value", nil),
    ] as [(String, String, ScriptValue, String, ScriptValue?)])
  func deviceChanges(
    _ element: String, _ type: String, _ event: ScriptValue, _ attribute: String, _ value: ScriptValue?
  ) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        "add('\(element)').addEvent('\(type)', function (e) { show([e.target.attr['\(attribute)']]) })")
      let ref = try #require(await page.first(element)?.ref)
      try await page.fireEvent(ref, type, event)
      #expect(await page.tree[ref]?.attributes[attribute] == value)
      #expect(await page.shown == ScriptValue.array([value ?? .null]).jsonText)
      await page.destroy()
    }
  }

  @Test("the listener's parameters come before the event")
  func listenerParameters() async throws {
    let script = """
      inner.addEvent('click', function () { tell(arguments.length); tell(arguments[0]); tell(arguments[1].type) })
      var said = document.fireEvent(inner, 'click', {}, null, { params: ['p'] })
      inner.removeEvent('click')
      """
    #expect(try await Self.told(script) == "2 p click")
  }

  @Test("the first handler of a type stays until it is removed, and is called with an event only")
  func secondHandler() async throws {
    let script = """
      inner.addEvent('click', function () { tell('first') }); inner.addEvent('click', function () { tell('second') })
      inner.fireEvent('click'); document.fireEvent(inner, 'click')
      inner.removeEvent('click'); inner.addEvent('click', function () { tell('third') })
      """
    #expect(try await Self.told(script) == "first third")
  }

  @Test("the result of a handler is returned")
  func handlerResult() async throws {
    #expect(
      try await PageFixture.told(
        """
        var e = add('div'); e.addEvent('click', function () { return 42 })
        tell(document.fireEvent(e, 'click')); tell(e.fireEvent('click', {})); tell(e.fireEvent('other', {}))
        tell(document.fireEvent(null, 'click'))
        """) == "[42,42,null,\"-\"]")
  }

  @Test("the commands of a handler come together and end with updateFinish")
  func handlerCommands() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        "var t = add('text'); t.addEvent('click', function () { t.setAttr('a', 1); t.setAttr('b', 2); throw new Error('x') })"
      )
      let ref = try #require(await page.first("text")?.ref)
      try await page.fireEvent(ref, "click")
      // Its changes before it threw stay.
      #expect(await page.first("text")?.attributes == ["a": 1, "b": 2])
      await page.destroy()
      #expect(await page.commands.last == .updateFinish)
    }
  }

  @Test("an event of an unknown element is an error, and one of a page that has ended is another")
  func unknownElement() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws -> Void in
      let page = try await fixture.page("add('div')")
      for ref in ["999", "", "__proto__", "constructor"] {
        await #expect(throws: EventError(ref: ref, type: "click")) { try await page.fireEvent(ref, "click") }
      }
      try await page.callback("999", "x")
      try await page.callback("__proto__", "x")
      #expect(await page.phase == .live)
      #expect(await page.exceptions == [])
      await #expect(throws: ScriptError.closed) { try await page.fireEvent("_root", "click") }
    }
  }
  @Test("a tap reaches the nearest element around it that listens")
  func clicking() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws -> Void in
      let page = try await fixture.page(
        """
        var card = add('div', { attr: { id: 'card' } }), title = add('text', { attr: { value: 'Buy' } }, card)
        var count = add('text', { attr: { id: 'count', value: 0 } }), n = 0
        card.addEvent('click', function () { count.setAttr('value', ++n) })
        """)
      for query in [ElementQuery.text("Buy"), .id("card")] { try await page.click(query) }
      #expect(await page.tree.first(.id("count"))?.attributes["value"] == 2)
      // A number is found as its text.
      #expect(await page.tree.all(.text("2")).map(\.type) == ["text"])
      #expect(await page.tree.all(.type("text")).compactMap { $0.attributes["value"] } == ["Buy", 2])
      await page.destroy()
    }
  }

  @Test("a tap on nothing, and on an element that nothing around listens for, are errors that name the query")
  func clickingNothing() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws -> Void in
      let page = try await fixture.page("add('text', { attr: { value: 'Buy' } })")
      await #expect(throws: ClickError.notFound(.text("Sell"))) { try await page.click(.text("Sell")) }
      await #expect(throws: ClickError.notFound(.ref("999"))) { try await page.click(.ref("999")) }
      await #expect(throws: ClickError.notClickable(.text("Buy"))) { try await page.click(.text("Buy")) }
      #expect("\(ClickError.notFound(.text("Sell")))" == "the page has no element with the text \"Sell\"")
      await page.destroy()
    }
  }
}
