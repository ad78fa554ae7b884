import Foundation
import Synchronization

/// The threads that run scripts: as many as there are queues with something to do, and a few that wait for more.
///
/// The engine and the C library keep memory for each thread that has used them: a page whose group had a thread of its
/// own took 1.5 MB more (measured with twenty groups of a hundred cells).
final class ScriptThreads: Sendable {
  static let shared = ScriptThreads(waitingLimit: max(2, ProcessInfo.processInfo.activeProcessorCount))

  /// Deep recursion is the script's error, not a crash: the engine counts the stack of the thread that it runs on.
  private static let stackSize = 4 << 20

  /// A thread that waits to be given a queue.
  private final class Waiter: Sendable {
    private let wake = DispatchSemaphore(value: 0)
    private let queue = Mutex<ScriptQueue?>(nil)

    func give(_ queue: ScriptQueue) {
      self.queue.withLock { $0 = queue }
      wake.signal()
    }

    func take() -> ScriptQueue? {
      wake.wait()
      return queue.withLock { $0.take() }
    }
  }

  private let waitingLimit: Int
  private let waiters = Mutex<[Waiter]>([])

  /// - Parameter waitingLimit: the threads that wait for something to do; others end when they have done what there is.
  init(waitingLimit: Int) { self.waitingLimit = waitingLimit }

  /// Runs a queue's jobs on a thread that waits, the one that ran last; or on a new one.
  func run(_ queue: ScriptQueue) {
    if let waiter = waiters.withLock({ $0.popLast() }) { return waiter.give(queue) }
    let first = Waiter()
    first.give(queue)
    let thread = Thread { [self] in runQueues(of: first) }
    thread.name = "pagekit.script"
    thread.stackSize = Self.stackSize
    thread.start()
  }

  private func runQueues(of waiter: Waiter) {
    repeat { waiter.take()?.runJobs() } while isKept(waiter)
  }

  private func isKept(_ waiter: Waiter) -> Bool {
    waiters.withLock { waiters in
      guard waiters.count < waitingLimit else { return false }
      waiters.append(waiter)
      return true
    }
  }
}

/// Runs the jobs of one group of contexts one after the other, on whichever thread is free: scripts may block, and need
/// more stack than the threads of Swift's pool have.
final class ScriptQueue: SerialExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var hasThread = false
  }

  private let threads: ScriptThreads
  private let state = Mutex(State())

  init(threads: ScriptThreads = .shared) { self.threads = threads }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let needsThread = state.withLock { state in
      state.jobs.append(job)
      defer { state.hasThread = true }
      return !state.hasThread
    }
    if needsThread { threads.run(self) }
  }

  /// Runs what there is to do, and what comes meanwhile.
  fileprivate func runJobs() {
    while let jobs = nextJobs() {
      for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
  }

  private func nextJobs() -> [UnownedJob]? {
    state.withLock { state in
      guard !state.jobs.isEmpty else {
        state.hasThread = false
        return nil
      }
      defer { state.jobs = [] }
      return state.jobs
    }
  }
}
