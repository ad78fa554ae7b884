import PageKit
import Synchronization

/// The pages by the numbers that workers use for them.
final class PageNumbers: Sendable {
  struct Page: Sendable {
    let url: PageURL
    /// The release that the page sees.
    let view: ReleaseView?
    /// The public URL.
    let location: String
    let log: EventLog?
    /// Sends one long response at a time to the page: its worker buffers a response until it is complete.
    let longAnswers = FairGate<Int>(width: 1)
  }

  private struct State {
    var pages: [UInt64: Page] = [:]
    var last: UInt64 = 0
  }

  private let state = Mutex(State())

  func add(_ page: Page) -> UInt64 {
    state.withLock { state in
      state.last += 1
      state.pages[state.last] = page
      return state.last
    }
  }

  func remove(_ number: UInt64) { state.withLock { _ = $0.pages.removeValue(forKey: number) } }

  subscript(number: UInt64) -> Page? { state.withLock { $0.pages[number] } }
}
