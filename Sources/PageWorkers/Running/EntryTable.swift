import PageRuntime
import Synchronization

/// Writes the running pages to the shared memory.
final class EntryTable: EntryObserving {
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

  func began(_ page: String) { if let slot = slot(page) { board.enter(slot) } }
  func ended(_ page: String) { if let slot = slot(page) { board.leave(slot) } }

  private func slot(_ page: String) -> Int? { state.withLock { $0.slots[page] } }
}
