import Foundation
import PageKit

extension WorkerPool {
  /// The longest wait of a page for memory that other pages release.
  private static let memoryWait: Duration = .seconds(2)

  /// Sets the number of concurrent calls by the number of ready workers.
  func noteReady() {
    admission.serve(workers: workers.values.count { $0.state == .ready && $0.link.end == nil })
  }

  /// Waits until a worker is ready.
  ///
  /// - Returns: the worker's confinement.
  /// - Throws: ``WorkerError/cannotStart(_:)`` if none becomes ready in time, `CancellationError`.
  package func ready(within limit: Duration) async throws -> ConfinementReport {
    let deadline = ContinuousClock.now + limit
    while true {
      let sound = workers.values.filter { $0.state == .ready && $0.link.end == nil }
      if let report = sound.lazy.compactMap(\.report).first { return report }
      guard !isStopping, !hasGivenUp, .now < deadline else {
        throw WorkerError.cannotStart(startProblem ?? "none was ready within \(limit.inSeconds)")
      }
      try Task.checkCancellation()
      await waitForChange(until: deadline)
    }
  }

  /// - Throws: ``WorkerError/noWorker`` if none becomes ready in time, ``WorkerError/noMemory(limit:)`` if all are
  ///   full, `CancellationError` if the caller has gone.
  func worker(for digest: SHA256Digest) async throws -> Worker {
    let began = ContinuousClock.now
    let deadline = began + configuration.pageTime + .seconds(10)
    while !isStopping {
      let candidates = workers.values.filter { $0.state == .ready && $0.link.end == nil }.map { worker in
        Placement.Candidate(
          id: worker.id, pages: worker.pages.count, calls: worker.calls,
          busy: worker.look.running.map(\.seconds).max() ?? 0,
          memory: Double(worker.residentBytes + Int64(worker.calls) * Placement.pageBytes)
            / Double(configuration.memory))
      }
      if let chosen = Placement.choose(candidates, warmWorkers: warmWorkers[digest] ?? []), let worker = workers[chosen]
      {
        if warmWorkers.count >= Self.warmWorkersLimit { warmWorkers = [:] }
        warmWorkers[digest, default: []].insert(chosen)
        return worker
      }
      let now = ContinuousClock.now
      guard now < deadline else { break }
      try Task.checkCancellation()
      guard !candidates.isEmpty else {
        await waitForChange(until: deadline)
        continue
      }
      guard now < began + Self.memoryWait else { throw WorkerError.noMemory(limit: configuration.memory) }
      try await Task.sleep(for: configuration.watchInterval)
    }
    throw WorkerError.noWorker
  }

  /// Returns when a worker has changed, at the deadline, or when the caller's task is cancelled.
  func waitForChange(until deadline: ContinuousClock.Instant) async {
    let seen = changes.count
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await Task.sleep(until: deadline) }
      group.addTask { [changes] in await changes.wait(beyond: seen) }
      await group.next()
      group.cancelAll()
    }
  }
}
