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

struct FlightTableTests {
  private struct Failure: Error {}

  @Test("a caller that has waited for too long leaves, unless it is the last one")
  func overdue() {
    var table = FlightTable<String, Int, String>()
    let (first, second) = (table.join("k"), table.join("k"))
    #expect(first.isFirst && !second.isFirst)
    #expect(isWaiting(table.wait(first, "first")) && isWaiting(table.wait(second, "second")))
    guard case .left("second") = table.leave(second, isOverdue: true) else {
      Issue.record("it stays")
      return
    }
    guard case .none = table.leave(first, isOverdue: true) else {
      Issue.record("the last one leaves")
      return
    }
    #expect(table.callers(of: "k") == 1)
    #expect(table.land(first, .success(1)) == ["first"])
    #expect(table.isEmpty)
  }

  @Test("a caller that has left before it waits is told so")
  func leftBefore() {
    var table = FlightTable<String, Int, String>()
    let (first, second) = (table.join("k"), table.join("k"))
    guard case .left(nil) = table.leave(second), case .left = table.wait(second, "second") else {
      Issue.record("it waits")
      return
    }
    #expect(table.land(first, .success(1)).isEmpty)
    guard case .ended(.success(1)) = table.wait(first, "first") else {
      Issue.record("the result is lost")
      return
    }
    #expect(table.isEmpty)
  }

  @Test("the last caller that leaves ends the work, which no other can join")
  func last() {
    var table = FlightTable<String, Int, String>()
    let first = table.join("k")
    guard case .last = table.leave(first) else {
      Issue.record("the work goes on")
      return
    }
    #expect(table.join("k").isFirst)
    #expect(isWaiting(table.wait(first, "first")))
    #expect(table.land(first, .failure(Failure())) == ["first"])
    #expect(table.callers(of: "k") == 1)
  }

  @Test("work that its first caller abandons leaves nothing behind, and the others get the value")
  func abandoned() {
    var table = FlightTable<String, Int, String>()
    let (first, second, third) = (table.join("k"), table.join("k"), table.join("k"))
    #expect(isWaiting(table.wait(second, "second")))
    #expect(table.abandon(first, 5) == ["second"])
    guard case .ended(.success(5)) = table.wait(third, "third") else {
      Issue.record("it waits for ever")
      return
    }
    #expect(table.isEmpty)
    #expect(table.join("k").isFirst)
  }

  private func isWaiting(_ waiting: FlightTable<String, Int, String>.Waiting) -> Bool {
    if case .waiting = waiting { true } else { false }
  }
}
