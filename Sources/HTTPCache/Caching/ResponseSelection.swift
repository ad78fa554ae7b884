import HTTPCaching

/// Which entries to remove or to mark. Unless it says so, what is kept goes too.
package enum ResponseSelection: Hashable, Sendable {
  case all
  /// Those of one partition.
  case partition(CachePartition)
  case key(CacheKey)
  /// Those whose key's name begins so.
  case prefix(String, in: CachePartition)
  /// Those that their origin gave one of these tags.
  case tags(Set<String>)
  case entries([Int64])
  /// Stored at this time or later; seconds since 1970.
  case since(Double)
  /// No longer fresh at this time, and not kept.
  case stale(at: HTTPDate)

  /// Returns `true` if an entry is selected.
  package func contains(_ entry: ResponseEntry) -> Bool {
    switch self {
    case .entries(let ids): ids.contains(entry.id)
    case .since(let time): entry.storedAt >= time
    case .stale(let now): !entry.isKept && entry.head.staleAt <= now.secondsSinceEpoch
    case .tags(let tags): !tags.isDisjoint(with: entry.head.tags)
    case .all, .partition, .key, .prefix: names(entry.key) == true
    }
  }

  /// Returns `true` if everything under a key is selected, and `nil` if the key does not tell.
  package func names(_ key: CacheKey) -> Bool? {
    switch self {
    case .all: true
    case .partition(let partition): key.partition == partition
    case .key(let other): key == other
    case .prefix(let prefix, let partition): key.partition == partition && key.name.utf8.starts(with: prefix.utf8)
    case .entries, .since, .stale, .tags: nil
    }
  }
}
