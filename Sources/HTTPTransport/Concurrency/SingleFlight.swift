import Synchronization

/// Shares work: simultaneous callers with the same key get the result of one piece of work.
///
/// A cancelled caller leaves at once while others wait. The last one cancels the work and waits for its end, so that
/// work that was almost done still succeeds.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Flight {
    let task: Task<Value, any Error>
    let id: UInt64
    var passengers: Int
  }

  private struct State {
    var flights: [Key: Flight] = [:]
    var nextID: UInt64 = 0
  }

  private let state = Mutex(State())

  package init() {}

  package func value(for key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let (task, id) = state.withLock { state in
      if let flight = state.flights[key], !flight.task.isCancelled {
        state.flights[key]?.passengers += 1
        return (flight.task, flight.id)
      }
      let id = state.nextID
      state.nextID += 1
      let task = Task {
        defer { land(key, id) }
        return try await work()
      }
      state.flights[key] = Flight(task: task, id: id, passengers: 1)
      return (task, id)
    }
    do {
      return try await task.valueForWaiter()
    } catch {
      guard Task.isCancelled, !leave(key, id) else { throw error }
      return try await task.value
    }
  }

  /// The number of callers that wait for the key's work.
  package func passengers(of key: Key) -> Int { state.withLock { $0.flights[key]?.passengers ?? 0 } }

  private func land(_ key: Key, _ id: UInt64) {
    state.withLock { state in
      if state.flights[key]?.id == id { state.flights[key] = nil }
    }
  }

  /// Removes a caller, and cancels the work if no other caller waits.
  ///
  /// - Returns: `true` if others still wait.
  private func leave(_ key: Key, _ id: UInt64) -> Bool {
    state.withLock { state in
      guard var flight = state.flights[key], flight.id == id else { return false }
      flight.passengers -= 1
      guard flight.passengers == 0 else {
        state.flights[key] = flight
        return true
      }
      flight.task.cancel()
      state.flights[key] = nil
      return false
    }
  }
}
