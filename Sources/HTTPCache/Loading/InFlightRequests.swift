import Containers
import DequeModule
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Synchronization

/// The requests in flight, and their order: equal requests share one exchange, a late response never replaces a newer
/// one, and changes of the cache for one key happen one after the other. ``ExchangeTable`` decides; what waits is
/// resumed here.
final class InFlightRequests: Sendable {
  /// Is given the result of an exchange that a request waits for.
  typealias Waiter = @Sendable (Result<FetchResult, any Error>) -> Void
  typealias Table = ExchangeTable<FlightKey, IncomingResponse, FetchResult, Waiter>

  private let table = Mutex(Table())
  private let turns = KeyedSerialQueue()
  private let storingPatience: Duration

  /// - Parameter storingPatience: the longest wait for a response that is complete to be stored.
  init(storingPatience: Duration) { self.storingPatience = storingPatience }

  // MARK: Shared exchanges

  /// How a request goes on that wants to share an exchange.
  ///
  /// - Parameters:
  ///   - waited: the responses that it has waited for.
  ///   - seen: a response that cannot answer it.
  func enter(_ key: FlightKey, after waited: [IncomingResponse], ignoring seen: IncomingResponse?) -> Table.Step {
    table.withLock { $0.enter(key, for: key.key, after: waited, ignoring: seen, isComplete: { $0.isComplete }) }
  }

  /// The result of the exchange that the ticket's holder begins, for all who share it.
  ///
  /// - Throws: `CancellationError`, and the errors of the exchange.
  func result(
    of ticket: FlightTicket, for resource: CacheKey,
    beginning exchange: @escaping @Sendable () async throws -> FetchResult
  ) async throws -> FetchResult {
    let task = Task.immediate { await run(exchange, of: ticket, for: resource) }
    began(ticket) { task.cancel() }
    return try await result(of: ticket)
  }

  /// Runs an exchange to its end, for all who share it.
  func run(
    _ exchange: @Sendable () async throws -> FetchResult, of ticket: FlightTicket, for resource: CacheKey
  ) async {
    do {
      end(ticket, of: resource, .success(try await exchange()))
    } catch {
      end(ticket, of: resource, .failure(error))
    }
  }

  /// Begins an exchange without waiting for anything: see ``ExchangeTable/begin(_:for:isShared:isComplete:)``.
  func begin(_ key: FlightKey, isShared: Bool) -> FlightTicket? {
    table.withLock { $0.begin(key, for: key.key, isShared: isShared, isComplete: { $0.isComplete }) }
  }

  /// - Parameter cancel: cancels the exchange, so that it ends.
  /// - Returns: `false` if it has ended, or all have left it, so that nothing will cancel it.
  @discardableResult
  func began(_ ticket: FlightTicket, cancel: @escaping @Sendable () -> Void) -> Bool {
    table.withLock { $0.began(ticket, cancel: cancel) }
  }

  /// Returns `true` if an exchange has no result yet.
  func isUnderWay(_ ticket: FlightTicket) -> Bool { table.withLock { $0.flights.isUnderWay(ticket) } }

  /// Waits for the result of an exchange without a task.
  ///
  /// - Parameter waiter: is called once, in this call or by whoever ends the exchange; with ``OverdueExchange`` if the
  ///   request has left before.
  func wait(for ticket: FlightTicket, _ waiter: @escaping Waiter) {
    switch table.withLock({ $0.wait(ticket, waiter) }) {
    case .waiting: break
    case .ended(let result): waiter(result)
    case .left: waiter(.failure(OverdueExchange()))
    }
  }

  /// The result of an exchange that another request has begun.
  ///
  /// - Parameter alarm: returns when the request need not wait for it any longer; `nil` if it waits for as long as that
  ///   takes.
  /// - Throws: ``OverdueExchange`` then, `CancellationError`, and the errors of the exchange.
  func result(of ticket: FlightTicket, alarm: (@Sendable () async -> Void)? = nil) async throws -> FetchResult {
    let timer = alarm.map { alarm in
      Task {
        await alarm()
        if !Task.isCancelled { leave(ticket, isOverdue: true) }
      }
    }
    defer { timer?.cancel() }
    return try await withTaskCancellationHandler {
      do {
        return try await withCheckedThrowingContinuation { continuation in
          wait(for: ticket) { continuation.resume(with: $0) }
        }
      } catch is OverdueExchange where Task.isCancelled {
        throw CancellationError()
      }
    } onCancel: {
      leave(ticket)
    }
  }

  /// A request no longer waits for the result of an exchange, which ends with the last of them.
  ///
  /// - Parameter isOverdue: it has waited for too long; the last one then goes on waiting.
  func leave(_ ticket: FlightTicket, isOverdue: Bool = false) {
    switch table.withLock({ $0.leave(ticket, isOverdue: isOverdue) }) {
    case .none: break
    case .left(let waiter): waiter?(.failure(isOverdue ? OverdueExchange() : CancellationError()))
    case .last(let cancel): cancel?()
    }
  }

