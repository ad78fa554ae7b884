import Foundation
import HTTPTransport
import Logging
import PageKit
import ServiceLifecycle
import Synchronization

/// Starts worker processes ahead, assigns pages to them, watches, kills and replaces them.
package actor WorkerPool: Service {
  package struct Configuration: Sendable {
    package var workers = 2
    /// The time of one entry into a page.
    package var pageTime: Duration = .seconds(5)
    /// The time in which the elements of a page are changed or laid out, or ``pageTime`` if that is longer: a large page takes
    /// some tenths of a second.
    package var layoutTime: Duration = .seconds(5)
    /// The limit of a worker's resident bytes.
    package var memory: Int64 = 512 << 20
    /// The limit of waiting calls.
    package var waitingCalls = 512
    /// The longest wait of a call.
    package var waitingTime: Duration = .seconds(5)
    /// The program with the command `worker`.
    package var executable = "/proc/self/exe"
    /// The name of workers in the list of processes.
    package var program = "renderhost"
    /// `true` to replace ended workers, and to start spare ones in time. If `false`, callers that wait for a worker get
    /// the reason of its end.
    package var keepsWorkers = true
    /// The limit of a worker's concurrent questions.
    package var questions = 256
    /// Texts of framework files.
    package var frameworks: [BundleType: String] = [:]
    /// Texts of scripts that run in a page before its bundle.
    package var preludes: [BundleType: String] = [:]
    /// The advice for giving the framework for a type of bundles.
    package var frameworkAdvice: @Sendable (BundleType) -> String = {
      "name its file with renderhost's --framework \($0.rawValue)=FILE"
    }
    /// The advice for preludes.
    package var preludeAdvice: @Sendable (BundleType) -> String = {
      "name its file with renderhost's --prelude \($0.rawValue)=FILE"
    }
    /// The advice for using web sockets, which pages in workers lack; empty for none.
    package var socketAdvice = ""
    /// The number of engines that a worker keeps for further pages. The refs of elements continue from page to page.
    package var readyEngines = 1
    /// `true` for workers that draw pages, and measure their texts with fonts. Each loads the libraries before it gives up its
    /// right to, which takes some 100 ms and 12 MB.
    package var draws = false
    package var environment: ScriptValue = [:]
    /// The names of modules that pages find, besides the built-in ones, and that do nothing.
    package var idleModules: [String] = []
    /// The value of `process.env.NODE_ENV` in pages.
    package var nodeEnvironment = ScriptConfiguration().nodeEnvironment
    /// `true` if requests of pages without a behaviour are answered twice, from the cache and the network.
    package var refreshesAlways = false
    package var watchInterval: Duration = .milliseconds(50)
    package var barring = BarredBundles()
    package var now: @Sendable () -> ContinuousClock.Instant = { .now }

    package init() {}
  }

  struct Worker {
    let id: Int
    /// The number of its place, from 1.
    let slot: Int
    let process: WorkerProcess
    let link: WorkerLink
    let started: ContinuousClock.Instant
    let startedAt: Date
    var state: WorkerStatus.State = .starting
    var pages: Set<UInt64> = []
    /// The number of unanswered calls.
    var calls = 0
    var residentBytes: Int64 = 0
    var look = Watchdog.Sample()
    /// `true` if the worker may have to be killed soon.
    var isSuspicious = false
    /// The time of the last request to release memory.
    var relieved: ContinuousClock.Instant?
    var report: ConfinementReport?
    var questions: [UInt64: Task<Void, Never>] = [:]
    var questionBounds: QuestionBounds
    /// Limits the lines that the worker logs, so that one that was taken over does not fill the daemon's log.
    var logRate = EventRate(limit: WorkerPool.loggedLines, period: .seconds(60))
  }

  /// A page that is open or being opened.
  struct Assignment {
    let worker: Int
    let digest: SHA256Digest
    /// The public URL of the bundle.
    let location: String
    /// The caller, with input once the page was called.
    var caller: PageCaller
    /// `true` if the page's end was counted against the bundle.
    var hasStruck = false
  }

  /// The lines that a worker may log in a minute.
  static let loggedLines = 100

  package let configuration: Configuration
  /// The queue of calls.
  package nonisolated let admission: PageAdmission
  /// Called with the reason of a worker's end, and the bundles to blame.
  let killed: @Sendable (KillReason, _ bundles: [String]) -> Void
  let logger: Logger
  let spawner: ProcessSpawner
  weak var delegate: (any WorkerPoolDelegate)?
  var workers: [Int: Worker] = [:] {
    didSet { changes.send() }
  }
  /// Sent when a worker has changed.
  let changes = Signal()
  /// `true` while the workers are sampled less often.
  var isQuiet = false
  var assignments: [UInt64: Assignment] = [:]
  var barred: BarredBundles
  /// The workers that have run a bundle.
  var warmWorkers: [SHA256Digest: Set<Int>] = [:]
  private var lastID = 0
  private(set) var startsUnderWay = 0
  /// The number of consecutive workers that ended before they were ready.
  var failedStarts = 0
  /// The reason of the last of them.
  private(set) var startProblem: String?
  /// The reason why the worker that became ready last runs no scripts; `nil` if it does.
  var engineProblem: String?
  /// The number of premature ends by place.
  private var kills: [Int: Int] = [:]
  /// The largest number of places so far.
  private var slotCount = 0
  /// The reason why the worker that ended last did.
  package private(set) var lastEnd: KillReason?
  /// `true` if the engine's fault has cost a pool its only worker, and another one was started for it.
  private var isReplaced = false
  private(set) var isStopping = false
  private let orders: AsyncStream<Duration>
  private let order: AsyncStream<Duration>.Continuation
  /// The confinement of the worker that became ready last; logged when it changes.
  var lastReport: ConfinementReport?

  /// The limit of bundles whose workers are remembered.
  static let warmWorkersLimit = 10_000

  /// - Parameter killed: called with the reason of a worker's end, and the bundles to blame.
  package init(
    _ configuration: Configuration, logger: Logger,
    killed: @escaping @Sendable (KillReason, _ bundles: [String]) -> Void = { _, _ in }
  ) {
    self.killed = killed
    self.configuration = configuration
    admission = PageAdmission(waitingLimit: configuration.waitingCalls, waitingTime: configuration.waitingTime)
    self.logger = logger
    spawner = ProcessSpawner(
      executable: configuration.executable, program: configuration.program, draws: configuration.draws)
    barred = configuration.barring
    (orders, order) = AsyncStream.makeStream(of: Duration.self)
  }

  deinit { spawner.stop() }

  package func attach(_ delegate: any WorkerPoolDelegate) { self.delegate = delegate }

  // MARK: Life

  /// Maintains the workers until the shutdown, and then ends them.
  package func run() async throws {
    fill()
    await withTaskCancellationHandler {
      await withGracefulShutdownHandler {
        await withDiscardingTaskGroup { group in
          group.addTask { await self.watch() }
          for await pause in orders {
            group.addTask {
              if pause > .zero { try? await Task.sleep(for: pause) }
              await self.runWorker()
            }
          }
          self.endAll()
        }
      } onGracefulShutdown: { [order] in
        order.finish()
      }
    } onCancel: { [order] in
      order.finish()
    }
  }

  /// Starts workers up to the configured number, and a replacement for each suspect one.
  func fill() {
    guard !isStopping else { return }
    guard configuration.keepsWorkers || lastID == 0 && failedStarts == 0 else { return changes.send() }
    let sound = workers.values.filter { $0.state != .ending && $0.link.end == nil }
    let doubtful = sound.filter(\.isSuspicious).count
    let wanted = configuration.workers + min(doubtful, configuration.workers)
    var count = sound.count + startsUnderWay
    // Each consecutive failure waits longer, to save the processor.
    let pause = failedStarts == 0 ? .zero : Duration.milliseconds(100).doubled(failedStarts, atMost: .seconds(10))
    while count < wanted {
      startsUnderWay += 1
      count += 1
      order.yield(pause)
    }
  }

  /// `true` if there is no worker and none is being started.
  var hasGivenUp: Bool {
    !configuration.keepsWorkers && startsUnderWay == 0 && (lastID > 0 || failedStarts > 0)
      && workers.values.allSatisfy { $0.state == .ending || $0.link.end != nil }
  }

  /// Runs one worker from its start to its end.
  private func runWorker() async {
    guard !isStopping else { return startsUnderWay -= 1 }
    let process: WorkerProcess
    let link: WorkerLink
    do {
      process = try await spawner.start()
    } catch {
      logger.error("\(error.sentence)")
      startsUnderWay -= 1
      failedStarts += 1
      startProblem = error.sentence
      return fill()
    }
    do {
      link = try await WorkerLink(socket: process.socket)
    } catch {
      startProblem = error.sentence
      Foundation.close(process.socket)
      _ = await spawner.end(process)
      startsUnderWay -= 1
      failedStarts += 1
      return fill()
    }
    lastID += 1
    let id = lastID
    startsUnderWay -= 1
    let slot = freeSlot
    slotCount = max(slotCount, slot)
    workers[id] = Worker(
      id: id, slot: slot, process: process, link: link, started: .now, startedAt: Date(),
      questionBounds: QuestionBounds(count: configuration.questions).enforced)
    if isStopping { kill(id, .shutdown, culprits: []) }
    let setUp = setUp
    let reason = await link.run {
      try await link.send(.setUp(setUp))
    } receive: { [weak self] message, payload in
      await self?.receive(message, payload, from: id)
    }
    await handleExit(id, reason)
  }

  private var freeSlot: Int {
    let taken = Set(workers.values.map(\.slot))
    return (1...taken.count + 1).first { !taken.contains($0) } ?? taken.count + 1
  }

  private var setUp: WorkerSetUp {
    WorkerSetUp(
      pageTime: configuration.pageTime.seconds,
      frameworks: Dictionary(configuration.frameworks.map { ($0.key.rawValue, $0.value) }) { $1 },
      preludes: Dictionary(configuration.preludes.map { ($0.key.rawValue, $0.value) }) { $1 },
      frameworkAdvice: Dictionary(
        BundleType.allCases.map { ($0.rawValue, configuration.frameworkAdvice($0)) }
      ) { $1 },
      preludeAdvice: Dictionary(BundleType.allCases.map { ($0.rawValue, configuration.preludeAdvice($0)) }) { $1 },
      socketAdvice: configuration.socketAdvice, readyEngines: configuration.readyEngines,
      environment: configuration.environment.json, idleModules: configuration.idleModules,
      nodeEnvironment: configuration.nodeEnvironment,
      refreshesAlways: configuration.refreshesAlways,
      entriesAtOnce: max(1, ProcessInfo.processInfo.activeProcessorCount / max(1, configuration.workers)),
      memory: configuration.memory, questions: configuration.questions)
  }

  /// The socket has ended.
  private func handleExit(_ id: Int, _ reason: KillReason?) async {
    guard let worker = workers[id] else { return }
    let wasReady = worker.state != .starting
    workers[id]?.state = .ending
    updateAdmission()
    let (how, lastWords) = await spawner.end(worker.process)
    let found = reason ?? .ended("\(how)", lastWords: lastWords)
    if worker.link.recordEnd(found, culprits: found.isAlarmFault ? [] : Self.culprits(of: how, worker)) {
      logger.warning("a worker has ended: \(found)", metadata: ["worker": "\(id)"])
    }
    failedStarts = wasReady ? 0 : failedStarts + 1
    if !wasReady { startProblem = "a worker ended before it was ready: \(found)" }
    for question in workers[id]?.questions.values ?? [:].values { question.cancel() }
    let pages = workers.removeValue(forKey: id)?.pages ?? []
    let (why, culprits) = worker.link.end ?? (found, [])
    lastEnd = why
    if why.isAlarmFault, !configuration.keepsWorkers, !isReplaced {
      isReplaced = true
      startsUnderWay += 1
      order.yield(.zero)
    }
    if why != .shutdown {
      kills[worker.slot, default: 0] += 1
      killed(why, culprits.compactMap { assignments[$0]?.location })
    }
    for page in culprits { strike(page, why) }
    for page in pages { assignments[page] = nil }
    for digest in warmWorkers.keys { warmWorkers[digest]?.remove(id) }
    worker.link.failCalls()
    fill()
    await delegate?.workerEnded(pages, culprits: culprits, why)
  }

  /// The pages that ran when a worker crashed; none for a signal from outside.
  private static func culprits(of end: ProcessEnd, _ worker: Worker) -> Set<UInt64> {
    guard case .signalled(let signal) = end, ![SIGKILL, SIGTERM, SIGINT].contains(signal) else { return [] }
    let running = worker.process.board.entries().filter { $0.left == nil }
    return running.min { $0.entered < $1.entered }.map { [$0.page] } ?? []
  }

  /// Ends a worker, and resumes its callers with the reason.
  func kill(_ id: Int, _ reason: KillReason, culprits: Set<UInt64>) {
    guard let worker = workers[id], worker.state != .ending, worker.link.recordEnd(reason, culprits: culprits) else {
      return
    }
    if reason != .shutdown {
      let bundles = culprits.compactMap { assignments[$0]?.location }.sorted().joined(separator: ", ")
      logger.warning("a worker is killed: \(reason)", metadata: ["worker": "\(id)", "bundles": "\(bundles)"])
    }
    // The process is not reaped yet, so that its number is not reused.
    Foundation.kill(worker.process.id, SIGKILL)
    updateAdmission()
    fill()
  }

  private func endAll() {
    isStopping = true
    for id in workers.keys { kill(id, .shutdown, culprits: []) }
    changes.send()
  }

  // MARK: Status

  package func status() -> WorkerPoolStatus {
    WorkerPoolStatus(
      workers: workers.values.sorted { $0.slot < $1.slot }.map { $0.status(kills: kills[$0.slot] ?? 0) },
      wanted: configuration.workers, slots: slotCount, barred: barred.all(at: configuration.now()),
      problem: failedStarts > 0 ? startProblem : nil, engineProblem: engineProblem)
  }

  /// The processor time that each worker has used since its start, by its number.
  package func processorTimes() -> [Int: Duration] { workers.compactMapValues(\.process.processorTime) }

  /// The places of the workers by page.
  package func slots() -> [UInt64: Int] { assignments.compactMapValues { workers[$0.worker]?.slot } }
}

// MARK: - Delegate

/// Receives the events and questions of workers.
package protocol WorkerPoolDelegate: AnyObject, Sendable {
  /// An event of a page; the events of one page arrive in order.
  func receive(event name: String, _ details: [UInt8], of page: UInt64)
  /// A question of a page; the answers go to `send`, up to the last one.
  func answer(
    _ question: PageQuestion, _ payload: [UInt8], of page: UInt64,
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async
  /// The pages that hear each other's `BroadcastChannel` have the same scope; `nil` if the page hears no other.
  func channelScope(of page: UInt64) -> String?
  /// A worker has ended with its pages.
  func workerEnded(_ pages: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async
}

extension WorkerPoolDelegate {
  /// No page hears another one's channels.
  package func channelScope(of page: UInt64) -> String? { nil }
}
