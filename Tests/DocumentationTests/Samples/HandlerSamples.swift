import PageKit

/// Samples of "Handlers and modules".
enum HandlerSamples {
  static func module(_ host: PageHost, _ cart: Cart) {
    host.pages.registry.registerModule("cart") { module in
      // Scripts get a promise of this one,
      module.method("add") { (sku: String, count: Int) async throws -> Int in try await cart.add(sku, count) }
      // and this one answers at once.
      module.immediate("currency") { () in "EUR" }
    }
  }

  static func component(_ host: PageHost) {
    host.pages.registry.registerComponent("stepper") { component in
      component.callbacks("step") { call, page in
        guard let ref = call.ref, let callback = call.callback(at: 1) else { return }
        let start = page.tree[ref]?.attributes["value"]?.number ?? 0
        try await page.callback(callback, .number(start + (call[0].number ?? 1)))
      }
    }
  }

  static func service(_ host: PageHost, _ trackerScript: String) {
    // The script calls service.register(name, { create, … }).
    host.pages.registry.registerService("tracker", source: trackerScript)
  }

  static func slot(_ host: PageHost) {
    let token = host.pages.registry.register(ThumbnailLoader() as any ImageLoading, as: \.images)
    token.remove()
  }

  static func device(_ configuration: inout HostConfiguration) {
    configuration.device = DefaultConfiguration(["platform": "android", "deviceWidth": 1080], language: "en-GB")
  }

  static func transform(_ host: PageHost, _ session: Session) {
    host.pages.registry.register(
      .prefix("https://api.example.com/"),
      RequestTransform(request: { $0.fields[.authorization] = await session.token }))
  }

  static func answering(_ host: PageHost) {
    host.pages.registry.register(.prefix("https://api.example.com/items"), NewerItems())
  }

  static func globalEvent(_ page: PageInstance) async throws {
    try await page.fireGlobalEvent("networkChange", ["online": true])
  }
}

actor Cart {
  private var counts: [String: Int] = [:]

  func add(_ sku: String, _ count: Int) throws -> Int {
    counts[sku, default: 0] += count
    return counts[sku, default: 0]
  }
}

actor Session {
  var token: String? { "secret" }
}

struct ThumbnailLoader: ImageLoading {
  func load(_ request: ImageRequest) -> ImageTask {
    ImageTask(updates: AsyncStream { $0.finish() }, onCancel: {})
  }
}

struct Item: Codable {
  let id: Int
}

struct NewerItems: ResourceAnswering {
  func response(to request: ResourceRequest, _ exchange: ResourceExchange) async throws -> HandledResponse {
    var items = try await exchange.stored()?.json([Item].self) ?? []
    let question = ResourceRequest("https://api.example.com/items?since=\(items.last?.id ?? 0)")
    items += try await exchange.response(to: question).json([Item].self)
    return try .json(items, storage: .askingEachTime)  // or .none, .asTheServerSaid, .lifetime(.seconds(60))
  }
}
