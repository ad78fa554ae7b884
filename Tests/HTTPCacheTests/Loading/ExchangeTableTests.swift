import Testing

@testable import Containers
@testable import HTTPCache

/// Every order in which the steps of a few equal requests, of a change of the resource with a purge, and of a client
/// that goes away can follow one another. Between two steps of one of them each other one can take its own.
struct ExchangeTableTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var requests = 2
    var isPurged = false
    /// The client of the first request, or of the second, goes away at any time.
    var leaving: Int?
    /// A request does not wait longer for another one's exchange, at any time.
    var isImpatient = false
    /// Each request first tries to begin an exchange without waiting, as event loops do.
    var isOnLoops = false
    /// The number of exchanges with the origin.
    var exchanges = 1...1
  }

  static let rows = [
    Row(testDescription: "two requests share one exchange"),
    Row(testDescription: "three requests share one exchange", requests: 3),
    Row(testDescription: "a request after a purge has an exchange of its own", isPurged: true, exchanges: 1...2),
    Row(
      testDescription: "of three requests none gets an older response after a purge", requests: 3, isPurged: true,
      exchanges: 1...3),
    Row(testDescription: "the first one goes away", leaving: 0, exchanges: 1...2),
    Row(testDescription: "the second one goes away", leaving: 1, exchanges: 1...2),
    Row(testDescription: "of three requests the first one goes away", requests: 3, leaving: 0, exchanges: 1...2),
    Row(testDescription: "of three requests the second one goes away", requests: 3, leaving: 1, exchanges: 1...2),
    Row(testDescription: "a request goes away at a purge", isPurged: true, leaving: 0, exchanges: 1...3),
    Row(testDescription: "a request that waits too long goes alone", requests: 3, isImpatient: true, exchanges: 1...3),
    Row(testDescription: "requests of event loops share one exchange", requests: 3, isOnLoops: true),
    Row(
      testDescription: "a request of an event loop goes away at a purge", isPurged: true, leaving: 0, isOnLoops: true,
      exchanges: 1...3),
  ]

  @Test("each request gets a whole response that is not older than itself", arguments: rows)
  func interleavings(_ row: Row) {
    var seen: Set<World.State> = []
    var open = [World(row)]
    var exchanges: Set<Int> = []
    var problems: Set<String> = []
    while let world = open.popLast() {
      let steps = world.steps
      if steps.isEmpty {
        exchanges.insert(world.exchanges)
        if let problem = world.problemAtEnd { problems.insert(problem) }
      }
      for step in steps {
        var next = world
        next.take(step)
        if let problem = next.problem { problems.insert(problem) }
        if seen.insert(next.state).inserted { open.append(next) }
      }
      if !problems.isEmpty { break }
    }
    #expect(problems.isEmpty)
    #expect(exchanges.allSatisfy(row.exchanges.contains), "\(exchanges.sorted())")
    #expect(exchanges.contains(row.exchanges.lowerBound))
    #expect(seen.count > 50)
  }

  @Test("the result that follows a cancelled exchange, or another result, counts for nothing")
  func secondResult() throws {
    var table = ExchangeTable<String, Int, Int, String>()
    let resource = CacheKey(named: "a")
    let ticket = try #require(table.begin("k", for: resource, isShared: true) { _ in false })
    guard case .waiting = table.wait(ticket, "first"), case .last = table.leave(ticket) else {
      Issue.record("it has not left")
      return
    }
    #expect(table.end(ticket, of: resource, .failure(CancellationError())) == ["first"])
    let next = try #require(table.begin("k", for: resource, isShared: true) { _ in false })
    #expect(table.end(ticket, of: resource, .success(1)).isEmpty)
    #expect(table.flights.isUnderWay(next) && table.order.activeCount == 1)
    #expect(table.end(next, of: resource, .success(2)).isEmpty)
    #expect(table.end(next, of: resource, .success(3)).isEmpty)
    guard case .ended(.success(2)) = table.wait(next, "next") else {
      Issue.record("it has another result")
      return
    }
    #expect(table.isEmpty)
  }

  @Test("whoever goes on with an exchange is told that all have left it, or that it has ended")
  func goesOn() throws {
    var table = ExchangeTable<String, Int, Int, String>()
    let resource = CacheKey(named: "a")
    let ticket = try #require(table.begin("k", for: resource, isShared: true) { _ in false })
    guard case .waiting = table.wait(ticket, "first") else {
      Issue.record("it has a result")
      return
    }
    #expect(table.began(ticket) {})
    guard case .last = table.leave(ticket) else {
      Issue.record("it is not the last one")
      return
    }
    #expect(!table.began(ticket) {})
    #expect(table.end(ticket, of: resource, .failure(CancellationError())) == ["first"])
    #expect(!table.began(ticket) {})
    #expect(table.isEmpty)
  }

  @Test("an exchange that is not shared is joined by none")
  func alone() throws {
    var table = ExchangeTable<String, Int, Int, String>()
    let resource = CacheKey(named: "a")
    let alone = try #require(table.begin("k", for: resource, isShared: false) { _ in false })
    let first = try #require(table.begin("k", for: resource, isShared: true) { _ in false })
    #expect(table.begin("k", for: resource, isShared: true) { _ in false } == nil)
    #expect(table.flights.callers(of: "k") == 1)
    for (ticket, name) in [(alone, "alone"), (first, "first")] {
      guard case .waiting = table.wait(ticket, name) else {
        Issue.record("\(name) has a result")
        return
      }
      #expect(table.end(ticket, of: resource, .success(1)) == [name])
    }
    #expect(table.isEmpty)
  }
}

