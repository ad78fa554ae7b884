import Containers
import HTTPCaching
import HTTPTypes

/// The exchanges with origins that are under way, as a value: which requests share one, which responses come in, and in
/// which order they count. ``InFlightRequests`` acts on it under one lock, so that no request sees a state between two
/// of these.
///
/// A response is first the result of an exchange that requests wait for, then one that comes in and that requests read,
/// then one that has all its bytes and is being stored, and then it is found in the cache. A request that enters meets
/// it in one of these, or begins an exchange; it looks at the cache once more before it does.
struct ExchangeTable<Key: Hashable, Response: Equatable, Value, Waiter> {
  /// How a request goes on.
  enum Step {
    /// It waits until these are stored, and looks at the cache again.
    case wait(for: [Response])
    /// It reads the response that comes in.
    case read(Response)
    /// It shares an exchange, and begins it if its ticket is the first.
    case share(FlightTicket)
  }

  /// A request waits at most for so many responses to be stored, however many come meanwhile.
  private static var waitLimit: Int { 8 }

  /// The exchanges whose results requests wait for. Each counts as a request under way until its end.
  private(set) var flights = FlightTable<Key, Value, Waiter>()
  var order = RequestSequencer()
  /// The numbers by which exchanges wait at the gate.
  var numbers: [Key: UInt64] = [:]
  /// The responses that come in and are stored.
  private(set) var arriving: [CacheKey: [Response]] = [:]
  /// Those of them that requests may share.
  private var shared: [Key: Response] = [:]

  /// A request wants to share an exchange.
  ///
  /// - Parameters:
  ///   - key: the requests with the same key can share one.
  ///   - waited: the responses that it has waited for.
  ///   - seen: a response that cannot answer it.
  ///   - isComplete: all bytes of the response have come, so that a new request comes after it.
  mutating func enter(
    _ key: Key, for resource: CacheKey, after waited: [Response], ignoring seen: Response?,
    isComplete: (Response) -> Bool
  ) -> Step {
    if let response = shared[key], response != seen, !isComplete(response) { return .read(response) }
    if waited.count < Self.waitLimit {
      let complete = (arriving[resource] ?? []).filter { isComplete($0) && !waited.contains($0) }
      if !complete.isEmpty { return .wait(for: complete) }
    }
    let ticket = flights.join(key)
    // Until its result is there others may join it by this epoch.
    if ticket.isFirst { order.hold(resource) }
    return .share(ticket)
  }

  /// A request wants to begin an exchange without waiting for anything.
  ///
  /// - Parameter isShared: `false` if no other request may share it.
  /// - Returns: the ticket by which it begins; `nil` if it has to read, wait for or share what is under way, so that
  ///   nothing has changed.
  mutating func begin(
    _ key: Key, for resource: CacheKey, isShared: Bool, isComplete: (Response) -> Bool
  ) -> FlightTicket? {
    guard isShared else {
      order.hold(resource)
      return flights.goAlone(key)
    }
    guard flights.callers(of: key) == 0,
      case .share(let ticket) = enter(key, for: resource, after: [], ignoring: nil, isComplete: isComplete)
    else { return nil }
    return ticket
  }

  /// The first request has begun the exchange, or a further part of it.
  ///
  /// - Parameter cancel: cancels it, so that it ends.
  /// - Returns: `false` if it has ended, or all have left it.
  @discardableResult
  mutating func began(_ ticket: FlightTicket, cancel: @escaping @Sendable () -> Void) -> Bool {
    flights.began(ticket, cancel: cancel)
  }

  /// A request begins to wait for the result of an exchange.
  mutating func wait(
    _ ticket: FlightTicket, _ waiter: Waiter
  ) -> FlightTable<Key, Value, Waiter>.Waiting { flights.wait(ticket, waiter) }

  /// A request no longer waits for the result of an exchange.
  mutating func leave(
    _ ticket: FlightTicket, isOverdue: Bool = false
  ) -> FlightTable<Key, Value, Waiter>.Leaving { flights.leave(ticket, isOverdue: isOverdue) }

  /// An exchange has its result. Another one after it, such as that of its cancellation, counts for nothing.
  ///
  /// - Returns: those who wait for it.
  mutating func end(
    _ ticket: FlightTicket, of resource: CacheKey, _ result: Result<Value, any Error>
  ) -> [Waiter] {
    guard flights.isUnderWay(ticket) else { return [] }
    order.end(resource)
    return flights.land(ticket, result)
  }

  /// The first request does not begin the exchange, and leaves.
  ///
  /// - Parameter value: the result of the others.
  /// - Returns: those who wait for it.
  mutating func abandon(_ ticket: FlightTicket, of resource: CacheKey, _ value: Value) -> [Waiter] {
    order.end(resource)
    return flights.abandon(ticket, value)
  }

