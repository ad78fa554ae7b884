import Foundation
import LivePages
import Logging
import PageKit
import PageWorkers
import ServerKit
import Synchronization

/// The open pages: opens them in workers, finds them by their ids, and reopens them when their worker ends.
actor PageDirectory {
  struct Configuration: Sendable {
    var pages = 200
    var idle: Duration = .seconds(300)
    var pageTime: Duration = .seconds(5)
    /// `true` if the workers draw pages.
    var draws = false
    /// `true` if developer tools may attach to pages.
    var inspects = false
    /// The data of pages that are opened without any.
    var data: JSONValue = .object([:])
    /// For pages whose authors save them while they run; `nil` for others.
    var development: Development?
    /// Name what the readers of messages about limits can change.
    var hints = LimitHints()
    var now: @Sendable () -> ContinuousClock.Instant = { .now }
  }

  nonisolated let pool: WorkerPool
  nonisolated let answers: HostAnswers
  nonisolated let numbers = PageNumbers()
  nonisolated let record: HostRecord
  nonisolated let thumbnails = PageThumbnails()
  nonisolated let bodies = RecordedBodies()
  let locations: PublicLocations
  let configuration: Configuration
  let logger: Logger
  var pages: [String: OpenedPage] = [:]
  /// The number of pages that are being opened or shown once.
  var openingCount = 0
  /// The number of openings and views of pages, by the bundles' paths in the release.
  var opens: [String: Int] = [:]

  /// The number of attempts at an opening that fails because of another page.
  static let tries = 3
  /// The number of bundles whose openings are counted.
  static let opensLimit = 10_000

  init(
    _ answers: HostAnswers, pool: WorkerPool, configuration: Configuration, locations: PublicLocations,
    record: HostRecord, logger: Logger
  ) {
    self.answers = answers
    self.locations = locations
    self.record = record
    self.pool = pool
    self.configuration = configuration
    self.logger = logger
  }

  var count: Int { pages.count + openingCount }

  /// The number of pages being opened, and the phases of open ones.
  var phases: (opening: Int, open: [String]) { (openingCount, pages.values.map(\.phase)) }

  /// - Throws: ``PageFailure``.
  func page(_ id: String, as purpose: Purpose = .view) throws -> OpenedPage {
    guard let page = pages[id] else { throw PageFailure.unknownPage(id) }
    if purpose != .glance { pages[id]?.lastAsked = configuration.now() }
    return page
  }

  /// The purpose of a call of a page.
  enum Purpose {
    /// A dashboard shows the page: this neither keeps it open, nor is it what a client does with it.
    case glance
    case view
    /// Its script is entered.
    case entry
    /// Its script is entered by what its user does.
    case input

    var isEntry: Bool { self == .entry || self == .input }
  }

  /// Sends a message to a page, and returns the page and its view after it.
  ///
  /// - Parameters:
  ///   - client: the client whose turn is used.
  ///   - purpose: the purpose of the call.
  ///   - extra: the seconds that it may take beyond the time limit of a page.
  ///   - run: the run of the page's script that is meant; `nil` for the present one.
  /// - Throws: ``PageFailure``.
  func call(
    _ id: String, for client: String, as purpose: Purpose = .view, extra: Double = 0, run: UInt64? = nil,
    _ message: @escaping @Sendable (_ call: UInt64, _ page: UInt64) -> HostMessage
  ) async throws -> (OpenedPage, [UInt8], newErrors: Int) {
    let location = try page(id, as: purpose).location
    return try await failing(location) {
      try await pages[id]?.reopening?.value
      // What a user does while the page's file is saved is done with the new run.
      if purpose.isEntry { await pages[id]?.reloads.gate?.value }
      let number = try page(id, as: purpose).number
      guard run == nil || run == number else { throw PageFailure.earlierRun }
      if purpose == .input { numbers[number]?.questions.goOn() }
      if purpose.isEntry { pages[id]?.reloads.entering += 1 }
      defer {
        if purpose.isEntry {
          pages[id]?.entries += 1
          pages[id]?.reloads.entering -= 1
        }
      }
      do {
        let (reply, seen) = try await pool.admission.admitted(client) {
          try await pool.call(number, extra: extra, isInput: purpose != .glance) { message($0, number) }
        }
        guard pages[id]?.number == number else { throw PageFault.unknownPage }
        pages[id]?.reply = reply
        return (try page(id, as: purpose), seen, reply.newErrors)
      } catch PageFault.unknownPage {
        // What only looks at a page that was reloaded meanwhile looks at the new one.
        if !purpose.isEntry, let page = pages[id], page.number != number {
          return try await call(id, for: client, as: purpose, extra: extra, message)
        }
        if run != nil, let page = pages[id], page.number != number { throw PageFailure.earlierRun }
        throw PageFailure.unknownPage(id)
      } catch let fault as PageFault {
        // The page cannot continue: the state of a stopped script is undefined.
        if case .stopped(let reason) = fault { await kill(id, reason) }
        throw fault
      }
    }
  }

  /// - Throws: ``PageFailure``.
  func close(_ id: String) async throws {
    _ = try page(id)
    await end(id, "closed", nil)
  }

  func end(_ id: String, _ event: String, _ reason: String?) async {
    guard let page = pages.removeValue(forKey: id) else { return }
    page.reopening?.cancel()
    numbers.remove(page.number)
    thumbnails.remove(id)
    let details = JSONValue.object(reason.map { ["reason": .string($0)] } ?? [:]).text
    page.log.append(event, details)
    page.log.end()
    page.live.append(LiveEvent.ended, details)
    page.live.end()
    await close(run: page.number)
  }

  func fail(_ id: String, _ reason: String) async {
    if let page = pages[id] { record.failures.append(.page, reason, of: page.location) }
    await end(id, "failed", reason)
  }

  func kill(_ id: String, _ reason: KillReason) async {
    if let page = pages[id] { record.killed(reason, page: page.location) }
    if let page = pages[id], let development = configuration.development {
      // Its next save runs it again.
      pages[id]?.answers = numbers.remove(page.number)
      await close(run: page.number)
      pages[id]?.reloads.isStopped = true
      pages[id]?.reloads.fault = .ofSave
      return development.news(.failed(page, .killed(url: page.location, reason, configuration.hints), source: nil))
    }
    await end(id, "killed", reason.told(configuration.hints))
  }

  /// Closes pages that were not requested for the idle time and have no readers.
  func expire(at now: ContinuousClock.Instant) async {
    await unfollow(at: now)
    for page in pages.values where page.lastAsked + configuration.idle <= now {
      if page.log.watchers > 0 || page.live.watchers > 0 { continue }
      await end(page.id, "expired", "it was not requested for \(configuration.idle.inSeconds)")
    }
  }
}

