import Foundation
import HTTPCaching
import HTTPTransport
import Logging
import Synchronization

/// The duties of a host in its fleet.
package struct FleetHost: Sendable {
  /// Carries out an order, and returns the number of responses that were purged. An order may be carried out again after
  /// a crash. If this throws, it is tried again.
  package var carryOut: @Sendable (FleetOrder.Task) async throws -> Int
  /// Counts reports of installs, and returns ``FleetOrder/Report/release`` of those among the releases that are halted
  /// now. Reports may be counted again after a crash. If this throws, it is tried again.
  package var count: @Sendable ([FleetOrder.Report]) async throws -> [String]
  /// Returns when what was carried out is on the disk.
  package var synchronize: @Sendable () async throws -> Void
  /// The journal can be reached again: so may the origins, and a publisher may not have been able to announce a release.
  package var reconnect: @Sendable () -> Void
  /// Describes the host for the others.
  package var report: @Sendable () async -> FleetMessage.Report

  package init(
    carryOut: @escaping @Sendable (FleetOrder.Task) async throws -> Int,
    count: @escaping @Sendable ([FleetOrder.Report]) async throws -> [String],
    synchronize: @escaping @Sendable () async throws -> Void, reconnect: @escaping @Sendable () -> Void,
    report: @escaping @Sendable () async -> FleetMessage.Report
  ) {
    (self.carryOut, self.count, self.synchronize) = (carryOut, count, synchronize)
    (self.reconnect, self.report) = (reconnect, report)
  }
}

