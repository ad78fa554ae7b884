import Fleet
import HTTPCaching
import Testing

/// What a host knows of the orders, by how far it is.
struct FleetPositionTests {
  private func at(_ seconds: Int64) -> HTTPDate { HTTPDate(secondsSinceEpoch: seconds) }

  private func span(_ last: UInt64, first: UInt64 = 1, journal: Int64 = 7) -> JournalSpan {
    JournalSpan(journal: journal, first: first, last: last)
  }

  private func use(_ answers: Int64?, _ fallsBack: Int64?) -> StoredUse {
    StoredUse(answersSince: answers.map(at), fallsBackSince: fallsBack.map(at))
  }

  /// Gives a position an answer, and expects a step.
  private func expect(
    _ position: inout FleetPosition, _ step: FleetPosition.Step, after span: JournalSpan, asked: Int64,
    appliedThen: UInt64?, at now: Int64? = nil, place: SourceLocation = #_sourceLocation
  ) {
    let found = position.answered(span, asked: at(asked), appliedThen: appliedThen, at: at(now ?? asked))
    #expect(found == step, sourceLocation: place)
  }

  /// A host that has applied 10 entries of journal 7, and was told so at 100.
  private func current() -> FleetPosition {
    var position = FleetPosition(.init(journal: 7, applied: 10))
    let step = position.answered(span(10), asked: at(100), appliedThen: 10, at: at(100))
    #expect(step == .follow(after: 10))
    return position
  }

  @Test("a host is current for five seconds after a question whose entries it has applied, and then cut off")
  func patience() {
    let position = current()
    #expect(position.phase(at: at(100)) == .current && position.phase(at: at(104)) == .current)
    #expect(position.phase(at: at(105)) == .cutOff)
    // The clock was set back: nothing is known of how long ago that was.
    #expect(position.phase(at: at(99)) == .cutOff)
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
    expect(&position, .none, after: span(12), asked: 200, appliedThen: 10, at: 200)
    #expect(position.phase(at: at(200)) == .behind)
    for serves in [false, true] {
      #expect(position.storedUse(at: at(200), servesWhenCutOff: serves) == use(201, 201))
    }
    position.apply(11)
    #expect(position.phase(at: at(200)) == .behind)
    position.apply(12)
    #expect(position.phase(at: at(200)) == .current && position.storedUse(at: at(204)) == use(nil, nil))
  }

  @Test("entries that come all the time keep no host from being current: each question counts by itself")
  func questions() {
    var position = current()
    for second: Int64 in 101...130 {
      let last = UInt64(second - 90)
      _ = position.answered(span(last), asked: at(second), appliedThen: last - 1, at: at(second))
      #expect(position.phase(at: at(second)) == .current)
      position.apply(last)
    }
    #expect(position.currentAsOf == at(130))
  }

  @Test("a host that was nowhere before begins at the end, and validates what is stored")
  func beginning() {
    var position = FleetPosition()
    #expect(position.phase(at: at(50)) == .cutOff && position.storedUse(at: at(50)) == use(46, nil))
    expect(&position, .follow(after: 12), after: span(12, first: 5), asked: 50, appliedThen: nil, at: 51)
    #expect(position.saved == .init(journal: 7, applied: 12, completeSince: 51))
    #expect(position.phase(at: at(51)) == .current && position.storedUse(at: at(51)) == use(52, 52))
  }

  @Test(
    "a host whose entries the journal does not have any more validates all that is older",
    arguments: [
      // Another journal under the same name, one that has lost its end, and one whose beginning was dropped.
      (JournalSpan(journal: 8, first: 1, last: 30), UInt64(30)),
      (JournalSpan(journal: 7, first: 1, last: 9), 9),
      (JournalSpan(journal: 7, first: 12, last: 30), 11),
    ] as [(JournalSpan, UInt64)])
  func lost(_ span: JournalSpan, _ applied: UInt64) {
    var position = FleetPosition(.init(journal: 7, applied: 10))
    expect(&position, .follow(after: applied), after: span, asked: 100, appliedThen: 10, at: 100)
    #expect(position.saved == .init(journal: span.journal, applied: applied, completeSince: 100))
    for entry in applied...30 { position.apply(entry) }
    #expect(position.phase(at: at(100)) == .current && position.storedUse(at: at(100)) == use(101, 101))
  }

  @Test("the next entry need not be the last one that the journal had had")
  func overtakenAnswer() {
    var position = current()
    // The entry came while the answer was on its way.
    position.apply(11)
    expect(&position, .none, after: span(10), asked: 101, appliedThen: 10, at: 101)
    #expect(position.saved == .init(journal: 7, applied: 11))
  }

  @Test("an entry that is missing among those that come was dropped, and one that comes again is not applied again")
  func gaps() {
    var position = current()
    let (old, next) = (position.receives(10, at: at(101)), position.receives(11, at: at(101)))
    #expect(!old && next)
    #expect(position.saved?.completeSince == nil)
    position.apply(11)
    let isNew = position.receives(13, at: at(102))
    #expect(isNew)
    #expect(position.saved == .init(journal: 7, applied: 12, completeSince: 102))
  }

  @Test("an entry that takes long to be carried out is not asked for again meanwhile")
  func longWork() {
    var position = current()
    let isNew = position.receives(11, at: at(101))
    #expect(isNew)
    for second: Int64 in 101...120 {
      expect(&position, .none, after: span(12), asked: second, appliedThen: 10, at: second)
    }
    position.apply(11)
    for second: Int64 in 121...122 {
      expect(&position, .none, after: span(12), asked: second, appliedThen: 11, at: second)
    }
    expect(&position, .follow(after: 11), after: span(12), asked: 123, appliedThen: 11, at: 123)
  }

  @Test("entries that do not come are asked for again after three answers")
  func standstill() {
    var position = current()
    for second: Int64 in 101...102 {
      expect(&position, .none, after: span(11), asked: second, appliedThen: 10, at: second)
    }
    expect(&position, .follow(after: 10), after: span(11), asked: 103, appliedThen: 10, at: 103)
    position.apply(11)
    expect(&position, .none, after: span(11), asked: 104, appliedThen: 11, at: 104)
    position.stopFollowing()
    expect(&position, .follow(after: 11), after: span(11), asked: 105, appliedThen: 11, at: 105)
  }
}