extension PageDirectory {
  /// The number of pages of an ended worker that are reopened at the same time, so that other pages can continue.
  private static let reopenedAtOnce = 2
  /// The name under which reopened pages take turns with the clients.
  private static let reopeningClient = "reopened pages"

  func replace(_ ended: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {
    for number in ended {
      configuration.development?.recordings?.close(number, reason.told(configuration.hints))
    }
    var reopening: [Task<Void, any Error>] = []
    // The most recently used pages are reopened first.
    for page in pages.values.filter({ ended.contains($0.number) }).sorted(by: { $0.lastAsked > $1.lastAsked }) {
      if reason == .shutdown {
        await end(page.id, "killed", reason.told(configuration.hints))
      } else if culprits.contains(page.number) {
        await kill(page.id, reason)
      } else {
        let before = reopening.dropLast(Self.reopenedAtOnce - 1).last
        let hints = configuration.hints
        let told = culprits.isEmpty ? reason.told(hints) : WorkerError.ended(reason, .anotherPage).told(hints)
        reopening.append(reopen(page, told, after: before))
      }
    }
  }

  /// - Parameters:
  ///   - reason: what its readers are told.
  ///   - before: the task to await first; `nil` for none.
  private func reopen(
    _ page: OpenedPage, _ reason: String, after before: Task<Void, any Error>?
  ) -> Task<Void, any Error> {
    pages[page.id]?.answers = numbers.remove(page.number)
    let details = JSONValue.object(["reason": .string(reason)]).text
    for log in [page.log, page.live] { log.append("reopened", details) }
    pages[page.id]?.reopened += 1
    pages[page.id]?.isFollowed = false
    let task = Task { [weak self] in
      _ = await before?.result
      try await self?.openAgain(page)
    }
    pages[page.id]?.reopening = task
    return task
  }

  private func openAgain(_ page: OpenedPage) async throws {
    do {
      guard pages[page.id] != nil else { return }
      var (opening, answers) = (page.opening, [ViewerQuestions.Given]())
      if configuration.development?.keepsInputs == true {
        (opening.inputs, answers) = (page.inputs, pages[page.id]?.answers ?? [])
      }
      let (number, reply, _) = try await pool.admission.admitted(Self.reopeningClient, within: .seconds(120)) {
        [opening, answers] in try await run(page.target, opening, page.log, page.live, answers: answers)
      }
      // It may have been closed or reloaded meanwhile.
      guard pages[page.id]?.number == page.number else {
        pages[page.id]?.reopening = nil
        numbers.remove(number)
        return await close(run: number)
      }
      pages[page.id]?.number = number
      pages[page.id]?.reply = reply
      pages[page.id]?.reopening = nil
    } catch {
      let failure = PageFailure(error, url: page.location, configuration.hints)
      // A reload may have taken its place meanwhile.
      guard pages[page.id]?.number == page.number else { throw failure }
      logger.warning("a page could not be opened again: \(failure)", metadata: ["page": "\(page.id)"])
      await fail(page.id, "\(failure)")
      throw failure
    }
  }
}

extension PageDirectory: WorkerPoolDelegate {
  nonisolated func receive(event name: String, _ details: [UInt8], of page: UInt64) {
    if name == PageNotice.recording {
      guard let development = configuration.development,
        let news = development.recordings?.append(details, of: page)
      else { return }
      if let url = numbers[page]?.url { development.news(.recording(url, news)) }
      return
    }
    guard let known = numbers[page] else { return }
    if name == PageNotice.inside {
      guard let failure = try? JSONValue(reading: details).decoded(as: PageFailureNotice.self) else { return }
      let fault = failure.exception ?? ScriptException(message: locations.withoutPaths(failure.text))
      known.log?.append("exception", fault.json.text)
      configuration.development?.news(.threwInside(page, fault))
      return
    }
    if name == LiveEvent.embedded {
      known.log?.traffic?.log.append(name, details)
      return
    }
    // Readers of its events have the commands.
    if name == LiveEvent.patch {
      (known.live ?? known.patches)?.append(name, details)
      return
    }
    if let told = LiveEvent.told(of: name) { known.live?.append(told, details) }
    known.log?.append(name, details)
    guard name == "exception", let fault = try? JSONValue(reading: details).decoded(as: ScriptException.self) else {
      return
    }
    record.threw(fault, in: known.location)
    configuration.development?.news(.threwInside(page, fault))
  }

