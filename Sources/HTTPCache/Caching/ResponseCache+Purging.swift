import HTTPCaching
import HTTPTransport
import Logging
import Synchronization

extension ResponseCache {
  /// Removes what is chosen, in memory and on disk; or marks it as stale from now on.
  ///
  /// What is marked is used without asking only where that is allowed for stale responses, as by
  /// `stale-while-revalidate` and `stale-if-error`, whose time runs from now on. What cannot be marked is removed.
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
        guard response.entry.id < 0 else { return nil }
        inMemoryOnly.insert(response.entry.id)
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
    let marked = ResponseEntry(
      id: entry.id, key: entry.key, head: entry.head.marked(staleSince: time), digest: entry.digest,
      isKept: entry.isKept, storedAt: entry.storedAt)
    return CachedResponse(marked, bytes: bytes, policy: policy, epoch: epoch)
  }
}
