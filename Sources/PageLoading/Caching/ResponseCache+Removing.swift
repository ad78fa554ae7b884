import Foundation
import PageCore

extension ResponseCache {
  /// Keeps what is and will be stored for a key: no eviction takes it, and it survives the system emptying the cache.
  ///
  /// - Returns: whether anything is stored for the key.
  @discardableResult
  public func keep(_ key: CacheKey) async throws -> Bool {
    memory.remove(key)
    return try await store.setKept(true, for: key)
  }

  /// It may be evicted again.
  @discardableResult
  public func unkeep(_ key: CacheKey) async throws -> Bool {
    memory.remove(key)
    return try await store.setKept(false, for: key)
  }

  /// Everything, what is kept too. Regions are caches of their own.
  public func removeAll() async throws {
    memory.removeAll { _ in true }
    try await store.remove(.all)
    memory.removeAll { _ in true }
  }

  public func removeAll(of partition: CachePartition) async throws {
    memory.removeAll { $0.entry.key.partition == partition }
    try await store.remove(.partition(partition))
  }

  /// What was stored at this time or later.
  public func removeAll(since time: Date) async throws {
    memory.removeAll { $0.entry.storedAt >= time.timeIntervalSince1970 }
    try await store.remove(.since(time.timeIntervalSince1970))
  }

  /// All variants of one key.
  public func remove(for key: CacheKey) async throws {
    memory.remove(key)
    try await store.remove(.key(key))
  }
}
