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
}