/// Requests, the origin, the cache, and the table between them.
private struct World {
  struct Key: Hashable { let epoch: UInt64 }
  typealias Table = ExchangeTable<Key, Int, Result?, Int>
  /// `nil` for an exchange that was abandoned.
  struct Result: Equatable { let response: Int }
  struct Cancelled: Error {}

  struct Response: Hashable {
    let version: Int
    let generation: UInt64
    let key: Key?
    var places = IncomingPlaces()
    var isComplete = false
    var isEnded = false
    var hasFailed = false
    /// Requests that have the result and have not looked at it.
    var holders: Int
  }

  enum Request: Hashable {
    case begins
    case enters(Key)
    case waitsForStoring(Key, [Int])
    case waits(Key, isFirst: Bool)
    case has(Key, Int)
    case reads(Int)
    /// It waits for its own exchange, which no other may join.
    case alone(Key)
    case ended(version: Int?)

    var key: Key? {
      switch self {
      case .enters(let key), .waitsForStoring(let key, _), .waits(let key, _), .has(let key, _), .alone(let key): key
      case .begins, .reads, .ended: nil
      }
    }
  }

  enum Exchange: Hashable {
    case asks(Key, isShared: Bool, UInt64)
    case hasHead(Key, isShared: Bool, UInt64, version: Int)
    /// The response is there; its result is given to those who wait for it in a step of its own.
    case brings(Int, isLanded: Bool)
    case ended
  }

  enum Step {
    case request(Int), exchange(Int), lands(Int), leaves, isOverdue(Int), changes, purges
  }

  static let resource = CacheKey(named: "a")

  let row: ExchangeTableTests.Row
  var table = Table()
  var requests: [Request]
  var waited: [[Int]]
  var ignored: [Int?]
  /// The version that each request must not fall short of.
  var least: [Int?]
  /// The tickets of requests, and of the requests that began an exchange.
  var tickets: [FlightTicket?]
  var underway: [Exchange] = []
  var leaders: [FlightTicket?] = []
  var responses: [Response] = []
  var stored: Int?
  var version = 1
  /// 0 before the resource changes, 1 after, 2 while a purge waits for what is complete, 3 after it.
  var purge = 0
  var purgeWaits: [Int] = []
  var hasLeft = false
  var overdue = 0
  var problem: String?

  var exchanges: Int { underway.count }

  init(_ row: ExchangeTableTests.Row) {
    self.row = row
    requests = Array(repeating: .begins, count: row.requests)
    waited = Array(repeating: [], count: row.requests)
    ignored = Array(repeating: nil, count: row.requests)
    least = Array(repeating: nil, count: row.requests)
    tickets = Array(repeating: nil, count: row.requests)
  }

