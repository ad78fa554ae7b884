import Fleet
import HTTPCaching
import HeapModule
import PageTesting

/// Three hosts, an origin and a journal in simulated time: what happens is drawn from a seed.
///
/// The hosts decide by ``FleetPosition`` and by the times of `storedUse`, as real ones do; the journal delays, loses its
/// beginning and is replaced, connections are cut, hosts crash with and without what was not on the disk yet, and the
/// origin is slow or away.
struct SimulatedFleet {
  /// A fault that is made on purpose.
  enum Fault: CaseIterable {
    /// A host takes one purge for carried out that never came.
    case dropsOrder
    /// A host goes on as usual while the journal does not answer.
    case ignoresCut
    /// A host that the journal answers again uses what it has stored.
    case ignoresBacklog
    /// The position reaches the disk before the purge.
    case savesEarly
    /// A response that was asked for before a purge is stored after it.
    case storesLate
  }

  private enum Event {
    case purge
    case request(host: Int)
    case arrival(host: Int, process: Int, fetch: Int)
    case question(host: Int, process: Int)
    case answer(host: Int, process: Int, asked: Int, applied: UInt64?, span: JournalSpan, connection: Int)
    case delivery(host: Int, following: Int, connection: Int)
    case carriedOut(host: Int, following: Int, sequence: UInt64)
    case cut(host: Int)
    case heal(host: Int)
    case crash(host: Int)
    case start(host: Int)
    case origin(isUp: Bool)
    case drop
    case replace
  }

  private struct Scheduled: Comparable {
    let time: Int
    let number: Int
    let event: Event

    static func == (a: Scheduled, b: Scheduled) -> Bool { a.number == b.number }
    static func < (a: Scheduled, b: Scheduled) -> Bool { (a.time, a.number) < (b.time, b.number) }
  }

  private struct Stored {
    var asked: Int
    var made: Int
  }

  private struct Fetch {
    let url: Int
    let asked: Int
    var waiting: [Int]
    var isOutdated = false
  }

  /// What survives a loss of power.
  private struct Disk {
    var position: FleetPosition.Saved?
    var cache: [Int: Stored] = [:]
    var written = 0
  }

  private struct Host {
    var position = FleetPosition()
    var cache: [Int: Stored] = [:]
    var fetches: [Int: Fetch] = [:]
    var process = 0
    var isRunning = true
    /// Counts its connections; what was sent over a former one is lost.
    var connection = 0
    var isConnected = true
    var following = 0
    var next: UInt64 = 1
    var isFollowing = false
    var isBusy = false
    var disk = Disk()
  }

  private var random: SeededGenerator
  private let fault: Fault?
  private var now = 0
  private var count = 0
  private var events = Heap<Scheduled>()
  private var hosts = [Host](repeating: Host(), count: 3)
  private var originIsUp = true
  private var journal: Int64 = 1
  private var first: UInt64 = 1
  /// The indices of the history's purges, in the order of the journal.
  private var entries: [Int] = []
  private var dropped: Set<UInt64> = []
  private var nextFetch = 0
  private(set) var history = FleetHistory()

  private static let urls = 3
  private static let length = 60_000

  /// The time of the simulation as a host's clock shows it.
  private var clock: HTTPDate { HTTPDate(secondsSinceEpoch: Int64(now / 1000) + 1_000_000) }

  static func history(_ seed: UInt64, fault: Fault? = nil) -> FleetHistory {
    var fleet = SimulatedFleet(seed, fault)
    fleet.run()
    return fleet.history
  }

  private init(_ seed: UInt64, _ fault: Fault?) {
    random = SeededGenerator(seed: seed)
    self.fault = fault
  }

