import Foundation
import PageKit

/// Registers handlers of its own with a host, opens a page that needs all of them, and checks that each was reached.
@main
enum CustomHandlers {
  static func main() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "custom-handlers-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let shop = try await Shop.open()
    var checks = Checks()
    do {
      try await run(shop, store: folder.path(percentEncoded: false) + "/store", &checks)
    } catch {
      checks.fail("\(error)")
    }
    try? await shop.origin.stop()
    checks.report()
  }

  private static func run(_ shop: Shop, store: String, _ checks: inout Checks) async throws {
    let host = try PageHost.launch(.init(manifest: shop.manifest, store: StoreDirectory(store)))
    let registry = host.pages.registry
    let cart = Cart()

    // In the place of the default loader, which it turns to for everything else.
    registry.register(Swatches(behind: DefaultImageLoader(host.resources)) as any ImageLoading, as: \.images)
    // For requests whose URLs match.
    registry.register(.prefix(shop.items), NewerItems())
    registry.registerModule("cart") { module in
      // Scripts get a promise of this one,
      module.method("add") { (sku: String, count: Int) async throws -> Int in try await cart.add(sku, count) }
      // and this one answers at once.
      module.immediate("currency") { () in "EUR" }
    }
    registry.registerComponent("stepper") { component in
      component.callbacks("step") { call, page in
        guard let ref = call.ref, let callback = call.callback(at: 1) else { return }
        let start = page.tree[ref]?.attributes["value"]?.number ?? 0
        try await page.callback(callback, .number(start + (call[0].number ?? 1)))
      }
    }

    shop.stock(["tea", "cup", "pot"])
    let first = try await texts(of: shop.page, host)
    checks.expect("the image loader", first["picture"], "svg 80×40")
    checks.expect("the module's promise", first["cart"], "2 in the cart")
    checks.expect("the module's answer", first["currency"], "EUR")
    checks.expect("the component's method", first["stepper"], "steps to 8")
    checks.expect("the list, whole", first["items"], "tea, cup, pot")

    shop.stock(["kettle", "sieve"])
    checks.expect("the list, merged", try await texts(of: shop.page, host)["items"], "tea, cup, pot, kettle, sieve")
    checks.expect("what the server was asked", shop.questions, ["/items?since=0", "/items?since=3"])

    try await shop.origin.refuseConnections()
    checks.expect("the list, offline", try await texts(of: shop.page, host)["items"], "tea, cup, pot, kettle, sieve")
    checks.expect("things in the cart", await cart.count, 6)
  }

  /// Opens the page, waits for what it asks for, and reads its texts by their ids.
  private static func texts(of url: String, _ host: PageHost) async throws -> [String: String] {
    let page = try await host.open(url)
    await page.settle(within: .seconds(20))
    let elements = await page.tree.elements.values
    var texts: [String: String] = [:]
    for element in elements {
      guard let id = element.attributes["id"]?.string else { continue }
      if case .loaded(_, let format, let size, _)? = element.image {
        texts[id] = "\(format) \(size?.width ?? 0)×\(size?.height ?? 0)"
      } else {
        texts[id] = element.attributes["value"]?.string
      }
    }
    await page.destroy()
    return texts
  }
}
