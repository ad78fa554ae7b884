import Synchronization
import Testing

@testable import HTTPTransport

struct FairQueueTests {
  @Test("as many tickets run as the width allows, and the others wait")
  func width() {
    var queue = FairQueue<String>(width: 2)
    let entries = (1...4).map { queue.enter($0, for: "a", limit: 8) }
    #expect(entries == [.admitted, .admitted, .waits, .waits])
    #expect(queue.next() == nil)
    queue.leave()
    #expect(queue.next() == 3)
    #expect(queue.next() == nil)
    #expect((queue.running, queue.waiting) == (2, 1))
  }

  @Test("clients take turns, and each one's tickets keep their order")
  func clientsTakeTurns() {
    var queue = FairQueue<String>(width: 0)
    for ticket in 1...4 as ClosedRange<UInt64> { _ = queue.enter(ticket, for: "many", limit: 100) }
    _ = queue.enter(5, for: "one", limit: 100)
    for ticket in 6...7 as ClosedRange<UInt64> { _ = queue.enter(ticket, for: "two", limit: 100) }
    queue.width = 100
    var order: [UInt64] = []
    while let ticket = queue.next() { order.append(ticket) }
    #expect(order == [1, 5, 6, 2, 7, 3, 4])
  }

  @Test("a full queue refuses the next ticket")
  func fullQueue() {
    var queue = FairQueue<String>(width: 1)
    let entries = (1...4).map { queue.enter($0, for: "\($0)", limit: 2) }
    #expect(entries == [.admitted, .waits, .waits, .full])
    queue.remove(2, of: "2")
    #expect(queue.enter(5, for: "5", limit: 2) == .waits)
    queue.leave()
    #expect(queue.next() == 3)
  }

  @Test("no ticket overtakes waiting ones, even while a place is free")
  func order() {
    var queue = FairQueue<String>(width: 1)
    _ = queue.enter(1, for: "a", limit: 2)
    _ = queue.enter(2, for: "a", limit: 2)
    queue.leave()
    #expect(queue.enter(3, for: "b", limit: 2) == .waits)
    #expect(queue.next() == 2)
  }
}

struct FairGateTests {
  private final class Counts: Sendable {
    private let state = Mutex((now: 0, most: 0, all: 0))

    var most: Int { state.withLock(\.most) }
    var all: Int { state.withLock(\.all) }

    func begin() {
      state.withLock { state in
        state.now += 1
        state.most = max(state.most, state.now)
        state.all += 1
      }
    }

    func end() { state.withLock { $0.now -= 1 } }
  }

  /// Waits until this many operations wait at the gate.
  private func wait(for count: Int, at gate: FairGate<String>) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while gate.counts.waiting < count {
      try #require(ContinuousClock.now < deadline, "\(gate.counts)")
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  @Test("never more than the width run at once, and all run in the end")
  func simultaneousOperations() async throws {
    let gate = FairGate<String>(width: 3)
    let counts = Counts()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          let pass = await gate.enter(for: "\(number % 7)")
          counts.begin()
          await Task.yield()
          counts.end()
          gate.leave(pass)
        }
      }
    }
    #expect((counts.most, counts.all) == (3, 200))
    #expect(gate.counts == (0, 0))
  }

  @Test("an operation that waits until the deadline is refused, and does not delay the next one")
  func deadline() async throws {
    let gate = FairGate<String>(width: 1)
    let pass = await gate.enter(for: "a")
    await #expect(throws: FairGate<String>.Refusal.late) {
      try await gate.enter(for: "b", until: .now + .milliseconds(1))
    }
    #expect(gate.counts == (1, 0))
    gate.leave(pass)
    gate.leave(try await gate.enter(for: "c", until: .now + .seconds(30)))
    #expect(gate.counts == (0, 0))
  }

  @Test("a cancelled operation leaves the queue")
  func cancelling() async throws {
    let gate = FairGate<String>(width: 1)
    let pass = await gate.enter(for: "a")
    let waiting = Task { try await gate.enter(for: "b", until: .now + .seconds(60)) }
    try await wait(for: 1, at: gate)
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(gate.counts == (1, 0))
    gate.leave(pass)
  }

  @Test("a wider gate admits waiting operations")
  func widening() async throws {
    let gate = FairGate<String>(width: 0)
    let waiting = Task { await gate.enter(for: "b") }
    try await wait(for: 1, at: gate)
    gate.width = 1
    gate.leave(await waiting.value)
    #expect(gate.counts == (0, 0))
  }

  @Test("an operation that exceeds the patience lends its place, and ends without a second one")
  func patience() async throws {
    let gate = FairGate<String>(width: 1, patience: .milliseconds(5))
    let long = await gate.enter(for: "long")
    let next = await gate.enter(for: "next")
    let third = await gate.enter(for: "third")
    #expect(gate.counts.running == 1)
    gate.leave(long)
    gate.leave(next)
    #expect(gate.counts.running == 1)
    gate.leave(third)
    #expect(gate.counts == (0, 0))
  }

  @Test("an operation whose turn came before it waited runs, also if its place was lent since")
  func lentBeforeItWaited() async throws {
    let gate = FairGate<String>(width: 1, patience: .zero)
    let first = await gate.enter(for: "first")
    let (ticket, entry) = gate.take(for: "between", limit: 8)
    #expect(entry == .waits)
    gate.leave(first)
    // It waits, so that the place is lent to it.
    gate.leave(await gate.enter(for: "next"))
    let hasRun = Atomic(false)
    let between = Task {
      try await gate.wait(ticket, "between") {}
      hasRun.store(true, ordering: .releasing)
      gate.leave(ticket)
    }
    let deadline = ContinuousClock.now + .seconds(30)
    while !hasRun.load(ordering: .acquiring) {
      try #require(ContinuousClock.now < deadline, "\(gate.counts)")
      try await Task.sleep(for: .milliseconds(1))
    }
    try await between.value
    #expect(gate.counts == (0, 0))
  }
}
