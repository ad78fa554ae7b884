import Foundation
import Logging
import PageKit
import PageWorkers
import Synchronization

/// A page whose script runs in its own confined process, which ends with the page.
actor WorkerPage: RenderedPage {
  private let request: Rendering.Request
  private let host: PageHost
  private let answers: WorkerAnswers
  let pool: WorkerPool
  private let limits: WorkerLimits
  private var running: Task<Void, Never>?
  private var state = PageLook()
  private var elements = FollowedElements()
  private var bytes: [UInt8]?
  /// `true` if the worker has the page.
  private var isThere = false
  /// The time until the worker began with the page.
  private var offset = Duration.zero
  private var bundleTime = Duration.zero

  /// The worker's number of the page.
  private static let number: UInt64 = 1
  /// The longest time until a worker is ready.
  private static let startLimit: Duration = .seconds(60)

  /// - Parameter executable: the program that is started as `… worker`; by default this one.
  init(
    _ request: Rendering.Request, on host: PageHost, _ listener: NoticeListener, _ limits: WorkerLimits,
    executable: String = "/proc/self/exe"
  ) {
    (self.request, self.host, self.limits) = (request, host, limits)
    answers = WorkerAnswers(host, listener, recording: request.recording)
    var configuration = WorkerPool.Configuration(limits, executable: executable)
    configuration.draws = request.picture != nil
    configuration.questions = 10_000
    configuration.frameworks = host.configuration.pages.scripts.frameworks
    configuration.frameworkAdvice = host.configuration.pages.scripts.frameworkAdvice
    configuration.preludes = host.configuration.pages.scripts.preludes
    configuration.preludeAdvice = host.configuration.pages.scripts.preludeAdvice
    configuration.socketAdvice = "--in-process has them"
    configuration.environment = host.configuration.pages.device.environment
    configuration.nodeEnvironment = host.configuration.pages.scripts.nodeEnvironment
    configuration.refreshesAlways = host.configuration.resources.behavior.refresh == .always
    // The worker's end is reported as an error of the page.
    pool = WorkerPool(quietly: configuration)
  }

  func open() async throws -> RenderFault? {
    let began = ContinuousClock.now
    await pool.attach(answers)
    running = Task { [pool] in try? await pool.run() }
    let bytes: [UInt8]
    do {
      bytes = try await load()
    } catch {
      state.phase = .failed
      return error as? RenderFault ?? RenderFault(error.message, url: request.url.text)
    }
    self.bytes = bytes
    answers.show(state.bundle?.view)
    bundleTime = .now - began
    try await waitUntilReady()
    offset = .now - began
    let opening = PageOpening(
      url: request.url.text, options: PageRequestOptions(), data: request.data.json, wait: wait, view: nil,
      isOnce: false, reportsCommands: request.keepsCommands, determinism: request.determinism,
      isRecorded: request.recording != nil)
    let fault = await doing {
      let digest = try ContentDigests(of: bytes).sha256
      let caller = PageCaller(client: "", hasInput: true)
      return try await self.pool.open(
        Self.number, opening, bytes, digest, for: caller, location: self.request.url.text)
    }
    isThere = fault == nil
    return fault
  }

  /// - Throws: ``RenderFault``, and the errors of loading a bundle.
  private func load() async throws -> [UInt8] {
    if request.isFile, let path = request.url.filePath { return try request.fileBytes(at: path) }
    var options = OpenOptions()
    options.timeWaited = request.timeWaited
    let bundle = try await host.bundles.load(request.url, options: options)
    state.bundle = bundle
    return bundle.bytes
  }

  /// - Throws: ``DescribedError`` if no worker starts, or none with the required confinement.
  private func waitUntilReady() async throws {
    do {
      let report = try await pool.ready(within: Self.startLimit)
      if let refusal = Self.refusal(report) { throw refusal }
    } catch WorkerError.cannotStart(let reason) {
      throw DescribedError("no process can be started for the page: \(reason); \(Self.advice)")
    }
  }

  private static let advice = "--in-process runs the page without one"

  /// The reason why a worker must not run pages; `nil` if its confinement suffices.
  static func refusal(_ report: ConfinementReport) -> DescribedError? {
    report.lack.map { DescribedError("the page's process \($0); \(advice)") }
  }

  private var wait: PageWait { PageWait(settle: request.wait.seconds, timers: request.timers.seconds) }

  /// Sends a call to the page, and records its state.
  private func doing(_ body: () async throws -> (PageReply, [UInt8])) async -> RenderFault? {
    do {
      let (reply, tree) = try await body()
      try await record(reply, tree)
      return nil
    } catch PageFault.refused(let reason), PageFault.cannotDraw(let reason), PageFault.noView(let reason),
      PageFault.slowView(let reason)
    {
      return RenderFault(reason)
    } catch {
      state.phase = .failed
      return await fault(error)
    }
  }

  /// A call that meets no page any more meets the end of its worker.
  private func fault(_ error: any Error) async -> RenderFault {
    if case PageFault.unknownPage = error, let reason = await pool.lastEnd { return limits.fault(reason, request.url) }
    return limits.fault(error, request.url)
  }

  private func record(_ reply: PageReply, _ tree: [UInt8]) async throws {
    state.phase = PagePhase(rawValue: reply.phase) ?? .failed
    state.failure = reply.failure
    state.hasRun = state.hasRun || state.phase == .live || state.phase == .empty
    (state.messages, state.pending) = (reply.messages, reply.pending)
    var timings = PageTimings()
    timings.bundleReady = bundleTime
    func stage(_ name: String) -> Duration? { reply.timings[name].map { offset + .seconds($0) } }
    (timings.createInstance, timings.firstElement) = (stage("createInstance"), stage("firstElement"))
    (timings.evaluated, timings.createFinish) = (stage("evaluated"), stage("createFinish"))
    timings.interaction = stage("interaction")
    (timings.requests, timings.hits, timings.bytes) = (reply.requests, reply.hits, reply.bytes)
    state.timings = timings
    let record = try await ElementRecord(reading: tree)
    try elements.follow(record)
  }

  func fire(_ event: FiredEvent) async -> RenderFault? {
    if let fault = event.fault(in: elements.tree) { return RenderFault(fault) }
    let (wait, number) = (wait, Self.number)
    return await doing {
      try await pool.call(number, extra: wait.settle) {
        .fire(
          call: $0, page: number,
          PageFiring(
            ref: event.ref, type: event.type, event: event.details.json,
            changes: event.changes.isNothing ? nil : event.changes.json), wait, view: nil)
      }
    }
  }

  func look() -> PageLook {
    var look = state
    look.tree = elements.tree
    return look
  }

  func html(title: String, embedding: Bool) async throws -> String {
    var view = PageView(format: .html)
    (view.title, view.isEmbedding, view.limit) = (title, embedding, 64 << 20)
    do {
      let number = Self.number
      let (_, html) = try await pool.call(number, extra: 60) { [view] in .show(call: $0, page: number, view) }
      return String(decoding: html, as: UTF8.self)
    } catch {
      throw await fault(error)
    }
  }

  func picture(_ options: PictureOptions) async throws -> [UInt8] {
    do {
      let number = Self.number
      return try await pool.call(number, extra: 60) { .show(call: $0, page: number, PageView(options)) }.1
    } catch {
      throw await fault(error)
    }
  }

  func source() -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

  func end() async -> RenderFault? {
    var fault: RenderFault?
    if isThere {
      do {
        _ = try await pool.end(Self.number)
      } catch {
        // The worker was killed after its last answer; its notices may be lost.
        fault = await self.fault(error)
      }
    }
    running?.cancel()
    await running?.value
    return fault
  }
}

