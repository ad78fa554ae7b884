import HTTPTransport
import ScriptEngine
import Testing

@testable import PageRuntime

/// Bad bundles: the page fails with the reason, and other pages and the process go on.
struct BadPageTests {
  private static func failure(_ script: String, limits: ScriptLimits = ScriptLimits()) async throws -> String {
    try await PageFixture.running(limits: limits) { (fixture: PageFixture) async throws in
      do {
        let page = try await fixture.page(script)
        await page.destroy()
        return ""
      } catch let error as PageError {
        // Another page still works.
        let other = try await fixture.page("add('text', { attr: { value: 'well' } })")
        #expect(await other.shown == "well")
        await other.destroy()
        return error.description
      }
    }
  }

  @Test("a bundle that throws fails with the place")
  func throwingBundle() async throws {
    let failure = try await Self.failure("\n\nthrow new TypeError('no such thing')")
    #expect(failure.contains("TypeError: no such thing"))
    #expect(failure.contains("/pages/page.js:"))
  }

  @Test("a syntax error fails the page with the place")
  func syntaxError() async throws {
    let failure = try await Self.failure("var a = ;")
    #expect(failure.contains("SyntaxError"))
    #expect(failure.contains("page.js:6"))
  }

  @Test("a bundle for a framework that was not given is refused with the framework's name")
  func otherFramework() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      await #expect(throws: PageError.self) { try await page.render("// { \"framework\": \"Vue\" }\nnew Vue({})") }
      #expect(await page.failure?.description.contains("Vue") == true)
      #expect(await page.phase == .failed)
    }
  }

  @Test("a page cannot act for another page")
  func actingForAnother() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let victim = try await fixture.page("add('text', { attr: { value: 'mine' } })")
      // A document of its own with another page's id.
      let page = try await fixture.page(
        """
        var Document = weex.document.constructor
        var other = new Document('\(victim.id)', '', null)
        var root = other.createBody('div')
        try { other.documentElement.appendChild(root) } catch (e) { add('text', { attr: { value: e.message } }) }
        """)
      #expect(await page.shown?.contains("may not act for page \(victim.id)") == true)
      #expect(await victim.tree.count == 2)
    }
  }

  @Test("a page cannot reach the framework's global object through its functions")
  func frameworkGlobal() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var said
        try { said = String(weex.requireModule.constructor('return this')().callNativeModule) } catch (e) { said = e.message }
        add('text', { attr: { value: said } })
        """)
      #expect(await page.shown?.contains("may not be made of text") == true)
    }
  }

  @Test("a page may have many elements")
  func manyElements() async throws {
    try await PageFixture.running(limits: ScriptLimits(time: .seconds(120))) { (fixture: PageFixture) async throws in
      let page = try await fixture.page("for (var i = 0; i < 100000; i++) add('div')")
      #expect(await page.tree.count == 100_001)
      await page.destroy()
    }
  }

  @Test("elements that are nested too deeply are refused with the reason")
  func endlessNesting() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page("var at = body; for (var i = 0; i < 10000; i++) at = add('div', {}, at)")
      #expect(await page.tree.count == 1_001)
      #expect(await page.exceptions.contains { $0.contains("nested more than 1000 deep") })
    }
  }

  @Test(
    "invalid native calls leave the page alive",
    arguments: [
      "callNativeModule()", "callAddElement('1')", "weex.requireModule('dom').addRule()",
      "weex.requireModule(undefined)",
      "weex.document.fireEvent()", "body.appendChild(null)", "body.appendChild(body)", "body.removeChild({})",
      "weex.requireModule('stream').fetch()", "weex.requireModule('storage').setItem()", "weex.supports({})",
      "document.createElement()", "body.insertBefore(document.createElement('div'), document.createElement('div'))",
      "body.setAttr()", "var a = {}; a.a = a; body.setAttr('x', a)",
    ])
  func invalidCalls(_ call: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        "try { \(call) } catch (e) {}\nadd('text', { attr: { value: 'still here' } })")
      await page.settle(within: .seconds(60))
      #expect(await page.shown == "still here")
      await page.destroy()
    }
  }

  @Test("a page cannot fetch local files")
  func localFiles() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var text = add('text', { attr: { value: '' } })
        weex.requireModule('stream').fetch({ url: 'file:///etc/passwd', type: 'text' }, function (answer) {
          text.setAttr('value', answer.status + ' ' + answer.data)
        })
        """)
      await page.settle(within: .seconds(60))
      #expect(await page.shown?.hasPrefix("-1 ") == true)
      #expect(await page.shown?.contains("root:") == false)
    }
  }
}
