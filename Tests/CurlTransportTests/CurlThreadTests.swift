import Dispatch
import Synchronization
import Testing

@testable import CurlTransport

struct CurlThreadTests {
  @Test("waiting for the thread's end returns after its last step, for every waiter")
  func end() async throws {
    let gate = DispatchSemaphore(value: 0)
    let hasEnded = Mutex(false)
    let thread = try CurlThread {
      gate.wait()
      hasEnded.withLock { $0 = true }
    }
    async let first: Void = thread.end()
    async let second: Void = thread.end()
    gate.signal()
    _ = await (first, second)
    let isOver = hasEnded.withLock { $0 }
    #expect(isOver)
    await thread.end()
  }
}
