import Foundation
import HeapModule
import Synchronization

/// How urgent a request is: where transfers have to wait, the more urgent one goes first.
public enum LoadPriority: Int, Hashable, Comparable, Sendable {
  /// Nobody waits for it.
  case idle
  /// Less urgent than ``normal``.
  case low
  /// The default.
  case normal
  /// More urgent than ``normal``.
  case high

  public static func < (left: LoadPriority, right: LoadPriority) -> Bool { left.rawValue < right.rawValue }
}

/// Limits the number of transfers that run at once; of those that wait, the most urgent goes first, and of equals the
/// oldest.
package final class TransferGate: Sendable {
  /// The right to run, given back when it is let go of.
  package final class Pass: Sendable {
    private let gate: TransferGate

    fileprivate init(_ gate: TransferGate) { self.gate = gate }

    deinit { gate.leave() }
  }

  /// Given the admission, or the reason of a refusal.
  private typealias Turn = @Sendable (Result<Void, any Error>) -> Void

  private struct Ticket: Comparable {
    let priority: LoadPriority
    let number: UInt64

    static func < (left: Ticket, right: Ticket) -> Bool {
      (left.priority, right.number) < (right.priority, left.number)
    }
  }

  private struct State {
    var free: Int
    var nextNumber: UInt64 = 0
    /// Reserved numbers that have not entered yet, with the priority they were raised to.
    var reservedPriorities: [UInt64: LoadPriority] = [:]
    /// Also holds tickets of transfers that have left or were raised; they are passed over.
    var queue = Heap<Ticket>()
    var waiting: [UInt64: (priority: LoadPriority, turn: Turn)] = [:]
    /// The places that were given back on each thread that calls turns, and that have no next transfer yet.
    var returned: [pthread_t: Int] = [:]

    mutating func insert(_ ticket: Ticket) {
      queue.insert(ticket)
      guard queue.count > 2 * waiting.count + 64 else { return }
      queue = Heap(waiting.map { Ticket(priority: $0.value.priority, number: $0.key) })
    }

    /// Returns `true` if the thread is to call the turns of those that wait: it is not doing so further up its stack.
    mutating func giveBack(on thread: pthread_t) -> Bool {
      guard !waiting.isEmpty else {
        free += 1
        return false
      }
      let places = returned.updateValue((returned[thread] ?? 0) + 1, forKey: thread)
      return places == nil
    }

    /// Returns whose turn it is to have a place that was given back on the thread; `nil` if there is none, or nobody
    /// waits.
    mutating func nextTurn(on thread: pthread_t) -> Turn? {
      while let places = returned[thread], places > 0 {
        returned[thread] = places - 1
        while let ticket = queue.popMax() {
          guard let next = waiting[ticket.number], next.priority == ticket.priority else { continue }
          waiting[ticket.number] = nil
          return next.turn
        }
        free += 1
      }
      returned[thread] = nil
      return nil
    }
  }

  /// The queue is full.
  package struct Full: Error {
    package let limit: Int
  }

  private let state: Mutex<State>
  private let waitingLimit: Int

  /// - Parameters:
  ///   - width: the number of transfers that may run.
  ///   - waitingLimit: the number of transfers that may wait.
  package init(width: Int, waitingLimit: Int = .max) {
    state = Mutex(State(free: max(1, width)))
    self.waitingLimit = waitingLimit
  }

  /// Reserves a number in the queue, whose priority ``raise(_:to:)`` can raise before ``enter(_:priority:)``; release it
  /// with ``forget(_:)``.
  package func number() -> UInt64 {
    state.withLock { state in
      defer { state.nextNumber += 1 }
      state.reservedPriorities[state.nextNumber] = .idle
      return state.nextNumber
    }
  }

  /// The number is not used any more, whether it entered or not.
  package func forget(_ number: UInt64) { state.withLock { $0.reservedPriorities[number] = nil } }

  /// Waits until it may run.
  ///
  /// - Throws: ``Full``, `CancellationError`.
  package func enter(_ number: UInt64, priority: LoadPriority) async throws -> Pass {
    let admission = await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: CheckedContinuation<Result<Void, any Error>, Never>) in
        let known = enter(number, priority: priority) { waiter.resume(returning: $0) }
        if let known { waiter.resume(returning: known) }
      }
    } onCancel: {
      leaveQueue(number)
    }
    try admission.get()
    return Pass(self)
  }

  /// The same without a task.
  ///
  /// - Parameter receive: is called once, in this call or on another thread.
  package func enter(
    _ number: UInt64, priority: LoadPriority, _ receive: @escaping @Sendable (Result<Pass, any Error>) -> Void
  ) {
    let turn: Turn = { [self] admission in receive(admission.map { Pass(self) }) }
    if let known = enter(number, priority: priority, turn) { turn(known) }
  }

  /// Ends the wait of a transfer with `CancellationError`.
  package func leaveQueue(_ number: UInt64) {
    state.withLock { $0.waiting.removeValue(forKey: number) }?.turn(.failure(CancellationError()))
  }

  /// - Returns: the admission, or the reason of a refusal; `nil` if it waits for its turn.
  private func enter(
    _ number: UInt64, priority: LoadPriority, _ turn: @escaping Turn
  ) -> Result<Void, any Error>? {
    state.withLock { state in
      let priority = max(priority, state.reservedPriorities.removeValue(forKey: number) ?? .idle)
      if Task.isCancelled { return .failure(CancellationError()) }
      if state.free > 0 {
        state.free -= 1
        return .success(())
      }
      guard state.waiting.count < waitingLimit else { return .failure(Full(limit: waitingLimit)) }
      state.waiting[number] = (priority, turn)
      state.insert(Ticket(priority: priority, number: number))
      return nil
    }
  }

  /// Returns `true` if a transfer waits by this number.
  package func isWaiting(_ number: UInt64) -> Bool { state.withLock { $0.waiting[number] != nil } }

  /// Raises the priority of a number: a more urgent request waits for the same transfer.
  package func raise(_ number: UInt64, to priority: LoadPriority) {
    state.withLock { state in
      if let known = state.reservedPriorities[number] { state.reservedPriorities[number] = max(known, priority) }
      guard let waiting = state.waiting[number], waiting.priority < priority else { return }
      state.waiting[number]?.priority = priority
      state.insert(Ticket(priority: priority, number: number))
    }
  }

  /// Numbers that have not entered yet, those that wait, and the tickets there are for them.
  package var counts: (expected: Int, waiting: Int, tickets: Int) {
    state.withLock { ($0.reservedPriorities.count, $0.waiting.count, $0.queue.count) }
  }

  /// Calls the turns of those that wait one after the other, also where each gives its place back at once: inside each
  /// other they would need a stack as deep as the queue is long.
  private func leave() {
    let thread = pthread_self()
    guard state.withLock({ $0.giveBack(on: thread) }) else { return }
    while let turn = state.withLock({ $0.nextTurn(on: thread) }) { turn(.success(())) }
  }
}

