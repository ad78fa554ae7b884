import Foundation
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
    var now: @Sendable () -> ContinuousClock.Instant = { .now }
  }

  nonisolated let pool: WorkerPool
  nonisolated let answers: HostAnswers
  nonisolated let numbers = PageNumbers()
  nonisolated let record: HostRecord
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
  func page(_ id: String) throws -> OpenedPage {
    guard let page = pages[id] else { throw PageFailure.unknownPage(id) }
    pages[id]?.lastAsked = configuration.now()
    return page
  }

  /// Sends a message to a page, and returns the page and its view after it.
  ///
  /// - Parameters:
  ///   - client: the client whose turn is used.
  ///   - extra: the seconds that it may take beyond the time limit of a page.
  /// - Throws: ``PageFailure``.
  func call(
    _ id: String, for client: String, extra: Double = 0,
    _ message: @escaping @Sendable (_ call: UInt64, _ page: UInt64) -> HostMessage
  ) async throws -> (OpenedPage, [UInt8], newErrors: Int) {
    let location = try page(id).location
    return try await failing(location) {
      try await pages[id]?.reopening?.value
      let number = try page(id).number
      do {
        let (reply, seen) = try await pool.admission.admitted(client) {
          try await pool.call(number, extra: extra) { message($0, number) }
        }
        guard pages[id]?.number == number else { throw PageFault.unknownPage }
        pages[id]?.reply = reply
        return (try page(id), seen, reply.newErrors)
      } catch PageFault.unknownPage {
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
    page.log.append(event, JSONValue.object(reason.map { ["reason": .string($0)] } ?? [:]).text)
    page.log.end()
    await pool.close(page.number)
  }

  func fail(_ id: String, _ reason: String) async {
    if let page = pages[id] { record.failures.append(.page, reason, of: page.location) }
    await end(id, "failed", reason)
  }

  func kill(_ id: String, _ reason: KillReason) async {
    if let page = pages[id] { record.killed(reason, page: page.location) }
    await end(id, "killed", "\(reason)")
  }

  /// Closes pages that were not requested for the idle time and have no readers.
  func expire(at now: ContinuousClock.Instant) async {
    for page in pages.values where page.lastAsked + configuration.idle <= now {
      if page.log.watchers > 0 { continue }
      await end(page.id, "expired", "it was not requested for \(configuration.idle.inSeconds)")
    }
  }
}
