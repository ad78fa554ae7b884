import Foundation
import HTTPCache
import HTTPTransport
import HTTPTypes
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// Registrations of apps, and the pages that they hold for.
@Suite(.timeLimit(.minutes(5))) struct RegistryTests {
  @Test("a module of the app is called with typed arguments")
  func typedModule() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerModule("cart") { module in
        module.immediate("total") { (counts: [Int]) in counts.reduce(0, +) }
        module.method("add") { (sku: String, count: Int?) async throws -> String in "\(sku) × \(count ?? 1)" }
      }
      let shown = try await fixture.shown(
        """
        var cart = weex.requireModule('cart')
        cart.add('tent', 2).then(function (first) {
          return cart.add('mug').then(function (second) {
            return cart.add(5).catch(function (error) { show([first, second, cart.total([1, 2, 3]), error.message]) })
          })
        })
        """)
      #expect(shown == #"["tent × 2","mug × 1",6,"argument 1 must be a string, it is a number"]"#)
    }
  }

  @Test("a registration holds for later pages and is removed alone")
  func registration() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let script = "show(String(weex.requireModule('greeter').greet()))"
      func register(_ word: String) -> PageRegistry.Registration {
        fixture.registry.registerModule("greeter") { module in module.immediate("greet") { () in word } }
      }
      _ = register("first")
      let second = register("second")
      #expect(try await fixture.shown(script) == "second")
      second.remove()
      #expect(try await fixture.shown(script) == "first")
    }
  }

  @Test("elements of an app's component have its methods")
  func component() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerComponent("map") { component in
        component.callbacks("zoom") { call, page in
          if let callback = call.callback(at: 1) {
            try await page.callback(callback, .string("\(call.ref == nil) \(call[0].int ?? 0)"))
          }
        }
      }
      let shown = try await fixture.shown("add('map').zoom(4, show)")
      #expect(shown == "false 4")
    }
  }

  @Test("a component's method of each kind runs, and an error of it is an exception of the page")
  func componentMethodsOfEachKind() async throws {
    struct Refused: Error {}
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerComponent("gauge") { component in
        component.immediate("now") { (_: Int) throws -> Int in throw Refused() }
        component.method("later") { (_: Int) async throws -> Int in throw Refused() }
      }
      let page = try await fixture.page("var gauge = add('gauge'); gauge.now(1); gauge.later(2)")
      #expect(await page.settle(within: .seconds(60)))
      #expect(await page.exceptions.sorted() == ["gauge.later: Refused()", "gauge.now: Refused()"])
    }
  }

  @Test("a page's own registry comes after the host's")
  func ownRegistry() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerModule("who") { module in module.immediate("am") { () in "host's" } }
      let own = PageRegistry(parent: fixture.registry)
      own.registerModule("who") { module in module.immediate("am") { () in "page's" } }
      let script = """
        // { "framework": "Vanilla" }
        var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
        b.appendChild(d.createElement('text', { attr: { value: weex.requireModule('who').am() } }))
        """
      for (registry, expected) in [(nil, "host's"), (own, "page's")] {
        let page = await PageInstance(environment: fixture.environment, registry: registry)
        try await page.render(script)
        #expect(await page.shown == expected)
        await page.destroy()
      }
    }
  }

  @Test("an open page keeps the registry's state from its opening")
  func openPage() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerModule("word") { module in module.immediate("say") { () in "first" } }
      let page = try await fixture.speakingPage(
        "text.addEvent('click', function () { show(module('word').say()) })")
      fixture.registry.registerModule("word") { module in module.immediate("say") { () in "second" } }
      let ref = try #require(await page.first("text")?.ref)
      try await page.fireEvent(ref, "click")
      #expect(await page.shown == "first")
      await page.destroy()
    }
  }

  @Test("a module may call a callback any number of times")
  func repeatedCallback() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerModule("clock") { module in
        module.callbacks("tick") { call, page in
          guard let callback = call.callback(at: 0) else { return }
          for number in 1...3 { try await page.callback(callback, .number(Double(number)), keepAlive: number < 3) }
          try await page.callback(callback, 4)
        }
      }
      // The fourth call comes after the callback was freed.
      #expect(try await fixture.shown("module('clock').tick(say)") == "[1,2,3]")
    }
  }

  @Test("rewriters change a page's references in their order")
  func rewriters() async throws {
    struct Renamed: URLRewriting {
      let (from, to): (String, String)
      func rewrite(_ reference: String, for request: ResourceRequest) -> String {
        reference.replacing(from, with: to)
      }
    }
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/three", Array("3".utf8))
      let first = fixture.registry.register(Renamed(from: "one:", to: "/two"))
      fixture.registry.register(Renamed(from: "/two", to: "/three"))
      let script = "module('stream').fetch({ url: 'one:' }, function (r) { show(String(r.data)) })"
      #expect(try await fixture.shown(script) == "3")
      first.remove()
      let later = try await fixture.shown(script)
      #expect(later != "3")
    }
  }

  @Test("a page may have a description of the device of its own")
  func ownConfiguration() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let own = DefaultConfiguration(["deviceWidth": 1], language: "fi")
      fixture.registry.register(own, as: \.configuration)
      let shown = try await fixture.shown(
        "module('locale').getLanguage(function (l) { show([l, weex.config.env.deviceWidth]) })")
      #expect(shown == #"["fi",1]"#)
    }
  }
}
