import Foundation
import PageKit
import PageTesting
import Synchronization

/// The server: a manifest, a page, and a list that grows.
struct Shop {
  let origin: FaultOrigin
  private let goods: Goods

  /// What the server has; the ids count from 1.
  private final class Goods: Sendable {
    let names = Mutex<[String]>([])
  }

  var manifest: String { origin.url(for: "/manifest.json") }
  var page: String { origin.url(for: "/bundles/shop.js") }
  var items: String { origin.url(for: "/items") }

  /// Which parts of the list were asked for.
  var questions: [String] { origin.requests.map(\.path).filter { $0.hasPrefix("/items") } }

  static func open() async throws -> Shop {
    let shop = Shop(origin: try await FaultOrigin.start(), goods: Goods())
    let script = Array(Self.script.utf8)
    let manifest = """
      { "schema": 1, "release": "1", "sequence": 1, "base": "bundles/",
        "bundles": [ { "name": "shop", "path": "shop.js", "md5": "\(try MD5Digest(of: script))" } ] }
      """
    shop.origin.serve("/bundles/shop.js", script)
    shop.origin.serve("/manifest.json", Array(manifest.utf8), contentType: "application/json")
    shop.origin.respond("/items") { [goods = shop.goods] request in
      let since = request.path.split(separator: "=").last.flatMap { Int($0) } ?? 0
      let newer = goods.names.withLock { Array($0.enumerated().dropFirst(since)) }
      let list = newer.map {
        ["id": .integer(Int64($0.offset + 1)), "name": .string($0.element)] as [String: JSONValue]
      }
      return OriginResponse(
        status: .ok, headers: [.contentType: "application/json"], body: try JSONEncoder().encode(list))
    }
    return shop
  }

  func stock(_ names: [String]) { goods.names.withLock { $0 += names } }

  private static let script = """
    // { "framework": "Vanilla" }
    var document = weex.document
    var body = document.createBody('div', { attr: {}, style: { width: 750 } })
    document.documentElement.appendChild(body)

    function add (type, id, attr, style) {
      attr.id = id
      var node = document.createElement(type, { attr: attr, style: style || {} })
      body.appendChild(node)
      return node
    }

    add('image', 'picture', { src: 'swatch:teal' }, { width: 80, height: 40 })

    var cart = weex.requireModule('cart')
    var inCart = add('text', 'cart', { value: '' })
    add('text', 'currency', { value: cart.currency() })
    cart.add('tea', 2).then(function (count) { inCart.setAttr('value', count + ' in the cart') })

    var steps = add('text', 'stepper', { value: '' })
    add('stepper', 'control', { value: 5 }).step(3, function (value) { steps.setAttr('value', 'steps to ' + value) })

    var items = add('text', 'items', { value: '' })
    weex.requireModule('stream').fetch({ url: '/items', type: 'json' }, function (answer) {
      var names = answer.ok ? answer.data.map(function (item) { return item.name }) : [answer.data]
      items.setAttr('value', names.join(', '))
    })
    """
}