  /// A response comes in, and is being stored.
  ///
  /// - Parameter key: the key of requests that may share it; `nil` if none may.
  mutating func add(_ response: Response, for resource: CacheKey, sharedBy key: Key?) {
    if let key { shared[key] = response }
    arriving[resource, default: []].append(response)
  }

  /// A response is stored, or will not be.
  mutating func remove(_ response: Response, for resource: CacheKey, sharedBy key: Key?) {
    if let key, shared[key] == response { shared[key] = nil }
    let others = (arriving[resource] ?? []).filter { $0 != response }
    arriving[resource] = others.isEmpty ? nil : others
  }

  /// `true` if nothing is under way.
  var isEmpty: Bool {
    flights.isEmpty && order.activeCount == 0 && numbers.isEmpty && arriving.isEmpty && shared.isEmpty
  }
}

/// Numbers requests in the order in which they were sent, so that a late response never takes the place of a newer one.
struct RequestSequencer {
  private struct Activity {
    var underway = 0
    var newest: UInt64 = 0
    /// When the resource was last changed while requests were under way; 0 for never.
    var epoch: UInt64 = 0
  }

  /// Tags that are remembered; with more, no response that is under way counts.
  private static let tagLimit = 1_000

  /// The newest generation.
  private(set) var current: UInt64 = 0
  private var active: [CacheKey: Activity] = [:]
  /// Tags that were purged while requests were under way, and when.
  private var purgedTags: [String: UInt64] = [:]

  /// Begins a request, and returns its generation; to be ended.
  mutating func begin(_ key: CacheKey) -> UInt64 {
    current += 1
    active[key, default: Activity()].underway += 1
    return current
  }

  /// Remembers the epoch of a resource, as a request under way does; to be ended.
  mutating func hold(_ key: CacheKey) { active[key, default: Activity()].underway += 1 }

  mutating func end(_ key: CacheKey) {
    guard var activity = active[key] else { return }
    activity.underway -= 1
    active[key] = activity.underway > 0 ? activity : nil
    if active.isEmpty { purgedTags = [:] }
  }

  /// Returns `true` if no response to a later request came before this one's, and none of its tags was purged since it
  /// was asked for. It counts as come from now on.
  mutating func claim(_ generation: UInt64, for key: CacheKey, tags: [String] = []) -> Bool {
    if tags.contains(where: { purgedTags[$0] ?? 0 > generation }) { return false }
    guard let newest = active[key]?.newest else { return true }
    guard newest <= generation else { return false }
    active[key]?.newest = generation
    return true
  }

  /// Marks the responses to all earlier requests for these keys as outdated, because the resources were changed.
  mutating func supersede(_ keys: [CacheKey]) {
    current += 1
    for key in keys {
      active[key]?.newest = current
      active[key]?.epoch = current
    }
  }

  /// Marks the responses to all earlier requests as outdated whose keys match.
  mutating func supersede(where isMeant: (CacheKey) -> Bool) { supersede(active.keys.filter(isMeant)) }

  /// Marks the responses to all earlier requests as outdated that turn out to have one of the tags.
  mutating func supersede(tags: Set<String>) {
    current += 1
    guard !active.isEmpty else { return }
    let areTooMany = purgedTags.count + tags.count > Self.tagLimit
    if areTooMany { purgedTags = [:] }
    for tag in tags { purgedTags[tag] = current }
    for key in Array(active.keys) {
      if areTooMany { active[key]?.newest = current }
      // Only its response can tell if it has one of them.
      active[key]?.epoch = current
    }
  }

  /// Differs before and after something was superseded: who asks after a change must not share what was asked before it.
  func epoch(of key: CacheKey) -> UInt64 { active[key]?.epoch ?? 0 }

  /// Keys with requests under way.
  var activeCount: Int { active.count }
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
  init(_ outgoing: OutgoingRequest, _ request: HTTPRequest, epoch: UInt64 = 0, chosenBy names: Set<String> = []) {
    var request = request
    // A response in the shared partition answers all clients, unless its `Vary` says otherwise.
    if outgoing.key.partition.isShared {
      request.headerFields = HTTPFields(
        request.headerFields.filter {
          Self.decisive.contains($0.name.canonicalName) || !names.isEmpty && names.contains($0.name.canonicalName)
        })
    }
    self.init(
      key: outgoing.key, request: ComparedRequest(request), epoch: epoch, origin: outgoing.origin?.name,
      isStored: outgoing.isStored)
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

  /// - Parameters:
  ///   - isShared: `false` if no response for the key can answer two requests.
  ///   - names: the fields that the known responses vary by.
  init(isShared: Bool, by names: Set<String>) { (self.isShared, self.names) = (isShared, names) }

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

  /// The exchange of another request takes too long, or its response answers that request alone.
  mutating func goAlone() { isShared = false }
}