/// The limits of a page's process.
struct WorkerLimits: Hashable, Sendable {
  /// The time of one entry into a script.
  var time: Duration
  /// Resident bytes of the process; `nil` for a page in this process, which has no limit.
  var memory: Int64?

  /// The reason why a page was stopped, with the limit and its option.
  func fault(_ reason: KillReason, _ url: PageURL) -> RenderFault {
    let page = url.readable
    let text =
      switch reason {
      case .time:
        "\(page) was stopped: a script of it ran for longer than \(time.inSeconds), which is the limit (--page-time)"
      case .layout:
        "\(page) was stopped: its elements were changed and laid out for longer than \(max(time, .seconds(5)).inSeconds), which is the limit (--page-time, or 5 s if that is less)"
      case .memory:
        "\(page) was stopped: it exceeded the memory limit of its process, \((memory ?? 0) >> 20) MiB (--memory)"
      case .silence:
        "\(page) was stopped: its process did not answer, long after the limit of \(time.inSeconds) for a script (--page-time)"
      case .malformed, .ended, .shutdown: "\(page) was stopped: \(reason)"
      }
    return RenderFault(text, url: url.text)
  }

  /// The text of a worker's error.
  func fault(_ error: any Error, _ url: PageURL) -> RenderFault {
    switch error {
    case PageFault.stopped(let reason), WorkerError.ended(let reason, _): return fault(reason, url)
    case PageFault.script(let thrown): return RenderFault(thrown)
    case PageFault.refused(let reason), PageFault.busy(let reason), PageFault.cannotDraw(let reason),
      PageFault.noView(let reason), PageFault.slowView(let reason):
      return RenderFault(reason)
    case PageFault.unknownPage: return RenderFault("\(url.readable): the page has ended", url: url.text)
    case WorkerError.noMemory:
      return RenderFault(
        "\(url.readable) cannot be opened: the memory limit of its process, \((memory ?? 0) >> 20) MiB, is too low (--memory)",
        url: url.text)
    default: return RenderFault("\(url.readable) cannot be opened: \(error.message)", url: url.text)
    }
  }
}

