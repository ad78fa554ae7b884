import HTTPTransport
import PageTesting
import ScriptEngine
import Synchronization
import Testing

@testable import PageRuntime

/// `modal`, `navigator` and `event`, with handlers of an app.
@Suite(.timeLimit(.minutes(5))) struct PresentationModuleTests {
  /// Records its calls.
  private final class App: ModalPresenting, Navigating {
    let asked = Mutex<[String]>([])

    private func note(_ text: String) { asked.withLock { $0.append(text) } }

    func toast(_ message: String, seconds: Double, from page: PageInstance) async { note("\(message) \(seconds)") }
    func alert(_ message: String, button: String, from page: PageInstance) async { note("\(message) \(button)") }
    func confirm(_ message: String, buttons: [String], from page: PageInstance) async -> String {
      note("\(message) \(buttons)")
      return buttons.last ?? ""
    }
    func prompt(
      _ message: String, preset: String, buttons: [String], from page: PageInstance
    ) async -> (button: String, text: String) {
      note("\(message) \(preset)")
      return (buttons.first ?? "", "typed")
    }
    func push(_ url: PageURL, options: ScriptValue, from page: PageInstance) async throws { note("push \(url.text)") }
    func pop(options: ScriptValue, from page: PageInstance) async throws {
      note("pop \(options["animated"].string ?? "")")
    }
  }

  @Test(
    "the app's handler is asked and its answer comes back",
    arguments: [
      ("modal.toast({ message: 'hi', duration: 2 })", "hi 2.0", ""),
      ("modal.alert({ message: 'a', okTitle: 'Yes' }, show)", "a Yes", "Yes"),
      ("modal.confirm({ message: 'b', okTitle: 'Yes', cancelTitle: 'No' }, show)", #"b ["Yes", "No"]"#, "No"),
      (
        "modal.prompt({ message: 'c', default: 'd' }, function (r) { show([r.result, r.data]) })", "c d",
        #"["OK","typed"]"#
      ),
      ("navigator.push({ url: 'next.js' }, show)", "push ORIGIN/pages/next.js", "WX_SUCCESS"),
      ("navigator.pop({ animated: 'true' }, show)", "pop true", "WX_SUCCESS"),
      ("module('event').openURL('../other.js')", "push ORIGIN/other.js", ""),
    ])
  func questions(_ script: String, _ asked: String, _ shown: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let app = App()
      fixture.registry.register(app as any ModalPresenting, as: \.modals)
      fixture.registry.register(app as any Navigating, as: \.navigator)
      let said = try await fixture.shown(
        "var modal = module('modal'), navigator = module('navigator'); \(script)")
      #expect(said == shown)
      let expected = asked.replacing("ORIGIN", with: fixture.origin.url(for: ""))
      #expect(app.asked.withLock(\.self) == [expected])
    }
  }

  @Test("long texts are cut where a page records them, and the app and the script have the whole ones")
  func longTexts() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let app = App()
      fixture.registry.register(app as any ModalPresenting, as: \.modals)
      let page = try await fixture.speakingPage(
        """
        var long = 'é'.repeat(1e5)
        for (var n = 0; n < 12; n++) module('modal').toast({ message: long })
        module('modal').confirm({ message: 'x', okTitle: 'no', cancelTitle: long }, function (r) { say(r.length) })
        console.log(long)
        """)
      await page.settle(within: .seconds(60))
      #expect(await page.shown == "[100000]")
      #expect(app.asked.withLock { $0.first?.utf8.count } == 200_004)
      let messages = await page.messages
      #expect(messages.count == 13)
      // Ten thousand bytes, with the mark; a character is not halved.
      let cut = String(repeating: "é", count: 4_998) + "…"
      #expect(messages.prefix(12).allSatisfy { $0.text == cut } && messages.last?.buttons == ["no", cut])
      await page.destroy()
      var (told, logs) = (0, [String]())
      for await event in page.events {
        if case .message(let message) = event { told += message.text.utf8.count }
        if case .log(_, let text) = event { logs.append(text) }
      }
      #expect(told < 13 * 10_000 && logs == [String(repeating: "é", count: 32_766) + "…"])
    }
  }

  @Test("without an app no page is opened, and the reason is in the page's log")
  func noNavigation() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage("module('navigator').push({ url: 'next.js' }, say)")
      await page.settle(within: .seconds(60))
      #expect(await page.shown == #"["WX_SUCCESS"]"#)
      await page.destroy()
      var logs: [String] = []
      for await event in page.events { if case .log("error", let text) = event { logs.append(text) } }
      #expect(logs.count == 1 && logs.allSatisfy { $0.hasPrefix("navigator.push: ") && $0.contains("/pages/next.js") })
      #expect(try await fixture.shown("module('modal').confirm({ okTitle: 'Yes' }, show)") == "Yes")
    }
  }

  /// An app whose navigations end only when the test lets them.
  private final class SlowApp: Navigating {
    private let gate = AsyncStream.makeStream(of: Void.self)

    func open() { gate.continuation.finish() }
    func push(_ url: PageURL, options: ScriptValue, from page: PageInstance) async { for await _ in gate.stream {} }
    func pop(options: ScriptValue, from page: PageInstance) async { for await _ in gate.stream {} }
  }

  @Test(
    "navigations call back at once with a text, as in the SDK",
    arguments: [
      ("push({ url: 'next.js' }, say)", #"["WX_SUCCESS"]"#), ("pop({}, say)", #"["WX_SUCCESS"]"#),
      ("push({}, say)", #"["WX_PARAM_ERR"]"#), ("push({ url: '' }, say)", #"["WX_PARAM_ERR"]"#),
      ("open({ url: 'next.js' }, say, function () { say('no') })", #"["WX_SUCCESS"]"#),
      ("open({}, say, function (r) { say(r.result) })", #"["WX_PARAM_ERR"]"#), ("close({}, say)", "[{}]"),
      ("setNavBarTitle({ title: 'x' }, say)", #"["WX_SUCCESS"]"#), ("setNavBarTitle({}, say)", #"["WX_PARAM_ERR"]"#),
      ("setNavBarRightItem({ title: 'x' }, say)", #"["WX_SUCCESS"]"#),
      ("clearNavBarLeftItem({}, say)", #"["WX_SUCCESS"]"#),
      ("setNavBarHidden({ hidden: '1' }, say)", #"["WX_SUCCESS"]"#),
      ("setNavBarHidden({}, say)", #"["WX_FAILED"]"#), ("setNavBarBackgroundColor({}, say)", #"["WX_PARAM_ERR"]"#),
    ])
  func promptAnswers(_ call: String, _ answer: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let app = SlowApp()
      fixture.registry.register(app as any Navigating, as: \.navigator)
      let page = try await fixture.speakingPage("module('navigator').\(call)")
      await page.waitUntilShown(answer)
      app.open()
      await page.destroy()
    }
  }

  @Test(
    "messages and questions are events of the page",
    arguments: [
      ("toast({ message: 'hi' })", "toast: hi"),
      ("alert({ message: 'a', okTitle: 'Yes' })", "alert: a [Yes]"),
      ("confirm({ message: 'b', cancelTitle: 'No' })", "confirm: b [OK] [No]"),
      ("prompt({ message: 'c', default: 'd' })", "prompt: c (d) [OK] [Cancel]"),
      ("toast({})", "toast: "),
    ])
  func messages(_ script: String, _ told: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage("module('modal').\(script)")
      await page.settle(within: .seconds(30))
      await page.destroy()
      var messages: [String] = []
      for await event in page.events {
        if case .message(let message) = event { messages.append(message.outlineText) }
      }
      #expect(messages == [told])
    }
  }
}
