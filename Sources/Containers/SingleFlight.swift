import Synchronization

/// Shares work: simultaneous callers with the same key get the result of one piece of work, which begins in the first
/// caller's thread.
///
/// A cancelled caller leaves at once while others wait. The last one cancels the work and waits for its end, so that
/// work that was almost done still succeeds.
///
/// It is inlinable, so that other modules' keys and values cost no look-ups of metadata.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline typealias Waiter = CheckedContinuation<Value, any Error>

  @usableFromInline let table = Mutex(FlightTable<Key, Value, Waiter>())

  @inlinable
  public init() {}

  /// - Throws: `CancellationError`, and the error of the work.
  @inlinable
  public func value(for key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let ticket = table.withLock { $0.join(key) }
    if ticket.isFirst {
      let task = Task.immediate {
        do { land(ticket, .success(try await work())) } catch { land(ticket, .failure(error)) }
      }
      _ = table.withLock { $0.began(ticket) { task.cancel() } }
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        switch table.withLock({ $0.wait(ticket, continuation) }) {
        case .waiting: break
        case .ended(let result): continuation.resume(with: result)
        case .left: continuation.resume(throwing: CancellationError())
        }
      }
    } onCancel: {
      switch table.withLock({ $0.leave(ticket) }) {
      case .none: break
      case .left(let waiter): waiter?.resume(throwing: CancellationError())
      case .last(let cancel): cancel?()
      }
    }
  }

  /// The number of callers that wait for the key's work.
  @inlinable
  public func passengers(of key: Key) -> Int { table.withLock { $0.callers(of: key) } }

  @inlinable
  func land(_ ticket: FlightTicket, _ result: Result<Value, any Error>) {
    for waiter in table.withLock({ $0.land(ticket, result) }) { waiter.resume(with: result) }
  }
}

/// A caller's share in a piece of work.
public struct FlightTicket: Hashable, Sendable {
  @usableFromInline let flight: UInt64
  @usableFromInline let caller: UInt64
  /// `true` if the caller has to begin the work.
  public let isFirst: Bool

  @inlinable
  init(flight: UInt64, caller: UInt64, isFirst: Bool) {
    (self.flight, self.caller, self.isFirst) = (flight, caller, isFirst)
  }
}

/// Which callers share which work, as a value. ``SingleFlight`` acts on it under a lock.
public struct FlightTable<Key: Hashable, Value, Waiter> {
  /// The state of a caller that begins to wait.
  public enum Waiting {
    /// It gets the result when the work ends.
    case waiting
    /// The work has ended.
    case ended(Result<Value, any Error>)
    /// It has left before.
    case left
  }

  /// The consequence of a caller's leaving.
  public enum Leaving {
    /// Nothing: the work has ended, the caller has left before, or it is the last one and may not leave.
    case none
    /// Others need the work, which goes on.
    ///
    /// - Parameter waiter: is resumed; `nil` if the caller does not wait yet.
    case left(Waiter?)
    /// It was the last one: the work is to be cancelled, and the caller waits for its end.
    case last(cancel: (@Sendable () -> Void)?)
  }

  @usableFromInline
  struct Flight {
    @usableFromInline let key: Key
    /// Cancels the work; `nil` until it has begun.
    @usableFromInline var cancel: (@Sendable () -> Void)?
    /// The last caller has left.
    @usableFromInline var isCancelled = false
    /// The callers; `nil` until a caller waits.
    @usableFromInline var callers: [UInt64: Waiter?]
    /// Set once the work has ended.
    @usableFromInline var result: Result<Value, any Error>?

    @inlinable
    init(key: Key, callers: [UInt64: Waiter?]) { (self.key, self.callers) = (key, callers) }
  }

  @usableFromInline var flights: [UInt64: Flight] = [:]
  /// The flights that can be joined.
  @usableFromInline var open: [Key: UInt64] = [:]
  /// The last number of a flight or a caller.
  @usableFromInline var last: UInt64 = 0

  @inlinable
  public init() {}

  /// `true` if no work is under way, and all its callers have their results.
  @inlinable
  public var isEmpty: Bool { flights.isEmpty }

  /// The number of callers of all work.
  @inlinable
  public var callerCount: Int { flights.values.reduce(0) { $0 + $1.callers.count } }

  /// The number of callers of the key's work.
  @inlinable
  public func callers(of key: Key) -> Int { open[key].flatMap { flights[$0]?.callers.count } ?? 0 }

