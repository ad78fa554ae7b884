import Foundation
import HTTPCaching
import HTTPTransport
import Logging
import Synchronization

/// One host of a fleet: carries out the orders of the journal in their order, gives orders to all, and knows how far it
/// has come.
package final class FleetMember: Sendable {
  package struct Configuration: Sendable {
    package var name: FleetName
    /// The file that keeps the host's position in the journal.
    package var positionFile: String
    /// `true` if what is stored answers as usual while the host is cut off.
    package var servesWhenCutOff = false
    /// The longest time until an order must be in the journal: its servers may be choosing a leader.
    package var patience: Duration = .seconds(5)
    package var now: @Sendable () -> HTTPDate = { .now }

    package init(name: FleetName, positionFile: String) { (self.name, self.positionFile) = (name, positionFile) }
  }

  /// The outcome of an order.
  package struct Receipt: Hashable, Sendable {
    package let sequence: UInt64
    /// The responses that were purged by the hosts that have confirmed.
    package let purged: Int
    /// The names of the hosts that have carried it out, and of those that have not yet.
    package let confirmed: [String]
    package let missing: [String]
  }

  /// An order that this host has given.
  private struct Given {
    var purged: [String: Int] = [:]
    /// Tells of every confirmation.
    let news: AsyncStream<Void>.Continuation
  }

  /// The subjects of problems; each has at most one.
  private enum Subject: CaseIterable {
    case journal, messages, order, position, name
  }

  private struct State {
    var position: FleetPosition
    var peers = FleetPeers()
    var given: [String: Given] = [:]
    var phase: FleetPosition.Phase = .cutOff
    /// The latest orders of this host, the newest first.
    var receipts: [(task: FleetOrder.Task, receipt: Receipt, at: HTTPDate)] = []
    /// The present problems. Each was logged when it began.
    var problems: [Subject: String] = [:]
    /// When another host under the same name was heard of.
    var namesake: HTTPDate?
    var following: Task<Void, Never>?
    /// The position that the file has.
    var written: FleetPosition.Saved?
  }

  private let configuration: Configuration
  private let journal: any FleetJournal
  private let file: PositionFile
  private let logger: Logger
  private let process = UUID().uuidString
  private let state: Mutex<State>
  /// Wakes the watch over the journal.
  private let wake = Signal()

  private static let interval: Duration = .seconds(1)
  private static let receiptLimit = 20
  /// The seconds after which another host under the same name counts as gone.
  private static let namesakeMemory: Int64 = 60

  package init(_ configuration: Configuration, journal: any FleetJournal, logger: Logger) {
    (self.configuration, self.journal, self.logger) = (configuration, journal, logger)
    file = PositionFile(path: configuration.positionFile)
    let saved = file.read()
    var state = State(position: FleetPosition(saved))
    state.written = saved
    self.state = Mutex(state)
  }

  package var name: String { configuration.name.text }

  /// The stored responses that may be used at a time.
  package func storedUse(at now: HTTPDate) -> StoredUse {
    state.withLock { $0.position.storedUse(at: now, servesWhenCutOff: configuration.servesWhenCutOff) }
  }

  // MARK: Running

  /// Runs until it is cancelled.
  ///
  /// - Parameter host: carries out the orders.
  package func run(_ host: any FleetHost) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.watch(host) }
      group.addTask { await self.noticeConnections(host) }
      group.addTask { await self.listen() }
      group.addTask { await self.beat(host) }
    }
    state.withLock(\.following)?.cancel()
    await save(host)
    var message = message()
    message.isLeaving = true
    try? await journal.send(message.bytes, to: nil)
  }

  /// Asks the journal how far it is, every second.
  private func watch(_ host: any FleetHost) async {
    while !Task.isCancelled {
      let seen = wake.count
      noticePhase(host)
      let asked = configuration.now()
      let applied = state.withLock(\.position.applied)
      do {
        let span = try await journal.span()
        let now = configuration.now()
        let step = state.withLock { $0.position.answered(span, asked: asked, appliedThen: applied, at: now) }
        if state.withLock({ $0.position.phase(at: now) }) == .current { clear(.journal) }
        if case .follow(let sequence) = step { follow(host, after: sequence) }
      } catch {
        tell(.journal, "\(error)")
      }
      noticePhase(host)
      await save(host)
      _ = try? await within(Self.interval) { [wake] in await wake.wait(beyond: seen) }
    }
  }

  private func noticeConnections(_ host: any FleetHost) async {
    for await isConnected in journal.connections {
      // What was announced meanwhile may not be in the journal.
      if isConnected { host.reconnect() }
      wake.send()
    }
  }

  private func follow(_ host: any FleetHost, after sequence: UInt64) {
    let task = Task {
      do {
        for await entry in try await journal.entries(after: sequence) { await take(entry, host) }
      } catch {
        tell(.journal, "\(error)")
      }
      if !Task.isCancelled { state.withLock { $0.position.stopFollowing() } }
    }
    let former = state.withLock { state in
      defer { state.following = task }
      return state.following
    }
    former?.cancel()
  }

  /// Carries out an entry; what fails is tried again until it succeeds, since what follows must not come before it.
  private func take(_ entry: JournalEntry, _ host: any FleetHost) async {
    let now = configuration.now()
    guard state.withLock({ $0.position.receives(entry.sequence, at: now) }) else { return }
    let order = FleetOrder(reading: entry.bytes)
    if order.task == .unknown {
      logger.warning("An order of the fleet is unknown to this version", metadata: ["sequence": "\(entry.sequence)"])
    }
    while !Task.isCancelled {
      do {
        let purged = try await host.carryOut(order.task)
        state.withLock { $0.position.apply(entry.sequence) }
        clear(.order)
        await confirm(order, purged)
        return
      } catch {
        tell(.order, "order \(entry.sequence) of the fleet cannot be carried out yet: \(error)")
        try? await Task.sleep(for: Self.interval)
      }
    }
  }

  private func confirm(_ order: FleetOrder, _ purged: Int) async {
    guard let giver = order.host, FleetName(giver) != nil else { return }
    let confirmation = FleetMessage.Confirmation(order: order.id, purged: purged)
    guard giver != name else { return note(confirmation, of: name) }
    var message = message()
    message.confirmation = confirmation
    try? await journal.send(message.bytes, to: giver)
  }

  private func note(_ confirmation: FleetMessage.Confirmation, of host: String) {
    state.withLock { state in
      state.given[confirmation.order]?.purged[host] = confirmation.purged
      return state.given[confirmation.order]?.news
    }?.yield()
  }

  private func noticePhase(_ host: any FleetHost) {
    let now = configuration.now()
    let (former, phase) = state.withLock { state in
      let (former, phase) = (state.phase, state.position.phase(at: now))
      state.phase = phase
      return (former, phase)
    }
    guard former != phase else { return }
    if former == .cutOff { host.reconnect() }
    switch phase {
    case .current: logger.notice("The host has all orders of the fleet")
    case .behind: logger.notice("The host catches up with the orders of the fleet")
    case .cutOff: logger.warning("The host is cut off from the orders of the fleet")
    }
  }

  /// Logs what is wrong, unless something was wrong with the subject already.
  private func tell(_ subject: Subject, _ problem: String) {
    let isNews = state.withLock { $0.problems.updateValue(problem, forKey: subject) == nil }
    if isNews { logger.warning("\(problem)") }
  }

  private func clear(_ subject: Subject) { state.withLock { _ = $0.problems.removeValue(forKey: subject) } }

  private func save(_ host: any FleetHost) async {
    guard let saved = state.withLock({ $0.position.saved != $0.written ? $0.position.saved : nil }) else { return }
    do {
      try await host.settle()
      try file.write(saved)
      state.withLock { $0.written = saved }
      clear(.position)
    } catch {
      tell(.position, "the position in the fleet's journal cannot be kept: \(error)")
    }
  }

  // MARK: The other hosts

  private func message() -> FleetMessage {
    FleetMessage(host: name, process: process, sequence: state.withLock { $0.position.applied ?? 0 })
  }

  private func beat(_ host: any FleetHost) async {
    while !Task.isCancelled {
      var message = message()
      message.report = await host.report()
      let now = configuration.now()
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
        tell(.messages, "\(error)")
      }
      try? await Task.sleep(for: Self.interval)
    }
  }

  private func forgetNamesake(at now: HTTPDate) {
    let isGone = state.withLock { state in
      state.namesake.map { now.secondsSinceEpoch - $0.secondsSinceEpoch > Self.namesakeMemory } ?? false
    }
    guard isGone else { return }
    state.withLock { $0.namesake = nil }
    clear(.name)
  }

  private func hear(_ message: FleetMessage) {
    let now = configuration.now()
    if message.host == name, message.process != process, message.isLeaving != true {
      state.withLock { $0.namesake = now }
      tell(.name, "another host of the fleet is called \(name) too: give each a name of its own with --fleet-host")
    }
    state.withLock { _ = $0.peers.hear(message, at: now) }
    if let confirmation = message.confirmation { note(confirmation, of: message.host) }
  }

  // MARK: Giving orders

  /// Gives an order to all hosts.
  ///
  /// - Parameter wait: how long to wait until all have carried it out.
  /// - Throws: ``JournalError`` if it is not in the journal for certain; it may be carried out even so.
  package func give(_ task: FleetOrder.Task, waiting wait: Duration) async throws -> Receipt {
    let order = FleetOrder(task, from: name, id: UUID().uuidString)
    let (news, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    state.withLock { $0.given[order.id] = Given(news: continuation) }
    defer { state.withLock { _ = $0.given.removeValue(forKey: order.id) } }
    let sequence = try await JournalError.retryingWhileAway(for: configuration.patience) {
      try await journal.append(order.bytes, id: order.id)
    }
    _ = try await within(wait) {
      if self.receipt(of: order.id, sequence).missing.isEmpty { return }
      for await _ in news where self.receipt(of: order.id, sequence).missing.isEmpty { return }
    }
    let receipt = receipt(of: order.id, sequence)
    // Those of installs are too many to be shown.
    if case .report = task { return receipt }
    let now = configuration.now()
    state.withLock { state in
      state.receipts.insert((task, receipt, now), at: 0)
      if state.receipts.count > Self.receiptLimit { state.receipts.removeLast() }
    }
    return receipt
  }

  private func receipt(of id: String, _ sequence: UInt64) -> Receipt {
    let now = configuration.now()
    return state.withLock { state in
      let purged = state.given[id]?.purged ?? [:]
      let (by, notBy) = state.peers.applied(sequence, at: now)
      let confirmed = Set(purged.keys).union(by)
      let missing = Set(notBy + [name]).subtracting(confirmed)
      return Receipt(
        sequence: sequence, purged: purged.values.reduce(0, +), confirmed: confirmed.sorted(), missing: missing.sorted()
      )
    }
  }

  // MARK: Status

  package var status: FleetStatus {
    let now = configuration.now()
    return state.withLock { state in
      let applied = state.position.applied ?? 0
      return FleetStatus(
        host: name, phase: state.position.phase(at: now), sequence: applied,
        behind: max(applied, state.position.last) - applied,
        problems: Subject.allCases.compactMap { state.problems[$0] },
        peers: state.peers.present(at: now).map { peer in
          FleetStatus.Peer(
            name: peer.name, sequence: peer.sequence,
            silent: max(0, now.secondsSinceEpoch - peer.heard.secondsSinceEpoch), report: peer.report)
        },
        orders: state.receipts.map { task, receipt, at in
          FleetStatus.Order(
            sequence: receipt.sequence, text: task.summary, at: at.secondsSinceEpoch, purged: receipt.purged,
            confirmed: receipt.confirmed, missing: receipt.missing)
        })
    }
  }
}