  /// The steps that can happen next.
  var steps: [Step] {
    var steps: [Step] = []
    for (index, request) in requests.enumerated() {
      switch request {
      case .begins, .enters, .has: steps.append(.request(index))
      case .waitsForStoring(_, let waited) where waited.allSatisfy { responses[$0].isEnded }:
        steps.append(.request(index))
      case .reads(let response) where responses[response].isComplete || responses[response].isEnded:
        steps.append(.request(index))
      case .waits(_, isFirst: false) where row.isImpatient && overdue < 1:
        steps.append(.isOverdue(index))
      default: break
      }
    }
    for (index, exchange) in underway.enumerated() {
      switch exchange {
      case .ended: continue
      case .brings(let response, let isLanded):
        if !isLanded { steps.append(.lands(index)) }
        if responses[response].isEnded { continue }
      case .asks, .hasHead: break
      }
      steps.append(.exchange(index))
    }
    if let leaving = row.leaving, !hasLeft {
      if case .ended = requests[leaving] {} else { steps.append(.leaves) }
    }
    if row.isPurged {
      switch purge {
      case 0: steps.append(.changes)
      case 1: steps.append(.purges)
      case 2 where purgeWaits.allSatisfy { responses[$0].isEnded }: steps.append(.purges)
      default: break
      }
    }
    return steps
  }

  mutating func take(_ step: Step) {
    switch step {
    case .request(let index): go(index)
    case .exchange(let index): goExchange(index)
    case .lands(let index): land(index)
    case .leaves: leave()
    case .isOverdue(let index):
      overdue += 1
      guard case .waits(let key, _) = requests[index], let ticket = tickets[index] else { return }
      guard case .left = table.leave(ticket, isOverdue: true) else { return }
      requests[index] = .alone(key)
      begin(.asks(key, isShared: false, table.order.begin(Self.resource)), nil)
    case .changes:
      version = 2
      purge = 1
    case .purges where purge == 1:
      purgeWaits = (table.arriving[Self.resource] ?? []).filter { responses[$0].isComplete }
      purge = 2
    case .purges:
      table.order.supersede([Self.resource])
      stored = nil
      purge = 3
    }
  }

  private mutating func go(_ index: Int) {
    switch requests[index] {
    case .begins:
      least[index] = purge == 3 ? 2 : 1
      if let stored { return end(index, stored) }
      requests[index] = .enters(Key(epoch: table.order.epoch(of: Self.resource)))
    case .enters(let key):
      let isComplete = { [responses] (number: Int) in responses[number].isComplete }
      let first = row.isOnLoops ? table.begin(key, for: Self.resource, isShared: true, isComplete: isComplete) : nil
      let step =
        first.map { .share($0) }
        ?? table.enter(
          key, for: Self.resource, after: waited[index], ignoring: ignored[index], isComplete: isComplete)
      switch step {
      case .wait(let responses):
        waited[index] += responses
        requests[index] = .waitsForStoring(key, responses)
      case .read(let response):
        ignored[index] = response
        if responses[response].places.enter() { requests[index] = .reads(response) }
      case .share(let ticket):
        if ticket.isFirst, let stored {
          for waiter in table.abandon(ticket, of: Self.resource, nil) { resume(waiter, .success(nil)) }
          return end(index, stored)
        }
        if ticket.isFirst {
          begin(.asks(key, isShared: true, table.order.begin(Self.resource)), ticket)
        }
        requests[index] = .waits(key, isFirst: ticket.isFirst)
        tickets[index] = ticket
        if case .ended(let result) = table.wait(ticket, index) { resume(index, result) }
      }
    case .waitsForStoring(let key, _):
      if let stored { return end(index, stored) }
      requests[index] = .enters(key)
    case .has(let key, let response):
      if responses[response].places.enter() {
        requests[index] = .reads(response)
      } else {
        requests[index] = .enters(key)
        problem = "a response is given up while its result is held"
      }
      release(response)
    case .reads(let response):
      if responses[response].hasFailed {
        problem = "a reader gets a body that is cut short"
      }
      end(index, responses[response].version)
      leavePlace(response)
    case .waits, .alone, .ended: break
    }
  }

  private mutating func begin(_ exchange: Exchange, _ leader: FlightTicket?) {
    underway.append(exchange)
    leaders.append(leader)
  }

  private mutating func goExchange(_ index: Int) {
    switch underway[index] {
    case .asks(let key, let isShared, let generation):
      underway[index] = .hasHead(key, isShared: isShared, generation, version: version)
    case .hasHead(let key, _, let generation, let version):
      let number = responses.count
      responses.append(Response(version: version, generation: generation, key: key, holders: 1))
      table.add(number, for: Self.resource, sharedBy: key)
      underway[index] = .brings(number, isLanded: false)
    case .brings(let response, _) where !responses[response].isComplete && !responses[response].places.areClosed:
      responses[response].isComplete = true
    case .brings(let response, let isLanded):
      let ended = responses[response]
      if ended.isComplete {
        if table.order.claim(ended.generation, for: Self.resource) { stored = ended.version }
      } else {
        responses[response].hasFailed = true
      }
      table.remove(response, for: Self.resource, sharedBy: ended.key)
      table.order.end(Self.resource)
      responses[response].isEnded = true
      if isLanded { underway[index] = .ended }
    case .ended: break
    }
  }

