import ScriptEngine
import Testing

@testable import PageRuntime

/// The document API, seen from the host's tree.
struct DocumentTests {
  /// Types of the body's children after the script.
  private static func children(_ script: String) async throws -> [String] {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(script)
      let types = await page.childTypes
      #expect(await page.exceptions == [])
      return types
    }
  }

  @Test(arguments: [
    ("add('a'); add('b'); add('c')", ["a", "b", "c"]),
    ("var a = add('a'); add('b'); body.appendChild(a)", ["b", "a"]),
    ("var b = add('b'); body.insertBefore(document.createElement('a'), b)", ["a", "b"]),
    ("var a = add('a'); add('c'); body.insertAfter(document.createElement('b'), a)", ["a", "b", "c"]),
    ("var a = add('a'), b = add('b'); body.insertBefore(b, a)", ["b", "a"]),
    ("var a = add('a'), b = add('b'); body.insertAfter(a, b)", ["b", "a"]),
    ("var a = add('a'); add('b'); body.removeChild(a)", ["b"]),
    ("var a = add('a'); add('b'); body.removeChild(a, true); body.appendChild(a)", ["b", "a"]),
    ("add('a'); add('b'); body.clear(); add('c')", ["c"]),
    ("body.appendChild(document.createComment('x')); add('a'); body.appendChild(document.createComment('y'))", ["a"]),
    (
      "var c = document.createComment('x'); body.appendChild(c); add('b'); body.insertAfter(document.createElement('a'), c)",
      ["a", "b"]
    ),
    ("document.close(); add('a'); add('b'); document.open()", ["a", "b"]),
  ])
  func theTreeIsWhatTheScriptMadeOfIt(_ script: String, _ expected: [String]) async throws {
    #expect(try await Self.children(script) == expected)
  }

  @Test func attributesAndStylesArrive() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var text = add('text', { attr: { value: 'a' }, style: { color: 'red' } })
        text.setAttr('value', 'b'); text.setAttrs({ lines: 2, value: 'c' })
        text.setStyle('color', 'blue'); text.setStyles({ fontSize: 30 })
        text.setClassStyle({ color: 'green', margin: 4 })
        """)
      let text = try #require(await page.first("text"))
      #expect(text.attributes == ["value": "c", "lines": 2])
      // What the element says of itself wins over its class.
      #expect(text.style == ["color": "blue", "fontSize": 30, "margin": 4])
      await page.destroy()
    }
  }

  @Test func eventsComeToTheirHandlersAndBubbleWhereTheBodySaysSo() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      for (bubbles, expected) in [("false", "inner"), ("true", "inner outer")] {
        let page = try await fixture.page(
          """
          body.setAttr('bubble', '\(bubbles)')
          var said = []
          var outer = add('div'), inner = add('text', {}, outer)
          function show(word) { return function (event) { said.push(word); inner.setAttr('value', said.join(' ')) } }
          outer.addEvent('click', show('outer')); inner.addEvent('click', show('inner'))
          """)
        let ref = try #require(await page.first("text")?.ref)
        try await page.fireEvent(ref, "click")
        #expect(await page.shown == expected)
        await page.destroy()
      }
    }
  }

  @Test func anEventCarriesItsDataAndWhatTheUserChanged() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var input = add('input'), text = add('text')
        input.addEvent('input', function (event) {
          text.setAttr('value', event.type + ' ' + event.value + ' ' + input.attr.value + ' ' + (event.target === input))
        })
        """)
      let ref = try #require(await page.first("input")?.ref)
      try await page.fireEvent(ref, "input", ["value": "typed"], changes: ["attrs": ["value": "typed"]])
      #expect(await page.shown == "input typed typed true")
      await page.destroy()
    }
  }

  @Test func whatAPageSeesOfItself() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        add('text', { attr: { value: [
          weex.config.bundleUrl.split('/').pop(), weex.config.bundleType, weex.config.env.platform, document.URL.length > 0,
          weex.supports('@module/stream.fetch'), weex.supports('@component/slider'), weex.supports('@module/none'),
          weex.supports('nonsense'), weex.isRegisteredModule('dom', 'addRule'), weex.isRegisteredComponent('div'),
          typeof setTimeout, typeof BroadcastChannel, typeof console.log, typeof requireModule('none')
        ].join(' ') } })
        """)
      #expect(
        await page.shown
          == "page.js Vanilla iOS true true true false  true true function function function undefined")
      await page.destroy()
    }
  }

  @Test func timersFireAndCanBeCleared() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var text = add('text', { attr: { value: '' } }), count = 0
        var cleared = setTimeout(function () { text.setAttr('value', 'wrong') }, 1)
        clearTimeout(cleared)
        var interval = setInterval(function () {
          count += 1
          if (count === 3) { clearInterval(interval); text.setAttr('value', 'three') }
        }, 1)
        """)
      await page.waitUntilShown("three")
      await page.destroy()
    }
  }
}
