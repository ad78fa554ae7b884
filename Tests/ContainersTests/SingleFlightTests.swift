import Synchronization
import Testing

@testable import Containers

struct SingleFlightTests {
  /// Work that waits until it is released.
  private final class Gate: Sendable {
    let started = AsyncStream.makeStream(of: Void.self)
    private let opened = AsyncStream.makeStream(of: Void.self)
    let count = Atomic<Int>(0)

    func work() async throws -> Int {
      started.continuation.yield()
      for await _ in opened.stream { break }
      try Task.checkCancellation()
      return count.add(1, ordering: .relaxed).newValue
    }

    func open() { opened.continuation.finish() }

    func waitForStart() async {
      for await _ in started.stream { return }
    }
  }

  @Test("all callers get the result of one piece of work")
  func sharedResult() async throws {
    let flights = SingleFlight<String, Int>()
    let gate = Gate()
    let tasks = (0..<50).map { _ in Task { try await flights.value(for: "k") { try await gate.work() } } }
    await gate.waitForStart()
    gate.open()
    for task in tasks { #expect(try await task.value >= 1) }
  }

  @Test("a caller that shares another one's work need not wait longer than its alarm")
  func overdueWork() async throws {
    let flights = SingleFlight<String, Int>()
    let gate = Gate()
    let alarm = AsyncStream.makeStream(of: Void.self)
    let wait: @Sendable () async -> Void = { for await _ in alarm.stream {} }
    let leader = Task { try await flights.value(for: "k", alarm: wait) { try await gate.work() } }
    await gate.waitForStart()
    let follower = Task { try await flights.value(for: "k", alarm: wait) { try await gate.work() } }
    while flights.passengers(of: "k") < 2 { await Task.yield() }
    alarm.continuation.finish()
    await #expect(throws: OverdueWorkError.self) { try await follower.value }
    #expect(flights.passengers(of: "k") == 1)
    // One whose time is over before it waits.
    await #expect(throws: OverdueWorkError.self) {
      try await flights.value(for: "k", alarm: {}) { try await gate.work() }
    }
    gate.open()
    #expect(try await leader.value == 1)
    #expect(flights.passengers(of: "k") == 0)
  }

  @Test("a caller that is left alone with the work waits for its end")
  func lastOverdueCaller() async throws {
    let flights = SingleFlight<String, Int>()
    let gate = Gate()
    let alarm = AsyncStream.makeStream(of: Void.self)
    let leader = Task { try await flights.value(for: "k") { try await gate.work() } }
    await gate.waitForStart()
    let follower = Task {
      try await flights.value(for: "k", alarm: { for await _ in alarm.stream {} }) { try await gate.work() }
    }
    while flights.passengers(of: "k") < 2 { await Task.yield() }
    leader.cancel()
    await #expect(throws: CancellationError.self) { try await leader.value }
    alarm.continuation.finish()
    gate.open()
    #expect(try await follower.value == 1)
  }

  @Test("a cancelled caller does not end the work for the others")
  func cancelledCaller() async throws {
    let flights = SingleFlight<String, Int>()
    let gate = Gate()
    let leaving = Task { try await flights.value(for: "k") { try await gate.work() } }
    await gate.waitForStart()
    let staying = Task { try await flights.value(for: "k") { try await gate.work() } }
    while flights.passengers(of: "k") < 2 { await Task.yield() }
    leaving.cancel()
    await #expect(throws: CancellationError.self) { try await leaving.value }
    gate.open()
    #expect(try await staying.value == 1)
  }

  @Test("the work is cancelled when its last caller is")
  func lastCaller() async throws {
    let flights = SingleFlight<String, Int>()
    let (cancelled, continuation) = AsyncStream.makeStream(of: Void.self)
    let gate = Gate()
    let only = Task {
      try await flights.value(for: "k") {
        try await withTaskCancellationHandler {
          try await gate.work()
        } onCancel: {
          continuation.yield()
        }
      }
    }
    await gate.waitForStart()
    only.cancel()
    for await _ in cancelled { break }
    #expect(flights.passengers(of: "k") == 0)
  }

  @Test("all callers get an error, and the next caller starts again")
  func error() async throws {
    struct Failure: Error {}
    let flights = SingleFlight<String, Int>()
    await #expect(throws: Failure.self) { try await flights.value(for: "k") { throw Failure() } }
    #expect(try await flights.value(for: "k") { 5 } == 5)
  }
}
