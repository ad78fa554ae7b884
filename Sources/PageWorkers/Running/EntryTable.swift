import Synchronization

/// Writes the running pages to the shared memory.
final class EntryTable: Sendable {
  private struct State {
    var slots: [String: Int] = [:]
    var free: [Int] = Array((0..<SharedHeartbeats.slots).reversed())
  }

  private let board: SharedHeartbeats
  private let state = Mutex(State())

  init(_ board: SharedHeartbeats) { self.board = board }

  /// - Parameters:
  ///   - id: the id of a page or of an embedded one.
  ///   - page: the daemon's number of the page that embeds all of them.
  /// - Returns: `false` if the memory is full; the page must not be opened then.
  func add(_ id: String, page: UInt64) -> Bool {
    state.withLock { state in
      guard let slot = state.free.popLast() else { return false }
      state.slots[id] = slot
      board.take(slot, for: page)
      return true
    }
  }

  func remove(_ id: String) {
    state.withLock { state in
      guard let slot = state.slots.removeValue(forKey: id) else { return }
      board.free(slot)
      state.free.append(slot)
    }
  }

  /// Records that the script of a page, given by its id, is entered or left.
  func record(_ page: String, isEntered: Bool) {
    guard let slot = state.withLock({ $0.slots[page] }) else { return }
    if isEntered { board.enter(slot) } else { board.leave(slot) }
  }
}
