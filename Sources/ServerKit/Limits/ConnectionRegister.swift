import Synchronization

/// The number of connections of each address.
package final class ConnectionRegister: Sendable {
  private let limit: Int
  private let counts = Mutex<[String: Int]>([:])

  package init(limit: Int) { self.limit = limit }

  /// Counts a connection.
  ///
  /// - Returns: `false` if the address has reached its limit; otherwise ``leave(_:)`` must follow.
  func enter(_ address: String) -> Bool {
    counts.withLock { counts in
      guard counts[address, default: 0] < limit else { return false }
      counts[address, default: 0] += 1
      return true
    }
  }

  func leave(_ address: String) {
    counts.withLock { counts in
      guard let count = counts[address] else { return }
      counts[address] = count > 1 ? count - 1 : nil
    }
  }

  package var total: Int { counts.withLock { $0.values.reduce(0, +) } }
}
