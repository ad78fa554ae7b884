import Dispatch
import PageTesting
import Synchronization
import Testing

@testable import Blobs

struct BatcherTests {
  private final class Worker: Sendable {
    let batches = Mutex<[[Int]]>([])
    let proceed = DispatchSemaphore(value: 0)
  }

  @Test(
    "items that come while a batch is under way are in the next ones, in their order",
    arguments: [nil, Duration.milliseconds(20)])
  func order(_ longestPause: Duration?) async throws {
    let worker = Worker()
    let batcher = Batcher<Worker, Int, String>(
      on: DispatchQueue(label: "test.batches"), limit: 3, longestPause: longestPause
    ) { worker, items in
      worker.batches.withLock { $0.append(items) }
      if items == [0] { worker.proceed.wait() }
      return items.map { .success("result \($0)") }
    }
    func result(of item: Int) -> Task<String, any Error> {
      Task { try await batcher.result(of: item, from: worker) }
    }
    var results = [result(of: 0)]
    try await eventually("the first batch begins") { worker.batches.withLock { $0 == [[0]] } }
    for item in 1...7 {
      results.append(result(of: item))
      try await eventually("it waits") { batcher.state.withLock { $0.waiting.count == item } }
    }
    worker.proceed.signal()
    for (item, result) in results.enumerated() { #expect(try await result.value == "result \(item)") }
    #expect(worker.batches.withLock(\.self) == [[0], [1, 2, 3], [4, 5, 6], [7]])
    // One that comes later begins a batch again.
    #expect(try await batcher.result(of: 8, from: worker) == "result 8")
  }

  @Test("the last items are performed without a pause after the batch before, and end one that is under way")
  func last() async throws {
    let worker = Worker()
    let batcher = Batcher<Worker, Int, Int>(
      on: DispatchQueue(label: "test.last"), limit: 4, longestPause: .seconds(3600)
    ) { worker, items in
      worker.batches.withLock { $0.append(items) }
      if items == [0] { worker.proceed.wait() }
      return items.map { .success($0) }
    }
    let first = Task { try await batcher.result(of: 0, from: worker) }
    try await eventually("the first batch begins") { worker.batches.withLock { $0 == [[0]] } }
    let last = Task { try await batcher.result(of: 1, from: worker) { batcher.expectNoMore(worker) } }
    try await eventually("it waits") { batcher.state.withLock { $0.waiting.count == 1 && !$0.expectsMore } }
    worker.proceed.signal()
    #expect(try await [first.value, last.value] == [0, 1])
    try await eventually("the batch ends") { batcher.state.withLock { !$0.isPausing } }
    #expect(batcher.state.withLock { $0.pauses } == 0)

    // As after a batch of an hour.
    batcher.state.withLock { ($0.isPausing, $0.pause) = (true, 1) }
    let next = Task { try await batcher.result(of: 2, from: worker) }
    try await eventually("it waits") { batcher.state.withLock { $0.waiting.count == 1 } }
    batcher.expectNoMore(worker)
    #expect(try await next.value == 2)
    // A pause that has ended early does not end a later one.
    batcher.state.withLock { ($0.isPausing, $0.pause) = (true, 2) }
    batcher.goOn(after: 1, worker)
    #expect(batcher.state.withLock { $0.pause } == 2)
    #expect(worker.batches.withLock(\.self) == [[0], [1], [2]])
  }

  private struct Refused: Error, Equatable {
    let item: Int
  }

  @Test("each item of a batch that fails in part or as a whole has its own result, and the next batch is performed")
  func failures() async throws {
    let worker = Worker()
    let batcher = Batcher<Worker, Int, Int>(on: DispatchQueue(label: "test.failures"), limit: 4) { worker, items in
      worker.batches.withLock { $0.append(items) }
      if items == [0] { worker.proceed.wait() }
      // Of 1…4 the odd ones fail, of 5…8 all.
      return items.map { $0 > 4 && $0 < 9 || $0 % 2 == 1 ? .failure(Refused(item: $0)) : .success($0) }
    }
    var results = [Task { try await batcher.result(of: 0, from: worker) }]
    for item in 1...9 {
      if item == 1 {
        try await eventually("the first batch begins") { worker.batches.withLock { $0 == [[0]] } }
      }
      results.append(Task { try await batcher.result(of: item, from: worker) })
      try await eventually("it waits") { batcher.state.withLock { $0.waiting.count == item } }
    }
    worker.proceed.signal()
    for (item, task) in results.enumerated() {
      switch await task.result {
      case .success(let value): #expect(value == item && [0, 2, 4].contains(item))
      case .failure(let error): #expect(error as? Refused == Refused(item: item) && ![0, 2, 4].contains(item))
      }
    }
    #expect(try await batcher.result(of: 10, from: worker) == 10)
    #expect(worker.batches.withLock(\.self) == [[0], [1, 2, 3, 4], [5, 6, 7, 8], [9], [10]])
  }
}
