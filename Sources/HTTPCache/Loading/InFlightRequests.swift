import Containers
import DequeModule
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
    let arriving = state.withLock { $0.arriving.filter { selection.covers($0.key) ?? true }.values.flatMap(\.self) }
    _ = await completed(arriving)
    if case .tags(let tags) = selection {
      sequencer.supersede(tags: tags)
    } else {
      sequencer.supersede { selection.covers($0) ?? true }
    }
    await turns.finish { selection.covers($0) ?? true }
  }

  /// `true` if nothing is under way.
  var isEmpty: Bool {
    sequencer.activeCount == 0 && turns.count == 0 && state.withLock { $0.arriving.isEmpty && $0.numbers.isEmpty }
  }
}

/// Numbers requests in the order in which they were sent, so that a late answer never takes the place of a newer one.
final class RequestSequencer: Sendable {
  private struct Activity {
    var underway = 0
    var newest: UInt64 = 0
    /// When the resource was last changed while requests were under way; 0 for never.
    var epoch: UInt64 = 0
  }

  private struct State {
    var last: UInt64 = 0
    var active: [CacheKey: Activity] = [:]
    /// Tags that were purged while requests were under way, and when.
    var purgedTags: [String: UInt64] = [:]
  }

  /// Tags that are remembered; with more, no answer that is under way counts.
  private static let tagLimit = 1_000

  private let state = Mutex(State())

  /// The newest there is.
  var current: UInt64 { state.withLock(\.last) }

  /// Begins a request, and returns its generation; to be ended.
  func begin(_ key: CacheKey) -> UInt64 {
    state.withLock { state in
      state.last += 1
      state.active[key, default: Activity()].underway += 1
      return state.last
    }
  }

  func end(_ key: CacheKey) {
    state.withLock { state in
      guard var activity = state.active[key] else { return }
      activity.underway -= 1
      state.active[key] = activity.underway > 0 ? activity : nil
      if state.active.isEmpty { state.purgedTags = [:] }
    }
  }

  /// Returns `true` if no response to a later request came before this one's, and none of its tags was purged since it
  /// was asked for. It counts as come from now on.
  func claim(_ generation: UInt64, for key: CacheKey, tags: [String] = []) -> Bool {
    state.withLock { state in
      if tags.contains(where: { state.purgedTags[$0] ?? 0 > generation }) { return false }
      guard let newest = state.active[key]?.newest else { return true }
      guard newest <= generation else { return false }
      state.active[key]?.newest = generation
      return true
    }
  }

  /// Marks the responses to all earlier requests for these keys as outdated, because the resources were changed.
  func supersede(_ keys: [CacheKey]) {
    state.withLock { state in
      state.last += 1
      for key in keys {
        state.active[key]?.newest = state.last
        state.active[key]?.epoch = state.last
      }
    }
  }

  /// Marks the responses to all earlier requests as outdated whose keys match.
  func supersede(where isMeant: (CacheKey) -> Bool) {
    let keys = state.withLock { state in state.active.keys.filter(isMeant) }
    supersede(keys)
  }

  /// Marks the responses to all earlier requests as outdated that turn out to have one of the tags.
  func supersede(tags: Set<String>) {
    state.withLock { state in
      state.last += 1
      guard !state.active.isEmpty else { return }
      let areTooMany = state.purgedTags.count + tags.count > Self.tagLimit
      if areTooMany { state.purgedTags = [:] }
      for tag in tags { state.purgedTags[tag] = state.last }
      for key in Array(state.active.keys) {
        if areTooMany { state.active[key]?.newest = state.last }
        // Until its answer comes nobody knows whether it has one.
        state.active[key]?.epoch = state.last
      }
    }
  }

  /// Differs before and after something was superseded: who asks after a change must not share what was asked before it.
  func epoch(of key: CacheKey) -> UInt64 { state.withLock { $0.active[key]?.epoch ?? 0 } }

  /// Keys with requests under way.
  var activeCount: Int { state.withLock(\.active.count) }
}

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

