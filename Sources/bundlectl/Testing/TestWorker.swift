import Foundation
import PageKit
import PageWorkers

/// A confined process that runs the pages of tests, one after the other.
actor TestWorker {
  /// The setting that a process is started with. Tests of another one get another process.
  struct Setting: Hashable, Sendable {
    var framework: String?
    var prelude: String?
    var device: PictureOptions.Screen?

    /// - Throws: ``DescribedError`` if a file of the test cannot be read.
    init(_ test: PageTest) throws {
      func text(_ path: String?) throws -> String? {
        try path.map { String(decoding: try InputFile.bytes($0, limit: Self.scriptLimit), as: UTF8.self) }
      }
      framework = try text(test.framework)
      prelude = try text(test.prelude)
      device = test.device
    }

    private static let scriptLimit = Int(ManifestLimits.standard.fileBytes)
  }

  /// The state of a page after a step.
  struct State: Sendable {
    var tree = ElementTree()
    /// The reason why the page could not open, or was stopped.
    var failure: PageFailureNotice?
    /// The errors of the script during the step.
    var exceptions: [ScriptException] = []
    var requests = 0
    var responseBytes: Int64 = 0
    /// The processor time of the page's process while the page opened; `nil` after other steps.
    var openingTime: Duration?
  }

  /// The longest time until a process is ready.
  private static let startLimit: Duration = .seconds(60)
  /// Timers that are due within this time belong to a step.
  private static let timers = PendingWork.timerLimit.seconds
  /// After a step that moves the time, only work that the script has put off to its next turn belongs to it.
  private static let nextTurn = 0.001

  private let executable: String
  /// The time of a test, and so of one entry into a script.
  private let timeout: Duration
  let memory: Int64 = 512 << 20
  private var pool: WorkerPool?
  private var running: Task<Void, Never>?
  private var setting: Setting?
  private var answers: TestAnswers?
  private var page: UInt64 = 0
  /// The elements of the page.
  private var elements = FollowedElements()

  /// - Parameter executable: the program that is started as `… worker`; by default this one.
  init(timeout: Duration, executable: String = "/proc/self/exe") {
    (self.timeout, self.executable) = (timeout, executable)
  }

  /// Opens the page of a test, after ``prepare(for:)``.
  ///
  /// - Throws: ``PageFault``, ``WorkerError``.
  func open(_ test: PageTest, at url: PageURL, _ bytes: [UInt8], _ answers: TestAnswers) async throws -> State {
    guard let pool else { throw PageFault.unknownPage }
    self.answers = answers
    await pool.attach(answers)
    page += 1
    elements = FollowedElements()
    let opening = PageOpening(
      url: url.text, options: PageRequestOptions(), data: test.data.json, wait: wait(timers: Self.timers), view: nil,
      isOnce: false, reportsCommands: test.budgets.contains { $0.kind == .commands }, determinism: test.determinism)
    let before = await pool.processorTimes()
    let reply = try await pool.open(
      page, opening, bytes, ContentDigests(of: bytes).sha256, for: PageCaller(client: "", hasInput: true),
      location: url.text)
    let after = await pool.processorTimes()
    var state = try await state(reply)
    if let worker = await pool.home(of: page), let start = before[worker], let end = after[worker] {
      state.openingTime = end - start
    }
    return state
  }

  /// Fires an event of an element.
  ///
  /// - Throws: ``PageFault``, ``WorkerError``.
  func fire(_ type: String, on ref: String, _ event: ScriptValue, changes: ScriptValue = .undefined) async throws
    -> State
  {
    let firing = PageFiring(
      ref: ref, type: type, event: event.json, changes: changes.isNothing ? nil : changes.json)
    return try await call(timers: Self.timers) { .fire(call: $0, page: $1, firing, $2, view: nil) }
  }

  /// Lets the page's time pass.
  ///
  /// - Throws: ``PageFault``, ``WorkerError``.
  func advance(by time: Duration) async throws -> State {
    let seconds = time.seconds
    return try await call(timers: Self.nextTurn) { .advance(call: $0, page: $1, seconds: seconds, $2, view: nil) }
  }

  /// Ends the page after all that it has said has arrived.
  func close() async {
    guard let pool else { return }
    _ = try? await pool.end(page)
    answers = nil
  }

  /// Ends the process, and with it the call of a page.
  func stop() async {
    let ended = running
    (pool, running, setting) = (nil, nil, nil)
    ended?.cancel()
    await ended?.value
  }

  private func call(
    timers: Double, _ message: @escaping @Sendable (UInt64, UInt64, PageWait) -> HostMessage
  ) async throws -> State {
    guard let pool else { throw PageFault.unknownPage }
    let (page, wait) = (page, wait(timers: timers))
    return try await state(pool.call(page, extra: wait.settle) { message($0, page, wait) })
  }

  /// The test's own end comes before that of a wait.
  private func wait(timers: Double) -> PageWait { PageWait(settle: timeout.seconds * 2, timers: timers) }

  private func state(_ reply: WorkerLink.Reply) async throws -> State {
    let (reply, bytes) = reply
    let record = try await ElementRecord(reading: bytes)
    try elements.follow(record)
    var state = State(tree: elements.tree, failure: reply.failure)
    state.exceptions = Array(reply.errors.suffix(max(0, reply.newErrors)))
    (state.requests, state.responseBytes) = (reply.requests, reply.bytes)
    return state
  }

  /// Starts a process for pages of a setting, unless that of the former test is there and fits.
  ///
  /// - Throws: ``DescribedError`` if none starts, or none with the required confinement.
  func prepare(for setting: Setting) async throws {
    if let pool, self.setting == setting, await pool.lastEnd == nil { return }
    await stop()
    let pool = WorkerPool(quietly: configuration(setting))
    running = Task { try? await pool.run() }
    (self.pool, self.setting) = (pool, setting)
    do {
      let report = try await pool.ready(within: Self.startLimit)
      if let lack = report.lack { throw DescribedError("the page's process \(lack)") }
    } catch WorkerError.cannotStart(let reason) {
      throw DescribedError("no process can be started for the page: \(reason)")
    }
  }

  private func configuration(_ setting: Setting) -> WorkerPool.Configuration {
    var configuration = WorkerPool.Configuration(
      WorkerLimits(time: timeout, memory: memory), executable: executable)
    configuration.questions = 10_000
    // A bundle that was stopped in one test runs in the next one.
    configuration.barring.strikes = .max
    if let text = setting.framework {
      for type in [BundleType.vue, .rax, .weex] { configuration.frameworks[type] = text }
    }
    configuration.frameworkAdvice = { _ in "name its file with \"framework\" in the test" }
    if let text = setting.prelude {
      for type in BundleType.allCases { configuration.preludes[type] = text }
    }
    configuration.preludeAdvice = { _ in "name its file with \"prelude\" in the test" }
    var members: [String: ScriptValue] = [:]
    if let device = setting.device {
      members = [
        "deviceWidth": .number(Double(device.width) * device.scale),
        "deviceHeight": .number(Double(device.height) * device.scale), "scale": .number(device.scale),
      ]
    }
    configuration.environment = DefaultConfiguration(members).environment
    return configuration
  }
}
