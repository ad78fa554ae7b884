import Foundation
import PageKit
import PageTesting

/// The examples in the documentation of public types and their members.
enum TypeSamples {
  static func resource(_ host: PageHost) async throws {
    let answer = try await host.resources.response(for: ResourceRequest("https://api.example.com/home.json"))
    if answer.status == 200 { print(answer.source, try await answer.decoded(as: [Item].self)) }
  }

  static func resourceUpdate(_ host: PageHost, _ request: ResourceRequest) async {
    for await update in host.resources.updates(for: request) {
      if case .network(let answer) = update { print("new:", answer.status) }
    }
  }

  static func resourceRequest(_ host: PageHost) async throws {
    var request = ResourceRequest("https://api.example.com/items?page=2", behavior: .cacheFirst)
    request.fields[.accept] = "application/json"
    let items = try await host.resources.response(for: request).decoded(as: [Item].self)
    _ = items
  }

  static func resourceRule(_ configuration: inout HostConfiguration) {
    configuration.resources.rules = [
      ResourceRule(.prefix("https://cdn.example.com/"), types: [.image], behavior: .cacheFirst),
      ResourceRule(.glob("/prices/*"), lifetime: .atMost(30)),
    ]
  }

  static func handledResponse() -> HandledResponse {
    return HandledResponse(
      fields: [.contentType: "text/plain"], bytes: Array("hello".utf8), storage: .lifetime(.seconds(60)))
  }

  static func responseCache() async throws {
    let cache = try ResponseCache(memoryCapacity: 4 << 20, diskCapacity: 100 << 20)
    ResponseCache.setShared(cache)
    print(try await cache.usage().disk.bytes, "bytes are stored")
  }

  static func cacheKey(_ host: PageHost) async throws {
    if let article = PageURL("https://api.example.com/articles/7") {
      try await host.responses.remove(for: CacheKey(article, in: .user("ann")))
    }
  }

  static func cachePartition(_ host: PageHost) async throws {
    try await host.use(partition: .user("ann"))  // who has signed in
    try await host.forget(partition: .user("bob"))  // who has left
  }

  static func proposedResponse(_ host: PageHost) {
    host.responses.willCache = { proposed in
      var proposed = proposed
      proposed.userInfo["screen"] = "list"
      return proposed.response.headerFields[.contentType] == "text/html" ? nil : proposed
    }
  }

  static func body(_ answer: Resource) async throws {
    for try await chunk in answer.body { print(chunk.count, "bytes") }  // or collect() for all of them
  }

  static func pageURL() {
    let page = PageURL("HTTPS://pages.example.com:443/a/../home.js?random=1")
    print(page?.text ?? "")  // https://pages.example.com/home.js
    print(page?.resolving("img/logo.png")?.text ?? "")  // https://pages.example.com/img/logo.png
  }

  static func jsonValue(_ page: PageInstance) async {
    let value = await page.tree.json
    if case .object(let members) = value { print(members["type"] ?? .null) }
  }

  static func retryPolicy(_ configuration: inout HostConfiguration) {
    configuration.network.retry = RetryPolicy(attempts: 2, firstDelay: .seconds(1))
  }

  static func dataSaver(_ configuration: inout HostConfiguration) {
    configuration.network.saver.isOn = true  // on a metered network
    configuration.network.saver.budget = 10 << 20  // or so many bytes in the background
  }

  static func reachability(_ host: PageHost) {
    host.reachability.setting = .offline  // no request is sent
    host.reachability.setting = .observed  // the outcomes of requests decide again
  }

  static func curlTransport() async throws {
    let transport = try CurlTransport(.init(certificateAuthorities: "/etc/shop/ca.pem", connectionsPerHost: 6))
    let loader = ResourceLoader(cache: try .shared, transport: transport)
    await loader.shutDown()
    await transport.shutDown()  // before the process exits
  }

  static func cookieJar(_ configuration: inout HostConfiguration) throws {
    configuration.network.cookies = try CookieJar(file: "/var/lib/shop/cookies.txt")
  }

