import Bundles
import Containers
import CoreMetrics
import Fleet
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import PageKit
import Releases
import ServerKit
import ServiceLifecycle
import Synchronization

/// Takes the reports of installs, and halts the release that fails on too many of them.
final class ReportDesk: Service {
  private let keys: [VerificationKey]
  private let bound: HaltBound
  private let publisher: ReleasePublisher
  private let record: HostRecord
  /// Counts reports for all hosts; `nil` for a host of its own.
  private let fleet: FleetMember?
  private let logger: Logger
  /// The reports of each install since a time, so that one that is broken or hostile costs little.
  private let recent = Mutex(LRUDictionary<String, (since: ContinuousClock.Instant, count: Int)>())
  /// The reports that are checked and counted at once. The clients of the others take turns.
  private let gate = FairGate<String>(width: 8, limit: 256)
  /// The attempts to publish a halt, and the end of the last one. Reports do not wait for them.
  private let halting = Mutex<(isRunning: Bool, last: ContinuousClock.Instant?)>((false, nil))
  /// The attempts to publish a halt, until the host ends.
  private let tasks = RunningTasks()

  /// The reports that an install may send in each ``period``. An app sends one for each release.
  static let limit = 10
  private static let period: Duration = .seconds(600)
  /// The installs that are remembered; those that have reported least recently are forgotten.
  private static let installLimit = 10_000
  /// The least time between two attempts: each may run a command.
  private static let pause: Duration = .seconds(5)

  /// - Returns: `nil` if the settings name no key for reports.
  /// - Throws: ``SettingsError/combination(_:)`` if a key cannot be used.
  init?(
    _ settings: Settings, publisher: ReleasePublisher, record: HostRecord, fleet: FleetMember? = nil, logger: Logger
  ) throws {
    keys = try settings.reportVerificationKeys()
    guard !keys.isEmpty else { return nil }
    bound = settings.haltBound
    (self.publisher, self.record, self.fleet, self.logger) = (publisher, record, fleet, logger)
  }

  /// Adds the route to which installs report if a release is good or bad on them.
  func add(to router: some RouterMethods<HostRequestContext>) {
    router.post("/reports") { [self] request, context in
      let body = try await request.bytes(upTo: ReleaseReport.byteLimit)
      let isCounted = try await accept(body, authorization: request.headers[.authorization], from: context.client)
      return Response.json(["counted": isCounted], status: .accepted)
    }
  }

  /// Counts a report.
  ///
  /// - Parameters:
  ///   - body: the bytes of a ``ReleaseReport``.
  ///   - authorization: the value of the field `Authorization`.
  ///   - client: the clients of one address take turns with those of others.
  /// - Returns: `false` for a report that changes nothing: of another release, or of an install that was counted.
  /// - Throws: ``ServedError``, ``StoreError``.
  func accept(_ body: [UInt8], authorization: String?, from client: String) async throws -> Bool {
    do {
      let checked = try await checked(body, authorization: authorization, from: client)
      // Reports that wait for the journal at the same time go into it together: no turn is taken for that.
      if let report = checked.forFleet { try await tell(report) }
      return checked.isNews
    } catch is FairGate<String>.Refusal {
      count("refused")
      throw ServedError(
        status: .serviceUnavailable, reason: "too many reports wait: send it again later", fields: [.retryAfter: "60"])
    } catch let error as ServedError {
      count("refused")
      throw error
    }
  }

  /// Checks a report, and counts it unless there is a fleet that counts it.
  private func checked(
    _ body: [UInt8], authorization: String?, from client: String
  ) async throws -> (isNews: Bool, forFleet: FleetOrder.Report?) {
    let pass = try await gate.enter(for: client, until: .now + .seconds(5))
    defer { gate.leave(pass) }
    let install = try install(authorization)
    if let wait = wait(for: install, at: .now) {
      throw ServedError(
        status: .tooManyRequests,
        reason: "this install has sent \(Self.limit) reports in \(Self.period.inSeconds)",
        fields: [.retryAfter: "\(max(1, wait.components.seconds))"])
    }
    let report: ReleaseReport
    do {
      report = try ReleaseReport(reading: body)
    } catch {
      throw ServedError(status: .badRequest, reason: error.sentence)
    }
    guard let current = publisher.feed.current, current.identity == report.contents else {
      count("other")
      return (false, nil)
    }
    var forFleet: FleetOrder.Report?
    if fleet == nil {
      let one = FleetOrder.Report(release: report.contents.hex, isBad: report.standing == .bad, install: install)
      guard try await countAll([one]).isNews else { return (false, nil) }
    } else {
      let name = try SHA256Digest(of: Array(install.utf8)).hex
      forFleet = FleetOrder.Report(
        release: report.contents.hex, isBad: report.standing == .bad, install: String(name.prefix(32)))
    }
    if report.standing == .bad {
      logger.info(
        "The release is bad on an install",
        metadata: ["release": "\(current.name)", "reason": "\((report.failure?.description ?? "").quotedForMessage)"])
    }
    return (true, forFleet)
  }

