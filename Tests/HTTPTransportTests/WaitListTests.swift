import Synchronization
import Testing

@testable import HTTPTransport

struct WaitListTests {
  private final class Counter: Sendable {
    struct State {
      var count = 0
      var waiting = WaitList()
    }

    let state = Mutex(State())

    func increase() {
      state.withLock { state in
        state.count += 1
        return state.waiting.removeAll()
      }.resume()
    }

    /// Returns the count once it is at least so much.
    func wait(for count: Int) async -> Int {
      while true {
        let now = state.withLock(\.count)
        if now >= count || Task.isCancelled { return now }
        await state.wait(in: \.waiting) { $0.count >= count }
      }
    }

    var waiting: Int { state.withLock(\.waiting.waiting.count) }
  }

  @Test("no change is missed, whenever a task begins to wait", .timeLimit(.minutes(1)))
  func changes() async {
    let counter = Counter()
    await withTaskGroup(of: Void.self) { group in
      for number in 1...500 {
        group.addTask { #expect(await counter.wait(for: number) >= number) }
        group.addTask { counter.increase() }
      }
    }
    #expect(counter.waiting == 0)
  }

  @Test("a state that is as wanted is not waited for", .timeLimit(.minutes(1)))
  func dueState() async {
    let counter = Counter()
    await counter.state.wait(in: \.waiting) { _ in true }
    #expect(counter.waiting == 0)
  }

  @Test("a task that was cancelled before does not wait", .timeLimit(.minutes(1)))
  func cancelledBefore() async {
    let counter = Counter()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      await counter.state.wait(in: \.waiting) { _ in false }
    }
    task.cancel()
    await task.value
    #expect(counter.waiting == 0)
  }

  @Test("a cancelled task waits no longer, and leaves the list", .timeLimit(.minutes(1)))
  func cancellation() async {
    let counter = Counter()
    for _ in 1...200 {
      let task = Task { await counter.wait(for: 1) }
      task.cancel()
      #expect(await task.value == 0)
    }
    #expect(counter.waiting == 0)
  }

  @Test("one cancelled task leaves the others waiting", .timeLimit(.minutes(1)))
  func others() async {
    let counter = Counter()
    let (first, second) = (Task { await counter.wait(for: 1) }, Task { await counter.wait(for: 1) })
    while counter.waiting < 2 { await Task.yield() }
    first.cancel()
    #expect(await first.value == 0)
    #expect(counter.waiting == 1)
    counter.increase()
    #expect(await second.value == 1)
  }
}
