import HTTPCache
import TestSupport
import Testing

/// A folder of an open cache is exchanged for a symbolic link: nothing is read or written where that leads.
struct ExchangedResponseFolderTests {
  @Test(
    "responses whose folder became a link are misses, new ones are stored, and what is behind the link stays",
    arguments: [
      "cache/responses", "cache/responses/bodies", "cache/responses/partial", "durable/kept", "durable/kept/entries",
      "durable/kept/bodies", "durable/kept/partial",
    ])
  func responses(_ name: String) async throws {
    let fixture = try ResponseFixture()
    let (short, long) = (CacheKey(named: "short"), CacheKey(named: "long"))
    let isKept = name.hasPrefix("durable")
    for key in [short, long] { _ = try await fixture.store.setKept(isKept, for: key) }
    let bytes = Array(repeating: UInt8(7), count: 100_000)
    for (key, bytes) in [(short, Array(bytes.prefix(10))), (long, bytes)] {
      _ = try #require(try await fixture.store(bytes, for: key))
    }
    let outside = try Outside(inPlaceOf: fixture.folder.file(name))
    let isRoot = name.hasSuffix("responses") || name.hasSuffix("kept")
    // One that is not kept is in the index.
    #expect((try await fixture.bytes(short) == nil) == (isKept && isRoot || name.hasSuffix("entries")))
    #expect((try await fixture.bytes(long) == nil) == (isRoot || name.hasSuffix("bodies")))
    for (key, bytes) in [(short, Array(bytes.suffix(20))), (long, Array(bytes.suffix(90_000)))] {
      _ = try #require(try await fixture.store(bytes, for: key))
      #expect(try await fixture.bytes(key) == bytes)
    }
    try await fixture.store.remove(.all)
    try outside.expectUnchanged()
  }
}
