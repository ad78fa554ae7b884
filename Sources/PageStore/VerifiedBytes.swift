import DequeModule
import PageCore
import Synchronization

/// Bytes of blobs that were checked since they were read. Those that were asked for again get a second chance when
/// others need the room.
final class VerifiedBytes: Sendable {
  private struct Entry {
    let bytes: [UInt8]
    var wasUsed = false
  }

  private struct State {
    var entries: [SHA256Digest: Entry] = [:]
    var order: Deque<SHA256Digest> = []
    var cost = 0
  }

  /// In bytes.
  private let capacity: Int
  private let state = Mutex(State())

  init(capacity: Int) { self.capacity = capacity }

  subscript(digest: SHA256Digest) -> [UInt8]? {
    state.withLock { state in
      guard let bytes = state.entries[digest]?.bytes else { return nil }
      state.entries[digest]?.wasUsed = true
      return bytes
    }
  }

  func insert(_ bytes: [UInt8], for digest: SHA256Digest) {
    // One entry must not push out all others.
    guard bytes.count <= capacity / 4 else { return }
    state.withLock { state in
      guard state.entries.updateValue(Entry(bytes: bytes), forKey: digest) == nil else { return }
      state.order.append(digest)
      state.cost += bytes.count
      while state.cost > capacity, let oldest = state.order.popFirst() {
        guard var entry = state.entries.removeValue(forKey: oldest) else { continue }
        if entry.wasUsed {
          entry.wasUsed = false
          state.entries[oldest] = entry
          state.order.append(oldest)
        } else {
          state.cost -= entry.bytes.count
        }
      }
    }
  }

  func remove(_ digest: SHA256Digest) {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: digest) else { return }
      state.order.removeAll { $0 == digest }
      state.cost -= entry.bytes.count
    }
  }
}
