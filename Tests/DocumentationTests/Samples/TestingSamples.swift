import Foundation
import PageKit
import PageTesting
import Testing

/// Samples of "Testing pages".
struct GreetingTests {
  let script = """
    // { "framework": "Vanilla" }
    var d = weex.document, body = d.createBody('div'), text = d.createElement('text')
    d.documentElement.appendChild(body)
    body.appendChild(text)
    weex.requireModule('stream').fetch({ method: 'GET', url: '/name', type: 'text' }, function (answer) {
      text.setAttr('value', answer.ok ? 'Hello ' + answer.data : 'Hello stranger')
    })
    """

  @Test("the page greets a stranger while the server does not know the name")
  func greeting() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      origin.serve("/greeting.js", script.utf8)
      origin.serve("/name", "Ann".utf8, contentType: "text/plain")
      origin.always("/name", .status(404))

      let host = try PageHost(.init(store: StoreDirectory(folder)))
      func shown() async throws -> String {
        let page = try await host.open(origin.url(for: "/greeting.js"))
        await page.settle(within: .seconds(10))
        let outline = await page.tree.outline
        await page.destroy()
        return outline
      }
      #expect(try await shown().contains("Hello stranger"))
      origin.always("/name", .normal)
      #expect(try await shown().contains("Hello Ann"))
      #expect(origin.requestCount(path: "/name") == 2)
      await host.shutDown()
    }
  }
}

struct PriceTests {
  let script = """
    // { "framework": "Vanilla" }
    var d = weex.document, body = d.createBody('div'), text = d.createElement('text')
    d.documentElement.appendChild(body)
    body.appendChild(text)
    text.addEvent('click', load)
    function load () {
      text.setAttr('value', 'Loading')
      weex.requireModule('stream').fetch({ url: '/price', type: 'json' }, function (answer) {
        text.setAttr('value', answer.ok ? answer.data.price + ' €' : 'No price: ' + answer.status)
      })
    }
    load()
    """

  /// Runs a test with a host that has a store of its own, and with its server.
  func withShop(_ test: (PageHost, FaultOrigin) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await FaultOrigin.running { origin in
      origin.serve("/shop.js", script.utf8)
      origin.serve("/price", #"{"price": 12}"#.utf8, contentType: "application/json")
      let host = try PageHost(.init(store: StoreDirectory(folder)))
      try await test(host, origin)
      await host.shutDown()
    }
  }

  /// The page's text, when nothing is under way any more.
  func text(of page: PageInstance) async -> ElementTree.Element? {
    await page.settle(within: .seconds(10))
    return await page.tree.first(.type("text"))
  }

  @Test("a tap asks for the price again after an error of the server")
  func overload() async throws {
    try await withShop { host, origin in
      origin.script("/price", [.status(503), .normal])
      let page = try await host.open(origin.url(for: "/shop.js"))
      let text = try #require(await text(of: page))
      #expect(text.attributes["value"] == "No price: 503")
      try await page.click(.type("text"))
      #expect(await self.text(of: page)?.attributes["value"] == "12 €")
      await page.destroy()
    }
  }

  @Test("the page says that it is loading until the price has come")
  func loading() async throws {
    try await withShop { host, origin in
      origin.hold("/price")
      let page = try await host.open(origin.url(for: "/shop.js"))
      try await origin.waitForRequests(1, to: "/price", within: .seconds(10))
      #expect(await page.tree.outline.contains("Loading"))
      origin.release("/price")
      #expect(await text(of: page)?.attributes["value"] == "12 €")
      await page.destroy()
    }
  }

  @Test("the page and its price are there without the server")
  func offline() async throws {
    try await withShop { host, origin in
      for isReachable in [true, false] {
        if !isReachable { try await origin.refuseConnections() }
        let page = try await host.open(origin.url(for: "/shop.js"))
        #expect(await text(of: page)?.attributes["value"] == "12 €")
        await page.destroy()
      }
    }
  }
}

struct CountdownTests {
  let script = """
    // { "framework": "Vanilla" }
    var d = weex.document, body = d.createBody('div'), text = d.createElement('text')
    d.documentElement.appendChild(body)
    body.appendChild(text)
    var end = new Date(2026, 0, 1), timer = setInterval(show, 1000)
    function show () {
      var left = (end - new Date()) / 1000
      text.setAttr('value', left > 0 ? left + ' s left' : 'The offer has ended')
      if (left <= 0) clearInterval(timer)
    }
    show()
    """

  @Test("the offer ends at midnight")
  func countdown() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      origin.serve("/offer.js", script.utf8)
      let host = try PageHost(.init(store: StoreDirectory(folder)))
      // Ten seconds before the new year in Shanghai.
      let fixed = PageDeterminism(time: Date(timeIntervalSince1970: 1_767_196_790), zone: "Asia/Shanghai")
      let page = try await host.open(origin.url(for: "/offer.js"), options: PageOptions(determinism: fixed))
      #expect(await page.tree.outline.contains("10 s left"))
      await page.advance(by: .seconds(4))
      #expect(await page.tree.outline.contains("6 s left"))
      await page.advance(by: .seconds(6))
      #expect(await page.tree.outline.contains("The offer has ended"))
      await page.destroy()
      await host.shutDown()
    }
  }
}