/// One host of a fleet: carries out the orders of the journal in their order, gives orders to all, and knows how far it
/// has come.
package final class FleetMember: Sendable {
  package struct Configuration: Sendable {
    package var name: FleetName
    /// The file that keeps the host's position in the journal.
    package var positionFile: String
    /// `true` if stored responses are served as usual while the host is cut off.
    package var servesWhenCutOff = false
    /// The longest time until an order must be in the journal: its servers may be choosing a leader.
    package var patience: Duration = .seconds(5)
    package var now: @Sendable () -> FleetTime = { .now }

    package init(name: FleetName, positionFile: String) { (self.name, self.positionFile) = (name, positionFile) }
  }

  /// An order that this host has given.
  private struct Given {
    /// The responses that were purged, by the hosts that have confirmed, each with the journal that it follows; that is `nil`
    /// for a host of the version before.
    var purged: [String: (count: Int, journal: Int64?)] = [:]
    /// The journal in which this host has found the order.
    var journal: Int64?
    /// Tells of every confirmation.
    let news: AsyncStream<Void>.Continuation
  }

  /// The subjects of problems; each has at most one.
  private enum Subject: CaseIterable {
    case journal, messages, order, position, name, reports, halts
  }

  private struct State {
    var peers = FleetPeers()
    var given: [String: Given] = [:]
    var phase: FleetPosition.Phase = .cutOff
    /// The latest orders of this host, the newest first.
    var receipts: [FleetStatus.Order] = []
    /// The present problems. Each was logged when it began.
    var problems: [Subject: String] = [:]
    /// ``FleetTime/uptime`` when another host under the same name was heard of.
    var namesake: Int64?
    /// The content of the position's file.
    var written: PositionFile?
    /// The releases that this host has halted for all.
    var halted: Set<String> = []
  }

  private let configuration: Configuration
  private let journal: any FleetJournal
  private let logger: Logger
  private let process = UUID().uuidString
  private let orders: LogFollower
  private let reports: LogFollower
  private let batches: ReportBatches
  private let state: Mutex<State>
  /// Wakes the watch over the journal.
  private let wake = Signal()

  private static let interval: Duration = .seconds(1)
  /// The time between two questions about reports.
  private static let reportsInterval: Duration = .seconds(5)
  /// The seconds by which the file's time of the clock is ahead while the host runs, so that it is seldom written.
  private static let clockLead: Int64 = 60
  private static let receiptLimit = 20
  /// The releases that are remembered to have been halted for all; of others the journal is asked.
  private static let haltedLimit = 64
  /// The seconds after which another host under the same name counts as gone.
  private static let namesakeMemory: Int64 = 60

  package init(_ configuration: Configuration, journal: any FleetJournal, logger: Logger) {
    (self.configuration, self.journal, self.logger) = (configuration, journal, logger)
    let saved = PositionFile(at: configuration.positionFile)
    let latest = saved?.clock.map { HTTPDate(secondsSinceEpoch: $0) }
    orders = LogFollower(
      .orders, of: journal, from: FleetPosition(saved?.orders, latest: latest), now: configuration.now)
    reports = LogFollower(.reports, of: journal, from: FleetPosition(saved?.reports), now: configuration.now)
    batches = ReportBatches(journal: journal, patience: configuration.patience)
    state = Mutex(State(written: saved))
  }

  package var name: String { configuration.name.text }

  /// The stored responses that may be used at a time.
  package func storedUse(at now: HTTPDate) -> StoredUse {
    orders.storedUse(
      at: FleetTime(clock: now, uptime: configuration.now().uptime),
      servesWhenCutOff: configuration.servesWhenCutOff)
  }

  // MARK: Running

  /// Runs until it is cancelled.
  ///
  /// - Parameter host: carries out the orders.
  package func run(_ host: FleetHost) async {
    // A host without a position counts the reports that come from now on.
    await askForReports()
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.watch(host) }
      group.addTask { await self.watchReports() }
      group.addTask { await self.followOrders(host) }
      group.addTask { await self.followReports(host) }
      group.addTask { await self.noticeConnections(host) }
      group.addTask { await self.listen() }
      group.addTask { await self.beat(host) }
    }
    await save(host, isLast: true)
    var message = message()
    message.isLeaving = true
    try? await journal.send(message.bytes, to: nil)
  }

  /// Asks the journal how far it is, every second.
  private func watch(_ host: FleetHost) async {
    while !Task.isCancelled {
      let seen = wake.count
      noticePhase(host)
      do {
        try await orders.ask()
        if orders.position.phase(at: configuration.now()) == .current { clear(.journal) }
      } catch {
        tell(.journal, error.sentence)
      }
      noticePhase(host)
      await save(host)
      _ = try? await within(Self.interval) { [wake] in await wake.wait(beyond: seen) }
    }
  }

  private func watchReports() async {
    while !Task.isCancelled {
      let seen = wake.count
      _ = try? await within(Self.reportsInterval) { [wake] in await wake.wait(beyond: seen) }
      await askForReports()
    }
  }

  private func askForReports() async {
    do {
      try await reports.ask()
      clear(.reports)
    } catch {
      tell(.reports, "reports of installs cannot be counted now: \(error.sentence)")
    }
  }

  private func noticeConnections(_ host: FleetHost) async {
    for await isConnected in journal.connections {
      // What was announced meanwhile may not be in the journal.
      if isConnected { host.reconnect() }
      wake.send()
    }
  }

  private func followOrders(_ host: FleetHost) async {
    await orders.run { entry -> (FleetOrder, Int)? in
      let order = FleetOrder(reading: entry.bytes)
      if order.task == .unknown {
        self.logger.warning(
          "An order of the fleet is unknown to this version", metadata: ["sequence": "\(entry.sequence)"])
      }
      let purged = await self.persistently(.order, "order \(entry.sequence) of the fleet cannot be carried out yet") {
        try await host.carryOut(order.task)
      }
      guard let purged else { return nil }
      if case .halt(let halt) = order.task {
        if !halt.isHalted { self.state.withLock { _ = $0.halted.remove(halt.release) } }
        await self.keep(halt)
      }
      return (order, purged)
    } whenApplied: { _, outcome in
      await self.confirm(outcome.0, outcome.1)
    } whenFailed: {
      self.tell(.journal, "\($0)")
    }
  }

  private func followReports(_ host: FleetHost) async {
    await reports.run { entry -> [String]? in
      await self.persistently(.reports, "reports \(entry.sequence) of the fleet cannot be counted yet") {
        try await host.count([FleetOrder.Report](readingEntry: entry.bytes))
      }
    } whenApplied: { _, halted in
      for release in halted { await self.haltForAll(release) }
    } whenFailed: {
      self.tell(.reports, "\($0)")
    }
  }

  /// Tries until it succeeds, since what follows must not come before it.
  ///
  /// - Returns: `nil` if the task was cancelled before.
  private func persistently<Value: Sendable>(
    _ subject: Subject, _ problem: String, _ work: () async throws -> Value
  ) async -> Value? {
    while !Task.isCancelled {
      do {
        let value = try await work()
        clear(subject)
        return value
      } catch {
        tell(subject, "\(problem): \(error.sentence)")
        try? await Task.sleep(for: Self.interval)
      }
    }
    return nil
  }

  private func confirm(_ order: FleetOrder, _ purged: Int) async {
    guard let giver = order.host, FleetName(giver) != nil else { return }
    var message = message()
    guard giver != name else {
      state.withLock { $0.given[order.id]?.journal = message.journal }
      return record(.init(order: order.id, purged: purged), of: name, in: message.journal)
    }
    message.confirmation = FleetMessage.Confirmation(order: order.id, purged: purged)
    try? await journal.send(message.bytes, to: giver)
  }

  private func record(_ confirmation: FleetMessage.Confirmation, of host: String, in journal: Int64?) {
    state.withLock { state in
      state.given[confirmation.order]?.purged[host] = (confirmation.purged, journal)
      return state.given[confirmation.order]?.news
    }?.yield()
  }

  private func noticePhase(_ host: FleetHost) {
    let now = configuration.now()
    let phase = orders.position.phase(at: now)
    let former = state.withLock { state in
      defer { state.phase = phase }
      return state.phase
    }
    guard former != phase else { return }
    if former == .cutOff { host.reconnect() }
    switch phase {
    case .current: logger.notice("The host has all orders of the fleet")
    case .behind: logger.notice("The host catches up with the orders of the fleet")
    case .cutOff: logger.warning("The host is cut off from the orders of the fleet")
    }
  }

  /// Logs a problem, unless its subject had one already.
  private func tell(_ subject: Subject, _ problem: String) {
    let isNews = state.withLock { $0.problems.updateValue(problem, forKey: subject) == nil }
    if isNews { logger.warning("\(problem)") }
  }

  private func clear(_ subject: Subject) { state.withLock { _ = $0.problems.removeValue(forKey: subject) } }

  /// Writes the position if it has changed.
  ///
  /// - Parameter isLast: `true` if nothing is stored after this.
  private func save(_ host: FleetHost, isLast: Bool = false) async {
    let position = orders.position
    guard let saved = position.saved else { return }
    let written = state.withLock(\.written)
    var content = PositionFile(orders: saved, reports: reports.position.saved, clock: written?.clock)
    if let latest = position.latestClock?.secondsSinceEpoch {
      let isNear = written?.clock.map { latest >= $0 &- Self.clockLead / 2 } ?? true
      if isLast { content.clock = latest } else if isNear { content.clock = latest &+ Self.clockLead }
    }
    guard content != written else { return }
    do {
      try await host.synchronize()
      try content.write(to: configuration.positionFile)
      state.withLock { [content] in $0.written = content }
      clear(.position)
    } catch {
      tell(.position, "the position in the fleet's journal cannot be kept: \(error.sentence)")
    }
  }

  // MARK: The other hosts

  private func message() -> FleetMessage {
    let saved = orders.position.saved
    return FleetMessage(host: name, process: process, sequence: saved?.applied ?? 0, journal: saved?.journal)
  }

  private func beat(_ host: FleetHost) async {
    while !Task.isCancelled {
      var message = message()
      message.report = await host.report()
      let now = configuration.now().uptime
      let period = state.withLock { $0.peers.period(at: now) }
      try? await journal.send(message.bytes, to: nil)
      forgetNamesake(at: now)
      try? await Task.sleep(for: .seconds(period))
    }
  }

  private func listen() async {
    while !Task.isCancelled {
      do {
        for await bytes in try await journal.messages() {
          clear(.messages)
          if let message = FleetMessage(reading: bytes) { hear(message) }
        }
      } catch {
        tell(.messages, error.sentence)
      }
      try? await Task.sleep(for: Self.interval)
    }
  }

  private func forgetNamesake(at now: Int64) {
    let isGone = state.withLock { state in state.namesake.map { now - $0 > Self.namesakeMemory } ?? false }
    guard isGone else { return }
    state.withLock { $0.namesake = nil }
    clear(.name)
  }

  private func hear(_ message: FleetMessage) {
    let now = configuration.now().uptime
    if message.host == name {
      guard message.process != process, message.isLeaving != true else {
        state.withLock { _ = $0.peers.hear(message, at: now) }
        return
      }
      state.withLock { $0.namesake = now }
      tell(.name, "another host of the fleet is called \(name) too: give each a name of its own with --fleet-host")
    }
    let isKnown = state.withLock { state in
      // A confirmation is no sign of life: whoever has only sent one is not known.
      if message.confirmation == nil { state.peers.hear(message, at: now) }
      return state.peers.know(message)
    }
    if let confirmation = message.confirmation, isKnown, message.host != name {
      record(confirmation, of: message.host, in: message.journal)
    }
  }

  // MARK: Giving orders

  /// Gives an order to all hosts.
  ///
  /// - Parameter wait: how long to wait until all have carried it out.
  /// - Throws: ``JournalError`` if it is not in the journal for certain; it may be carried out even so.
  package func give(_ task: FleetOrder.Task, waiting wait: Duration) async throws -> FleetStatus.Order {
    let order = FleetOrder(task, from: name, id: UUID().uuidString)
    let (news, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    state.withLock { $0.given[order.id] = Given(news: continuation) }
    defer { state.withLock { _ = $0.given.removeValue(forKey: order.id) } }
    let sequence = try await JournalError.retryingWhileAway(for: configuration.patience) {
      try await journal.append(order.bytes, id: order.id, to: .orders)
    }
    let text = task.summary
    _ = try await within(wait) {
      if self.receipt(of: order.id, text, sequence).missing.isEmpty { return }
      for await _ in news where self.receipt(of: order.id, text, sequence).missing.isEmpty { return }
    }
    let receipt = receipt(of: order.id, text, sequence)
    state.withLock { state in
      state.receipts.insert(receipt, at: 0)
      if state.receipts.count > Self.receiptLimit { state.receipts.removeLast() }
    }
    return receipt
  }

  private func receipt(of id: String, _ text: String, _ sequence: UInt64) -> FleetStatus.Order {
    let now = configuration.now()
    return state.withLock { state in
      let given = state.given[id]
      let journal = given?.journal
      // Whoever follows another journal has found another order there.
      let counted = (given?.purged ?? [:]).filter { _, confirmed in
        confirmed.journal == nil || journal == nil || confirmed.journal == journal
      }
      let missing = Set(state.peers.present(at: now.uptime).map(\.name) + [name]).subtracting(counted.keys)
      return FleetStatus.Order(
        sequence: sequence, text: text, at: now.clock.secondsSinceEpoch,
        purged: counted.values.reduce(0) { $0 &+ $1.count }, confirmed: counted.keys.sorted(),
        missing: missing.sorted())
    }
  }

  // MARK: Reports and halts

  /// Tells all hosts of the report of an install.
  ///
  /// - Throws: ``JournalError`` if it is not in the journal for certain; it may be counted even so.
  package func report(_ report: FleetOrder.Report) async throws { try await batches.append(report) }

  /// The reports that wait until the one before them is in the journal.
  package var waitingReports: Int { batches.waiting }

  /// Halts a release on all hosts, or lifts that: also on those that join later.
  ///
  /// - Throws: ``JournalError`` if the order is not in the journal for certain; it may be carried out even so.
  package func setHalted(_ halt: FleetOrder.Halt, waiting wait: Duration) async throws {
    var halt = halt
    halt.isKept = await keep(halt) ? true : nil
    _ = try await give(.halt(halt), waiting: wait)
  }

  /// - Parameter release: ``FleetOrder/Halt/release``.
  /// - Returns: `true` if a release is halted by what the journal keeps.
  /// - Throws: ``JournalError``.
  package func isHalted(_ release: String) async throws -> Bool {
    guard let value = try await journal.value(of: Self.key(release)) else { return false }
    return Self.isHalted(value)
  }

  private static func key(_ release: String) -> String { "halt_\(release)" }

  private static func isHalted(_ value: (bytes: [UInt8], revision: UInt64)) -> Bool {
    guard value.bytes.count <= FleetMessage.byteLimit, case .object(let members)? = try? JSONValue(reading: value.bytes)
    else { return false }
    return members["isHalted"] == .bool(true)
  }

  /// Has the journal keep the state of a release for hosts that join.
  ///
  /// - Returns: `false` if it does not. The order counts even so: it is the emergency brake.
  @discardableResult
  private func keep(_ halt: FleetOrder.Halt) async -> Bool {
    guard halt.isKept != true else { return true }
    guard halt.release.utf8.count == 64, halt.release.allSatisfy(\.isHexDigit) else { return false }
    let (key, state) = (Self.key(halt.release), JSONValue.object(["isHalted": .bool(halt.isHalted)]).text)
    do {
      // Of those who write it at the same time one succeeds each time.
      for _ in 0..<8 {
        let known = try await journal.value(of: key)
        if known.map(Self.isHalted) ?? false == halt.isHalted {
          clear(.halts)
          return true
        }
        if try await journal.replace(key, known?.revision, with: state) != nil {
          clear(.halts)
          return true
        }
      }
      tell(.halts, "the halt of a release is not kept for hosts that join: others write it all the time")
    } catch {
      tell(.halts, "the halt of a release is not kept for hosts that join: \(error.sentence)")
    }
    return false
  }

  /// Halts a release for all that fails on too many installs by this host's count.
  private func haltForAll(_ release: String) async {
    guard state.withLock({ !$0.halted.contains(release) }) else { return }
    do {
      if try await !isHalted(release) {
        try await setHalted(FleetOrder.Halt(release: release, isHalted: true), waiting: .zero)
      }
      state.withLock { state in
        if state.halted.count >= Self.haltedLimit { state.halted = [] }
        state.halted.insert(release)
      }
    } catch {
      // The next report tries it again.
      tell(.halts, "release \(release.prefix(12)) is halted by this host alone: \(error.sentence)")
    }
  }

  // MARK: Status

  package var status: FleetStatus {
    let now = configuration.now()
    let position = orders.position
    return state.withLock { state in
      let applied = position.applied ?? 0
      return FleetStatus(
        host: name, phase: position.phase(at: now), sequence: applied, behind: max(applied, position.last) - applied,
        problems: Subject.allCases.compactMap { state.problems[$0] },
        peers: state.peers.present(at: now.uptime).map { peer in
          FleetStatus.Peer(
            name: peer.name, sequence: peer.sequence, silent: max(0, now.uptime - peer.heard), report: peer.report)
        },
        orders: state.receipts)
    }
  }
}
