import CurlTransport
import HTTPCache

/// The sample of "Caching" for an app that uses the cache without pages.
enum CacheAloneSamples {
  static func loader() async throws {
    let loader = ResourceLoader(cache: try .shared, transport: try CurlTransport())
    let news = try await loader.response(for: ResourceRequest("https://api.example.com/news.json"))
    print(news.status, try await news.body.collect().count)
  }
}
