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

  @usableFromInline
  struct Flight {
    @usableFromInline let key: Key
    /// `nil` until the work has begun.
    @usableFromInline var task: Task<Void, Never>?
    /// The callers; `nil` until a caller waits.
    @usableFromInline var callers: [UInt64: Waiter?]
    /// Set once the work has ended.
    @usableFromInline var result: Result<Value, any Error>?

    @inlinable
    init(key: Key, callers: [UInt64: Waiter?]) { (self.key, self.callers) = (key, callers) }
  }

  @usableFromInline
  struct State {
    @usableFromInline var flights: [UInt64: Flight] = [:]
    /// The flights that can be joined.
    @usableFromInline var open: [Key: UInt64] = [:]
    /// The last number of a flight or a caller.
    @usableFromInline var last: UInt64 = 0

    @inlinable
    init() {}

    /// - Returns: the flight, and the caller's number; whether the caller has to begin the work.
    @inlinable
    mutating func join(_ key: Key) -> (flight: UInt64, caller: UInt64, isFirst: Bool) {
      last += 1
      let caller = last
      if let flight = open[key] {
        flights[flight]?.callers[caller] = .some(nil)
        return (flight, caller, false)
      }
      last += 1
      flights[last] = Flight(key: key, callers: [caller: nil])
      open[key] = last
      return (last, caller, true)
    }

    @inlinable
    mutating func close(_ flight: UInt64, of key: Key) {
      if open[key] == flight { open[key] = nil }
    }

    /// Removes a caller that has its result.
    @inlinable
    mutating func remove(_ caller: UInt64, from flight: UInt64) {
      flights[flight]?.callers[caller] = nil
      if flights[flight]?.result != nil, flights[flight]?.callers.isEmpty == true { flights[flight] = nil }
    }
  }

  @usableFromInline let state = Mutex(State())

  @inlinable
  public init() {}

  /// - Parameter alarm: returns when a caller that shares another one's work need not wait any longer; `nil` if it
  ///   waits for as long as the work takes.
  /// - Throws: ``OverdueWorkError`` after the alarm, `CancellationError`, and the error of the work.
  @inlinable
  public func value(
    for key: Key, alarm: (@Sendable () async -> Void)? = nil, _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let (flight, caller, isFirst) = state.withLock { $0.join(key) }
    if isFirst { begin(flight, work) }
    var timer: Task<Void, Never>?
    defer { timer?.cancel() }
    if !isFirst, let alarm {
      timer = Task {
        await alarm()
        if !Task.isCancelled { leave(flight, caller, isOverdue: true) }
      }
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Value, any Error>? = state.withLock { state in
          guard state.flights[flight]?.callers[caller] != nil else {
            return .failure(Task.isCancelled ? CancellationError() : OverdueWorkError())
          }
          if let result = state.flights[flight]?.result {
            state.remove(caller, from: flight)
            return result
          }
          state.flights[flight]?.callers[caller] = .some(continuation)
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      leave(flight, caller)
    }
  }

  /// The number of callers that wait for the key's work.
  @inlinable
  public func passengers(of key: Key) -> Int {
    state.withLock { state in state.open[key].flatMap { state.flights[$0]?.callers.count } ?? 0 }
  }

  @inlinable
  func begin(_ flight: UInt64, _ work: @escaping @Sendable () async throws -> Value) {
    let task = Task.immediate {
      do { land(flight, .success(try await work())) } catch { land(flight, .failure(error)) }
    }
    // Nobody can have cancelled it: the first caller does not wait yet, so that no other is the last one.
    state.withLock { $0.flights[flight]?.task = task }
  }

  @inlinable
  func land(_ flight: UInt64, _ result: Result<Value, any Error>) {
    let waiting: [Waiter] = state.withLock { state in
      guard let landed = state.flights[flight] else { return [] }
      state.close(flight, of: landed.key)
      let waiting = landed.callers.values.compactMap { $0 }
      if waiting.count == landed.callers.count {
        state.flights[flight] = nil
      } else {
        // Those that do not wait yet find the result.
        state.flights[flight]?.callers = landed.callers.filter { $0.value == nil }
        state.flights[flight]?.result = result
      }
      return waiting
    }
    for waiter in waiting { waiter.resume(with: result) }
  }

  /// Removes a caller while others wait; the last one stays, and cancels the work.
  ///
  /// - Parameter isOverdue: `true` if the caller has waited for too long: the last one then goes on waiting.
  @inlinable
  func leave(_ flight: UInt64, _ caller: UInt64, isOverdue: Bool = false) {
    let (waiter, task): (Waiter?, Task<Void, Never>?) = state.withLock { state in
      guard let left = state.flights[flight], left.result == nil, let waiter = left.callers[caller] else {
        return (nil, nil)
      }
      if left.callers.count > 1 {
        state.remove(caller, from: flight)
        return (waiter, nil)
      }
      guard !isOverdue else { return (nil, nil) }
      state.close(flight, of: left.key)
      return (nil, left.task)
    }
    waiter?.resume(throwing: isOverdue ? OverdueWorkError() : CancellationError())
    task?.cancel()
  }
}

/// The work of another caller takes too long to wait for.
public struct OverdueWorkError: Error {
  @inlinable
  public init() {}
}
