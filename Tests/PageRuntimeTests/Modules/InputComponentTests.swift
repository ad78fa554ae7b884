import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// The methods of `input` and `textarea`.
@Suite(.timeLimit(.minutes(5))) struct InputComponentTests {
  private static let inputs = """
    var a = add('input', { attr: { value: 'first' } }), b = add('textarea', { attr: { value: 'second' } })
    ;[a, b].forEach(function (input) {
      ['focus', 'blur'].forEach(function (type) {
        input.addEvent(type, function (event) { say(input.type + ' ' + type + ' ' + event.value) })
      })
    })

    """

  @Test(
    "the focus goes from one input to the other, and both get their events",
    arguments: [
      ("a.focus(); b.focus()", ["input focus first", "input blur first", "textarea focus second"]),
      ("a.focus(); a.focus(); a.blur(); a.blur()", ["input focus first", "input blur first"]),
      ("a.focus(); b.blur()", ["input focus first"]),
      ("b.setSelectionRange(0, 2)", ["textarea focus second"]),
    ])
  func focus(_ script: String, _ said: [String]) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      #expect(try await fixture.shown(Self.inputs + script) == ScriptValue.array(said.map { .string($0) }).jsonText)
    }
  }

  @Test(
    "the selection is what was set, within the text of the input that has the focus",
    arguments: [
      ("a.setSelectionRange(1, 3); a.getEditSelectionRange(show)", 1, 3),
      ("a.setSelectionRange(1, 3); a.getSelectionRange(show)", 1, 3),
      ("a.setSelectionRange(1, 3); a.setSelectionRange(1, 6); a.getEditSelectionRange(show)", 1, 3),
      ("a.setSelectionRange(3, 1); a.getEditSelectionRange(show)", 0, 0),
      ("a.setSelectionRange(1, 3); b.focus(); a.getEditSelectionRange(show)", 0, 0),
      ("a.focus(); a.getEditSelectionRange(show)", 5, 5),
      ("a.setAttr('value', '😀'); a.setSelectionRange(0, 2); a.getEditSelectionRange(show)", 0, 2),
    ])
  func selection(_ script: String, _ start: Int, _ end: Int) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let quiet = "function say() {}\n" + Self.inputs
      #expect(
        try await fixture.shown(quiet + script) == #"{"selectionEnd":\#(end),"selectionStart":\#(start)}"#)
    }
  }

  @Test("an input that is removed no longer has the focus")
  func removal() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        Self.inputs + "a.focus()\ntext.addEvent('click', function () { body.removeChild(a) })")
      await page.settle(within: .seconds(30))
      #expect(await page.focusedInput == page.first("input")?.ref)
      let ref = try #require(await page.first("text")?.ref)
      try await page.fireEvent(ref, "click")
      #expect(await page.focusedInput == nil)
      await page.destroy()
    }
  }

  @Test("every method that a component announces exists")
  func announcements() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        ;['input', 'textarea', 'list', 'scroller', 'waterfall', 'web', 'hlist', 'recycler', 'image'].forEach(function (type) {
          var element = add(type)
          ;['focus', 'blur', 'setSelectionRange', 'getSelectionRange', 'getEditSelectionRange', 'resetLoadmore', 'goBack',
            'goForward', 'reload', 'postMessage', 'setTextFormatter', 'save'].forEach(function (method) { if (element[method]) element[method]() })
        })
        """)
      await page.settle(within: .seconds(30))
      await page.destroy()
      for await event in page.events {
        if case .log(_, let text) = event { Issue.record("\(text)") }
      }
      #expect(await page.exceptions == [])
    }
  }
}