  /// Gives the result of an exchange to those who wait for it.
  private mutating func land(_ index: Int) {
    guard case .brings(let number, _) = underway[index] else { return }
    let result = Result(response: number)
    if let ticket = leaders[index] {
      for waiter in table.end(ticket, of: Self.resource, .success(result)) { resume(waiter, .success(result)) }
    } else if let alone = requests.firstIndex(where: { if case .alone = $0 { true } else { false } }) {
      resume(alone, .success(result))
    }
    release(number)
    underway[index] = responses[number].isEnded ? .ended : .brings(number, isLanded: true)
  }

  /// The client of a request goes away.
  private mutating func leave() {
    hasLeft = true
    guard let index = row.leaving else { return }
    switch requests[index] {
    case .waits:
      guard let ticket = tickets[index] else { return }
      switch table.leave(ticket) {
      case .none: break
      case .left: requests[index] = .ended(version: nil)
      case .last:
        for number in underway.indices where leaders[number]?.flight == ticket.flight {
          switch underway[number] {
          case .asks, .hasHead: break
          case .brings, .ended: continue
          }
          underway[number] = .ended
          table.order.end(Self.resource)
          for waiter in table.end(ticket, of: Self.resource, .failure(Cancelled())) {
            resume(waiter, .failure(Cancelled()))
          }
        }
      }
    case .reads(let response):
      requests[index] = .ended(version: nil)
      leavePlace(response)
    case .has(_, let response):
      requests[index] = .ended(version: nil)
      release(response)
    default: requests[index] = .ended(version: nil)
    }
  }

  private mutating func resume(_ index: Int, _ result: Swift.Result<Result?, any Error>) {
    let key: Key
    switch requests[index] {
    case .waits(let own, _), .alone(let own): key = own
    default:
      problem = "a request is resumed that does not wait"
      return
    }
    switch result {
    case .success(let result?):
      responses[result.response].holders += 1
      requests[index] = .has(key, result.response)
    case .success(nil): requests[index] = .enters(key)
    case .failure:
      if index != row.leaving { problem = "a request fails since another one's client goes away" }
      requests[index] = .ended(version: nil)
    }
  }

  private mutating func release(_ response: Int) {
    responses[response].holders -= 1
    if responses[response].holders == 0 { leavePlace(response) }
  }

  private mutating func leavePlace(_ response: Int) {
    _ = responses[response].places.leave(isComplete: responses[response].isComplete)
  }

  private mutating func end(_ index: Int, _ version: Int) {
    if let least = least[index], version < least { problem = "a request gets what was purged before it" }
    requests[index] = .ended(version: version)
  }

  var problemAtEnd: String? {
    if !table.isEmpty { return "the table is not empty" }
    if purge == 3, let stored, stored < 2 { return "a purged response is stored" }
    for request in requests {
      guard case .ended = request else { return "a request waits for ever" }
    }
    return nil
  }

  /// Tells worlds apart whose futures may differ: not by tickets, nor by which of several equal requests is which.
  struct State: Hashable {
    struct Requester: Hashable {
      let request: Request
      let waited: [Int]
      let ignored: Int?
      let least: Int?
      let isLeaving: Bool
    }

    var requesters: [Requester: Int] = [:]
    let underway: [Exchange]
    let responses: [Response]
    let numbers: [Int]
    let epoch: UInt64
    let shared: [UInt64: Int]
  }

  var state: State {
    var state = State(
      underway: underway, responses: responses,
      numbers: [stored ?? 0, version, purge, overdue, hasLeft ? 1 : 0] + purgeWaits,
      epoch: table.order.epoch(of: Self.resource),
      shared: Dictionary(
        requests.compactMap(\.key).map { ($0.epoch, table.flights.callers(of: $0)) }, uniquingKeysWith: { $1 }))
    for (index, request) in requests.enumerated() {
      let requester = State.Requester(
        request: request, waited: waited[index], ignored: ignored[index], least: least[index],
        isLeaving: index == row.leaving)
      state.requesters[requester, default: 0] += 1
    }
    return state
  }
}
