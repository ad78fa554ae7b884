import HTTPCaching
import HTTPTransport
import Synchronization

/// Remembers for a while which resources' responses may not be stored, whoever asks: requests for them need not wait for one another,
/// since none of them could use another's response.
final class UnstoredKeys: Sendable {
  /// The time that a key is remembered, in seconds.
  static let lifetime: Int64 = 120
  private static let limit = 10_000

  private let keys = Mutex(LRUDictionary<CacheKey, HTTPDate>())

  /// Returns `true` if the last response for the key was not stored.
  func contains(_ key: CacheKey, at now: HTTPDate) -> Bool {
    keys.withLock { keys in
      guard let noted = keys[key] else { return false }
      return (0..<Self.lifetime).contains(now.secondsSinceEpoch - noted.secondsSinceEpoch)
    }
  }

  /// The response for the key may not be stored.
  func insert(_ key: CacheKey, at now: HTTPDate) {
    keys.withLock { keys in
      keys.remove(key)
      keys.set(now, for: key)
      if keys.count > Self.limit, let oldest = keys.leastRecent { keys.remove(oldest) }
    }
  }

  /// A response for the key is stored.
  func remove(_ key: CacheKey) { keys.withLock { _ = $0.remove(key) } }
}
