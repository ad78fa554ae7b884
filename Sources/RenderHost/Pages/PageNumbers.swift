import PageKit
import Synchronization

/// What belongs to the numbers that workers know pages by.
final class PageNumbers: Sendable {
  private struct State {
    var pages: [UInt64: (url: PageURL, location: String, log: EventLog?)] = [:]
    var last: UInt64 = 0
  }

  private let state = Mutex(State())

  func add(_ url: PageURL, location: String, _ log: EventLog?) -> UInt64 {
    state.withLock { state in
      state.last += 1
      state.pages[state.last] = (url, location, log)
      return state.last
    }
  }

  func remove(_ number: UInt64) { state.withLock { _ = $0.pages.removeValue(forKey: number) } }

  subscript(number: UInt64) -> (url: PageURL, location: String, log: EventLog?)? { state.withLock { $0.pages[number] } }
}
