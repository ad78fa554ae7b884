import HTTPCache
import Testing

struct ReleaseFileExplanationTests {
  @Test func aFileOfTheReleaseIsServed() async throws {
    try await PrefetchFixture.running { fixture in
      try fixture.publish(["home": []], files: ["logo.png": "logo"])
      _ = try await fixture.preload()
      let url = fixture.origin.url(for: "/b/logo.png")
      let loader = fixture.nextLaunch()
      #expect(try await loader.explain(ResourceRequest(url)).rule == "it is a file of the current release")
      #expect(try await loader.explain(ResourceRequest(url, behavior: .networkOnly)).decision == .fetch)
      #expect(try await loader.explain(ResourceRequest(url, method: .post)).decision == .fetch)
    }
  }
}
