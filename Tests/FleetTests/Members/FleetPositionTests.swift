import Fleet
import HTTPCaching
import Testing

/// The knowledge of a host about the orders, by its position.
struct FleetPositionTests {
  /// A time by a clock that nobody has set.
  private func at(_ seconds: Int64) -> FleetTime { at(seconds, clock: seconds) }

  private func at(_ uptime: Int64, clock: Int64) -> FleetTime {
    FleetTime(clock: HTTPDate(secondsSinceEpoch: clock), uptime: uptime)
  }

  /// The time of an entry of a journal that was never restored.
  private func time(_ sequence: UInt64) -> Int64 { Int64(sequence) * 1_000 }

  private func span(_ last: UInt64, first: UInt64 = 1, journal: Int64 = 7, time: Int64? = nil) -> JournalSpan {
    JournalSpan(journal: journal, first: first, last: last, time: time ?? self.time(last))
  }

  private func use(_ answers: Int64?, _ fallsBack: Int64?) -> StoredUse {
    StoredUse(
      answersSince: answers.map { HTTPDate(secondsSinceEpoch: $0) },
      fallsBackSince: fallsBack.map { HTTPDate(secondsSinceEpoch: $0) })
  }

  private func apply(_ sequence: UInt64, _ position: inout FleetPosition) {
    position.apply(sequence, time: time(sequence), by: position.following)
  }

  private func receives(_ sequence: UInt64, _ position: inout FleetPosition, at seconds: Int64) -> Bool {
    position.receives(sequence, time: time(sequence), by: position.following, at: at(seconds))
  }

  /// Gives a position an answer, and expects a step.
  private func expect(
    _ position: inout FleetPosition, _ step: UInt64?, after span: JournalSpan, asked: Int64,
    appliedThen: UInt64?, at now: Int64? = nil, place: SourceLocation = #_sourceLocation
  ) {
    let found = position.answered(span, asked: at(asked), appliedThen: appliedThen, at: at(now ?? asked))
    #expect(found == step, sourceLocation: place)
  }

  /// A host that has applied 10 entries of journal 7, and was told so at 100.
  private func current() -> FleetPosition {
    var position = FleetPosition(.init(journal: 7, applied: 10, entry: 10_000))
    let step = position.answered(span(10), asked: at(100), appliedThen: 10, at: at(100))
    #expect(step == 10)
    return position
  }

  @Test("a host is current for five seconds after a question whose entries it has applied, and then cut off")
  func patience() {
    let position = current()
    #expect(position.phase(at: at(100)) == .current && position.phase(at: at(104)) == .current)
    #expect(position.phase(at: at(105)) == .cutOff)
  }

