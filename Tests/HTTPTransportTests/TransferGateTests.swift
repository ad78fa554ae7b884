import PageTesting
import Synchronization
import TestSupport
import Testing

@testable import HTTPTransport

struct TransferGateTests {
  /// Waits at the gate, and writes down its name when it is let through.
  private func queue(
    _ name: String, _ priority: LoadPriority, at gate: TransferGate, number: UInt64? = nil, _ log: Recorder<String>
  ) async throws -> Task<Void, any Error> {
    let before = gate.counts.waiting
    let task = Task {
      let pass = try await gate.enter(number ?? gate.number(), priority: priority)
      log.append(name)
      withExtendedLifetime(pass) {}
    }
    try await eventually("\(name) waits") { gate.counts.waiting > before }
    return task
  }

  @Test func theMostUrgentGoesFirstAndOfEqualsTheOldest() async throws {
    let gate = TransferGate(width: 1)
    let log = Recorder<String>()
    var pass: TransferGate.Pass? = try await gate.enter(gate.number(), priority: .normal)
    #expect(pass != nil)
    var tasks: [Task<Void, any Error>] = []
    for (name, priority) in [("idle", LoadPriority.idle), ("one", .normal), ("two", .normal), ("high", .high)] {
      tasks.append(try await queue(name, priority, at: gate, log))
    }
    pass = nil
    for task in tasks { try await task.value }
    #expect(log.all == ["high", "one", "two", "idle"])
    #expect(gate.counts.waiting == 0)
  }

  @Test func whatIsRaisedJumpsTheQueue() async throws {
    let gate = TransferGate(width: 1)
    let log = Recorder<String>()
    var pass: TransferGate.Pass? = try await gate.enter(gate.number(), priority: .normal)
    #expect(pass != nil)
    let number = gate.number()
    let tasks = [
      try await queue("raised", .idle, at: gate, number: number, log),
      try await queue("normal", .normal, at: gate, log),
    ]
    gate.raise(number, to: .high)
    gate.raise(number, to: .low)
    pass = nil
    for task in tasks { try await task.value }
    #expect(log.all == ["raised", "normal"])
  }

  @Test func whatIsRaisedBeforeItComesToTheGateCountsTheSame() async throws {
    let gate = TransferGate(width: 1)
    let log = Recorder<String>()
    var pass: TransferGate.Pass? = try await gate.enter(gate.number(), priority: .normal)
    #expect(pass != nil)
    let number = gate.number()
    gate.raise(number, to: .high)
    let tasks = [
      try await queue("normal", .normal, at: gate, log),
      try await queue("raised", .idle, at: gate, number: number, log),
    ]
    pass = nil
    for task in tasks { try await task.value }
    #expect(log.all == ["raised", "normal"])
  }

  @Test func whoIsCancelledLeavesAndTakesNoPlace() async throws {
    let gate = TransferGate(width: 1)
    let log = Recorder<String>()
    var pass: TransferGate.Pass? = try await gate.enter(gate.number(), priority: .normal)
    #expect(pass != nil)
    let first = try await queue("first", .high, at: gate, log)
    let second = try await queue("second", .normal, at: gate, log)
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    pass = nil
    try await second.value
    #expect(log.all == ["second"])
    let done = Task { try await gate.enter(gate.number(), priority: .normal) }
    done.cancel()
    _ = try? await done.value
    _ = try await gate.enter(gate.number(), priority: .normal)
  }

  @Test func whoLeftOrWasRaisedLeavesNoHeapOfTickets() async throws {
    let gate = TransferGate(width: 1)
    let pass = try await gate.enter(gate.number(), priority: .normal)
    for _ in 0..<500 {
      let task = try await queue("x", .low, at: gate, Recorder())
      task.cancel()
      _ = try? await task.value
    }
    #expect(gate.counts.waiting == 0)
    #expect(gate.counts.tickets < 100)
    withExtendedLifetime(pass) {}
  }

  @Test func moreThanMayWaitAreTurnedAway() async throws {
    let gate = TransferGate(width: 1, waitingLimit: 1)
    var pass: TransferGate.Pass? = try await gate.enter(gate.number(), priority: .normal)
    #expect(pass != nil)
    let waiting = try await queue("waits", .low, at: gate, Recorder())
    let full = await #expect(throws: TransferGate.Full.self) {
      _ = try await gate.enter(gate.number(), priority: .high)
    }
    #expect(full?.limit == 1)
    pass = nil
    try await waiting.value
    _ = try await gate.enter(gate.number(), priority: .normal)
  }

  @Test func noMoreThanAllowedRunAtOnce() async throws {
    let gate = TransferGate(width: 3)
    let gauge = Gauge()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          let pass = try await gate.enter(gate.number(), priority: number % 2 == 0 ? .high : .low)
          gauge.enter()
          await Task.yield()
          gauge.leave()
          withExtendedLifetime(pass) {}
        }
      }
      try await group.waitForAll()
    }
    #expect(gauge.most <= 3)
  }

  @Test("callers without a task are let through in turn with those that have one")
  func callbacks() async throws {
    let gate = TransferGate(width: 1, waitingLimit: 2)
    let log = Recorder<String>()
    var pass: TransferGate.Pass? = try await gate.enter(gate.number(), priority: .normal)
    let task = try await queue("task", .normal, at: gate, log)
    let passes = Mutex<[TransferGate.Pass]>([])
    gate.enter(gate.number(), priority: .high) { admission in
      log.append("callback")
      if let pass = try? admission.get() { passes.withLock { $0.append(pass) } }
    }
    gate.enter(gate.number(), priority: .high) { admission in
      if case .failure(let error) = admission, error is TransferGate.Full { log.append("full") }
    }
    #expect(pass != nil && log.all == ["full"])
    pass = nil
    #expect(log.all == ["full", "callback"])
    passes.withLock { $0 = [] }
    try await task.value
    #expect(log.all == ["full", "callback", "task"])
  }

  @Test("a long queue whose transfers end at once is let through in order, without a stack as deep as it is long")
  func endingAtOnce() async throws {
    let gate = TransferGate(width: 1)
    let order = Mutex<[Int]>([])
    var pass: TransferGate.Pass? = try await gate.enter(gate.number(), priority: .normal)
    for number in 0..<100_000 {
      gate.enter(gate.number(), priority: .normal) { admission in
        if case .success = admission { order.withLock { $0.append(number) } }
      }
    }
    #expect(pass != nil && gate.counts.waiting == 100_000)
    pass = nil
    #expect(order.withLock { $0 } == Array(0..<100_000))
    pass = try await gate.enter(gate.number(), priority: .normal)
    #expect(gate.counts.waiting == 0 && gate.counts.expected == 0)
    let full = Task { try await gate.enter(gate.number(), priority: .normal) }
    try await eventually("there is one place as before") { gate.counts.waiting == 1 }
    #expect(pass != nil)
    pass = nil
    _ = try await full.value
  }

  @Test("a caller without a task that leaves the queue is told so, and takes no place")
  func leavingQueue() async throws {
    let gate = TransferGate(width: 1)
    let log = Recorder<String>()
    var pass: TransferGate.Pass? = try await gate.enter(gate.number(), priority: .normal)
    let number = gate.number()
    gate.enter(number, priority: .normal) { admission in
      if case .failure(let error) = admission, error is CancellationError { log.append("left") }
    }
    gate.leaveQueue(number)
    #expect(pass != nil && log.all == ["left"])
    pass = nil
    _ = try await gate.enter(gate.number(), priority: .normal)
    #expect(log.all == ["left"] && gate.counts.waiting == 0 && gate.counts.expected == 0)
  }
}