  /// Returns `true` if a ticket's work has not ended.
  @inlinable
  public func isUnderWay(_ ticket: FlightTicket) -> Bool { flights[ticket.flight].map { $0.result == nil } ?? false }

  /// Adds a caller whose work no other caller joins.
  @inlinable
  public mutating func goAlone(_ key: Key) -> FlightTicket {
    last += 2
    flights[last] = Flight(key: key, callers: [last - 1: nil])
    return FlightTicket(flight: last, caller: last - 1, isFirst: true)
  }

  /// Adds a caller to the key's work.
  @inlinable
  public mutating func join(_ key: Key) -> FlightTicket {
    guard let flight = open[key] else {
      let ticket = goAlone(key)
      open[key] = ticket.flight
      return ticket
    }
    last += 1
    flights[flight]?.callers[last] = .some(nil)
    return FlightTicket(flight: flight, caller: last, isFirst: false)
  }

  /// The first caller has begun the work, or a further part of it. Before the first part no caller can have cancelled it:
  /// the first one does not wait yet, so that no other is the last one. Before a further part all may have left, and the
  /// work may have ended.
  ///
  /// - Parameter cancel: cancels the work, which then ends.
  /// - Returns: `false` if the work has ended or was cancelled: `cancel` is not called then.
  @inlinable
  @discardableResult
  public mutating func began(_ ticket: FlightTicket, cancel: @escaping @Sendable () -> Void) -> Bool {
    guard let flight = flights[ticket.flight], flight.result == nil, !flight.isCancelled else { return false }
    flights[ticket.flight]?.cancel = cancel
    return true
  }

  /// - Parameter waiter: is kept until the work ends, or the caller leaves.
  @inlinable
  public mutating func wait(_ ticket: FlightTicket, _ waiter: Waiter) -> Waiting {
    guard flights[ticket.flight]?.callers[ticket.caller] != nil else { return .left }
    if let result = flights[ticket.flight]?.result {
      remove(ticket)
      return .ended(result)
    }
    flights[ticket.flight]?.callers[ticket.caller] = .some(waiter)
    return .waiting
  }

  /// The work has ended.
  ///
  /// - Returns: those who wait for the result.
  @inlinable
  public mutating func land(_ ticket: FlightTicket, _ result: Result<Value, any Error>) -> [Waiter] {
    guard let landed = flights[ticket.flight] else { return [] }
    close(ticket.flight, of: landed.key)
    let waiting = landed.callers.values.compactMap { $0 }
    if waiting.count == landed.callers.count {
      flights[ticket.flight] = nil
    } else {
      // Those that do not wait yet find the result.
      flights[ticket.flight]?.callers = landed.callers.filter { $0.value == nil }
      flights[ticket.flight]?.result = result
    }
    return waiting
  }

  /// The first caller does not begin the work, and leaves.
  ///
  /// - Parameter value: the result of the others.
  /// - Returns: those who wait for it.
  @inlinable
  public mutating func abandon(_ ticket: FlightTicket, _ value: Value) -> [Waiter] {
    flights[ticket.flight]?.callers[ticket.caller] = nil
    return land(ticket, .success(value))
  }

  /// Removes a caller while others need the work.
  ///
  /// - Parameter isOverdue: `true` if the caller has waited for too long: the last one then goes on waiting.
  @inlinable
  public mutating func leave(_ ticket: FlightTicket, isOverdue: Bool = false) -> Leaving {
    guard let left = flights[ticket.flight], left.result == nil, let waiter = left.callers[ticket.caller] else {
      return .none
    }
    if left.callers.count > 1 {
      remove(ticket)
      return .left(waiter)
    }
    guard !isOverdue else { return .none }
    close(ticket.flight, of: left.key)
    flights[ticket.flight]?.isCancelled = true
    return .last(cancel: left.cancel)
  }

  @inlinable
  mutating func close(_ flight: UInt64, of key: Key) {
    if open[key] == flight { open[key] = nil }
  }

  @inlinable
  mutating func remove(_ ticket: FlightTicket) {
    flights[ticket.flight]?.callers[ticket.caller] = nil
    if flights[ticket.flight]?.result != nil, flights[ticket.flight]?.callers.isEmpty == true {
      flights[ticket.flight] = nil
    }
  }
}
