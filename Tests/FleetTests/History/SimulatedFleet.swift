import Fleet
import HTTPCaching
import HeapModule
import PageTesting

/// Three hosts, an origin and a journal in simulated time: what happens is drawn from a seed.
///
/// The hosts decide by ``FleetPosition`` and by the times of `storedUse`, as real ones do; the journal delays, loses its
/// beginning, is made anew and restored to an earlier state, connections are cut, hosts crash with and without what was not
/// on the disk yet, their clocks are set back, and the origin is slow or away.
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
    /// A host tells a journal from others by its name and its numbers alone.
    case ignoresEntries
    /// A host measures by its clock for how long the journal has not answered.
    case trustsClock
    /// A host takes the times of what is stored for right after its clock was set back.
    case forgetsClock
  }

  private enum Event {
    case purge
    case request(host: Int)
    case arrival(host: Int, process: Int, fetch: Int)
    case question(host: Int, process: Int)
    case answer(host: Int, process: Int, asked: Asked, applied: UInt64?, span: JournalSpan, connection: Int)
    case delivery(host: Int, following: Int, connection: Int)
    case carriedOut(host: Int, process: Int, following: Int, sequence: UInt64, index: Int)
    case cut(host: Int)
    case heal(host: Int)
    case crash(host: Int)
    case start(host: Int)
    case origin(isUp: Bool)
    case drop
    case replace
    case restore
    case setBack(host: Int)
  }

  private struct Asked {
    let at: Int
    let time: FleetTime
  }

  private struct Scheduled: Comparable {
    let time: Int
    let number: Int
    let event: Event

    static func == (a: Scheduled, b: Scheduled) -> Bool { a.number == b.number }
    static func < (a: Scheduled, b: Scheduled) -> Bool { (a.time, a.number) < (b.time, b.number) }
  }

  private struct Stored {
    /// By the host's clock.
    var asked: HTTPDate
    var made: Int
  }

  private struct Fetch {
    let url: Int
    let asked: Int
    let askedByClock: HTTPDate
    var waiting: [Int]
    var isOutdated = false
  }

  /// The state that survives a loss of power.
  private struct Disk {
    var position: FleetPosition.Saved?
    var clock: HTTPDate?
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
    /// The seconds by which its clock is behind.
    var lag: Int64 = 0
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
  /// The indices of the history's purges, in the order of the journal; they stand for the times of the entries too.
  private var entries: [Int] = []
  private var nextFetch = 0
  private(set) var history = FleetHistory()

  private static let urls = 3
  private static let length = 60_000

  /// A time of the simulation as a host sees it.
  private func time(_ host: Int, _ now: Int) -> FleetTime {
    let seconds = Int64(now / 1000)
    let clock = HTTPDate(secondsSinceEpoch: seconds + 1_000_000 - hosts[host].lag)
    return FleetTime(clock: clock, uptime: fault == .trustsClock ? seconds - hosts[host].lag : seconds)
  }

  private func time(_ host: Int) -> FleetTime { time(host, now) }

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
    if happens(20) { add(.replace, after: number(10_000...50_000)) }
    if happens(20) { add(.restore, after: number(10_000...50_000)) }
    if happens(30) { add(.setBack(host: number(0...2)), after: number(10_000...50_000)) }
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
    case .carriedOut(let host, let process, let following, let sequence, let index)
    where hosts[host].process == process:
      carryOut(host, following, sequence, index)
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
    case .replace:
      let count = last
      (journal, first, entries) = (journal + 1, 1, [])
      resetFollowers()
      // It soon has as many entries as the former one.
      if happens(50) { for _ in 0..<(count + 2) { add(.purge, after: number(0...5_000)) } }
    case .restore:
      let count = number(0...entries.count)
      for index in entries.suffix(count) { history.purges[index].lost = now }
      entries.removeLast(count)
      resetFollowers()
      // It goes on from there, maybe before a host asks.
      if happens(70) { for _ in 0..<number(1...(count + 1)) { purge() } }
    case .setBack(let host): hosts[host].lag += Int64(number(1...40))
    default: break
    }
  }

  /// Ends the streams that hosts follow. Orders that a host has got already are still carried out.
  private mutating func resetFollowers() {
    for host in hosts.indices where hosts[host].isFollowing {
      hosts[host].isFollowing = false
      hosts[host].position.stopFollowing(hosts[host].position.following)
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
    let asked = Asked(at: now, time: time(host))
    add(
      .answer(
        host: host, process: hosts[host].process, asked: asked, applied: hosts[host].position.applied,
        span: JournalSpan(
          journal: journal, first: first, last: last,
          time: fault == .ignoresEntries ? 1 : entries.last.map { Int64($0) }),
        connection: hosts[host].connection),
      after: delay)
  }

  private mutating func take(_ span: JournalSpan, _ host: Int, asked: Asked, applied: UInt64?) {
    history.questions.append(FleetHistory.Question(host: host, asked: asked.at, answered: now, span: span))
    let complete = hosts[host].position.saved?.completeSince
    let step = hosts[host].position.answered(span, asked: asked.time, appliedThen: applied, at: time(host))
    noteLoss(host, after: complete)
    guard let sequence = step else { return }
    hosts[host].following += 1
    (hosts[host].next, hosts[host].isFollowing, hosts[host].isBusy) = (max(sequence, 1), true, false)
    pump(host)
  }

  private mutating func noteLoss(_ host: Int, after complete: Int64?) {
    guard let since = hosts[host].position.saved?.completeSince else { return }
    // A loss may be one of several of the same second, or come while the clock lags behind an earlier one.
    if since != complete || since >= time(host).clock.secondsSinceEpoch { history.losses.append((host, now)) }
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
    let following = hosts[host].position.following
    let index = entries[Int(sequence - first)]
    let arrival = hosts[host].position.receives(sequence, time: entryTime(index), by: following, at: time(host))
    guard arrival else {
      noteLoss(host, after: complete)
      hosts[host].isBusy = false
      return pump(host)
    }
    noteLoss(host, after: complete)
    add(
      .carriedOut(
        host: host, process: hosts[host].process, following: following, sequence: sequence, index: index),
      after: happens(5) ? number(100...4_000) : number(0...10))
    if fault == .savesEarly { hosts[host].disk.position = saved(host, through: sequence) }
  }

  private func saved(_ host: Int, through sequence: UInt64) -> FleetPosition.Saved? {
    var saved = hosts[host].position.saved
    saved?.applied = sequence
    return saved
  }

  private func entryTime(_ index: Int) -> Int64 { fault == .ignoresEntries ? 1 : Int64(index) }

  /// An entry is carried out, also after its following has ended.
  private mutating func carryOut(_ host: Int, _ following: Int, _ sequence: UInt64, _ index: Int) {
    if following == hosts[host].position.following { hosts[host].isBusy = false }
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
    hosts[host].position.apply(sequence, time: entryTime(index), by: following)
    pump(host)
  }

  // MARK: Hosts

  private mutating func save(_ host: Int) {
    // The position's file has a time that the clock has not shown yet, so that it need not be written all the time.
    let clock = hosts[host].position.latestClock.map { HTTPDate(secondsSinceEpoch: $0.secondsSinceEpoch + 30) }
    hosts[host].disk = Disk(
      position: hosts[host].position.saved, clock: clock, cache: hosts[host].cache, written: now)
  }

  private mutating func crash(_ host: Int) {
    // Without power, what was not on the disk yet is gone as well.
    let losesPower = happens(50)
    var next = Host()
    next.cache = losesPower ? hosts[host].disk.cache : hosts[host].cache
    next.position = FleetPosition(
      hosts[host].disk.position, latest: fault == .forgetsClock ? nil : hosts[host].disk.clock)
    next.lag = hosts[host].lag
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
    let time = time(host)
    if fault != .forgetsClock { hosts[host].position.observe(time) }
    var use = hosts[host].position.storedUse(at: time)
    switch (fault, hosts[host].position.phase(at: time)) {
    case (.ignoresCut, .cutOff), (.ignoresBacklog, .behind): use = .unlimited
    default: break
    }
    func mayUse(_ asked: HTTPDate, since: HTTPDate?) -> Bool { since.map { asked >= $0 } ?? true }
    let stored = hosts[host].cache[url]
    if let stored, mayUse(stored.asked, since: use.answersSince) { return answer(host, url, now, stored.made) }
    let joined = hosts[host].fetches.first { _, fetch in
      fetch.url == url && !fetch.isOutdated && mayUse(fetch.askedByClock, since: use.answersSince)
    }
    if let joined { return hosts[host].fetches[joined.key]?.waiting.append(now) ?? () }
    guard originIsUp else {
      if let stored, mayUse(stored.asked, since: use.fallsBackSince) {
        answer(host, url, now, stored.made, isFallback: true)
      }
      return
    }
    nextFetch += 1
    hosts[host].fetches[nextFetch] = Fetch(url: url, asked: now, askedByClock: time.clock, waiting: [now])
    add(
      .arrival(host: host, process: hosts[host].process, fetch: nextFetch),
      after: happens(20) ? number(500...9_000) : number(1...100))
  }

  private mutating func arrive(_ host: Int, _ id: Int) {
    guard let fetch = hosts[host].fetches.removeValue(forKey: id) else { return }
    for asked in fetch.waiting { answer(host, fetch.url, asked, fetch.asked) }
    if !fetch.isOutdated { hosts[host].cache[fetch.url] = Stored(asked: fetch.askedByClock, made: fetch.asked) }
  }

  private mutating func answer(_ host: Int, _ url: Int, _ asked: Int, _ made: Int, isFallback: Bool = false) {
    history.answers.append(
      FleetHistory.Answer(host: host, url: url, asked: asked, made: made, isFallback: isFallback))
  }
}
