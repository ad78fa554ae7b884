import CurlTransport
import HTTPCaching
import HTTPTypes
import PageTesting
import Testing

@testable import HTTPCache

/// A cache that stores nothing.
struct NoResponseStoreTests {
  @Test("every request is sent, also if its response is fresh")
  func everyRequestIsSent() async throws {
    try await FaultOrigin.running { origin in
      let text = Array("text".utf8)
      origin.serve("/a", text, headers: [.cacheControl: "max-age=60"])
      let loader = ResourceLoader(cache: .storingNothing(), transport: try CurlTransport())
      for _ in 0..<2 {
        let answer = try await loader.response(for: ResourceRequest(origin.url(for: "/a")))
        #expect(answer.source == .network)
        #expect(try await answer.body.collect() == text)
      }
      #expect(origin.requestCount(path: "/a") == 2)
    }
  }

  @Test("bytes that are stored by name in a region stay in memory")
  func namedBytesStayInMemory() async throws {
    let region = try ResponseCache.storingNothing().region("storage")
    let bytes = Array("value".utf8)
    await region.store(bytes, forKey: "key", at: HTTPDate(secondsSinceEpoch: 1_700_000_000))
    #expect(await region.response(forKey: "key")?.bytes == bytes)
    #expect(try await region.usage().disk.entries == 0)
  }
}
