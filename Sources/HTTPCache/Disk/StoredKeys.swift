import Synchronization

/// Short hashes of the keys of all stored responses, in memory: a request for any other key need not ask the index.
///
/// Keys are added before their responses are stored. Those of responses that were removed stay until the hashes are read
/// anew.
final class StoredKeys: Sendable {
  private struct Known {
    var hashes: Set<UInt32>
    /// The number of other processes' changes when they were read.
    let foreignChanges: Int64
    /// With more hashes than this they are worth being read anew.
    let limit: Int
  }

  private let known = Mutex<Known?>(nil)

  /// Returns `false` if nothing is stored for a key.
  func mayContain(_ key: CacheKey) -> Bool { known.withLock { $0?.hashes.contains(Self.hash(key)) ?? true } }

  /// Adds a key.
  ///
  /// - Returns: `true` if the hashes have to be read anew.
  func add(_ key: CacheKey) -> Bool {
    known.withLock { known in
      guard known?.hashes.insert(Self.hash(key)).inserted == true, let grown = known else { return false }
      return grown.hashes.count > grown.limit
    }
  }

  /// Takes the keys that are stored now.
  ///
  /// - Parameter foreignChanges: the number of other processes' changes at that time.
  func read(_ keys: [CacheKey], foreignChanges: Int64) {
    let hashes = Set(keys.map(Self.hash))
    known.withLock {
      $0 = Known(hashes: hashes, foreignChanges: foreignChanges, limit: 2 * hashes.count + 10_000)
    }
  }

  /// Forgets all if other processes have changed what is stored.
  ///
  /// - Parameter foreignChanges: the number of their changes now.
  /// - Returns: `true` if the hashes have to be read anew.
  func forget(unlessAt foreignChanges: Int64) -> Bool {
    known.withLock { known in
      guard let former = known, former.foreignChanges != foreignChanges else { return false }
      known = nil
      return true
    }
  }

  private static func hash(_ key: CacheKey) -> UInt32 { UInt32(truncatingIfNeeded: key.hashValue) }
}
