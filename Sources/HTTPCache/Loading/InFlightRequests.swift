import Containers
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Synchronization

/// The requests in flight, and their order: equal requests share one exchange, a late response never replaces a newer
/// one, and changes of the cache for one key happen one after the other.
final class InFlightRequests: Sendable {
  private struct State {
    /// Responses that come in, for those who ask for the same.
    var incoming: [FlightKey: IncomingResponse] = [:]
    /// All responses that are being stored.
    var arriving: [CacheKey: [IncomingResponse]] = [:]
    /// Numbers at the gate.
    var numbers: [FlightKey: UInt64] = [:]
  }

  private let state = Mutex(State())
  private let flights = SingleFlight<FlightKey, FetchResult>()
  private let sequencer = RequestSequencer()
  private let turns = KeyedSerialQueue()
  private let storingPatience: Duration

  /// - Parameter storingPatience: the longest wait for a response that is complete to be stored.
  init(storingPatience: Duration) { self.storingPatience = storingPatience }

  // MARK: Shared exchanges

  /// The result of an exchange that equal requests share.
  ///
  /// - Parameter alarm: returns when a request need not wait for another one's exchange any longer.
  /// - Throws: `OverdueWorkError` then, and the errors of the exchange.
  func shared(
    _ key: FlightKey, alarm: (@Sendable () async -> Void)? = nil,
    _ exchange: @escaping @Sendable () async throws -> FetchResult
  ) async throws -> FetchResult {
    try await flights.value(for: key, alarm: alarm, exchange)
  }

  /// How many wait for the result of the exchange.
  func passengers(of key: FlightKey) -> Int { flights.passengers(of: key) }

  /// The response that comes in for equal requests; `nil` if it is complete: a new request comes after it.
  func incoming(for key: FlightKey) -> IncomingResponse? {
    state.withLock { $0.incoming[key] }.flatMap { $0.isComplete ? nil : $0 }
  }

  /// - Parameter key: the key for requests that may share the response; `nil` if none may.
  func add(_ incoming: IncomingResponse, for key: FlightKey?) {
    state.withLock { state in
      if let key { state.incoming[key] = incoming }
      state.arriving[incoming.pending.hop.key, default: []].append(incoming)
    }
  }

  func remove(_ incoming: IncomingResponse, for key: FlightKey?) {
    state.withLock { state in
      if let key, state.incoming[key] === incoming { state.incoming[key] = nil }
      let others = (state.arriving[incoming.pending.hop.key] ?? []).filter { $0 !== incoming }
      state.arriving[incoming.pending.hop.key] = others.isEmpty ? nil : others
    }
  }

  /// Waits until the responses for a key whose bytes have all come are stored: their readers may know their end, and ask
  /// again.
  ///
  /// - Returns: `false` if there were none.
  @discardableResult
  func completed(_ key: CacheKey) async -> Bool {
    await completed(state.withLock { $0.arriving[key] ?? [] })
  }

  private func completed(_ arriving: [IncomingResponse]) async -> Bool {
    let complete = arriving.filter(\.isComplete)
    guard !complete.isEmpty else { return false }
    _ = try? await within(storingPatience) {
      for incoming in complete { _ = try? await incoming.stored() }
    }
    return true
  }

  // MARK: Places at the gate

  /// The number by which the exchange waits at the gate, while it does.
  func number(of key: FlightKey) -> UInt64? { state.withLock { $0.numbers[key] } }

  func wait(_ key: FlightKey, by number: UInt64) { state.withLock { $0.numbers[key] = number } }

  func endWait(_ key: FlightKey, by number: UInt64) {
    state.withLock { state in
      if state.numbers[key] == number { state.numbers[key] = nil }
    }
  }

  // MARK: Order

  /// The generation of the newest request.
  var currentGeneration: UInt64 { sequencer.current }

  /// The generation of a request that is sent now; to be ended.
  func begin(_ key: CacheKey) -> UInt64 { sequencer.begin(key) }

  func end(_ key: CacheKey) { sequencer.end(key) }

  /// A number that changes when the resource is changed: later requests must not share an earlier exchange.
  func epoch(of key: CacheKey) -> UInt64 { sequencer.epoch(of: key) }

  /// Returns `true` if a response may change what is stored: no later request's was there first, and none of its tags
  /// was purged since it was asked for.
  func claim(_ generation: UInt64, for key: CacheKey, tags: [String]) -> Bool {
    sequencer.claim(generation, for: key, tags: tags)
  }

  /// Changes what is stored for a key, after what was begun before for the same key. The work is not cancelled with its
  /// caller.
  func inTurn<Value: Sendable>(_ key: CacheKey, _ work: @escaping @Sendable () async -> Value) async -> Value {
    await turns.run(key, work)
  }

  /// Marks the responses to all earlier requests for these keys as outdated.
  func supersede(_ keys: [CacheKey]) { sequencer.supersede(keys) }

  /// Marks the responses to all earlier requests for the selection as outdated, but for those whose bytes have all come:
  /// they are stored before, so that they are met. Returns when those that were being stored have been stored.
  func supersede(_ selection: ResponseSelection) async {
    let arriving = state.withLock { $0.arriving.filter { selection.names($0.key) ?? true }.values.flatMap(\.self) }
    _ = await completed(arriving)
    if case .tags(let tags) = selection {
      sequencer.supersede(tags: tags)
    } else {
      sequencer.supersede { selection.names($0) ?? true }
    }
    await turns.finish { selection.names($0) ?? true }
  }

  /// `true` if nothing is under way.
  var isEmpty: Bool {
    sequencer.activeCount == 0 && turns.count == 0 && state.withLock { $0.arriving.isEmpty && $0.numbers.isEmpty }
  }
}
