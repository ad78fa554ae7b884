import Dispatch
import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging
import Synchronization

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
      { memory.removeAll { $0.key.partition == partition } },
      while: { _ = try await store.remove(.partition(partition)) })
  }

  /// Removes the responses that were stored at this time or later.
  ///
  /// - Throws: `StoreError`.
  public func removeAll(since time: Date) async throws {
    let seconds = time.timeIntervalSince1970
    try await forgetting(
      // When something came that is in memory only is known to the second.
      { memory.removeAll { $0.storedAt >= ($0.id < 0 ? seconds.rounded(.down) : seconds) } },
      while: { _ = try await store.remove(.since(seconds)) })
  }

  /// The parts that a request would go on with.
  func removeParts(for key: CacheKey, fields: HTTPFields) async {
    let parts = await responses(for: key, fields: fields).filter {
      !$0.stored.extent.isWhole && $0.stored.vary.matches(fields)
    }
    let ids = Set(parts.map(\.id))
    memory.remove(key, ids: ids)
    _ = try? await store.remove(.entries(Array(ids)))
  }

  /// One response; what reads it can go on.
  func remove(_ response: CachedResponse) async {
    memory.remove(response.key, ids: [response.id])
    _ = try? await store.remove(.entries([response.id]))
    memory.remove(response.key, ids: [response.id])
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

extension ResponseCache {
  /// Removes the selected responses, in memory and on disk; or marks them as stale from now on.
  ///
  /// A marked response is used without asking only where that is allowed for stale responses, as by
  /// `stale-while-revalidate` and `stale-if-error`, whose time runs from now on. One that cannot be marked is removed.
  ///
  /// - Returns: how many responses were chosen.
  /// - Throws: ``StoreError``; some may have been removed then, and none of what was chosen is in memory.
  @discardableResult
  package func purge(_ selection: ResponseSelection, isSoft: Bool = false, at now: HTTPDate) async throws -> Int {
    var inMemoryOnly: Set<Int64> = []
    func forget() {
      memory.changeAll { response in
        guard response.isChosen(by: selection) else { return response }
        // The others are counted by the store, and read from it again.
        guard response.id < 0 else { return nil }
        inMemoryOnly.insert(response.id)
        return isSoft ? response.marked(staleSince: now, policy: policy) : nil
      }
    }
    forget()
    defer { forget() }
    var count = 0
    do {
      count = isSoft ? try await store.markStale(selection, since: now) : try await store.remove(selection)
    } catch  where isSoft {
      logger.warning("stored responses cannot be marked as stale, and are removed: \(error.sentence)")
      count = try await store.remove(selection)
    }
    return count + inMemoryOnly.count
  }
}

extension CachedResponse {
  fileprivate func isChosen(by selection: ResponseSelection) -> Bool {
    // They were looked up when it was read.
    if case .tags(let wanted) = selection { return !wanted.isDisjoint(with: tags) }
    return selection.contains(entry)
  }

  fileprivate func marked(staleSince time: HTTPDate, policy: CachePolicy) -> CachedResponse {
    let marked = entry.with(head: stored.metadata.marked(staleSince: time))
    return CachedResponse(marked, bytes: bytes, policy: policy, epoch: epoch)
  }
}

/// Notices that another process has changed what a cache keeps. It looks once a second at most.
final class OtherProcessChanges: Sendable {
  /// Nanoseconds since the machine's start; 0 for never.
  private let lookedAt = Atomic<UInt64>(0)
  private let count = Atomic<Int64>(0)

  /// Returns `true` if it has looked less than a second ago.
  var areKnown: Bool { !Self.isDue(lookedAt.load(ordering: .relaxed), DispatchTime.now().uptimeNanoseconds) }

  /// Returns `true` if there are new changes; `false` also if it is not yet time to look.
  ///
  /// - Parameter count: a number that changes with them.
  func areNew(_ count: () -> Int64) -> Bool {
    let (last, now) = (lookedAt.load(ordering: .relaxed), DispatchTime.now().uptimeNanoseconds)
    guard Self.isDue(last, now),
      lookedAt.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
    else { return false }
    let count = count()
    return self.count.exchange(count, ordering: .relaxed) != count
  }

  /// Has the next call look, as if a second had passed.
  func expire() { lookedAt.store(0, ordering: .relaxed) }

  static func isDue(_ last: UInt64, _ now: UInt64) -> Bool { last == 0 || now &- last >= 1_000_000_000 }
}
