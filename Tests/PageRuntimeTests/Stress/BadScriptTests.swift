import ScriptEngine
import Testing

@testable import PageRuntime

extension StressTests {
  /// Scripts that throw or do not end, at every entry into a page.
  struct BadScriptTests {
    /// The place at which a script runs `bad()`: in the bundle itself, or later, after a tap.
    static let places = [
      "bad()", "Promise.resolve().then(bad)", "(async function () { await null; bad() })()", "setTimeout(bad, 1)",
      "setInterval(bad, 1)", "weex.requireModule('storage').getItem('x', bad)",
      "weex.requireModule('timer').setTimeout(bad, 1)",
      "setTimeout(function () { Promise.resolve().then(bad) }, 1)",
    ]

    /// Opens a page that runs a bad script at one of the places when it is tapped, and returns how it ends.
    private static func tapped(
      _ bad: String, at place: String, limits: ScriptLimits
    ) async throws -> (failure: String?, exceptions: [String], phase: PagePhase) {
      try await PageFixture.running(limits: limits) { (fixture: PageFixture) async throws in
        let page = try await fixture.page(
          "function bad() { \(bad) }\nadd('text').addEvent('click', function () { \(place) })")
        let ref = try #require(await page.first("text")?.ref)
        try await page.fireEvent(ref, "click")
        for await event in page.events {
          if case .exception = event { break }
          if case .failed = event { break }
        }
        let (failure, phase) = (await page.failure?.description, await page.phase)
        // Another page is not affected.
        let other = try await fixture.page("add('text', { attr: { value: 'well' } })")
        #expect(await other.shown == "well")
        await other.destroy()
        return (failure, await page.exceptions, phase)
      }
    }

    @Test("an exception is reported and the page goes on", .timeLimit(.minutes(5)), arguments: places)
    func exceptions(_ place: String) async throws {
      let end = try await Self.tapped("throw new TypeError('no such thing')", at: place, limits: ScriptLimits())
      #expect(end.phase == .live)
      #expect(end.exceptions.first?.contains("no such thing") == true)
    }

    @Test("an endless script is stopped and its page fails", .timeLimit(.minutes(5)), arguments: places)
    func endlessScripts(_ place: String) async throws {
      let end = try await Self.tapped("for (;;) {}", at: place, limits: ScriptLimits(time: .milliseconds(200)))
      #expect(end.phase == .failed)
      #expect(end.failure?.contains("ran for longer than 0.2 seconds") == true)
    }

    @Test(
      "endless recursion is an error of the script",
      arguments: [
        "(function f() { return f() + 1 })()", "var a = {}; a.toString = function () { return '' + a }; '' + a",
      ])
    func recursion(_ script: String) async throws {
      let end = try await Self.tapped(script, at: "bad()", limits: ScriptLimits())
      #expect(end.phase == .live)
      #expect(end.exceptions.first?.contains("Maximum call stack") == true)
    }

    /// Returns the failure of a page whose bundle fails at once.
    static func opened(_ script: String, limits: ScriptLimits = ScriptLimits()) async throws -> String {
      try await PageFixture.running(limits: limits) { (fixture: PageFixture) async throws in
        var reason = ""
        do {
          await (try await fixture.page(script)).destroy()
        } catch let error as PageError {
          reason = error.description
        }
        let other = try await fixture.page("add('text', { attr: { value: 'well' } })")
        #expect(await other.shown == "well")
        await other.destroy()
        return reason
      }
    }

    @Test(
      "a bundle that fails at once fails its page with the reason",
      arguments: [
        ("(function f() { return f() + 1 })()", "Maximum call stack"),
        ("for (;;) {}", "ran for longer than 0.3 seconds"),
        ("throw 'words'", "words"), ("throw null", "null"),
        ("throw { toString: function () { throw 1 } }", "an object was thrown"),
        ("throw new Proxy({}, { get: function () { throw 1 } })", "an object was thrown"),
        ("while (true) { try { for (;;) {} } catch (e) {} finally { continue } }", "ran for longer"),
        ("var a = { get x() { for (;;) {} } }; body.setAttr('a', a)", "ran for longer"),
        ("body.setAttr('a', new Proxy({}, { ownKeys: function () { for (;;) {} } }))", "ran for longer"),
        ("document.createElement({ toString: function () { for (;;) {} } })", "ran for longer"),
        ("console.log({ toJSON: function () { for (;;) {} } })", "ran for longer"),
        ("nativeLog({ toString: function () { for (;;) {} } }); for (;;) {}", "ran for longer"),
        ("for (;;) try { nativeLog({ toString: function () { for (;;) {} } }) } catch (e) {}", "ran for longer"),
        ("'a'.repeat(30).replace(/(a+)+b/, '')  ; for (;;) {}", "ran for longer"),
        ("[3, 2, 1].sort(function () { for (;;) {} })", "ran for longer"),
        ("throw new Error('x'.repeat(1000000))", "xxxx"),
      ])
    func failingBundles(_ script: String, _ reason: String) async throws {
      // A busy machine may take long for what ends by itself.
      let time = Duration.milliseconds(reason.contains("longer") ? 300 : 10_000)
      let failure = try await Self.opened(script, limits: ScriptLimits(time: time))
      #expect(failure.utf8.count < 50_000)
      #expect(failure.contains(reason), "\(failure.prefix(200))")
    }
  }
}
