import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// Services: scripts that add something to every page.
@Suite(.timeLimit(.minutes(5))) struct ServiceTests {
  private static let greeter = """
    service.register('greeter', {
      create: function (id, env, config) {
        return {
          instance: { Greeter: { greet: function (name) { return 'hello ' + name + ' on ' + env.appName } } },
          normal: function () { return typeof config.bundleUrl }
        }
      },
      destroy: function (id) { }
    })
    """

  @Test("every page gets the objects that a service creates")
  func creation() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let token = fixture.registry.registerService("greeter", source: Self.greeter)
      let shown = try await fixture.shown(
        "show([weex.Greeter.greet('ann'), Greeter.greet('bob'), service.normal()])")
      #expect(shown == #"["hello ann on PageKit","hello bob on PageKit","string"]"#)
      token.remove()
      #expect(try await fixture.shown("show([typeof weex.Greeter, typeof Greeter])") == #"["undefined","undefined"]"#)
    }
  }

  @Test(
    "a service that fails is named, and pages open without it",
    arguments: [
      "syntax error (", "throw new Error('no')", "service.register('bad', { create: function () { x() } })",
    ])
  func failingService(_ source: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerService("bad", source: source)
      fixture.registry.registerService("greeter", source: Self.greeter)
      let page = try await fixture.speakingPage("show(Greeter.greet('ann'))")
      #expect(await page.shown == "hello ann on PageKit")
      await page.destroy()
      var complaints: [String] = []
      for await event in page.events {
        switch event {
        case .exception(let exception): complaints.append(exception.message)
        case .log("error", let text): complaints.append(text)
        default: break
        }
      }
      #expect(complaints.count == 1)
      #expect(complaints.first?.contains("bad") == true, "\(complaints)")
    }
  }

  @Test("a service hears of refreshes")
  func refreshes() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerService(
        "counter",
        source: """
          var seen = []
          service.register('counter', {
            create: function () { return { instance: { seen: seen } } },
            refresh: function (id, env, data) { seen.push(data.n) }
          })
          """)
      let page = try await fixture.speakingPage("text.addEvent('click', function () { show(seen) })")
      try await page.refresh(data: ["n": 7])
      try await page.fireEvent(try #require(await page.first("text")?.ref), "click")
      #expect(await page.shown == "[7]")
      await page.destroy()
    }
  }
}
