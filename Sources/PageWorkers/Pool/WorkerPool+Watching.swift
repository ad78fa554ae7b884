import Foundation
import PageKit

extension WorkerPool {
  /// How long a worker may take until it is ready, on a busy machine too.
  private static let startLimit: Duration = .seconds(60)
  /// Between two times that a worker is told to let go of memory.
  private static let reliefPause: Duration = .seconds(2)

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
    let limits = Watchdog.Limits(time: configuration.pageTime.seconds, memory: configuration.memory)
    let look = worker.look(at: SharedHeartbeats.now(), .now, limits)
    worker.look = look
    worker.residentBytes = look.residentBytes ?? worker.residentBytes
    let verdict = Watchdog.verdict(look, limits)
    worker.isSuspicious = verdict == .suspicious
    workers[id] = worker
    relieve(worker)
    switch verdict {
    case .fine:
      if worker.state == .starting, worker.started + Self.startLimit < .now { kill(id, .silence, culprits: []) }
    case .suspicious: fill()
    case .kill(let reason, let culprits): kill(id, reason, culprits: culprits)
    }
  }

  /// Has a worker whose memory runs out let go of what no page is using.
  private func relieve(_ worker: WorkerPool.Worker) {
    guard worker.state == .ready, Double(worker.residentBytes) > Placement.crowded * Double(configuration.memory),
      worker.relieved.map({ $0 + Self.reliefPause < .now }) ?? true
    else { return }
    workers[worker.id]?.relieved = .now
    Task { try? await worker.link.send(.releaseMemory) }
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
  fileprivate func look(at clock: UInt64, _ now: ContinuousClock.Instant, _ limits: Watchdog.Limits) -> Watchdog.Sample
  {
    var look = Watchdog.Sample()
    // What the worker writes there is its own word: only its own pages count.
    let entries = process.board.entries().filter { pages.contains($0.page) }
    look.residentBytes = process.residentBytes
    for entry in entries { look.growth[entry.page, default: 0] += entry.growth }
    for entry in entries.sorted(by: { $0.entered < $1.entered }) where entry.left == nil {
      let seconds = Double(clock - min(clock, entry.entered)) / 1e9
      var running = Watchdog.Running(page: entry.page, seconds: seconds)
      if Watchdog.wantsProcessorTime(seconds, limits), let used = ThreadTime.of(entry.thread, in: process.id) {
        running.processorSeconds = Double(used - min(used, entry.processorTime)) / 1e9
      }
      running.growth = look.residentBytes.map { $0 &- entry.residentBytes } ?? 0
      look.running.append(running)
    }
    look.overdueCall = link.overdue(at: now)
    return look
  }
}
