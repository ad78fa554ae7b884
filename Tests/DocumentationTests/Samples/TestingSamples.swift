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
