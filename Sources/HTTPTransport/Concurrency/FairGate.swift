import DequeModule
import Synchronization

/// Limits the number of simultaneous operations. The others wait in a bounded queue, in which clients take turns.
///
///     let pass = try await gate.enter(for: address, until: .now + .seconds(5))
///     defer { gate.leave(pass) }
package final class FairGate<Client: Hashable & Sendable>: Sendable {
  /// The permission to run until ``FairGate/leave(_:)``.
  package typealias Pass = FairQueue<Client>.Ticket

  /// The reason why an operation may not run.
  package enum Refusal: Error, Hashable, Sendable {
    /// The queue is full.
    case full(limit: Int)
    /// The deadline came before the operation's turn.
    case late
  }

  /// Given the admission, or the reason of a refusal.
  private typealias Turn = CheckedContinuation<Result<Void, any Error>, Never>

  private struct State {
    var queue: FairQueue<Client>
    var lastTicket: FairQueue<Client>.Ticket = 0
    var waiters: [FairQueue<Client>.Ticket: (client: Client, turn: Turn)] = [:]
    /// The operations whose turn came before they could be told. They may have lent their places since.
    var untold: Set<FairQueue<Client>.Ticket> = []
    /// The times since which the running operations hold their places.
    var since: [FairQueue<Client>.Ticket: ContinuousClock.Instant] = [:]
    var alarm: ContinuousClock.Instant?

    /// Admits the operations whose turn it is, and returns their continuations.
    mutating func admit(at now: ContinuousClock.Instant) -> [Turn] {
      var admitted: [Turn] = []
      while let ticket = queue.next() {
        since[ticket] = now
        if let waiter = waiters.removeValue(forKey: ticket) {
          admitted.append(waiter.turn)
        } else {
          untold.insert(ticket)
        }
      }
      return admitted
    }
  }

  private let state: Mutex<State>
  private let limit: Int
  private let patience: Duration?

  /// - Parameters:
  ///   - width: the number of simultaneous operations.
  ///   - limit: the largest number of waiting operations.
  ///   - patience: the time after which a running operation lends its place to a waiting one, and continues; `nil` if
  ///     it keeps its place.
  package init(width: Int, limit: Int = .max, patience: Duration? = nil) {
    state = Mutex(State(queue: FairQueue(width: width)))
    self.limit = limit
    self.patience = patience
  }

  /// The number of simultaneous operations.
  package var width: Int {
    get { state.withLock(\.queue.width) }
    set {
      resume {
        $0.queue.width = newValue
        return $0.admit(at: .now)
      }
    }
  }

  /// The number of operations that hold a place, and of those that wait.
  package var counts: (running: Int, waiting: Int) { state.withLock { ($0.queue.running, $0.queue.waiting) } }

  /// Waits until the operation may run, or the deadline has come.
  ///
  /// - Throws: ``Refusal``, `CancellationError`.
  package func enter(for client: Client, until deadline: ContinuousClock.Instant) async throws -> Pass {
    let (ticket, entry) = take(for: client, limit: limit)
    switch entry {
    case .admitted: break
    case .full: throw Refusal.full(limit: limit)
    case .waits:
      let alarm = Task {
        try await Task.sleep(until: deadline)
        refuse(ticket, Refusal.late)
      }
      defer { alarm.cancel() }
      try await withTaskCancellationHandler {
        try await wait(ticket, client) {
          if Task.isCancelled { refuse(ticket, CancellationError()) }
          if deadline <= .now { refuse(ticket, Refusal.late) }
        }
      } onCancel: {
        refuse(ticket, CancellationError())
      }
    }
    return ticket
  }

  /// Waits until the operation may run, even if the queue is full or the task was cancelled.
  package func enter(for client: Client) async -> Pass {
    let (ticket, entry) = take(for: client, limit: .max)
    if entry == .waits { try? await wait(ticket, client) {} }
    return ticket
  }

  package func leave(_ pass: Pass) {
    resume { state in
      guard state.since.removeValue(forKey: pass) != nil else { return [] }
      state.queue.leave()
      return state.admit(at: .now)
    }
  }

  /// Takes a place, or one in the queue.
  func take(for client: Client, limit: Int) -> (FairQueue<Client>.Ticket, FairQueue<Client>.Entry) {
    state.withLock { state in
      state.lastTicket += 1
      let entry = state.queue.enter(state.lastTicket, for: client, limit: limit)
      if entry == .admitted { state.since[state.lastTicket] = .now }
      return (state.lastTicket, entry)
    }
  }

  /// Waits for the turn of an operation that ``take(for:limit:)`` has put in the queue.
  ///
  /// - Parameter begun: called when the waiting operation can be refused.
  func wait(_ ticket: FairQueue<Client>.Ticket, _ client: Client, begun: () -> Void) async throws {
    let result = await withCheckedContinuation { (turn: Turn) in
      let isAdmitted = state.withLock { state in
        // The operation's turn may have come meanwhile.
        if state.untold.remove(ticket) != nil { return true }
        state.waiters[ticket] = (client, turn)
        return false
      }
      if isAdmitted { return turn.resume(returning: .success(())) }
      begun()
      lend()
    }
    try result.get()
  }

  private func refuse(_ ticket: FairQueue<Client>.Ticket, _ error: any Error) {
    let waiter = state.withLock { state in
      let waiter = state.waiters.removeValue(forKey: ticket)
      if let waiter { state.queue.remove(ticket, of: waiter.client) }
      return waiter
    }
    waiter?.turn.resume(returning: .failure(error))
  }

  private func resume(_ change: (inout State) -> [Turn]) {
    for turn in state.withLock({ change(&$0) }) { turn.resume(returning: .success(())) }
  }

  /// Gives places of operations that have run for too long to waiting ones, and repeats this as long as any waits.
  private func lend() {
    guard let patience else { return }
    resume { state in
      let now = ContinuousClock.now
      for (ticket, began) in state.since where began + patience <= now && state.queue.waiting > 0 {
        state.since[ticket] = nil
        state.queue.leave()
      }
      return state.admit(at: now)
    }
    let next: ContinuousClock.Instant? = state.withLock { state in
      guard state.queue.waiting > 0, let first = state.since.values.min() else { return nil }
      let next = first + patience
      if let alarm = state.alarm, alarm <= next, alarm > .now { return nil }
      state.alarm = next
      return next
    }
    guard let next else { return }
    Task { [weak self] in
      try? await Task.sleep(until: next)
      self?.lend()
    }
  }
}