extension TransferGate.Pass {
  /// The body, which gives the place back at its end.
  func occupied(by body: Body) -> Body {
    if body.bytesInMemory != nil { return body }
    let reading = Reading(body, self)
    return Body(
      next: { try await reading.next() }, summary: { await body.transferSummary() },
      callbacks: body.callbacks == nil ? nil : reading)
  }

  private final class Reading: CallbackReading {
    private let body: BodyReader
    private let callbacks: (any CallbackReading)?
    private let pass: Mutex<TransferGate.Pass?>

    var summary: TransferSummary { callbacks?.summary ?? TransferSummary() }

    init(_ body: Body, _ pass: TransferGate.Pass) {
      self.body = body.reader()
      callbacks = body.callbacks
      self.pass = Mutex(pass)
    }

    func next(on loop: @escaping EventLoopCall, _ receive: @escaping @Sendable (Result<[UInt8]?, any Error>) -> Void) {
      guard let callbacks else { return loop { receive(.success(nil)) } }
      callbacks.next(on: loop) { [weak self] result in
        if case .success(.some) = result {} else { self?.pass.withLock { $0 = nil } }
        receive(result)
      }
    }

    func next() async throws -> [UInt8]? {
      var chunk: [UInt8]?
      defer { if chunk == nil { pass.withLock { $0 = nil } } }
      chunk = try await body.nextChunk()
      return chunk
    }
  }
}