/// Identifies requests that can share one exchange with the origin.
struct FlightKey: Hashable, Sendable {
  let key: CacheKey
  private let request: ComparedRequest
  private let epoch: UInt64
  /// The handler that answers; `nil` for the server.
  private let origin: String?
  private let isStored: Bool

  /// Requests of one resource at the same time are few.
  func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension FlightKey {
  /// - Parameter names: further fields that the answer is chosen by, in small letters.
  init(_ hop: OutgoingRequest, _ request: HTTPRequest, epoch: UInt64 = 0, chosenBy names: Set<String> = []) {
    var request = request
    // A response in the shared partition answers all clients, unless its `Vary` says otherwise.
    if hop.key.partition.isShared {
      request.headerFields = HTTPFields(
        request.headerFields.filter {
          Self.decisive.contains($0.name.canonicalName) || !names.isEmpty && names.contains($0.name.canonicalName)
        })
    }
    self.init(
      key: hop.key, request: ComparedRequest(request), epoch: epoch, origin: hop.origin?.name, isStored: hop.isStored)
  }

  /// Fields that make another answer, or another decision, whatever the answer says.
  private static let decisive: FieldNames = [
    "authorization", "cache-control", "pragma", "range", "if-range", "if-match", "if-none-match", "if-modified-since",
    "if-unmodified-since",
  ]
}

/// A request whose comparison with itself costs nothing: a key is looked up several times for one request.
private final class ComparedRequest: Equatable, Sendable {
  private let request: HTTPRequest

  init(_ request: HTTPRequest) { self.request = request }

  static func == (left: ComparedRequest, right: ComparedRequest) -> Bool {
    left === right || left.request == right.request
  }
}

/// Decides how a request shares exchanges with the origin: if it joins an equal request's, by which fields requests are
/// compared, and if the response that another exchange brought may answer it. ``OriginExchange`` acts on it.
struct ExchangeSharing {
  /// `false` once the request has to be sent by itself.
  private(set) var isShared: Bool
  /// Requests that differ in these fields do not share an exchange: names in small letters, from `Vary`.
  private(set) var names: Set<String>
  /// How often the request may still look for a response that came meanwhile before it goes out.
  private var looksLeft = 3

  /// - Parameters:
  ///   - isShared: `false` if no response for the key can answer two requests.
  ///   - names: the fields that the known responses vary by.
  init(isShared: Bool, by names: Set<String>) { (self.isShared, self.names) = (isShared, names) }

  var mayLookAgain: Bool { looksLeft > 0 }

  /// Further fields are known by which responses vary.
  mutating func add(_ more: Set<String>) { names.formUnion(more) }

  /// Decides if a response may answer the request; if not, how the request goes on.
  ///
  /// - Parameters:
  ///   - isChosen: the request's fields select the response.
  ///   - vary: the fields that it varies by; `nil` if no other request can have it.
  ///   - isCollapsed: another request asked for it.
  ///   - isReusable: it may answer a request without a question to the origin.
  mutating func mayUse(
    isChosen: Bool, varyingBy vary: VaryKey?, isCollapsed: Bool, isReusable: @autoclosure () -> Bool
  ) -> Bool {
    guard isChosen else {
      // By fields that were not compared yet, equal requests can share the next exchange.
      let count = names.count
      if let vary { names.formUnion(vary.values.keys) }
      isShared = names.count > count
      return false
    }
    if isCollapsed, !isReusable() { isShared = false }
    return !isCollapsed || isShared
  }

  /// The exchange that the request would have joined ended before it began.
  mutating func lookAgain() { looksLeft -= 1 }

  /// The exchange of another request takes too long, or its response answers that request alone.
  mutating func goAlone() { isShared = false }
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

/// A response that only one request may have.
final class UnsharedResponse: Sendable {
  private let answer: Mutex<TransportResponse?>
  private let request: HTTPRequest
  let generation: UInt64
  /// The detail for `Cache-Status`; `nil` for none.
  let detail: String?

  /// - Parameters:
  ///   - request: what was asked, with all its fields.
  ///   - detail: for `Cache-Status`.
  init(_ answer: TransportResponse, to request: HTTPRequest, generation: UInt64, detail: String? = nil) {
    self.answer = Mutex(answer)
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
