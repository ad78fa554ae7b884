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
  private let names: ReleaseNames
  private let locations: PublicLocations?
  private let note: AnswerNote
  let configuration: Configuration
  private let logger: Logger
  var pages: [String: OpenedPage] = [:]
  /// Pages that are being opened, and those that are shown once.
  private var openingCount = 0
  private(set) var openedCount = 0

  /// How often an opening is begun that another page has ended.
  private static let tries = 3

  init(
    _ answers: HostAnswers, pool: WorkerPool, configuration: Configuration, locations: PublicLocations? = nil,
    note: @escaping AnswerNote = { _, _ in }, logger: Logger
  ) {
    self.answers = answers
    self.locations = locations
    self.note = note
    self.pool = pool
    self.configuration = configuration
    self.logger = logger
    names = ReleaseNames(answers.host)
  }

  var count: Int { pages.count + openingCount }

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
    try await counted {
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
        openedCount += 1
        return (page, seen)
      }
    }
  }

  /// Opens a page, looks at it, and lets it go.
  ///
  /// - Throws: ``PageFailure``.
  func render(_ request: PageRequest, view: PageView) async throws -> (OpenedPage, [UInt8]) {
    try await counted {
      try await failing(request.url ?? request.name ?? "") {
        let target = try await find(request)
        let opening = opening(request, target, view, isOnce: true)
        let (number, reply, seen) = try await run(target, opening, nil)
        numbers.remove(number)
        openedCount += 1
        let page = OpenedPage(
          id: "", number: number, url: target.url, name: request.name, opening: opening,
          location: target.location, bundle: target.bundle, digest: target.digest, log: EventLog(), reply: reply,
          bundleTime: target.bundleTime, opened: configuration.now(), lastAsked: configuration.now())
        return (page, seen)
      }
    }
  }

  private func counted<Result>(_ body: () async throws -> Result) async throws -> Result {
    guard count < configuration.pages else { throw PageFailure.full(limit: configuration.pages) }
    openingCount += 1
    defer { openingCount -= 1 }
    return try await body()
  }

  private func failing<Result>(_ url: String, _ body: () async throws -> Result) async throws -> Result {
    do { return try await body() } catch { throw PageFailure(error, url: url) }
  }

  private func find(_ request: PageRequest) async throws -> Target {
    let began = ContinuousClock.now
    let url: PageURL
    if let name = request.name {
      url = try await names.url(of: name)
    } else if let served = request.url.flatMap({ locations?.source(of: $0) }) {
      url = served
    } else {
      guard let asked = request.url.flatMap({ PageURL($0) }) else {
        throw PageFailure.badRequest("“\(request.url ?? "")” is no http or https URL")
      }
      url = asked
      try answers.access.check(url)
    }
    let bundle = try await answers.host.bundles.load(url)
    note("bundle", bundle.source == .store ? "disk" : bundle.source.rawValue)
    let digest = try ContentDigests(of: bundle.bytes).sha256
    let location = locations?.location(of: url) ?? url.text
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
      let number = numbers.add(target.url, log)
      do {
        let (reply, seen) = try await pool.open(number, opening, target.bundle.bytes, target.digest)
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
    let url = try page(id).url.text
    return try await failing(url) {
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
        if case .stopped(let reason) = fault { await end(id, "killed", reason) }
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
      if culprits.contains(page.number) || reason == .shutdown {
        await end(page.id, "killed", "\(reason)")
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
      let failure = PageFailure(error, url: page.url.text)
      logger.warning("a page could not be opened again: \(failure)", metadata: ["page": "\(page.id)"])
      await end(page.id, "failed", "\(failure)")
      throw failure
    }
  }
}

extension PageDirectory: WorkerPoolDelegate {
  nonisolated func receive(event name: String, _ details: [UInt8], of page: UInt64) {
    numbers[page]?.log?.append(name, details)
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
