import Foundation
import PageKit

extension WorkerPool {
  /// - Throws: ``WorkerError/noWorker`` where none is ready in time.
  func worker(for digest: SHA256Digest) async throws -> Worker {
    let deadline = ContinuousClock.now + configuration.pageTime + .seconds(10)
    while !isStopping {
      let candidates = workers.values.filter { $0.state == .ready && $0.link.end == nil }.map { worker in
        Placement.Candidate(
          id: worker.id, pages: worker.pages.count, calls: worker.calls,
          busy: worker.look.running.map(\.seconds).max() ?? 0,
          memory: Double(worker.residentBytes) / Double(configuration.memory))
      }
      if let chosen = Placement.choose(candidates, homes: homes[digest] ?? []), let worker = workers[chosen] {
        if homes.count >= Self.homesLimit { homes = [:] }
        homes[digest, default: []].insert(chosen)
        return worker
      }
      let now = ContinuousClock.now
      guard now < deadline, !Task.isCancelled else { break }
      await wait(until: deadline)
    }
    throw WorkerError.noWorker
  }

  private func wait(until deadline: ContinuousClock.Instant) async {
    let key = UUID()
    let alarm = Task {
      try? await Task.sleep(until: deadline)
      wake(key)
    }
    await withCheckedContinuation { waiters[key] = $0 }
    alarm.cancel()
  }

  private func wake(_ key: UUID) { waiters.removeValue(forKey: key)?.resume() }

  func wakeWaiters() {
    for waiter in waiters.values { waiter.resume() }
    waiters = [:]
  }
}