  static func storeDirectory() throws {
    let host = try PageHost.launch(
      .init(manifest: "https://pages.example.com/manifest.json", store: StoreDirectory("/var/lib/shop")))
    _ = host
  }

  static func bundleLoader(_ host: PageHost) async throws {
    if let home = PageURL("https://pages.example.com/bundles/home.js") {
      let bundle = try await host.bundles.load(home)
      print(bundle.source, bundle.isVerified, bundle.bytes.count)
    }
  }

  static func openRule(_ configuration: inout HostConfiguration) {
    configuration.pages.opening.rules = [OpenRule(.prefix("https://pages.example.com/help/"), .cacheFirst)]
  }

  static func preloadSchedule(_ configuration: inout HostConfiguration) {
    configuration.releases.preloadSchedule = PreloadSchedule(
      every: .seconds(3600), events: PageURL("https://pages.example.com/releases/events"))
  }

  static func preload(_ host: PageHost) async {
    let preload = host.preload()
    for await update in preload.updates { print(update.totals.bytesHere, "of", update.totals.bytesToFetch) }
    print(await preload.report().failures)
  }

  static func releaseTrial(_ configuration: inout HostConfiguration) {
    configuration.releases.trial?.failures = 3
    configuration.releases.trial?.duration = .seconds(5)
  }

  static func releaseReports(_ configuration: inout HostConfiguration, _ session: BundleSamples.Session) throws {
    configuration.releases.reports = try ReleaseReports(to: "https://pages.example.com/reports") {
      "Bearer \(try await session.reportToken())"
    }
  }

  static func pageInstance(_ host: PageHost) async throws {
    let page = try await host.open("https://pages.example.com/bundles/home.js")
    await page.appear()
    await page.settle(within: .seconds(10))
    print(await page.tree.outline)
    await page.destroy()
  }

  static func pageFallback(_ configuration: inout HostConfiguration) {
    configuration.pages.fallback = { url, error in
      if case .bundle(BundleError.disabled(_, let message)) = error { return .placeholder(message) }
      return nil
    }
  }

  static func pageOptions(_ host: PageHost) async throws {
    let options = PageOptions(config: ["theme": "dark"], policy: .networkOnly)
    let page = try await host.open("https://pages.example.com/bundles/prices.js", options: options)
    _ = page
  }

  static func pageDeterminism(_ host: PageHost) async throws {
    let fixed = PageDeterminism(seed: 7, time: Date(timeIntervalSince1970: 1_767_225_600))
    let page = try await host.open("https://pages.example.com/bundles/home.js", options: .init(determinism: fixed))
    await page.advance(by: .seconds(2))
    print(await page.tree.outline)
  }

  static func pageRegistry(_ host: PageHost) {
    let token = host.pages.registry.register(ThumbnailLoader() as any ImageLoading, as: \.images)
    token.remove()  // for pages that are made from now on
  }

  static func pageStack(_ host: PageHost, _ page: PageInstance) async {
    await host.stack.show(page)  // the app's first page
    for await pages in await host.stack.changes { print(pages.count, "pages") }
  }

  static func elementTree(_ page: PageInstance) async {
    let tree = await page.tree
    print(tree.outline)
    for text in tree.all(.type("text")) { print(text.attributes["value"] ?? "") }
  }

  static func scriptValue() {
    let item: ScriptValue = ["name": "Milk", "prices": [1.2, 1.5], "note": nil]
    print(item["name"].string ?? "", item["prices"][0].number ?? 0, item["note"].isNothing)
  }

  static func fault(_ origin: FaultOrigin) {
    origin.script("/home.js", [.status(503, retryAfter: "1"), .resetAfter(bytes: 1_000)])
    origin.always("/logo.png", .delay(.seconds(2)))
  }

  static func resourceLoader() async throws {
    let loader = ResourceLoader(cache: try .shared, transport: try CurlTransport())
    let home = try await loader.response(for: ResourceRequest("https://api.example.com/home.json"))
    print(home.status, home.source, try await home.data.count)
  }

  static func pageHost() async throws {
    let host = try PageHost.launch(.init(manifest: "https://pages.example.com/manifest.json"))
    let page = try await host.open("https://pages.example.com/bundles/home.js")
    _ = page
  }

