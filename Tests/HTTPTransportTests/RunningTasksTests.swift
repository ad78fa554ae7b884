import PageTesting
import Synchronization
import Testing

@testable import HTTPTransport

struct RunningTasksTests {
  @Test("shutting down cancels every task and returns when the last has ended")
  func shutDownWaits() async {
    let tasks = RunningTasks()
    let ended = Mutex(0)
    for _ in 0..<20 {
      tasks.start {
        defer { ended.withLock { $0 += 1 } }
        try await Task.sleep(for: .seconds(600))
      }
    }
    await tasks.shutDown()
    let count = ended.withLock { $0 }
    #expect(count == 20)
  }

  @Test("a task that is started after the shutdown is cancelled at once")
  func laterTasks() async throws {
    let tasks = RunningTasks()
    await tasks.shutDown()
    let late = tasks.start { Task.isCancelled }
    let isCancelled = try await late.value
    #expect(isCancelled)
  }
}
