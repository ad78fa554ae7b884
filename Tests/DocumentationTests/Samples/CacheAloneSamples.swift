import CurlTransport
import HTTPCache

/// The samples of "Caching" for an app that uses the cache without pages. One import of the cache is enough for it.
enum CacheAloneSamples {
  static func loader() async throws {
    let transport = try CurlTransport()
    let cache = try ResponseCache(diskCapacity: 100 << 20, directory: ResponseDirectory("/var/cache/news"))
    var configuration = ResourceLoader.Configuration()
    configuration.rules = [ResourceRule(.prefix("https://api.example.com/"), lifetime: .atMost(60))]
    let loader = ResourceLoader(cache: cache, transport: transport, configuration: configuration)

    let news = try await loader.response(for: ResourceRequest("https://api.example.com/news.json"))
    print(news.status, news.source, try await news.decoded(as: [Item].self).count)
    print(try await cache.usage().disk.bytes, "bytes are stored")

    await loader.shutDown()
    await transport.shutDown()  // before the process exits
  }

  static func shared(_ transport: Canned) throws -> ResourceLoader {
    let shared = try ResponseCache(
      diskCapacity: 1 << 30, directory: ResponseDirectory("/var/cache/edge"), policy: CachePolicy(mode: .shared))
    var settings = ResourceLoader.Configuration()
    settings.partition = .shared  // whose responses these are: everybody's
    settings.behavior = .protocolCache
    let edge = ResourceLoader(cache: shared, transport: transport, configuration: settings)
    return edge
  }
}

struct Canned: HTTPTransporting {
  func send(_ request: TransportRequest) async throws -> TransportResponse {
    let head = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])
    return TransportResponse(head: head, body: Body(Array("[]".utf8)))
  }
}
