import Foundation
import HTTPTransport
import PageKit

/// Decides from a sample of a worker if it must be killed. A pure function.
enum Watchdog {
  /// A page whose script is running, or whose elements are changed or laid out.
  struct Running: Hashable, Sendable {
    let page: UInt64
    var work = PageWork.entry
    /// The time since it was entered.
    let seconds: Double
    /// The processor time since then; `nil` if it was not measured or is unknown.
    var processorSeconds: Double?
    /// The growth of the worker since then, in bytes.
    var growth: Int64 = 0
  }

  struct Sample: Hashable, Sendable {
    /// The running pages in the order of their entries.
    var running: [Running] = []
    /// The growth of the worker in each page's entries, in bytes.
    var growth: [UInt64: Int64] = [:]
    /// `nil` if it is unknown.
    var residentBytes: Int64?
    /// The seconds since the oldest overdue call was due; `nil` for none.
    var overdueCall: Double?
  }

  enum Verdict: Hashable, Sendable {
    case fine
    /// The worker may have to be killed soon; a replacement is started.
    case suspicious
    case kill(KillReason, culprits: Set<UInt64>)
  }

  struct Limits: Hashable, Sendable {
    /// The time limit of one entry in seconds.
    var time: Double
    var memory: Int64
    /// The limit of a time in which elements are changed or laid out, in seconds, or ``time`` if that is longer.
    var shortestLayout = 5.0

    /// The limit of a time in which elements are changed or laid out, in seconds.
    var layout: Double { max(time, shortestLayout) }

    /// Seconds above the limit after which a worker is killed; the engine stops most scripts before.
    var grace: Double { max(0.25, time / 10) }
    /// The limit in seconds of the clock for a page that uses hardly any processor time.
    var wait: Double { time * 10 + 30 }
    /// The growth in bytes from which a page is to blame for its worker's memory.
    var share: Int64 { memory / 4 }
  }

  static func verdict(_ look: Sample, _ limits: Limits) -> Verdict {
    if let found = look.residentBytes, found > limits.memory {
      return .kill(.memory(found: found, limit: limits.memory), culprits: culprits(look, limits))
    }
    let overdue = look.running.filter { used(by: $0) > limit(of: $0, limits) + limits.grace }
    if let longest = overdue.max(by: { used(by: $0) < used(by: $1) }) {
      let (took, most) = (used(by: longest), limit(of: longest, limits))
      let reason: KillReason =
        longest.work == .entry ? .time(took: took, limit: most) : .layout(took: took, limit: most)
      return .kill(reason, culprits: Set(overdue.map(\.page)))
    }
    let blocked = look.running.filter { $0.seconds > limits.wait }
    if !blocked.isEmpty { return .kill(.silence, culprits: Set(blocked.map(\.page))) }
    if let late = look.overdueCall, late > 0 { return .kill(.silence, culprits: []) }
    let isSuspicious = look.running.contains { used(by: $0) > limit(of: $0, limits) / 2 }
    return isSuspicious ? .suspicious : .fine
  }

  /// `true` if the processor time of a page is necessary: measuring it costs more than the clock.
  static func wantsProcessorTime(_ seconds: Double, _ limits: Limits) -> Bool { seconds > limits.time / 2 }

  private static func limit(of running: Running, _ limits: Limits) -> Double {
    running.work == .entry ? limits.time : limits.layout
  }

  /// On a busy machine only the processor time counts.
  private static func used(by running: Running) -> Double { running.processorSeconds ?? running.seconds }

  /// The page with the largest growth, if that is a considerable share; else no page is to blame.
  private static func culprits(_ look: Sample, _ limits: Limits) -> Set<UInt64> {
    var growth = look.growth
    for running in look.running { growth[running.page, default: 0] += running.growth }
    guard let most = growth.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }), most.value >= limits.share else {
      return []
    }
    return [most.key]
  }
}

extension WorkerPool {
  /// The longest time until a worker is ready, also on a busy machine.
  private static let startLimit: Duration = .seconds(60)
  /// The time between two requests to a worker to release memory.
  private static let reliefPause: Duration = .seconds(2)

  /// The number of samples without a page after which the workers are sampled less often: a worker gives back memory
  /// until a second after its last page.
  private static let quietSamples = 40
  /// The time between two samples of workers without pages; one that was taken over must not grow unseen.
  private static let quietInterval: Duration = .seconds(1)

  /// Samples every worker periodically, until the task is cancelled or the pool stops; less often while no page is open,
  /// until something changes.
  func watch() async {
    var quiet = 0
    while !isStopping, !Task.isCancelled {
      for id in workers.keys.sorted() { look(at: id) }
      retireSurplus()
      quiet = isWithoutPages ? quiet + 1 : 0
      if quiet < Self.quietSamples {
        try? await Task.sleep(for: configuration.watchInterval)
      } else {
        isQuiet = true
        await waitForChange(until: .now + Self.quietInterval)
        isQuiet = false
      }
    }
  }

  /// `true` if every worker is ready and has no page.
  private var isWithoutPages: Bool {
    startsUnderWay == 0 && workers.count <= configuration.workers
      && workers.values.allSatisfy {
        $0.state == .ready && $0.pages.isEmpty && $0.calls == 0 && $0.link.end == nil && !$0.isSuspicious
      }
  }

  var limits: Watchdog.Limits {
    Watchdog.Limits(
      time: configuration.pageTime.seconds, memory: configuration.memory,
      shortestLayout: configuration.layoutTime.seconds)
  }

  private func look(at id: Int) {
    guard var worker = workers[id], worker.state != .ending else { return }
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

  /// Requests a worker that is nearly full to release unused memory.
  private func relieve(_ worker: WorkerPool.Worker) {
    guard worker.state == .ready, Double(worker.residentBytes) > Placement.crowded * Double(configuration.memory),
      worker.relieved.map({ $0 + Self.reliefPause < .now }) ?? true
    else { return }
    workers[worker.id]?.relieved = .now
    worker.link.post(.releaseMemory)
  }

  /// Ends a spare worker that is not needed.
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

  /// The current sample of a worker.
  ///
  /// - Parameter clock: the time by the clock of the shared memory.
  fileprivate func look(at clock: UInt64, _ now: ContinuousClock.Instant, _ limits: Watchdog.Limits) -> Watchdog.Sample
  {
    var look = Watchdog.Sample()
    // The worker's memory is not trusted: only its own pages count.
    let entries = process.board.entries().filter { pages.contains($0.page) }
    look.residentBytes = process.residentBytes
    for entry in entries { look.growth[entry.page, default: 0] += entry.growth }
    for entry in entries.sorted(by: { $0.entered < $1.entered }) where entry.left == nil {
      let seconds = Double(clock - min(clock, entry.entered)) / 1e9
      var running = Watchdog.Running(page: entry.page, work: entry.work, seconds: seconds)
      if Watchdog.wantsProcessorTime(seconds, limits),
        let used = SharedHeartbeats.processorTime(of: entry.thread, in: process.id)
      {
        running.processorSeconds = Double(used - min(used, entry.processorTime)) / 1e9
      }
      running.growth = look.residentBytes.map { $0 &- entry.residentBytes } ?? 0
      look.running.append(running)
    }
    look.overdueCall = link.overdue(at: now)
    return look
  }
}