  /// Returns the time until an install may report again; `nil` if it may now, which counts.
  private func wait(for install: String, at now: ContinuousClock.Instant) -> Duration? {
    recent.withLock { installs in
      var entry = installs.use(install) ?? (now, 0)
      if now - entry.since >= Self.period { entry = (now, 0) }
      guard entry.count < Self.limit else { return Self.period - (now - entry.since) }
      entry.count += 1
      installs.set(entry, for: install)
      if installs.count > Self.installLimit, let oldest = installs.leastRecent { _ = installs.remove(oldest) }
      return nil
    }
  }

  /// Counts reports, each install once for a release.
  ///
  /// - Returns: `isNews` is `false` if all were counted before; `halted` are the releases that are halted now.
  private func countAll(_ reports: [FleetOrder.Report]) async throws -> (isNews: Bool, halted: [SHA256Digest]) {
    let counted = reports.compactMap { report in
      SHA256Digest(hex: report.release).map { release in
        BundleStore.CountedReport(release: release, standing: report.isBad ? .bad : .good, install: report.install)
      }
    }
    let outcome = try await publisher.host.store.count(counted, bound: bound)
    for (report, isNew) in zip(counted, outcome.isNew) { count(isNew ? report.standing.rawValue : "repeated") }
    let halted = outcome.tallies.filter { $0.value.haltedAt != nil }
    // The one that reaches the bound, and later ones if the halt could not be published then.
    if let current = publisher.feed.current, !current.isHalted, let tally = halted[current.identity] {
      halt(current, tally)
    }
    return (outcome.isNew.contains(true), Array(halted.keys))
  }

  // MARK: Fleets

  private func tell(_ report: FleetOrder.Report) async throws {
    do {
      try await fleet?.report(report)
    } catch let error as JournalError {
      throw ServedError.fleetNotTold(error, fields: [.retryAfter: "60"])
    }
  }

  /// Counts reports that installs have given to some host of the fleet.
  ///
  /// - Returns: ``FleetOrder/Report/release`` of the releases that are halted now.
  /// - Throws: ``StoreError``.
  func count(_ reports: [FleetOrder.Report]) async throws -> [String] {
    try await countAll(reports).halted.map(\.hex)
  }

  /// Returns the install that a request's token is of.
  private func install(_ authorization: String?) throws -> String {
    func refusal(_ reason: String, _ challenge: String) -> ServedError {
      ServedError(status: .unauthorized, reason: reason, fields: [.wwwAuthenticate: challenge])
    }
    let parts = authorization?.split(separator: " ", maxSplits: 1) ?? []
    // RFC 9110 §11.1: the scheme's case does not matter.
    guard parts.count == 2, parts[0].lowercased() == "bearer" else {
      throw refusal("a report needs a token of its install: Authorization: Bearer TOKEN", "Bearer")
    }
    do {
      return try ReportToken(String(parts[1]), signedBy: keys, at: .now).install
    } catch {
      throw refusal(error.sentence, #"Bearer error="invalid_token""#)
    }
  }

  /// Publishes the halt of a release, in the background.
  private func halt(_ release: ServedRelease, _ tally: ReportTally) {
    if let reason = publisher.reasonNotToHalt(release) {
      return publisher.halts.tell(
        .halt, "release \(release.name) fails, and cannot be halted: \(reason)")
    }
    let begins = halting.withLock { halting in
      guard !halting.isRunning, halting.last.map({ .now - $0 >= Self.pause }) ?? true else { return false }
      halting.isRunning = true
      return true
    }
    guard begins else { return }
    tasks.start { [publisher, self] in
      do {
        try await publisher.renew()
      } catch is CancellationError where Task.isCancelled {
        // The halt is in the store, and is published at the next start.
      } catch {
        publisher.halts.tell(.halt, "release \(release.name) fails, and is not halted yet: \(error.sentence)")
      }
      halting.withLock { $0 = (false, .now) }
    }
  }

  /// Waits for the end of the host, and then ends the attempts to publish a halt.
  func run() async throws {
    try? await gracefulShutdown()
    await tasks.shutDown()
  }

  private func count(_ result: String) { record.metrics.reports(result).increment() }
}