  static func hostConfiguration() throws {
    var configuration = try HostConfiguration(manifest: "https://pages.example.com/manifest.json")
    configuration.storage.quotas.responses = 50 << 20
    configuration.releases.channel = "beta"
    configuration.network.retry.attempts = 5
    configuration.pages.opening.policy = .cacheFirst
    let host = try PageHost.launch(configuration)
    _ = host
  }

  static func elementQuery(_ page: PageInstance) async throws {
    if let price = await page.tree.first(.id("price")) { print(price.attributes["value"] ?? "") }
    try await page.click(.text("Buy"))
  }

  static func pageHandlers(_ host: PageHost) {
    host.pages.registry.register(ThumbnailLoader() as any ImageLoading, as: \.images)
  }

  static func all(_ page: PageInstance) async {
    let titles = await page.tree.all(.type("text")).compactMap { $0.attributes["value"]?.string }
    _ = titles
  }

  static func click(_ page: PageInstance) async throws {
    try await page.click(.text("Buy"))
    await page.settle(within: .seconds(10))
  }

  static func decoded(_ host: PageHost, _ request: ResourceRequest) async throws {
    let items = try await host.resources.response(for: request).decoded(as: [Item].self)
    _ = items
  }

  static func data(_ host: PageHost, _ request: ResourceRequest) async throws {
    let picture = try await host.resources.response(for: request).data
    _ = picture
  }

  static func transfer(_ host: PageHost, _ request: ResourceRequest) async throws {
    let answer = try await host.resources.response(for: request)
    let bytes = try await answer.data
    if let figures = await answer.transfer { print(figures.firstByte, figures.total, bytes.count) }
  }

  static func progress(_ answer: Resource) async throws {
    let picture = try await answer.data { received, total in print(received, "of", total ?? 0) }
    _ = picture
  }

  static func listing(_ host: PageHost) async throws {
    var next: ResponseListing.Position?
    repeat {
      let part = try await host.responses.listing(after: next)
      for entry in part.entries { print(entry.key, entry.size, entry.freshUntil) }
      next = part.next
    } while next != nil
  }

  static func module(_ host: PageHost, _ cart: Cart) {
    host.pages.registry.registerModule("cart") { module in
      module.method("add") { (sku: String, count: Int) async throws -> Int in try await cart.add(sku, count) }
    }
  }

  static func request(_ site: URL) -> ResourceRequest {
    let request = ResourceRequest(site.appending(path: "list.json"), behavior: .cacheFirst)
    return request
  }

  static func trust(_ configuration: inout HostConfiguration, _ rootFile: URL) throws {
    configuration.releases.trust = try ReleaseTrust(root: Data(contentsOf: rootFile), freshFor: .seconds(7 * 86_400))
  }

  static func image(_ continuation: AsyncStream<ImageTask.Update>.Continuation, _ bytes: [UInt8]) {
    continuation.yield(.image(LoadedImage(bytes: bytes, cacheType: .disk)))
  }

  static func typing(_ page: PageInstance, _ ref: String) async throws {
    try await page.fireEvent(ref, "input", ["value": "Ann"], changes: ["attrs": ["value": "Ann"]])
  }
}

struct PackagedImages: ImageLoading {
  let pictures: [String: [UInt8]]
  let others: any ImageLoading  // DefaultImageLoader(host.resources)

  func load(_ request: ImageRequest) -> ImageTask {
    guard let bytes = pictures[request.url] else { return others.load(request) }
    let (updates, continuation) = AsyncStream.makeStream(of: ImageTask.Update.self)
    continuation.yield(.image(LoadedImage(bytes: bytes, cacheType: .none)))
    continuation.finish()
    return ImageTask(updates: updates, onCancel: {})
  }
}

struct Price: ScriptConvertible {
  let cents: Int

  init?(scriptValue: ScriptValue) {
    guard let cents = scriptValue["cents"].int else { return nil }
    self.cents = cents
  }

  var scriptValue: ScriptValue { ["cents": .number(Double(cents))] }
}
