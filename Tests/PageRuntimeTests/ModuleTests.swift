import Foundation
import HTTPTypes
import PageCore
import PageLoading
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

struct ModuleTests {
  /// What the first text shows once the page has settled.
  private static func shown(
    _ fixture: PageFixture, _ script: String
  ) async throws -> String? {
    let page = try await fixture.page(
      "var text = add('text', { attr: { value: '' } }); function show(v) { text.setAttr('value', typeof v === 'string' ? v : JSON.stringify(v)) }\n"
        + script)
    await page.settle(within: .seconds(60))
    let shown = await page.shown
    await page.destroy()
    return shown
  }

  @Test func fetchGivesWhatTheServerSaid() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.respond("/api") { request in
        OriginResponse(
          status: .init(code: 201), headers: [.contentType: "application/json"],
          body: Array(#"{"method": "\#(request.method)", "body": "\#(request.text)"}"#.utf8))
      }
      let shown = try await Self.shown(
        fixture,
        """
        weex.requireModule('stream').fetch({ method: 'POST', url: '../api', type: 'json', body: 'a=1' }, function (r) {
          show([r.status, r.ok, r.data.method, r.data.body, r.headers['Content-Type'], 'fromCache' in r])
        })
        """)
      #expect(shown == #"[201,true,"POST","a=1","application/json",false]"#)
    }
  }

  @Test func aFetchThatFailsSaysSo() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.script("/cut", [.closeBeforeHead])
      let shown = try await Self.shown(
        fixture,
        "weex.requireModule('stream').fetch({ url: '/cut', type: 'text' }, function (r) { show([r.status, r.ok, r.statusText]) })"
      )
      #expect(shown == #"[-1,false,"ERR_CONNECT_FAILED"]"#)
    }
  }

  @Test func underCacheThenNetworkTheStoredAnswerComesFirst() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/list", Array("old".utf8), etag: "\"1\"")
      let script = """
        var said = []
        weex.requireModule('stream').fetch({ url: '/list', type: 'text', cache: 'cacheThenNetwork' }, function (r) {
          said.push(r.data, r.fromCache); show(said)
        })
        """
      #expect(try await Self.shown(fixture, script) == #"["old",false]"#)
      fixture.origin.serve("/list", Array("new".utf8), etag: "\"2\"")
      #expect(try await Self.shown(fixture, script) == #"["old",true,"new",false]"#)
      #expect(try await Self.shown(fixture, script) == #"["new",true]"#)
    }
  }

  @Test func storageKeepsValuesByName() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let shown = try await Self.shown(
        fixture,
        """
        var storage = weex.requireModule('storage'), said = []
        storage.setItem('a', 'one', function (r) { said.push(r.result)
          storage.getItem('a', function (r) { said.push(r.data)
            storage.length(function (r) { said.push(r.data)
              storage.removeItem('a', function (r) { said.push(r.result)
                storage.getItem('a', function (r) { said.push(r.result); show(said) }) }) }) }) })
        """)
      #expect(shown == #"["success","one",1,"success","failed"]"#)
    }
  }

  @Test func anAppsModuleIsCalledWithTypes() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerModule("cart") { module in
        module.immediate("total") { (counts: [Int]) in counts.reduce(0, +) }
        module.method("add") { (sku: String, count: Int?) async throws -> String in "\(sku) × \(count ?? 1)" }
      }
      let shown = try await Self.shown(
        fixture,
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

  @Test func aRegistrationIsForLaterPagesAndIsTakenBackAlone() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let script = "show(String(weex.requireModule('greeter').greet()))"
      func register(_ word: String) -> PageRegistry.Registration {
        fixture.registry.registerModule("greeter") { module in module.immediate("greet") { () in word } }
      }
      _ = register("first")
      let second = register("second")
      #expect(try await Self.shown(fixture, script) == "second")
      second.remove()
      #expect(try await Self.shown(fixture, script) == "first")
    }
  }

  @Test func aRequestHandlerAnswersInsteadOfTheLoader() async throws {
    struct Loud: ResourceRequestHandling {
      func updates(for request: ResourceRequest, next: @escaping ResourceHandlerChain.Next) -> AsyncStream<LoadUpdate> {
        var request = request
        request.fields[.accept] = "text/loud"
        return next(request)
      }
    }
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.respond("/*") { OriginResponse(body: Array(($0.headers[.accept] ?? "").utf8)) }
      let token = fixture.registry.register(.glob("/loud*"), Loud())
      func fetched(_ path: String) async throws -> String? {
        try await Self.shown(
          fixture, "weex.requireModule('stream').fetch({ url: '\(path)', type: 'text' }, function (r) { show(r.data) })"
        )
      }
      let (loud, quiet) = (try await fetched("/loud1"), try await fetched("/quiet"))
      #expect((loud, quiet) == ("text/loud", "*/*"))
      token.remove()
      let later = try await fetched("/loud2")
      #expect(later == "*/*")
    }
  }

  @Test func anAppsComponentHasItsMethodsOnItsElements() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerComponent("map") { component in
        component.callbacks("zoom") { call, page in
          if let callback = call.callback(at: 1) {
            try await page.callback(callback, .string("\(call.ref == nil) \(call[0].int ?? 0)"))
          }
        }
      }
      let shown = try await Self.shown(fixture, "add('map').zoom(4, show)")
      #expect(shown == "false 4")
    }
  }

  @Test func aPagesOwnRegistryComesAfterTheHosts() async throws {
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

  @Test func pagesHearOneAnotherThroughAChannel() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let listener = try await fixture.page(
        """
        var text = add('text', { attr: { value: '' } }), channel = new BroadcastChannel('news')
        channel.onmessage = function (e) { text.setAttr('value', e.data.word) }
        """)
      await listener.settle(within: .seconds(5))
      let speaker = try await fixture.page("new BroadcastChannel('news').postMessage({ word: 'hello' })")
      await speaker.settle(within: .seconds(5))
      #expect(await listener.shown == "hello")
      for page in [listener, speaker] { await page.destroy() }
    }
  }

  @Test func globalEventsReachThePagesThatListen() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var text = add('text', { attr: { value: '' } })
        weex.requireModule('globalEvent').addEventListener('login', function (e) { text.setAttr('value', e.user) })
        """)
      await page.settle(within: .seconds(5))
      try await page.fireGlobalEvent("login", ["user": "ann"])
      try await page.fireGlobalEvent("login", ["user": "bob"])
      #expect(await page.shown == "bob")
      await page.destroy()
    }
  }
}
