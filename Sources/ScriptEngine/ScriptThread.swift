import CJavaScriptCore
import Foundation
import Synchronization

/// A thread of its own for one group of contexts: the engine measures its stack, and scripts may block.
///
/// It runs until ``stop()``. After a second without work it gives back the free memory that the engine's allocator keeps
/// for it (0.65 MB of a page's, measured). Threads that several groups share would save little more, and a shared thread
/// that ended while another group's engine collected garbage made the process hang, in one of two runs of the tests.
final class ScriptThread: SerialExecutor {
  /// Deep recursion is the script's error, not a crash: the engine counts the stack it is given.
  private static let stackSize = 4 << 20

  private struct State {
    var jobs: [UnownedJob] = []
    var isStopping = false
  }

  private let wake = DispatchSemaphore(value: 0)
  private let state = Mutex(State())
  private let idleTime: DispatchTimeInterval
  private let whenIdle: @Sendable () -> Void

  /// - Parameters:
  ///   - idleTime: how long the thread waits for work before `whenIdle` runs on it, once.
  init(
    idleTime: DispatchTimeInterval = .seconds(1),
    whenIdle: @escaping @Sendable () -> Void = { pk_release_free_memory_of_this_thread() }
  ) {
    self.idleTime = idleTime
    self.whenIdle = whenIdle
    let thread = Thread { [self] in run() }
    thread.name = "pagekit.script"
    thread.stackSize = Self.stackSize
    thread.start()
  }

  private func run() {
    while true {
      if wake.wait(timeout: .now() + idleTime) == .timedOut {
        whenIdle()
        wake.wait()
      }
      let (jobs, isStopping) = state.withLock { state in
        defer { state.jobs = [] }
        return (state.jobs, state.isStopping)
      }
      for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
      if isStopping, jobs.isEmpty { return }
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs.append(job) }
    wake.signal()
  }

  /// Ends the thread once nothing is left to do.
  func stop() {
    state.withLock { $0.isStopping = true }
    wake.signal()
  }
}
