import HTTPCaching

/// How far a host has come in the fleet's journal, and what it knows by that: which stored responses may have been purged
/// without it.
///
/// The host asks for the journal's last sequence every second. Once it has applied that many entries, it knows all orders
/// that had been given when it asked.
package struct FleetPosition: Hashable, Sendable {
  /// The part that is stored for the host's next start.
  package struct Saved: Hashable, Codable, Sendable {
    /// ``JournalSpan/journal``.
    package var journal: Int64
    /// The sequence of the last entry that was applied.
    package var applied: UInt64
    /// Orders of the time before may be missing, so that what is older must be validated, in seconds since 1970; `nil` if
    /// none is missing.
    package var completeSince: Int64?

    package init(journal: Int64, applied: UInt64, completeSince: Int64? = nil) {
      (self.journal, self.applied, self.completeSince) = (journal, applied, completeSince)
    }
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

  /// The action after an answer of the journal.
  package enum Step: Hashable, Sendable {
    /// Follow the entries after a sequence.
    case follow(after: UInt64)
    case none
  }

  private struct Question: Hashable {
    let asked: HTTPDate
    /// The journal's last sequence by the answer.
    let last: UInt64
  }

  /// `nil` until the journal has answered for the first time, on a host that was in none before.
  package private(set) var saved: Saved?
  /// The journal's last sequence that the host knows of.
  package private(set) var last: UInt64 = 0
  /// All orders that had been given by then are applied.
  package private(set) var currentAsOf: HTTPDate?
  /// The time of the last question that was answered.
  package private(set) var answeredAsOf: HTTPDate?
  private var isFollowing = false
  /// `true` while an entry is carried out, which may take long.
  private var isBusy = false
  /// The answers in a row that have found entries which did not come.
  private var idleAnswers = 0
  /// Answers whose entries are not all applied, the oldest first.
  private var open: [Question] = []
  private let patience: Int64

  /// The answers that are remembered: older ones say nothing that would still count.
  private static let openLimit = 16
  /// The answers after which entries that do not come are asked for again.
  private static let idleLimit = 3

  /// - Parameters:
  ///   - saved: where the host was before; `nil` if it was nowhere.
  ///   - patience: the seconds after which a host without an answer counts as cut off.
  package init(_ saved: Saved? = nil, patience: Int64 = 5) { (self.saved, self.patience) = (saved, patience) }

  /// The sequence of the last entry that was applied.
  package var applied: UInt64? { saved?.applied }

  // MARK: What happens

  /// The journal has answered.
  ///
  /// - Parameters:
  ///   - asked: when it was asked.
  ///   - appliedThen: ``applied`` at that time.
  ///   - now: the time of the answer.
  package mutating func answered(
    _ span: JournalSpan, asked: HTTPDate, appliedThen: UInt64?, at now: HTTPDate
  ) -> Step {
    last = span.last
    answeredAsOf = asked
    if let saved, saved.journal == span.journal, saved.applied <= span.last || appliedThen ?? 0 <= span.last {
      // The entries that come first are the oldest that there are: a gap before them shows there.
      if saved.applied &+ 1 < span.first { missed(at: now, through: span.first &- 1) }
    } else {
      // Of the orders that were given before, nothing is known.
      saved = Saved(journal: span.journal, applied: span.last, completeSince: now.secondsSinceEpoch)
      (open, isFollowing, isBusy) = ([], false, false)
    }
    if open.count == Self.openLimit { open.removeFirst() }
    open.append(Question(asked: asked, last: span.last))
    settle()
    let applied = saved?.applied ?? 0
    idleAnswers = !isBusy && applied < span.last && applied == appliedThen ?? 0 ? idleAnswers + 1 : 0
    guard !isFollowing || idleAnswers >= Self.idleLimit else { return .none }
    (isFollowing, idleAnswers) = (true, 0)
    return .follow(after: applied)
  }

  /// An entry has come, and is carried out unless it was applied before.
  ///
  /// - Returns: `false` if it was.
  package mutating func receives(_ sequence: UInt64, at now: HTTPDate) -> Bool {
    guard let applied, sequence > applied else { return false }
    if sequence > applied &+ 1 { missed(at: now, through: sequence &- 1) }
    isBusy = true
    return true
  }

  /// An entry is applied.
  package mutating func apply(_ sequence: UInt64) {
    isBusy = false
    if let applied, sequence > applied { saved?.applied = sequence }
    last = max(last, sequence)
    settle()
  }

  /// The entries do not come any more.
  package mutating func stopFollowing() { (isFollowing, isBusy) = (false, false) }

  /// The journal has dropped entries that this host has not seen.
  private mutating func missed(at now: HTTPDate, through sequence: UInt64) {
    saved?.applied = sequence
    saved?.completeSince = now.secondsSinceEpoch
  }

  private mutating func settle() {
    let applied = saved?.applied ?? 0
    while let question = open.first, question.last <= applied {
      currentAsOf = question.asked
      open.removeFirst()
    }
  }

  // MARK: What it means

  package func phase(at now: HTTPDate) -> Phase {
    if isRecent(currentAsOf, now) { return .current }
    return isRecent(answeredAsOf, now) ? .behind : .cutOff
  }

  /// A time in the future says nothing: the clock was set back.
  private func isRecent(_ time: HTTPDate?, _ now: HTTPDate) -> Bool {
    guard let time else { return false }
    return (0..<patience).contains(now.secondsSinceEpoch - time.secondsSinceEpoch)
  }

  /// The stored responses that may be used at a time.
  ///
  /// - Parameter servesWhenCutOff: `true` if what is stored answers as usual while the host is cut off.
  package func storedUse(at now: HTTPDate, servesWhenCutOff: Bool = false) -> StoredUse {
    let complete = saved?.completeSince.map { HTTPDate(secondsSinceEpoch: $0 + 1) }
    switch phase(at: now) {
    case .current: return StoredUse(answersSince: complete, fallsBackSince: complete)
    case .behind:
      // An order that was given before the answer may be among those that are not applied.
      let since = answeredAsOf.map { HTTPDate(secondsSinceEpoch: $0.secondsSinceEpoch + 1) }
      let latest = [complete, since].compactMap(\.self).max()
      return StoredUse(answersSince: latest, fallsBackSince: latest)
    case .cutOff:
      if servesWhenCutOff { return StoredUse(answersSince: complete, fallsBackSince: complete) }
      // An order of the last few seconds would not be known either if the host were current.
      let recent = HTTPDate(secondsSinceEpoch: now.secondsSinceEpoch - patience + 1)
      return StoredUse(answersSince: complete.map { max($0, recent) } ?? recent, fallsBackSince: complete)
    }
  }
}
