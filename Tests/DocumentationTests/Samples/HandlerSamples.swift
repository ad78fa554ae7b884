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

  static func countdown(_ host: PageHost) {
    host.pages.registry.registerModule("countdown") { module in
      module.callbacks("from") { call, page in
        guard let callback = call.callback(at: 1) else { return }
        for left in stride(from: call[0].number ?? 0, through: 0, by: -1) {
          // The script's callback may be called again as long as it is kept alive.
          try await page.callback(callback, .number(left), keepAlive: left > 0)
        }
      }
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
    configuration.pages.device = DefaultConfiguration(["platform": "android", "deviceWidth": 1080], language: "en-GB")
  }

  static func transform(_ host: PageHost, _ session: Session) {
    host.pages.registry.register(
      .prefix("https://api.example.com/"),
      RequestTransform(request: { $0.fields[.authorization] = await session.token }))
  }

  static func envelope(_ host: PageHost) {
    host.pages.registry.register(
      .prefix("https://api.example.com/"),
      RequestTransform(response: { answer, _ in
        // The page gets what is in the envelope.
        if answer.status == 200 { answer = try .json(answer.decoded(as: Envelope.self).items) }
      }))
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

struct Assets: ImageLoading {
  let pictures: [String: [UInt8]]
  let others: any ImageLoading  // DefaultImageLoader(host.resources)

  func load(_ request: ImageRequest) -> ImageTask {
    guard request.url.hasPrefix("asset:") else { return others.load(request) }
    let (updates, continuation) = AsyncStream.makeStream(of: ImageTask.Update.self)
    if let bytes = pictures[request.url] {
      continuation.yield(.image(LoadedImage(bytes: bytes, cacheType: .none)))
    } else {
      continuation.yield(.failed(NoPicture(url: request.url)))
    }
    continuation.finish()  // the end of the loading
    return ImageTask(updates: updates, onCancel: {})  // onCancel ends the work if the element has gone
  }
}

struct NoPicture: Error {
  let url: String
}

struct Envelope: Codable {
  let items: [Item]
}

struct Item: Codable {
  let id: Int
}

struct NewerItems: ResourceAnswering {
  func response(to request: ResourceRequest, _ exchange: ResourceExchange) async throws -> HandledResponse {
    var items = try await exchange.stored()?.decoded(as: [Item].self) ?? []
    let question = ResourceRequest("https://api.example.com/items?since=\(items.last?.id ?? 0)")
    items += try await exchange.response(to: question).decoded(as: [Item].self)
    return try .json(items, storage: .askingEachTime)  // or .none, .asTheServerSaid, .lifetime(.seconds(60))
  }
}
