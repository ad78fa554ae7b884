import Foundation
import Testing

@testable import ScriptEngine

struct ScriptThreadTests {
  @Test("a thread without work frees memory once, and again after its next work", .timeLimit(.minutes(1)))
  func idleThreads() async throws {
    let (returns, continuation) = AsyncStream.makeStream(of: Void.self)
    let thread = ScriptThread(idleTime: .milliseconds(1)) { continuation.yield() }
    defer { thread.stop() }
    let worker = Worker(thread: thread)
    var iterator = returns.makeAsyncIterator()
    await iterator.next()
    for count in 1...2 {
      #expect(await worker.work() == count)
      await iterator.next()
    }
    // A fourth return without work would come within the idle time, of which this is twenty.
    try await Task.sleep(for: .milliseconds(20))
    continuation.finish()
    #expect(await iterator.next() == nil)
  }

  private actor Worker {
    private let thread: ScriptThread
    private var count = 0
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(thread: ScriptThread) { self.thread = thread }

    /// Without state of its own the optimiser would leave it out.
    func work() -> Int {
      count += 1
      return count
    }
  }
}