  /// Ends an exchange for all who share it, unless it has ended.
  func end(_ ticket: FlightTicket, of resource: CacheKey, _ result: Result<FetchResult, any Error>) {
    for waiter in table.withLock({ $0.end(ticket, of: resource, result) }) { waiter(result) }
  }

  /// Gives up an exchange before it begins: those who would have shared it look at the cache again.
  func abandon(_ ticket: FlightTicket, of resource: CacheKey) {
    let waiters = table.withLock { $0.abandon(ticket, of: resource, .superseded) }
    for waiter in waiters { waiter(.success(.superseded)) }
  }

  /// How many requests share the exchange that is under way.
  func passengers(of key: FlightKey) -> Int { table.withLock { $0.flights.callers(of: key) } }

  /// How many requests wait for the results of exchanges.
  var passengerCount: Int { table.withLock(\.flights.callerCount) }

  /// - Parameter key: the key for requests that may share the response; `nil` if none may.
  func add(_ incoming: IncomingResponse, for key: FlightKey?) {
    table.withLock { $0.add(incoming, for: incoming.pending.request.key, sharedBy: key) }
  }

  func remove(_ incoming: IncomingResponse, for key: FlightKey?) {
    table.withLock { $0.remove(incoming, for: incoming.pending.request.key, sharedBy: key) }
  }

  /// Waits until the responses for a key whose bytes have all come are stored: their readers may know their end, and ask
  /// again.
  ///
  /// - Returns: `false` if there were none.
  func completed(_ key: CacheKey) async -> Bool {
    await stored(table.withLock { $0.arriving[key] ?? [] }.filter(\.isComplete))
  }

  /// Returns `true` if responses for a key are being stored whose bytes have all come.
  func hasCompleted(_ key: CacheKey) -> Bool {
    table.withLock { $0.arriving[key] ?? [] }.contains(where: \.isComplete)
  }

  /// Waits until these responses are stored, but not longer than the patience.
  ///
  /// - Returns: `false` if there are none.
  @discardableResult
  func stored(_ complete: [IncomingResponse]) async -> Bool {
    guard !complete.isEmpty else { return false }
    _ = try? await within(storingPatience) {
      for incoming in complete { _ = try? await incoming.stored() }
    }
    return true
  }

  // MARK: Places at the gate

  /// The number by which the exchange waits at the gate, while it does.
  func number(of key: FlightKey) -> UInt64? { table.withLock { $0.numbers[key] } }

  func wait(_ key: FlightKey, by number: UInt64) { table.withLock { $0.numbers[key] = number } }

  func endWait(_ key: FlightKey, by number: UInt64) {
    table.withLock { table in
      if table.numbers[key] == number { table.numbers[key] = nil }
    }
  }

  // MARK: Order

  /// The generation of the newest request.
  var currentGeneration: UInt64 { table.withLock(\.order.current) }

  /// The generation of a request that is sent now; to be ended.
  func begin(_ key: CacheKey) -> UInt64 { table.withLock { $0.order.begin(key) } }

  func end(_ key: CacheKey) { table.withLock { $0.order.end(key) } }

  /// A number that changes when the resource is changed: later requests must not share an earlier exchange.
  func epoch(of key: CacheKey) -> UInt64 { table.withLock { $0.order.epoch(of: key) } }

  /// Returns `true` if a response may change what is stored: no later request's was there first, and none of its tags
  /// was purged since it was asked for.
  func claim(_ generation: UInt64, for key: CacheKey, tags: [String]) -> Bool {
    table.withLock { $0.order.claim(generation, for: key, tags: tags) }
  }

  /// Changes what is stored for a key, after what was begun before for the same key. The work is not cancelled with its
  /// caller.
  func inTurn<Value: Sendable>(_ key: CacheKey, _ work: @escaping @Sendable () async -> Value) async -> Value {
    await turns.run(key, work)
  }

  /// Marks the responses to all earlier requests for these keys as outdated.
  func supersede(_ keys: [CacheKey]) { table.withLock { $0.order.supersede(keys) } }

  /// Marks the responses to all earlier requests for the selection as outdated, but for those whose bytes have all come:
  /// they are stored before, so that they are met. Returns when those that were being stored have been stored.
  func supersede(_ selection: ResponseSelection) async {
    let arriving = table.withLock { $0.arriving.filter { selection.covers($0.key) ?? true }.values.flatMap(\.self) }
    await stored(arriving.filter(\.isComplete))
    table.withLock { table in
      if case .tags(let tags) = selection {
        table.order.supersede(tags: tags)
      } else {
        table.order.supersede { selection.covers($0) ?? true }
      }
    }
    await turns.finish { selection.covers($0) ?? true }
  }