  nonisolated func answer(
    _ question: PageQuestion, _ payload: [UInt8], of page: UInt64,
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async {
    if let page = numbers[page] {
      await answers.answer(question, payload, of: page, send)
    } else {
      try? await send(.failed("the page has ended"), [])
    }
  }

  /// Pages of one origin hear each other, as they share their stored values.
  nonisolated func channelScope(of page: UInt64) -> String? { numbers[page].map { "\($0.url.origin)" } }

  nonisolated func workerEnded(_ pages: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {
    await replace(pages, culprits: culprits, reason)
  }
}

/// A page that callers have opened, as the daemon keeps it.
struct OpenedPage: Sendable {
  let id: String
  /// Its number in workers; it changes when the page is reopened.
  var number: UInt64
  let name: String?
  let opening: PageOpening
  /// The bytes that it was opened or reloaded with.
  private(set) var target: PageDirectory.Target
  let log: EventLog
  /// The patches for its viewers, and what else they are told.
  let live: EventLog
  /// `true` if its worker reports what changes in its HTML.
  var isFollowed = false
  /// `true` if it was opened for one viewer, and goes with it.
  var isViewers = false
  /// The overlays that developer tools show in its viewers; `nil` if they have never shown any.
  var overlays: PageOverlays?
  var reply: PageReply
  let opened: ContinuousClock.Instant
  var lastAsked: ContinuousClock.Instant
  /// The page is being reopened in another worker.
  var reopening: Task<Void, any Error>?
  var reopened = 0
  /// The number of calls that have entered its script.
  var entries = 0
  /// The inputs of its user, for the next runs of its script.
  var inputs: [PageInput] = []
  /// The answers to the questions of a run that was stopped or whose worker has ended, for the next one.
  var answers: [ViewerQuestions.Given] = []
  /// The reloads since its files were saved.
  var reloads = ReloadState()

  init(
    id: String, number: UInt64, name: String?, opening: PageOpening, target: PageDirectory.Target, log: EventLog,
    live: EventLog, reply: PageReply, opened: ContinuousClock.Instant
  ) {
    (self.id, self.number, self.name, self.opening, self.target) = (id, number, name, opening, target)
    (self.log, self.live, self.reply, self.opened, lastAsked) = (log, live, reply, opened, opened)
  }

  /// Records that the page was reopened with other bytes.
  mutating func reopen(with other: PageDirectory.Target, number: UInt64, _ reply: PageReply) {
    (self.number, self.reply) = (number, reply)
    (target.bundle, target.bundleTime) = (other.bundle, other.bundleTime)
  }

  /// The public URL.
  var location: String { target.location }

  /// Another text when the page may look different.
  var version: String { "\(number)-\(log.lastID)-\(entries)" }

  /// The phase that its worker reports; `reopened` while the page is being opened in another worker.
  var phase: String { reopening == nil ? reply.phase : "reopened" }

  /// The page's JSON without its tree.
  var json: [String: JSONValue] {
    var timings = reply.timings.mapValues { JSONValue.number($0) }
    timings["bundle"] = .number(target.bundleTime)
    var members: [String: JSONValue] = [
      "id": .string(id), "url": .string(location), "phase": .string(reply.phase),
      "elements": .integer(Int64(reply.elements)), "settled": .bool(reply.pending.isSettled),
      "pending": reply.pending.json, "messages": .array(reply.messages.map(\.json)),
      "source": .string(target.bundle.source.rawValue), "md5": .string(target.bundle.md5.hex),
      "timings": .object(timings),
      "requests": .object([
        "total": .integer(Int64(reply.requests)), "hits": .integer(Int64(reply.hits)), "bytes": .integer(reply.bytes),
      ]),
      "errors": .array(reply.errors.map(\.json)), "reopened": .integer(Int64(reopened)),
    ]
    if let name { members["name"] = .string(name) }
    return members
  }
}
