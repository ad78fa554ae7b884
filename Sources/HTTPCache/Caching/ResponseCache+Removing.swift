import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes

extension ResponseCache {
  /// Keeps the responses that are and will be stored for a key: no eviction removes them, and they survive if the system
  /// empties the cache's folder.
  ///
  /// - Returns: `true` if anything is stored for the key.
  /// - Throws: `StoreError`.
  @discardableResult
  public func keep(_ key: CacheKey) async throws -> Bool {
    try await forgetting({ memory.remove(key) }, while: { try await store.setKept(true, for: key) })
  }

  /// Lets the responses of a key be evicted again.
  ///
  /// - Returns: `true` if anything is stored for the key.
  /// - Throws: `StoreError`.
  @discardableResult
  public func unkeep(_ key: CacheKey) async throws -> Bool {
    try await forgetting({ memory.remove(key) }, while: { try await store.setKept(false, for: key) })
  }

  /// Removes every response of a partition in every region, whether the region is open or not.
  ///
  /// - Throws: `StoreError`.
  public func removeAllInRegions(of partition: CachePartition) async throws {
    for (cache, store) in try regions() {
      if let cache { try await cache.removeAll(of: partition) } else { try await store.remove(.partition(partition)) }
    }
  }

  /// Removes every response, also those that are kept. Regions are caches of their own.
  ///
  /// - Throws: `StoreError`.
  public func removeAll() async throws {
    try await forgetting({ memory.removeAll { _ in true } }, while: { _ = try await store.remove(.all) })
  }

  /// Removes every response of a partition. Regions are caches of their own: ``removeAllInRegions(of:)``.
  ///
  /// - Throws: `StoreError`.
  public func removeAll(of partition: CachePartition) async throws {
    try await forgetting(
      { memory.removeAll { $0.entry.key.partition == partition } },
      while: { _ = try await store.remove(.partition(partition)) })
  }

  /// Removes the responses that were stored at this time or later.
  ///
  /// - Throws: `StoreError`.
  public func removeAll(since time: Date) async throws {
    let seconds = time.timeIntervalSince1970
    try await forgetting(
      // When something came that is in memory only is known to the second.
      { memory.removeAll { $0.entry.storedAt >= ($0.entry.id < 0 ? seconds.rounded(.down) : seconds) } },
      while: { _ = try await store.remove(.since(seconds)) })
  }

  /// The parts that a request would go on with.
  func removeParts(for key: CacheKey, fields: HTTPFields) async {
    let parts = await responses(for: key, fields: fields).filter {
      !$0.stored.extent.isWhole && $0.stored.vary.matches(fields)
    }
    let ids = Set(parts.map(\.entry.id))
    memory.remove(key, ids: ids)
    _ = try? await store.remove(.entries(Array(ids)))
  }

  /// One response; what reads it can go on.
  func remove(_ response: CachedResponse) async {
    memory.remove(response.entry.key, ids: [response.entry.id])
    _ = try? await store.remove(.entries([response.entry.id]))
    memory.remove(response.entry.key, ids: [response.entry.id])
  }

  /// Removes all variants of one key.
  ///
  /// - Throws: `StoreError`.
  public func remove(for key: CacheKey) async throws {
    try await forgetting({ memory.remove(key) }, while: { _ = try await store.remove(.key(key)) })
  }

  /// Also removes from memory what was read from the store meanwhile, even if removing from the store fails.
  func forgetting<Value: Sendable>(_ forget: () -> Void, while body: () async throws -> Value) async throws -> Value {
    forget()
    defer { forget() }
    return try await body()
  }
}
