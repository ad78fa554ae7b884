import Foundation
import HTTPCaching
import HTTPTransport

/// A time, by a host's clock and by a clock that cannot be set.
package struct FleetTime: Hashable, Sendable {
  /// The clock's time, with which stored responses are marked. It may be set back.
  package var clock: HTTPDate
  /// The seconds since some time before: they only grow, also while the machine sleeps.
  package var uptime: Int64

  package init(clock: HTTPDate, uptime: Int64) { (self.clock, self.uptime) = (clock, uptime) }

  private static let start = ContinuousClock.now

  package static var now: FleetTime {
    FleetTime(clock: .now, uptime: (ContinuousClock.now - start).components.seconds)
  }
}

/// How far a host has come in a log of the fleet's journal, and what it knows by that: which stored responses may have been
/// purged without it.
///
/// The host asks for the log's last sequence every second. Once it has applied that many entries, it knows all orders
/// that had been given when it asked. How long ago that was is measured by the clock that cannot be set.
package struct FleetPosition: Hashable, Sendable {
  /// The part that is stored for the host's next start.
  package struct Saved: Hashable, Codable, Sendable {
    /// ``JournalSpan/journal``.
    package var journal: Int64
    /// The sequence of the last entry that was applied.
    package var applied: UInt64
    /// Orders of the time before may be missing, so that older responses must be validated, in seconds since 1970; `nil` if
    /// none is missing.
    package var completeSince: Int64?
    /// ``JournalEntry/time`` of the last entry that was applied; `nil` if that is not known.
    package var entry: Int64?

    package init(journal: Int64, applied: UInt64, completeSince: Int64? = nil, entry: Int64? = nil) {
      (self.journal, self.applied) = (journal, applied)
      (self.completeSince, self.entry) = (completeSince, entry)
    }

    /// `true` if it can have been stored by a host: it has no numbers beyond all that there are.
    var isPlausible: Bool {
      applied <= UInt64(Int64.max) && (completeSince.map { (0...Self.latestTime).contains($0) } ?? true)
    }

    /// In seconds since 1970: some 30,000 years.
    static let latestTime: Int64 = 1 << 40
  }

  /// The state of a host's knowledge of the orders.
  package enum Phase: String, Hashable, Sendable, Codable, CaseIterable {
    /// All but those of the last few seconds.
    case current
    /// The journal has entries that are not applied yet.
    case behind
    /// No more than it knew when the journal answered last.
    case cutOff = "cut-off"
  }

  private struct Question: Hashable {
    let asked: FleetTime
    /// The journal's last sequence by the answer.
    let last: UInt64
  }

  /// `nil` until the journal has answered for the first time, on a host that was in none before.
  package private(set) var saved: Saved?
  /// The journal's last sequence that the host knows of.
  package private(set) var last: UInt64 = 0
  /// All orders that had been given by then are applied.
  package private(set) var knownUpTo: FleetTime?
  /// The time of the last question that was answered.
  package private(set) var lastQuestionAnswered: FleetTime?
  /// Tells a following from those before it: an entry of theirs may still be carried out when it begins, also one of
  /// another log.
  package private(set) var following = 0
  private var isFollowing = false
  /// `true` while an entry is carried out, which may take long.
  private var isBusy = false
  /// The answers in a row that have found entries which did not come.
  private var idleAnswers = 0
  /// Answers whose entries are not all applied, the oldest first.
  private var pending: [Question] = []
  /// The latest time that the clock has shown.
  private var latest: HTTPDate?
  /// The clock was set back from there: what was asked for by then may be older than its time says.
  private var ambiguousThrough: HTTPDate?
  private let patience: Int64

  /// The answers that are remembered: older ones say nothing that would still count.
  private static let pendingLimit = 16
  /// The answers after which entries that do not come are asked for again.
  private static let idleLimit = 3
  /// The entries of a log that was made anew, which are still carried out: those who gave them wait for that.
  private static let newLogLimit: UInt64 = 1_000

  /// - Parameters:
  ///   - saved: where the host was before; `nil` if it was nowhere.
  ///   - latest: no stored response was asked for after this time of the clock; `nil` if that is not known.
  ///   - patience: the seconds after which a host without an answer counts as cut off.
  package init(_ saved: Saved? = nil, latest: HTTPDate? = nil, patience: Int64 = 5) {
    (self.saved, self.latest, self.patience) = (saved, latest, patience)
  }

  /// The sequence of the last entry that was applied.
  package var applied: UInt64? { saved?.applied }

  // MARK: What happens

  /// The clock shows a time.
  package mutating func observe(_ now: FleetTime) {
    guard let latest, now.clock < latest else {
      latest = now.clock
      return
    }
    // A response may have been asked for since the clock was looked at.
    let through = latest.later(by: 1)
    ambiguousThrough = max(ambiguousThrough ?? through, through)
  }

  /// The latest time that the clock has shown, for the next start.
  package var latestClock: HTTPDate? { latest }

  /// The journal has answered.
  ///
  /// - Parameters:
  ///   - asked: when it was asked.
  ///   - appliedThen: ``applied`` at that time.
  ///   - now: the time of the answer.
  /// - Returns: the sequence after which the entries are to be followed from now on; `nil` if nothing begins.
  package mutating func answered(
    _ span: JournalSpan, asked: FleetTime, appliedThen: UInt64?, at now: FleetTime
  ) -> UInt64? {
    observe(now)
    last = span.last
    lastQuestionAnswered = asked
    if let saved, saved.journal == span.journal, saved.applied <= span.last || appliedThen ?? 0 <= span.last {
      // The entries that come first are the oldest that there are: a gap before them shows there.
      if saved.applied &+ 1 < span.first { missed(at: now, through: span.first &- 1) }
      check(span.last, span.time, at: now)
    } else {
      begin(span, at: now)
    }
    if pending.count == Self.pendingLimit { pending.removeFirst() }
    pending.append(Question(asked: asked, last: span.last))
    dropAnswered()
    let applied = saved?.applied ?? 0
    idleAnswers = !isBusy && applied < span.last && applied == appliedThen ?? 0 ? idleAnswers &+ 1 : 0
    guard !isFollowing || idleAnswers >= Self.idleLimit else { return nil }
    (isFollowing, idleAnswers) = (true, 0)
    following &+= 1
    return applied
  }

  /// Begins with a log of which nothing is known: neither of the orders that were given before.
  private mutating func begin(_ span: JournalSpan, at now: FleetTime) {
    let isAnew = saved.map { $0.journal < span.journal } ?? false
    let count = span.first <= span.last ? span.last - span.first : 0
    if isAnew, count < Self.newLogLimit {
      saved = Saved(journal: span.journal, applied: span.first == 0 ? 0 : span.first - 1)
    } else {
      saved = Saved(journal: span.journal, applied: span.last, entry: span.time)
    }
    let complete = lossTime(now)
    saved?.completeSince = complete
    (pending, isFollowing, isBusy, knownUpTo) = ([], false, false, nil)
  }

  /// An entry has come.
  ///
  /// - Parameters:
  ///   - time: ``JournalEntry/time``.
  ///   - following: the ``following`` that it has come by.
  /// - Returns: `true` if it is to be carried out; `false` if it was applied before, or comes by a following that has
  ///   ended.
  package mutating func receives(_ sequence: UInt64, time: Int64, by following: Int, at now: FleetTime) -> Bool {
    observe(now)
    guard following == self.following, isFollowing, let applied else { return false }
    check(sequence, time, at: now)
    guard sequence > applied else { return false }
    if sequence > applied &+ 1 { missed(at: now, through: sequence &- 1) }
    isBusy = true
    return true
  }

  /// An entry is applied.
  package mutating func apply(_ sequence: UInt64, time: Int64, by following: Int) {
    guard following == self.following, isFollowing else { return }
    isBusy = false
    if let applied, sequence > applied {
      saved?.applied = sequence
      saved?.entry = time
    }
    last = max(last, sequence)
    dropAnswered()
  }

  /// The entries of a following do not come any more.
  package mutating func stopFollowing(_ following: Int) {
    guard following == self.following else { return }
    (isFollowing, isBusy) = (false, false)
  }

  /// The log has dropped entries that this host has not seen.
  private mutating func missed(at now: FleetTime, through sequence: UInt64) {
    saved?.applied = sequence
    saved?.entry = nil
    let complete = lossTime(now)
    saved?.completeSince = complete
  }

  /// Compares the entry at the position with the one that was applied: another one is there if the log was restored to an
  /// earlier state and has gone on from there.
  private mutating func check(_ sequence: UInt64, _ time: Int64?, at now: FleetTime) {
    guard let time, let saved, saved.applied == sequence, saved.entry != time else { return }
    // What a former version has stored has no time.
    if saved.entry != nil { missed(at: now, through: sequence) }
    self.saved?.entry = time
  }

  /// Everything that was asked for by now was asked for at this time of the clock, or earlier.
  private func lossTime(_ now: FleetTime) -> Int64 { max(now.clock, ambiguousThrough ?? now.clock).secondsSinceEpoch }

  private mutating func dropAnswered() {
    let applied = saved?.applied ?? 0
    while let question = pending.first, question.last <= applied {
      knownUpTo = question.asked
      pending.removeFirst()
    }
  }

  // MARK: What it means

  package func phase(at now: FleetTime) -> Phase {
    if isRecent(knownUpTo, now) { return .current }
    return isRecent(lastQuestionAnswered, now) ? .behind : .cutOff
  }

  private func isRecent(_ time: FleetTime?, _ now: FleetTime) -> Bool {
    time.map { (0..<patience).contains(now.uptime &- $0.uptime) } ?? false
  }

  /// The stored responses that may be used at a time.
  ///
  /// - Parameter servesWhenCutOff: `true` if stored responses are served as usual while the host is cut off.
  package func storedUse(at now: FleetTime, servesWhenCutOff: Bool = false) -> StoredUse {
    let complete = saved?.completeSince.map { HTTPDate(secondsSinceEpoch: $0).later(by: 1) }
    switch phase(at: now) {
    case .current: return StoredUse(answersSince: complete, fallsBackSince: complete)
    case .behind:
      // An order that was given before the answer may be among those that are not applied.
      let latest = [complete, lastQuestionAnswered?.clock.later(by: 1), ambiguousThrough?.later(by: 1)].compactMap(
        \.self
      ).max()
      return StoredUse(answersSince: latest, fallsBackSince: latest)
    case .cutOff:
      if servesWhenCutOff { return StoredUse(answersSince: complete, fallsBackSince: complete) }
      // An order of the last few seconds would not be known either if the host were current.
      let recent = now.clock.later(by: 1 - patience)
      let since = [complete, recent, ambiguousThrough?.later(by: 1)].compactMap(\.self).max()
      return StoredUse(answersSince: since, fallsBackSince: complete)
    }
  }
}

