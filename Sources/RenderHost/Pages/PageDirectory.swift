import Foundation
import Logging
import PageKit
import Synchronization

/// The pages that are open: opens them in workers, finds them by their ids, and opens them again where their worker
/// had to go.
actor PageDirectory {
  struct Configuration: Sendable {
    var pages = 200
    var idle: Duration = .seconds(300)
    var pageTime: Duration = .seconds(5)
    var now: @Sendable () -> ContinuousClock.Instant = { .now }
  }

  nonisolated let pool: WorkerPool
  nonisolated let answers: HostAnswers
  nonisolated let numbers = PageNumbers()
  nonisolated let record: HostRecord
  private let locations: PublicLocations
  let configuration: Configuration
  private let logger: Logger
  var pages: [String: OpenedPage] = [:]
  /// Pages that are being opened, and those that are shown once.
  private var openingCount = 0
  /// How often pages were opened or shown, by the bundles' paths in the release.
  private(set) var opens: [String: Int] = [:]

  /// How often an opening is begun that another page has ended.
  private static let tries = 3
  /// Bundles whose openings are counted.
  private static let opensLimit = 10_000

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

  /// How many pages are being opened, and the phases of those that are open.
  var phases: (opening: Int, open: [String]) { (openingCount, pages.values.map(\.phase)) }

  // MARK: Opening

  /// What is to be run, found and permitted.
  private struct Target {
    let url: PageURL
    /// How it is called outside.
    let location: String
    let bundle: LoadedBundle
    let digest: SHA256Digest
    let bundleTime: Double
  }

  /// - Throws: ``PageFailure``.
  func open(_ request: PageRequest, view: PageView?) async throws -> (OpenedPage, [UInt8]) {
    try await counted(request) {
      try await failing(request.url ?? request.name ?? "") {
        let target = try await find(request)
        let log = EventLog()
        let opening = opening(request, target, view, isOnce: false)
        let (number, reply, seen) = try await run(target, opening, log)
        let page = OpenedPage(
          id: Self.newID(), number: number, url: target.url, name: request.name, opening: opening,
          location: target.location, bundle: target.bundle, digest: target.digest, log: log, reply: reply,
          bundleTime: target.bundleTime, opened: configuration.now(), lastAsked: configuration.now())
        pages[page.id] = page
        note(page)
        return (page, seen)
      }
    }
  }

  /// Opens a page, looks at it, and lets it go.
  ///
  /// - Throws: ``PageFailure``.
  func render(_ request: PageRequest, view: PageView) async throws -> (OpenedPage, [UInt8]) {
    try await counted(request) {
      try await failing(request.url ?? request.name ?? "") {
        let target = try await find(request)
        let opening = opening(request, target, view, isOnce: true)
        let (number, reply, seen) = try await run(target, opening, nil)
        numbers.remove(number)
        let page = OpenedPage(
          id: "", number: number, url: target.url, name: request.name, opening: opening,
          location: target.location, bundle: target.bundle, digest: target.digest, log: EventLog(), reply: reply,
          bundleTime: target.bundleTime, opened: configuration.now(), lastAsked: configuration.now())
        note(page)
        return (page, seen)
      }
    }
  }

  private func note(_ page: OpenedPage) {
    record.opened(page)
    guard let path = locations.entry(of: page.url)?.path else { return }
    if opens.count >= Self.opensLimit, opens[path] == nil { opens = [:] }
    opens[path, default: 0] += 1
  }

  private func counted<Result>(_ request: PageRequest, _ body: () async throws -> Result) async throws -> Result {
    do {
      guard count < configuration.pages else { throw PageFailure.full(limit: configuration.pages) }
      openingCount += 1
      defer { openingCount -= 1 }
      return try await body()
    } catch let failure as PageFailure {
      record.failed(failure, opening: locations.location(of: request))
      throw failure
    }
  }

  private func failing<Result>(_ url: String, _ body: () async throws -> Result) async throws -> Result {
    do { return try await body() } catch { throw PageFailure(error, url: url) }
  }

  private func find(_ request: PageRequest) async throws -> Target {
    let began = ContinuousClock.now
    let url: PageURL
    if let name = request.name {
      url = try locations.source(named: name)
    } else if let served = request.url.flatMap({ locations.source(of: $0) }) {
      url = served
    } else {
      guard let asked = request.url.flatMap({ PageURL($0) }) else {
        throw PageFailure.badRequest("“\(request.url ?? "")” is no http or https URL")
      }
      url = asked
      try answers.access.check(url)
    }
    let bundle = try await answers.host.bundles.load(url)
    record.loaded(bundle)
    let digest = try ContentDigests(of: bundle.bytes).sha256
    let location = locations.location(of: url)
    return Target(
      url: url, location: location, bundle: bundle, digest: digest, bundleTime: (ContinuousClock.now - began).seconds)
  }

  private func opening(_ request: PageRequest, _ target: Target, _ view: PageView?, isOnce: Bool) -> PageOpening {
    let limit = configuration.pageTime.seconds
    let settle = min(max(request.settle ?? (isOnce ? limit : 0), 0), limit)
    var options = request.options ?? PageRequestOptions()
    options.bundleUrl = options.bundleUrl ?? target.location
    return PageOpening(
      url: target.url.text, options: options, data: request.data ?? .object([:]),
      settle: settle, view: view, isOnce: isOnce)
  }

  private func run(
    _ target: Target, _ opening: PageOpening, _ log: EventLog?
  ) async throws -> (UInt64, PageReply, [UInt8]) {
    var tries = 0
    while true {
      let number = numbers.add(target.url, location: target.location, log)
      do {
        let (reply, seen) = try await pool.open(
          number, opening, target.bundle.bytes, target.digest, location: target.location)
        return (number, reply, seen)
      } catch {
        numbers.remove(number)
        tries += 1
        if case WorkerError.ended(_, isCulprit: false) = error, tries < Self.tries { continue }
        throw error
      }
    }
  }

  private static func newID() -> String {
    (0..<12).map { _ in String("abcdefghijklmnopqrstuvwxyz0123456789".randomElement() ?? "a") }.joined()
  }

  // MARK: Asking

  /// - Throws: ``PageFailure``.
  func page(_ id: String) throws -> OpenedPage {
    guard let page = pages[id] else { throw PageFailure.unknownPage(id) }
    pages[id]?.lastAsked = configuration.now()
    return page
  }

  /// Does something to a page; with what is to be seen of it then.
  ///
  /// - Throws: ``PageFailure``.
  func call(
    _ id: String, _ message: @escaping @Sendable (_ call: UInt64, _ page: UInt64) -> HostMessage
  ) async throws -> (OpenedPage, [UInt8], newErrors: Int) {
    let location = try page(id).location
    return try await failing(location) {
      try await pages[id]?.reopening?.value
      let number = try page(id).number
      do {
        let (reply, seen) = try await pool.call(number) { message($0, number) }
        guard pages[id]?.number == number else { throw PageFault.unknownPage }
        pages[id]?.reply = reply
        return (try page(id), seen, reply.newErrors)
      } catch PageFault.unknownPage {
        throw PageFailure.unknownPage(id)
      } catch let fault as PageFault {
        // It cannot go on: a script that was stopped is in no state that means anything.
        if case .stopped(let reason) = fault { await fail(id, "killed", reason) }
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
    page.log.append(event, JSONValue.object(reason.map { ["reason": .string($0)] } ?? [:]).text)
    page.log.end()
    await pool.close(page.number)
  }

  private func fail(_ id: String, _ event: String, _ reason: String) async {
    if let page = pages[id] { record.failures.append(.page, reason, of: page.location) }
    await end(id, event, reason)
  }

  /// Ends pages that nobody has asked for, and nobody watches.
  func expire(at now: ContinuousClock.Instant) async {
    for page in pages.values where page.lastAsked + configuration.idle <= now {
      if page.log.watchers > 0 { continue }
      await end(page.id, "expired", "nobody has asked for it for \(configuration.idle.inSeconds)")
    }
  }

  // MARK: Workers that end

  func replace(_ ended: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {
    for page in pages.values where ended.contains(page.number) {
      if reason == .shutdown {
        await end(page.id, "killed", "\(reason)")
      } else if culprits.contains(page.number) {
        await fail(page.id, "killed", "\(reason)")
      } else {
        reopen(page, reason)
      }
    }
  }

  private func reopen(_ page: OpenedPage, _ reason: KillReason) {
    numbers.remove(page.number)
    page.log.append("reopened", JSONValue.object(["reason": .string("\(reason)")]).text)
    pages[page.id]?.reopened += 1
    pages[page.id]?.reopening = Task { [weak self] in try await self?.openAgain(page) }
  }

  private func openAgain(_ page: OpenedPage) async throws {
    let target = Target(url: page.url, location: page.location, bundle: page.bundle, digest: page.digest, bundleTime: 0)
    do {
      let (number, reply, _) = try await run(target, page.opening, page.log)
      guard pages[page.id] != nil else { return await pool.close(number) }
      pages[page.id]?.number = number
      pages[page.id]?.reply = reply
      pages[page.id]?.reopening = nil
    } catch {
      let failure = PageFailure(error, url: page.location)
      logger.warning("a page could not be opened again: \(failure)", metadata: ["page": "\(page.id)"])
      await fail(page.id, "failed", "\(failure)")
      throw failure
    }
  }
}

extension PageDirectory: WorkerPoolDelegate {
  nonisolated func receive(event name: String, _ details: [UInt8], of page: UInt64) {
    guard let (_, location, log) = numbers[page] else { return }
    log?.append(name, details)
    guard name == "exception", let fault = try? JSONDecoder().decode(ScriptFault.self, from: Data(details)) else { return }
    record.threw(fault, in: location)
  }

  nonisolated func answer(
    _ question: PageQuestion, _ payload: [UInt8], of page: UInt64,
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async {
    if let url = numbers[page]?.url {
      await answers.answer(question, payload, of: url, send)
    } else {
      try? await send(.failed("the page has ended"), [])
    }
  }

  nonisolated func workerEnded(_ pages: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {
    await replace(pages, culprits: culprits, reason)
  }
}