/// Decides which tickets run and which wait: the clients take turns, and each client's tickets keep their order.
///
/// A value; ``FairGate`` acts on its decisions.
package struct FairQueue<Client: Hashable & Sendable>: Sendable {
  package typealias Ticket = UInt64

  package enum Entry: Hashable, Sendable {
    case admitted, waits
    /// The queue is full.
    case full
  }

  /// The number of tickets that run at once.
  package var width: Int
  package private(set) var running = 0
  package private(set) var waiting = 0
  private var lines: [Client: Deque<Ticket>] = [:]
  /// The clients that wait, in the order of their turns.
  private var turns: Deque<Client> = []

  package init(width: Int) { self.width = width }

  /// - Parameter limit: the number of waiting tickets with which the queue is full.
  /// - Returns: whether the ticket runs, waits, or is refused.
  package mutating func enter(_ ticket: Ticket, for client: Client, limit: Int) -> Entry {
    if running < width, waiting == 0 {
      running += 1
      return .admitted
    }
    guard waiting < limit else { return .full }
    if lines[client] == nil { turns.append(client) }
    lines[client, default: []].append(ticket)
    waiting += 1
    return .waits
  }

  /// Ends one of the running tickets.
  package mutating func leave() { running -= 1 }

  /// Withdraws a waiting ticket.
  package mutating func remove(_ ticket: Ticket, of client: Client) {
    guard let index = lines[client]?.firstIndex(of: ticket) else { return }
    lines[client]?.remove(at: index)
    waiting -= 1
    if lines[client]?.isEmpty == true { forget(client) }
  }

  /// Admits the next ticket.
  ///
  /// - Returns: `nil` if all places are taken, or no ticket waits.
  package mutating func next() -> Ticket? {
    guard running < width, let client = turns.popFirst(), let ticket = lines[client]?.popFirst() else { return nil }
    if lines[client]?.isEmpty == true { lines[client] = nil } else { turns.append(client) }
    waiting -= 1
    running += 1
    return ticket
  }

  private mutating func forget(_ client: Client) {
    lines[client] = nil
    if let index = turns.firstIndex(of: client) { turns.remove(at: index) }
  }
}