  private mutating func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }
  private mutating func happens(_ percent: Int) -> Bool { number(1...100) <= percent }

  private mutating func add(_ event: Event, after delay: Int) {
    count += 1
    events.insert(Scheduled(time: now + delay, number: count, event: event))
  }

  private mutating func run() {
    for host in hosts.indices {
      add(.question(host: host, process: 0), after: number(0...999))
      for _ in 0..<number(20...80) { add(.request(host: host), after: number(0...Self.length)) }
      for _ in 0..<number(0...3) {
        let (start, length) = (number(0...50_000), number(100...20_000))
        add(.cut(host: host), after: start)
        add(.heal(host: host), after: start + length)
      }
      for _ in 0..<number(0...2) {
        let start = number(0...50_000)
        add(.crash(host: host), after: start)
        add(.start(host: host), after: start + number(100...5_000))
      }
    }
    for _ in 0..<number(0...30) { add(.purge, after: number(0...Self.length)) }
    for _ in 0..<number(0...2) {
      let start = number(0...50_000)
      add(.origin(isUp: false), after: start)
      add(.origin(isUp: true), after: start + number(100...20_000))
    }
    if happens(20) { add(.drop, after: number(10_000...50_000)) }
    if happens(5) { add(.replace, after: number(10_000...50_000)) }
    while let next = events.popMin(), next.time <= Self.length {
      now = next.time
      handle(next.event)
    }
  }

  private mutating func handle(_ event: Event) {
    switch event {
    case .purge: purge()
    case .request(let host): request(host)
    case .arrival(let host, let process, let fetch) where hosts[host].process == process: arrive(host, fetch)
    case .question(let host, let process) where hosts[host].process == process: ask(host)
    case .answer(let host, let process, let asked, let applied, let span, let connection)
    where hosts[host].process == process && hosts[host].connection == connection && hosts[host].isConnected:
      take(span, host, asked: asked, applied: applied)
    case .delivery(let host, let following, let connection) where hosts[host].following == following:
      deliver(host, connection)
    case .carriedOut(let host, let following, let sequence) where hosts[host].following == following:
      carryOut(host, sequence)
    case .cut(let host):
      hosts[host].isConnected = false
      hosts[host].connection += 1
    case .heal(let host):
      hosts[host].isConnected = true
      pump(host)
    case .crash(let host): crash(host)
    case .start(let host): start(host)
    case .origin(let isUp): originIsUp = isUp
    case .drop:
      let count = number(0...entries.count)
      entries.removeFirst(count)
      first += UInt64(count)
    case .replace: (journal, first, entries) = (journal + 1, 1, [])
    default: break
    }
  }

  // MARK: The journal

  private mutating func purge() {
    entries.append(history.purges.count)
    history.purges.append(
      FleetHistory.Purge(sequence: last, journal: journal, url: number(0...(Self.urls - 1)), given: now, ordered: now))
    for host in hosts.indices { pump(host) }
  }

  private var last: UInt64 { first - 1 + UInt64(entries.count) }

  private mutating func ask(_ host: Int) {
    add(.question(host: host, process: hosts[host].process), after: 1_000)
    save(host)
    guard hosts[host].isConnected else { return }
    let delay = happens(5) ? number(100...2_000) : number(1...50)
    add(
      .answer(
        host: host, process: hosts[host].process, asked: now, applied: hosts[host].position.applied,
        span: JournalSpan(journal: journal, first: first, last: last), connection: hosts[host].connection),
      after: delay)
  }

  private mutating func take(_ span: JournalSpan, _ host: Int, asked: Int, applied: UInt64?) {
    history.questions.append(FleetHistory.Question(host: host, asked: asked, answered: now, span: span))
    let askedAt = HTTPDate(secondsSinceEpoch: Int64(asked / 1000) + 1_000_000)
    let complete = hosts[host].position.saved?.completeSince
    let step = hosts[host].position.answered(span, asked: askedAt, appliedThen: applied, at: clock)
    noteLoss(host, after: complete)
    guard case .follow(let sequence) = step else { return }
    hosts[host].following += 1
    (hosts[host].next, hosts[host].isFollowing, hosts[host].isBusy) = (sequence + 1, true, false)
    pump(host)
  }

  private mutating func noteLoss(_ host: Int, after complete: Int64?) {
    if hosts[host].position.saved?.completeSince != complete { history.losses.append((host, now)) }
  }

  /// Sends the next entry to a host, if it waits for one.
  private mutating func pump(_ host: Int) {
    guard hosts[host].isFollowing, hosts[host].isConnected, !hosts[host].isBusy, hosts[host].next <= last else {
      return
    }
    hosts[host].isBusy = true
    add(
      .delivery(host: host, following: hosts[host].following, connection: hosts[host].connection),
      after: happens(5) ? number(100...3_000) : number(0...20))
  }

  private mutating func deliver(_ host: Int, _ connection: Int) {
    guard hosts[host].connection == connection, hosts[host].isConnected else {
      hosts[host].isBusy = false
      return pump(host)
    }
    let sequence = max(hosts[host].next, first)
    guard sequence <= last else { return hosts[host].isBusy = false }
    hosts[host].next = sequence + 1
    let complete = hosts[host].position.saved?.completeSince
    guard hosts[host].position.receives(sequence, at: clock) else {
      hosts[host].isBusy = false
      return pump(host)
    }
    noteLoss(host, after: complete)
    add(
      .carriedOut(host: host, following: hosts[host].following, sequence: sequence),
      after: happens(5) ? number(100...4_000) : number(0...10))
    if fault == .savesEarly { hosts[host].disk.position = saved(host, through: sequence) }
  }

  private func saved(_ host: Int, through sequence: UInt64) -> FleetPosition.Saved? {
    var saved = hosts[host].position.saved
    saved?.applied = sequence
    return saved
  }

  private mutating func carryOut(_ host: Int, _ sequence: UInt64) {
    hosts[host].isBusy = false
    guard sequence >= first, sequence <= last else { return }
    let index = entries[Int(sequence - first)]
    let url = history.purges[index].url
    let isDropped = fault == .dropsOrder && sequence % 5 == 0
    if !isDropped {
      hosts[host].cache[url] = nil
      if fault != .storesLate {
        for id in hosts[host].fetches.keys where hosts[host].fetches[id]?.url == url {
          hosts[host].fetches[id]?.isOutdated = true
        }
      }
      history.purges[index].applied[host] = now
    }
    hosts[host].position.apply(sequence)
    pump(host)
  }

  // MARK: Hosts

  private mutating func save(_ host: Int) {
    hosts[host].disk = Disk(position: hosts[host].position.saved, cache: hosts[host].cache, written: now)
  }

  private mutating func crash(_ host: Int) {
    // Without power, what was not on the disk yet is gone as well.
    let losesPower = happens(50)
    var next = Host()
    next.cache = losesPower ? hosts[host].disk.cache : hosts[host].cache
    next.position = FleetPosition(hosts[host].disk.position)
    next.disk = hosts[host].disk
    next.disk.cache = next.cache
    (next.process, next.following) = (hosts[host].process + 1, hosts[host].following + 1)
    (next.connection, next.isConnected, next.isRunning) = (
      hosts[host].connection + 1, hosts[host].isConnected, false
    )
    hosts[host] = next
    // What is lost with the power was not carried out for the next process.
    guard losesPower else { return }
    for index in history.purges.indices where history.purges[index].applied[host] ?? 0 > next.disk.written {
      history.purges[index].applied[host] = nil
    }
  }

  private mutating func start(_ host: Int) {
    guard !hosts[host].isRunning else { return }
    hosts[host].isRunning = true
    history.restarts.append((host, now))
    add(.question(host: host, process: hosts[host].process), after: number(0...100))
  }

  private mutating func request(_ host: Int) {
    guard hosts[host].isRunning else { return }
    let url = number(0...(Self.urls - 1))
    var use = hosts[host].position.storedUse(at: clock)
    switch (fault, hosts[host].position.phase(at: clock)) {
    case (.ignoresCut, .cutOff), (.ignoresBacklog, .behind): use = .unlimited
    default: break
    }
    func mayUse(_ asked: Int, since: HTTPDate?) -> Bool {
      since.map { Int64(asked / 1000) + 1_000_000 >= $0.secondsSinceEpoch } ?? true
    }
    let stored = hosts[host].cache[url]
    if let stored, mayUse(stored.asked, since: use.answersSince) { return answer(host, url, now, stored.made) }
    let joined = hosts[host].fetches.first { _, fetch in
      fetch.url == url && !fetch.isOutdated && mayUse(fetch.asked, since: use.answersSince)
    }
    if let joined { return hosts[host].fetches[joined.key]?.waiting.append(now) ?? () }
    guard originIsUp else {
      if let stored, mayUse(stored.asked, since: use.fallsBackSince) {
        answer(host, url, now, stored.made, isFallback: true)
      }
      return
    }
    nextFetch += 1
    hosts[host].fetches[nextFetch] = Fetch(url: url, asked: now, waiting: [now])
    add(
      .arrival(host: host, process: hosts[host].process, fetch: nextFetch),
      after: happens(20) ? number(500...9_000) : number(1...100))
  }

  private mutating func arrive(_ host: Int, _ id: Int) {
    guard let fetch = hosts[host].fetches.removeValue(forKey: id) else { return }
    for asked in fetch.waiting { answer(host, fetch.url, asked, fetch.asked) }
    if !fetch.isOutdated { hosts[host].cache[fetch.url] = Stored(asked: fetch.asked, made: fetch.asked) }
  }

  private mutating func answer(_ host: Int, _ url: Int, _ asked: Int, _ made: Int, isFallback: Bool = false) {
    history.answers.append(
      FleetHistory.Answer(host: host, url: url, asked: asked, made: made, isFallback: isFallback))
  }
}
