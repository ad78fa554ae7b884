import CJavaScriptCore
import Foundation
import Synchronization

/// The thread of one group of contexts: the engine measures its stack, and scripts may block it.
///
/// It runs until ``stop()``. After a second without work it frees the memory that the engine's allocator keeps for it
/// (0.65 MB per page, measured). Threads that several groups share would save little more, and a shared thread that ended
/// while another group's engine collected garbage made the process hang, in one of two runs of the tests.
final class ScriptThread: SerialExecutor {
  /// The engine measures this stack, so that deep recursion is an error of the script and not a crash.
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
  ///   - idleTime: the time without work after which `whenIdle` runs on the thread, once.
  ///   - whenIdle: frees memory of the thread.
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

  /// Ends the thread once no work is left.
  func stop() {
    state.withLock { $0.isStopping = true }
    wake.signal()
  }
}
