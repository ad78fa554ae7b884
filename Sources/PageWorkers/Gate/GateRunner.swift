import Foundation
import HTTPTypes
import Logging
import PageKit
import Synchronization

/// Runs the pages of a release in confined workers, beside the same pages of the release before.
package struct GateRunner: Sendable {
  package struct Configuration: Sendable {
    /// The number of workers; by default one for each core.
    package var workers = ProcessInfo.processInfo.activeProcessorCount
    /// The program with the command `worker`.
    package var executable = "/proc/self/exe"
    /// The name of workers in the list of processes.
    package var program = "bundlectl"
    /// The limit of a worker's resident bytes.
    package var memory: Int64 = 512 << 20
    /// Texts of framework files.
    package var frameworks: [BundleType: String] = [:]
    /// Texts of scripts that run in a page before its bundle.
    package var preludes: [BundleType: String] = [:]
    /// The advice for giving the framework for a type of bundles, and a prelude; `nil` for renderhost's.
    package var frameworkAdvice, preludeAdvice: (@Sendable (BundleType) -> String)?
    /// The members of `WXEnvironment`.
    package var environment: ScriptValue = [:]
    /// `true` to run pages also in workers that could not be confined.
    package var acceptsUnconfined = false

    package init() {}
  }

  /// The largest number of runs of which the least processor time counts: a page that is fast enough once is.
  private static let timedRuns = 5

  private let configuration: Configuration
  private let settings: GateSettings
  private let answers: RecordedAnswers

  package init(_ configuration: Configuration, _ settings: GateSettings, _ answers: RecordedAnswers = RecordedAnswers())
  {
    (self.configuration, self.settings, self.answers) = (configuration, settings, answers)
  }

  /// Runs all pages, and decides.
  ///
  /// - Parameters:
  ///   - former: the release before; `nil` if there is none.
  ///   - day: today, which exemptions end by.
  ///   - progress: is called with the number of pages that are done, and of all.
  /// - Throws: ``DescribedError`` if pages cannot run here, `CancellationError`.
  package func report(
    on release: GateRelease, beside former: GateRelease?, on day: GateDay = GateDay(Date()),
    progress: @escaping @Sendable (_ done: Int, _ all: Int) -> Void = { _, _ in }
  ) async throws -> GateReport {
    let began = ContinuousClock.now
    let pages = release.pages.filter { settings.runs($0.name) }
    let known = Dictionary(former?.pages.map { ($0.name, $0) } ?? []) { first, _ in first }
    let queue = Queue(pages.count, progress)
    let lanes = min(max(1, configuration.workers), pages.count)
    let runs = try await withThrowingTaskGroup(of: [(Int, GatePageRuns)].self) { group in
      for _ in 0..<lanes {
        group.addTask {
          let lane = GateLane(configuration, settings, answers, deadline: began + settings.time)
          var runs: [(Int, GatePageRuns)] = []
          do {
            while let index = queue.next() {
              let page = pages[index]
              runs.append((index, try await self.runs(page, of: release, known[page.name], of: former, lane)))
              queue.finish()
            }
          } catch {
            await lane.end()
            throw error
          }
          await lane.end()
          return runs
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }.sorted { $0.0 < $1.0 }.map(\.1)
    }
    let names = Set(release.pages.map(\.name))
    let gone = known.keys.filter { !names.contains($0) && settings.runs($0) }
    return GateReport(
      release: release.name, former: former?.name, pages: runs,
      findings: GateDecision.findings(runs, gone: gone, settings, on: day), time: .now - began)
  }

  /// The pages that no worker has taken yet, and the number of those that are done.
  private final class Queue: Sendable {
    private let count: Int
    private let progress: @Sendable (Int, Int) -> Void
    private let state = Mutex((taken: 0, done: 0))

    init(_ count: Int, _ progress: @escaping @Sendable (Int, Int) -> Void) {
      (self.count, self.progress) = (count, progress)
    }

    func next() -> Int? {
      state.withLock { state in
        guard state.taken < count else { return nil }
        state.taken += 1
        return state.taken - 1
      }
    }

    /// Tells the progress, in the order of the numbers.
    func finish() {
      state.withLock { state in
        state.done += 1
        progress(state.done, count)
      }
    }
  }

  private func runs(
    _ page: PageBundle, of release: GateRelease, _ formerPage: PageBundle?, of former: GateRelease?,
    _ lane: GateLane
  ) async throws -> GatePageRuns {
    let budgets = settings.budgets(of: page.name)
    var runs = GatePageRuns(
      name: page.name, file: page.url.readable, new: try await lane.run(page, of: release))
    if budgets[.bundleBrotli] != nil, let bytes = try? await release.content(at: page.url) {
      runs.new.brotliBytes = Brotli.encode(bytes).map { Int64($0.count) }
    }
    if let formerPage, let former {
      runs.former = try await lane.run(formerPage, of: former)
      // The same bundle is not slower.
      if formerPage.md5 == page.md5 { runs.former?.processorTime = nil }
    }
    for _ in 1..<Self.timedRuns {
      let isSlower = GateDecision.isSlower(runs.new, than: runs.former)
      guard runs.new.outcome == .rendered, isSlower || GateDecision.isSlow(runs.new, budgets) else { break }
      runs.new.keepLeastTime(of: try await lane.run(page, of: release))
      if isSlower, let formerPage, let former {
        runs.former?.keepLeastTime(of: try await lane.run(formerPage, of: former))
      }
    }
    return runs
  }
}

/// A worker that runs one page after the other. It is replaced when it has ended.
private actor GateLane {
  private let configuration: WorkerPool.Configuration
  private let acceptsUnconfined: Bool
  private let answers: RecordedAnswers
  private let deadline: ContinuousClock.Instant
  private var worker: (pool: WorkerPool, running: Task<Void, Never>)?
  private var number: UInt64 = 0

  /// The longest wait for a page's requests, which are answered at once.
  private static let settleTime = 2.0
  /// The longest time until a worker is ready.
  private static let startLimit: Duration = .seconds(60)

  init(
    _ configuration: GateRunner.Configuration, _ settings: GateSettings, _ answers: RecordedAnswers,
    deadline: ContinuousClock.Instant
  ) {
    var pool = WorkerPool.Configuration()
    pool.workers = 1
    pool.pageTime = settings.pageTime
    pool.memory = configuration.memory
    pool.executable = configuration.executable
    pool.program = configuration.program
    pool.frameworks = configuration.frameworks
    pool.preludes = configuration.preludes
    if let advice = configuration.frameworkAdvice { pool.frameworkAdvice = advice }
    if let advice = configuration.preludeAdvice { pool.preludeAdvice = advice }
    pool.environment = configuration.environment
    pool.idleModules = settings.registered.sorted()
    // Each run costs the same.
    pool.readyEngines = 0
    // Each page runs, also if it has the bundle of one that was stopped.
    pool.barring.strikes = .max
    self.configuration = pool
    acceptsUnconfined = configuration.acceptsUnconfined
    (self.answers, self.deadline) = (answers, deadline)
  }

  /// The time limit of a page, far above what its scripts may use.
  private var pageLimit: Duration { configuration.pageTime * 3 + .seconds(10) }

  /// Runs a page once.
  ///
  /// - Throws: ``DescribedError`` if pages cannot run here, `CancellationError`.
  func run(_ page: PageBundle, of release: GateRelease) async throws -> GateRun {
    try Task.checkCancellation()
    guard .now < deadline else { return GateRun(.notRun) }
    let bytes: [UInt8]
    do {
      guard let found = try await release.content(at: page.url) else {
        return GateRun(.failed("the release has no such bundle"))
      }
      bytes = found
    } catch {
      try Task.checkCancellation()
      return GateRun(.failed(error.message))
    }
    let limit = min(deadline, .now + pageLimit)
    let (pool, running) = try await ready()
    // A call cannot be cancelled, but its worker can be ended.
    let watch = Task { if (try? await Task.sleep(until: limit)) != nil { running.cancel() } }
    defer { watch.cancel() }
    let record = GatePage(release, answers, at: page.url)
    await pool.attach(record)
    do {
      let done = try await withTaskCancellationHandler {
        try await run(page, bytes, record, in: pool)
      } onCancel: {
        running.cancel()
      }
      return await record.located(done, bytes)
    } catch {
      try Task.checkCancellation()
      let isLate = .now >= limit
      // The worker may be on its way out with another page's end.
      await end()
      if isLate, .now >= deadline { return GateRun(.notRun) }
      var run = record.run
      run.bundleBytes = Int64(bytes.count)
      run.outcome = try isLate ? .stopped("it was not done after \(pageLimit.inSeconds)") : outcome(error, &run)
      return await record.located(run, bytes)
    }
  }

  private func run(
    _ page: PageBundle, _ bytes: [UInt8], _ record: GatePage, in pool: WorkerPool
  ) async throws -> GateRun {
    number += 1
    let opening = PageOpening(
      url: page.url.text, options: PageRequestOptions(), data: .object([:]),
      wait: PageWait(settle: Self.settleTime, timers: PendingWork.timerLimit.seconds), view: nil, isOnce: false,
      reportsCommands: true)
    let before = await pool.processorTimes()
    let (reply, elements) = try await pool.open(
      number, opening, bytes, try ContentDigests(of: bytes).sha256, for: PageCaller(client: "", hasInput: true),
      location: page.url.text)
    let (worker, after) = (await pool.home(of: number), await pool.processorTimes())
    // All notices have come after this.
    _ = try await pool.end(number)
    let tree = try await ElementTree.read(record: elements)
    var run = record.run
    run.bundleBytes = Int64(bytes.count)
    run.record(tree)
    (run.requests, run.responseBytes) = (Int64(reply.requests), reply.bytes)
    if let worker, let start = before[worker], let end = after[worker] { run.processorTime = end - start }
    run.outcome = tree.body == nil ? .empty : .rendered
    guard let failure = reply.failure else { return run }
    if let exception = failure.exception { run.record(exception) }
    run.outcome = failure.stop.map { .stopped($0.plain) } ?? .failed(failure.text)
    return run
  }

  /// - Throws: the error if it is not the page's.
  private func outcome(_ error: any Error, _ run: inout GateRun) throws -> GateRun.Outcome {
    switch error {
    case PageFault.script(let exception):
      run.record(exception)
      return .failed(exception.message)
    case PageFault.stopped(let reason), WorkerError.ended(let reason, _): return .stopped(reason.plain)
    case PageFault.refused(let reason), PageFault.busy(let reason): return .failed(reason)
    case PageFault.unknownPage: return .stopped("its process has ended")
    case WorkerError.noMemory(let limit): return .stopped("its process needs more than \(limit >> 20) MiB of memory")
    case WorkerError.cannotRun(let reason): throw DescribedError("the gate cannot run pages: \(reason)")
    default: throw DescribedError("the gate cannot run pages: \(error.message)")
    }
  }

  /// Returns the worker, once it is ready.
  ///
  /// - Throws: ``DescribedError`` if there is none, or if it could not be confined.
  private func ready() async throws -> (pool: WorkerPool, running: Task<Void, Never>) {
    if let worker { return worker }
    let pool = WorkerPool(configuration, logger: Logger(label: "gate") { _ in SwiftLogNoOpLogHandler() })
    let started = (pool: pool, running: Task { do { try await pool.run() } catch {} })
    worker = started
    do {
      let report = try await pool.ready(within: Self.startLimit)
      if !acceptsUnconfined, let lack = report.lack {
        throw DescribedError("the gate cannot run pages: their process \(lack)")
      }
      return started
    } catch WorkerError.cannotStart(let reason) {
      throw DescribedError("the gate cannot run pages: no process can be started for them: \(reason)")
    }
  }

  /// Ends the worker.
  func end() async {
    worker?.running.cancel()
    await worker?.running.value
    worker = nil
  }
}

extension KillReason {
  /// The reason without the options of programs.
  fileprivate var plain: String {
    switch self {
    case .time(_, let limit): "a script ran for longer than \(Duration.seconds(limit).inSeconds)"
    case .layout(_, let limit): "its elements were laid out for longer than \(Duration.seconds(limit).inSeconds)"
    case .memory(let found, let limit): "\(found >> 20) MiB of memory were in use, and the limit is \(limit >> 20) MiB"
    case .silence: "its process did not answer"
    case .malformed, .ended, .shutdown: description
    }
  }
}

/// A page that runs once: records what it does, and answers its questions from the release and the recorded answers. What
/// it stores is forgotten.
private final class GatePage: WorkerPoolDelegate, StorageProviding {
  private let release: GateRelease
  private let url: PageURL
  private let loader: ResourceLoader?
  private let state: Recording
  private let longAnswers = FairGate<Int>(width: 1)

  /// The limits of what a page may store: the number of keys, and the bytes of a value.
  private static let keyLimit = 1_000
  private static let valueLimit = 256 << 10
  /// The limit of a response in bytes.
  private static let bodyLimit: Int64 = 32 << 20

  private final class Recording: Sendable {
    let run = Mutex(GateRun(.empty))
    let storage = Mutex<[String: String]>([:])
  }

  init(_ release: GateRelease, _ answers: RecordedAnswers, at url: PageURL) {
    let state = Recording()
    (self.release, self.url, self.state) = (release, url, state)
    let transport = RecordedTransport(answers: answers) { request in
      let name = Self.name(request.head.method.rawValue, request.url)
      state.run.withLock { if $0.unanswered.count < GateRun.listLimit { $0.unanswered.insert(name) } }
    }
    loader = (try? ResponseCache(store: NoResponseStore(), memoryCapacity: 0, allowingNone: true)).map {
      ResourceLoader(cache: $0, transport: transport)
    }
  }

  /// The run of the page so far.
  var run: GateRun { state.run.withLock(\.self) }

  /// Gives the exceptions of a run the places of the bundle's sources, if the bundle names a source map that is a file of
  /// the release, or in its own text. A map that cannot be read is no fault of the page.
  func located(_ run: GateRun, _ bundle: [UInt8]) async -> GateRun {
    let text = String(decoding: bundle, as: UTF8.self)
    guard !run.exceptions.isEmpty, let reference = SourceMap.reference(in: text) else { return run }
    var map: SourceMap?
    if reference.lowercased().hasPrefix("data:") {
      map = try? await loader?.sourceMap(of: text, at: url)
    } else if let place = url.resolving(reference), let bytes = try? await release.content(at: place) {
      map = try? SourceMap(reading: bytes, at: place)
    }
    var run = run
    if let map { run.map(through: map, of: url) }
    return run
  }

  private static func name(_ method: String, _ url: String) -> String {
    "\(method.prefix(20)) \(url.prefix { $0 != "?" && $0 != "#" }.prefix(200))"
  }

  func receive(event name: String, _ details: [UInt8], of page: UInt64) {
    guard let notice = PageNotice(event: name, details) else { return }
    state.run.withLock { run in
      switch notice {
      case .commands(let commands): run.commands += Int64(commands.count)
      case .missing(let part): run.record(part)
      case .exception(let exception), .thrown(let exception): run.record(exception)
      case .failed(let failure): if let exception = failure.exception { run.record(exception) }
      case .begun, .log, .message: break
      }
    }
  }

  func workerEnded(_ pages: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {}

  func answer(
    _ question: PageQuestion, _ payload: [UInt8], of page: UInt64,
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async {
    await question.answer(
      payload, storage: self, send, load: { try await load($0, payload, send) },
      bundle: { text in
        guard let url = PageURL(text), let bytes = try await release.content(at: url) else {
          throw DescribedError("the release has no bundle \(text.quotedForMessage)")
        }
        try await relay(Body(bytes), send) { .bundle(hasMore: $0) }
      }, reason: \.sentence)
  }

  func value(for key: String) -> String? { state.storage.withLock { $0[key] } }

  func removeValue(for key: String) -> Bool { state.storage.withLock { $0.removeValue(forKey: key) } != nil }

  func keys() -> [String] { state.storage.withLock { $0.keys.sorted() } }

  func setValue(_ value: String, for key: String) throws {
    let count = value.utf8.count
    guard count + key.utf8.count <= Self.valueLimit else {
      throw DescribedError("the value is not stored: it has \(count) bytes, and the limit is \(Self.valueLimit)")
    }
    try state.storage.withLock { values in
      guard values.count < Self.keyLimit || values[key] != nil else {
        throw DescribedError("the value is not stored: there are \(Self.keyLimit) values, which is the limit")
      }
      values[key] = value
    }
  }

  private func load(
    _ question: ResourceQuestion, _ body: [UInt8],
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async throws {
    guard var request = question.request(body: body) else { throw LoadError.invalidReference(question.reference) }
    request.base = request.base ?? url
    let reference = SchemeRelativeRewriter().rewrite(request.reference, for: request)
    let isData = reference.lowercased().hasPrefix("data:")
    if !isData, let target = request.base?.resolving(reference) ?? PageURL(reference) {
      let name = Self.name(request.method.rawValue, release.name(of: target) ?? target.text)
      state.run.withLock { if $0.asked.count < GateRun.listLimit { $0.asked.insert(name) } }
      if request.method == .get, let bytes = try await release.content(at: target) {
        let fields: HTTPFields = [.contentType: MediaType.of(path: target.text)]
        let resource = Resource(
          relayed: HTTPResponse(status: .ok, headerFields: fields), url: target, bytes: bytes, source: .network,
          age: nil, generation: 1)
        return try await relay(resource.body, send) { .update(RelayedUpdate(.network, resource, hasMore: $0)) }
      }
    }
    guard let loader else { throw LoadError.invalidReference(question.reference) }
    try await PageAnswer.send(loader.updates(for: request), limit: Self.bodyLimit, longAnswers: longAnswers, send)
  }

  private func relay(
    _ body: Body, _ send: @Sendable (PageAnswer, [UInt8]) async throws -> Void, _ head: (_ hasMore: Bool) -> PageAnswer
  ) async throws {
    try await PageAnswer.send(body, limit: Self.bodyLimit, longAnswers: longAnswers, send, head)
  }
}