extension WorkerPool.Configuration {
  /// One process for the pages of a command, which starts no further one when it has ended.
  ///
  /// - Parameter executable: the program that is started as `… worker`.
  init(_ limits: WorkerLimits, executable: String) {
    self.init()
    workers = 1
    keepsWorkers = false
    pageTime = limits.time
    if let memory = limits.memory { self.memory = memory }
    program = "bundlectl"
    self.executable = executable
    readyEngines = 0
  }
}

extension WorkerPool {
  /// A pool without a log: a command reports the end of its process as an error of the page.
  init(quietly configuration: Configuration) {
    self.init(configuration, logger: Logger(label: "bundlectl") { _ in SwiftLogNoOpLogHandler() })
  }
}

/// Answers the questions of a page in a worker from the host's loader and stores, as for a page in this process.
final class WorkerAnswers: WorkerPoolDelegate {
  private let host: PageHost
  private let listener: NoticeListener
  /// The file to record the page into; `nil` for none.
  private let recording: RecordingFile?
  /// The release of the page.
  private let view = Mutex<ReleaseView?>(nil)
  private let longAnswers = FairGate<Int>(width: 1)

  init(_ host: PageHost, _ listener: NoticeListener, recording: RecordingFile? = nil) {
    (self.host, self.listener, self.recording) = (host, listener, recording)
  }

  /// The release for the next page.
  func show(_ view: ReleaseView?) { self.view.withLock { $0 = view } }

  func receive(event name: String, _ details: [UInt8], of page: UInt64) {
    if name == PageNotice.recording { recording?.append(details) }
    if let notice = PageNotice(event: name, details) { listener.receive(notice) }
  }

  func workerEnded(_ pages: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {}

  func answer(
    _ question: PageQuestion, _ payload: [UInt8], of page: UInt64,
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async {
    await question.answer(
      payload, storage: storage, send, load: { try await load($0, payload, send) },
      bundle: { text in
        guard let url = PageURL(text) else { throw PageError.invalidURL(text) }
        let bundle = try await host.bundles.load(url, options: OpenOptions(view: view.withLock(\.self)))
        try await PageAnswer.send(Body(bundle.bytes), limit: .max, longAnswers: longAnswers, send) {
          .bundle(hasMore: $0)
        }
      }, reason: \.message)
  }

  private var storage: any StorageProviding {
    host.pages.registry.snapshot().handlers.storage.values(of: host.resources.partition)
  }

  private func load(
    _ question: ResourceQuestion, _ body: [UInt8],
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async throws {
    guard var request = question.request(body: body) else { throw LoadError.invalidReference(question.reference) }
    request.snapshot = view.withLock(\.self)
    try await PageAnswer.send(host.resources.updates(for: request), limit: .max, longAnswers: longAnswers, send)
  }
}