  /// `true` if nothing is under way.
  var isEmpty: Bool { turns.count == 0 && table.withLock(\.isEmpty) }
}

/// The exchange of another request takes too long to wait for.
struct OverdueExchange: Error {}

/// Runs the work for one key one after the other, in order, and work for different keys concurrently. Cancelling the
/// caller does not cancel the work.
final class KeyedSerialQueue: Sendable {
  private typealias Turn = CheckedContinuation<Void, Never>

  /// Those that wait behind the work that runs.
  private let lines = Mutex<[CacheKey: Deque<Turn>]>([:])

  func run<Value: Sendable>(_ key: CacheKey, _ work: @escaping @Sendable () async -> Value) async -> Value {
    await enter(key)
    defer { leave(key) }
    // A task of its own is not cancelled with its caller.
    return await Task.immediate { await work() }.value
  }

  /// Returns when all work that was added before for the key has ended.
  private func enter(_ key: CacheKey) async {
    await withCheckedContinuation { turn in
      let isFree = lines.withLock { lines in
        if lines[key]?.append(turn) != nil { return false }
        lines[key] = []
        return true
      }
      if isFree { turn.resume() }
    }
  }

  private func leave(_ key: CacheKey) {
    let next: Turn? = lines.withLock { lines in
      if let next = lines[key]?.popFirst() { return next }
      lines[key] = nil
      return nil
    }
    next?.resume()
  }

  /// Returns when the work that was added so far for matching keys has ended.
  func finish(where isMeant: (CacheKey) -> Bool) async {
    for key in lines.withLock({ $0.keys.filter(isMeant) }) {
      await enter(key)
      leave(key)
    }
  }

  /// Keys with work that has not ended.
  var count: Int { lines.withLock(\.count) }
}

/// Remembers for a while which resources' responses may not be stored, whoever asks: requests for them need not wait for
/// one another, since none of them could use another's response.
final class UncacheableKeys: Sendable {
  /// The time that a key is remembered, in seconds.
  private static let lifetime: Int64 = 120

  private let keys = LRUCache<CacheKey, HTTPDate>(capacity: 10_000)

  /// Returns `true` if the last response for the key may not be stored.
  func contains(_ key: CacheKey, at now: HTTPDate) -> Bool {
    keys[key].map { (0..<Self.lifetime).contains(now.secondsSinceEpoch - $0.secondsSinceEpoch) } ?? false
  }

  /// The response for the key may not be stored.
  func insert(_ key: CacheKey, at now: HTTPDate) { keys.insert(now, for: key, cost: 1) }

  /// A response for the key is stored.
  func remove(_ key: CacheKey) { keys.remove(key) }
}

/// The result of an exchange with the origin, for all requests that share it.
enum FetchResult: Sendable {
  /// It may be stored, and is for everyone. The transfer goes on while this result waits for those who read it.
  case incoming(IncomingResponse.Place)
  /// A stored response was confirmed.
  case confirmed(CachedResponse, status: Int, generation: UInt64)
  /// A stored response answers better than the server's error.
  case stale(CachedResponse, ServeReason, status: Int)
  /// It may not be stored: it answers one request alone.
  case single(UnsharedResponse)
  /// Nothing was asked: another exchange's response has come since the cache was looked at.
  case superseded
}

extension TransportResponse {
  /// `true` if a request of an event loop can have it there: servers' errors are logged by tasks.
  var isForEventLoops: Bool { head.status.code < 500 && (body.bytesInMemory != nil || body.callbacks != nil) }
}

/// A response that only one request may have.
final class UnsharedResponse: Sendable {
  private let answer: Mutex<TransportResponse?>
  private let request: HTTPRequest
  let generation: UInt64
  /// The detail for `Cache-Status`; `nil` for none.
  let detail: String?
  let isForEventLoops: Bool

  /// - Parameters:
  ///   - request: what was asked, with all its fields.
  ///   - detail: for `Cache-Status`.
  init(_ answer: TransportResponse, to request: HTTPRequest, generation: UInt64, detail: String? = nil) {
    self.answer = Mutex(answer)
    isForEventLoops = answer.isForEventLoops
    self.request = request
    self.generation = generation
    self.detail = detail
  }

  /// Returns `nil` if the request differs, or the response was already taken.
  ///
  /// - Parameter isOurs: `true` if the request is known to be the one that was asked.
  func take(for request: HTTPRequest, isOurs: Bool) -> TransportResponse? {
    guard isOurs || request == self.request else { return nil }
    return answer.withLock { answer in
      defer { answer = nil }
      return answer
    }
  }
}
