import Containers
import HTTPCaching

/// Remembers for a while which resources' responses may not be stored, whoever asks: requests for them need not wait for
/// one another, since none of them could use another's response.
final class UnstoredKeys: Sendable {
  /// The time that a key is remembered, in seconds.
  private static let lifetime: Int64 = 120

  private let keys = LRUCache<CacheKey, HTTPDate>(capacity: 10_000)

  /// Returns `true` if the last response for the key may not be stored.
  func contains(_ key: CacheKey, at now: HTTPDate) -> Bool {
    keys[key].map { (0..<Self.lifetime).contains(now.secondsSinceEpoch - $0.secondsSinceEpoch) } ?? false
  }

  /// The response for the key may not be stored.
  func insert(_ key: CacheKey, at now: HTTPDate) { keys.insert(now, for: key, cost: 1) }

  /// A response for the key is stored.
  func remove(_ key: CacheKey) { keys.remove(key) }
}