  @Test("a current host uses everything that is stored")
  func currentUse() { #expect(current().storedUse(at: at(104)) == use(nil, nil)) }

  @Test("a host that is cut off answers with what is younger than five seconds, and falls back on everything")
  func cutOffUse() {
    #expect(current().storedUse(at: at(200)) == use(196, nil))
    #expect(current().storedUse(at: at(200), servesWhenCutOff: true) == use(nil, nil))
  }

  @Test("a host that is behind uses nothing from before the answer, fresh or stale, until it has applied all entries")
  func behind() {
    var position = current()
    expect(&position, nil, after: span(12), asked: 200, appliedThen: 10, at: 200)
    #expect(position.phase(at: at(200)) == .behind)
    for serves in [false, true] {
      #expect(position.storedUse(at: at(200), servesWhenCutOff: serves) == use(201, 201))
    }
    apply(11, &position)
    #expect(position.phase(at: at(200)) == .behind)
    apply(12, &position)
    #expect(position.phase(at: at(200)) == .current && position.storedUse(at: at(204)) == use(nil, nil))
  }

  @Test("entries that come all the time keep no host from being current: each question counts by itself")
  func questions() {
    var position = current()
    for second: Int64 in 101...130 {
      let last = UInt64(second - 90)
      _ = position.answered(span(last), asked: at(second), appliedThen: last - 1, at: at(second))
      #expect(position.phase(at: at(second)) == .current)
      apply(last, &position)
    }
    #expect(position.knownUpTo == at(130))
  }

  @Test("a host that was nowhere before begins at the end, and validates what is stored")
  func beginning() {
    var position = FleetPosition()
    #expect(position.phase(at: at(50)) == .cutOff && position.storedUse(at: at(50)) == use(46, nil))
    expect(&position, 12, after: span(12, first: 5), asked: 50, appliedThen: nil, at: 51)
    #expect(position.saved == .init(journal: 7, applied: 12, completeSince: 51, entry: 12_000))
    #expect(position.phase(at: at(51)) == .current && position.storedUse(at: at(51)) == use(52, 52))
  }

  @Test(
    "a host whose entries the journal does not have any more validates all that is older",
    arguments: [
      // Another journal under the same name, one that has lost its end, and one whose beginning was dropped.
      (JournalSpan(journal: 6, first: 1, last: 30, time: 30_000), UInt64(30), Int64?.some(30_000)),
      (JournalSpan(journal: 7, first: 1, last: 9, time: 9_000), 9, 9_000),
      (JournalSpan(journal: 7, first: 12, last: 30, time: 30_000), 11, nil),
      // One that was made anew, of which there is little: its orders are carried out as well.
      (JournalSpan(journal: 8, first: 1, last: 30, time: 30_000), 0, nil),
      (JournalSpan(journal: 8, first: 1, last: 2_000, time: 2_000_000), 2_000, 2_000_000),
      // One that was restored to an earlier state, and has as many entries again.
      (JournalSpan(journal: 7, first: 1, last: 10, time: 10_001), 10, 10_001),
    ] as [(JournalSpan, UInt64, Int64?)])
  func lost(_ span: JournalSpan, _ applied: UInt64, _ entry: Int64?) {
    var position = FleetPosition(.init(journal: 7, applied: 10, entry: 10_000))
    expect(&position, applied, after: span, asked: 100, appliedThen: 10, at: 100)
    #expect(position.saved == .init(journal: span.journal, applied: applied, completeSince: 100, entry: entry))
    if applied < span.last { for entry in (applied + 1)...span.last { apply(entry, &position) } }
    #expect(position.phase(at: at(100)) == .current && position.storedUse(at: at(100)) == use(101, 101))
  }

  @Test("the next entry need not be the last one that the journal had had")
  func overtakenAnswer() {
    var position = current()
    // The entry came while the answer was on its way.
    apply(11, &position)
    expect(&position, nil, after: span(10), asked: 101, appliedThen: 10, at: 101)
    #expect(position.saved == .init(journal: 7, applied: 11, entry: 11_000))
  }

  @Test("an entry that is missing among those that come was dropped, and one that comes again is not applied again")
  func gaps() {
    var position = current()
    let (old, next) = (receives(10, &position, at: 101), receives(11, &position, at: 101))
    #expect(!old && next)
    #expect(position.saved?.completeSince == nil)
    apply(11, &position)
    let isNew = receives(13, &position, at: 102)
    #expect(isNew)
    #expect(position.saved == .init(journal: 7, applied: 12, completeSince: 102))
  }

  @Test("an entry that takes long to be carried out is not asked for again meanwhile")
  func longWork() {
    var position = current()
    let isNew = receives(11, &position, at: 101)
    #expect(isNew)
    for second: Int64 in 101...120 {
      expect(&position, nil, after: span(12), asked: second, appliedThen: 10, at: second)
    }
    apply(11, &position)
    for second: Int64 in 121...122 {
      expect(&position, nil, after: span(12), asked: second, appliedThen: 11, at: second)
    }
    expect(&position, 11, after: span(12), asked: 123, appliedThen: 11, at: 123)
  }

  @Test("entries that do not come are asked for again after three answers")
  func standstill() {
    var position = current()
    for second: Int64 in 101...102 {
      expect(&position, nil, after: span(11), asked: second, appliedThen: 10, at: second)
    }
    expect(&position, 10, after: span(11), asked: 103, appliedThen: 10, at: 103)
    apply(11, &position)
    expect(&position, nil, after: span(11), asked: 104, appliedThen: 11, at: 104)
    position.stopFollowing(position.following)
    expect(&position, 11, after: span(11), asked: 105, appliedThen: 11, at: 105)
  }

  @Test("the time without an answer is measured by what nobody can set")
  func clockSetBack() {
    var position = current()
    // The clock was set back by 25 seconds while the host was cut off.
    position.observe(at(130))
    position.observe(at(131, clock: 106))
    #expect(position.phase(at: at(131, clock: 102)) == .cutOff)
    // What was asked for at 125 may be from before that: nothing that looks as old as that is used.
    #expect(position.storedUse(at: at(131, clock: 106)) == use(132, nil))
    #expect(position.storedUse(at: at(154, clock: 129)) == use(132, nil))
    #expect(position.storedUse(at: at(164, clock: 139)) == use(135, nil))
    // Orders that are missing now may have been given at what the clock showed before.
    expect(&position, nil, after: span(30, first: 20), asked: 165, appliedThen: 10, at: 165)
    #expect(position.saved?.completeSince == 165)
  }

  @Test("a host that starts with its clock set back knows until when responses were stored")
  func clockSetBackBeforeStart() {
    var position = FleetPosition(
      .init(journal: 7, applied: 10, entry: 10_000), latest: HTTPDate(secondsSinceEpoch: 190))
    position.observe(at(1, clock: 100))
    #expect(position.storedUse(at: at(1, clock: 100)) == use(192, nil))
    let step = position.answered(span(30, first: 20), asked: at(1, clock: 100), appliedThen: 10, at: at(1, clock: 100))
    #expect(step == 19 && position.saved?.completeSince == 191)
  }

  @Test("an order of the former journal that still runs does not write its number onto the new position")
  func formerOrder() {
    var position = current()
    let former = position.following
    #expect(receives(11, &position, at: 101))
    let anew = JournalSpan(journal: 8, first: 1, last: 3, time: 3_000)
    expect(&position, 0, after: anew, asked: 102, appliedThen: 10)
    position.apply(11, time: time(11), by: former)
    let late = position.receives(12, time: time(12), by: former, at: at(102))
    #expect(!late)
    #expect(position.saved == .init(journal: 8, applied: 0, completeSince: 102))
    for entry: UInt64 in 1...3 { apply(entry, &position) }
    #expect(position.saved == .init(journal: 8, applied: 3, completeSince: 102, entry: 3_000))
  }

  @Test("the entry at the position shows that the journal was restored to an earlier state and has gone on from there")
  func restored() {
    var position = FleetPosition(.init(journal: 7, applied: 10, entry: 10_000))
    expect(&position, 10, after: span(20, time: 20_001), asked: 100, appliedThen: 10)
    let known = position.receives(10, time: 10_001, by: position.following, at: at(101))
    #expect(!known)
    #expect(position.saved == .init(journal: 7, applied: 10, completeSince: 101, entry: 10_001))
    // The position of a host of the version before has no time.
    position = FleetPosition(.init(journal: 7, applied: 10))
    expect(&position, 10, after: span(20, time: 20_001), asked: 100, appliedThen: 10)
    _ = position.receives(10, time: 10_001, by: position.following, at: at(101))
    #expect(position.saved == .init(journal: 7, applied: 10, entry: 10_001))
  }

  @Test("no number of a journal ends the process")
  func hugeNumbers() {
    for number: UInt64 in [0, 1 << 63, .max - 1, .max] {
      var position = FleetPosition(.init(journal: 7, applied: .max, completeSince: .max, entry: .min))
      for other: UInt64 in [.max, 0, number] {
        let span = JournalSpan(journal: 7, first: other, last: number, time: .max)
        _ = position.answered(span, asked: at(.max), appliedThen: number, at: at(.max))
        let arrival = position.receives(number, time: .max, by: position.following, at: at(.min))
        if arrival { position.apply(number, time: .max, by: position.following) }
        let new = JournalSpan(journal: .max, first: other, last: number, time: .max)
        _ = position.answered(new, asked: at(.min), appliedThen: number, at: at(.min))
        for time in [at(.max), at(.min), at(0)] { _ = position.storedUse(at: time) }
      }
    }
  }
}