extension HTTPDate {
  /// The time so many seconds later.
  fileprivate func later(by seconds: Int64) -> HTTPDate {
    let (sum, isBeyond) = secondsSinceEpoch.addingReportingOverflow(seconds)
    return isBeyond ? self : HTTPDate(secondsSinceEpoch: sum)
  }
}

/// The content of the file beside the cache with the host's position in the journal.
///
/// It is written after what it says was synchronized: after a crash orders may be carried out again, and none is left out.
struct PositionFile: Hashable, Sendable {
  /// The position among the orders.
  var orders: FleetPosition.Saved
  /// The position among the reports; `nil` in a file of the version before.
  var reports: FleetPosition.Saved?
  /// No stored response was asked for after this time of the clock, in seconds since 1970; `nil` in a file of the version
  /// before.
  var clock: Int64?
}

extension PositionFile: Codable {
  private enum Keys: CodingKey { case reports, clock }

  init(from decoder: any Decoder) throws {
    orders = try FleetPosition.Saved(from: decoder)
    let container = try decoder.container(keyedBy: Keys.self)
    reports = try container.decodeIfPresent(FleetPosition.Saved.self, forKey: .reports)
    clock = try container.decodeIfPresent(Int64.self, forKey: .clock)
  }

  /// The members of the orders stand beside the others, as in the version before, which reads them.
  func encode(to encoder: any Encoder) throws {
    try orders.encode(to: encoder)
    var container = encoder.container(keyedBy: Keys.self)
    try container.encodeIfPresent(reports, forKey: .reports)
    try container.encodeIfPresent(clock, forKey: .clock)
  }

  /// - Returns: `nil` if there is none that can be read: then nothing is known of the stored responses.
  init?(at path: String) {
    guard let data = FileManager.default.contents(atPath: path), data.count <= 4096,
      let value = try? JSONValue(reading: Array(data)), let content = try? value.decoded(as: PositionFile.self),
      content.orders.isPlausible, content.reports?.isPlausible ?? true,
      content.clock.map({ (0...FleetPosition.Saved.latestTime).contains($0) }) ?? true
    else { return nil }
    self = content
  }

  /// - Throws: an error of the file system.
  func write(to path: String) throws {
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try JSONEncoder().encode(self).write(to: URL(fileURLWithPath: path), options: .atomic)
  }
}
