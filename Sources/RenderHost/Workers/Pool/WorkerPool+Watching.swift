import Foundation
import PageKit

extension WorkerPool {
  /// How long a worker may take until it is ready.
  private static let startLimit: Duration = .seconds(20)

  /// Looks at every worker again and again, until the task is cancelled or the pool stops.
  func watch() async {
    while !isStopping, !Task.isCancelled {
      for id in workers.keys.sorted() { look(at: id) }
      retireSurplus()
      try? await Task.sleep(for: configuration.watchInterval)
    }
  }

  private func look(at id: Int) {
    guard var worker = workers[id], worker.state != .ending else { return }
    let look = worker.look(at: EntryBoard.now(), .now)
    worker.look = look
    worker.residentBytes = look.residentBytes ?? worker.residentBytes
    let limits = Watch.Limits(time: configuration.pageTime.seconds, memory: configuration.memory)
    let verdict = Watch.verdict(look, limits)
    worker.isSuspicious = verdict == .suspicious
    workers[id] = worker
    switch verdict {
    case .fine:
      if worker.state == .starting, worker.started + Self.startLimit < .now { kill(id, .silence, culprits: []) }
    case .suspicious: fill()
    case .kill(let reason, let culprits): kill(id, reason, culprits: culprits)
    }
  }

  /// Lets go of one that was started ahead and is not needed.
  private func retireSurplus() {
    let sound = workers.values.filter { $0.state == .ready && $0.link.end == nil }
    guard sound.count > configuration.workers, !sound.contains(where: \.isSuspicious),
      let idle = sound.filter({ $0.pages.isEmpty }).max(by: { $0.slot < $1.slot })
    else { return }
    kill(idle.id, .shutdown, culprits: [])
  }
}

extension WorkerPool.Worker {
  func status(kills: Int) -> WorkerStatus {
    WorkerStatus(
      id: id, slot: slot, pid: process.id, state: link.end == nil ? state : .ending, residentBytes: residentBytes,
      pages: pages.count, busy: look.running.map(\.seconds).max() ?? 0, confinement: report,
      started: startedAt, kills: kills)
  }

  /// What can be seen of it now.
  ///
  /// - Parameter clock: as the board counts.
  fileprivate func look(at clock: UInt64, _ now: ContinuousClock.Instant) -> Watch.Look {
    var look = Watch.Look()
    // What the worker writes there is its own word: only its own pages count.
    let entries = process.board.entries().filter { pages.contains($0.page) }
    for entry in entries.sorted(by: { $0.entered < $1.entered }) where entry.left == nil {
      look.running.append((entry.page, Double(clock - min(clock, entry.entered)) / 1e9))
    }
    look.last = entries.max { $0.entered < $1.entered }?.page
    look.residentBytes = process.residentBytes
    look.overdueCall = link.overdue(at: now)
    return look
  }
}
