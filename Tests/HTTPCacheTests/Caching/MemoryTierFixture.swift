import HTTPCaching
import TestSupport

@testable import HTTPCache
@testable import HTTPTransport

enum MemoryTierFixture {
  /// A response as the memory tier has it.
  static func response(_ id: Int64, _ key: CacheKey, count: Int = 10) -> CachedResponse {
    let head = ResponseMetadata(
      status: 200, fields: [:],
      times: ExchangeTimes(request: ResponseCacheFixture.now, response: ResponseCacheFixture.now), vary: VaryKey(),
      extent: .whole(Int64(count)), staleAt: 0)
    let digest = SHA256Digest(bytes: [UInt8](repeating: 0, count: 32))
    return CachedResponse(
      ResponseEntry(
        id: id, key: key, head: head, digest: digest ?? ContentDigests.filled(0).sha256, isKept: false, storedAt: 0),
      bytes: [UInt8](repeating: 0, count: count), policy: CachePolicy(mode: .private))
  }
}
