import Fleet

/// The events of a fleet, with times in milliseconds, and whether they agree with its promises.
struct FleetHistory: Sendable {
  struct Purge: Sendable {
    /// The place of its order, and the journal of that name.
    var sequence: UInt64
    var journal: Int64
    var url: Int
    /// When it was given, and when the journal had it.
    var given: Int
    var ordered: Int
    /// When each host had carried it out.
    var applied: [Int: Int] = [:]
    /// When the journal lost it, as it was restored to an earlier state.
    var lost: Int?
  }

  struct Answer: Sendable {
    var host: Int
    var url: Int
    var asked: Int
    /// When the origin made its content, or confirmed it.
    var made: Int
    /// `true` if the origin could not be asked.
    var isFallback: Bool
  }

  /// A question of a host for the journal's last sequence.
  struct Question: Sendable {
    var host: Int
    var asked: Int
    var answered: Int
    var span: JournalSpan
  }

  var purges: [Purge] = []
  var answers: [Answer] = []
  var questions: [Question] = []
  /// The starts of hosts after the first.
  var restarts: [(host: Int, at: Int)] = []
  /// The times at which hosts have found that orders of the time before are lost to them, so that they validate what is
  /// older.
  var losses: [(host: Int, at: Int)] = []

  struct Contradiction: Equatable, CustomStringConvertible {
    enum Rule: String {
      case carriedOut = "the host had carried the purge out"
      case late = "the purge was ordered more than 5 seconds before"
      case behind = "the journal had answered again, and the host had not caught up"
    }
    let rule: Rule
    let answer: String
    var description: String { "\(rule.rawValue): \(answer)" }
  }

  /// The milliseconds after which a purge counts on hosts that do not hear of it.
  private static let patience = 5_000
  /// Hosts go by whole seconds, so that one may count as cut off a second earlier.
  private static let cutOff = 4_000

  /// The answers that contradict a promise.
  ///
  /// An answer that a host gives to a request has no content from before a purge of the URL that the host had carried out
  /// when it got the request, or that was ordered more than 5 seconds before. But while the journal does not answer it,
  /// and neither does the origin, it may give what it has. And once the journal answers it again, every purge counts that
  /// the journal has.
  func contradictions() -> [Contradiction] {
    let questions = Dictionary(grouping: questions, by: \.host)
    return answers.compactMap { answer in
      let (host, now) = (answer.host, answer.asked)
      let purgesOfURL = purges.filter { $0.url == answer.url && $0.ordered <= now && answer.made < $0.given }
      guard !purgesOfURL.isEmpty else { return nil }
      let start = restarts.last { $0.host == host && $0.at <= now }?.at ?? .min
      // What happens in the same millisecond may happen before or after.
      let known = (questions[host] ?? []).filter { $0.asked >= start && $0.answered < now }
      let lastAsked = known.map(\.asked).max()
      let isCutOff = lastAsked.map { now - $0 >= Self.cutOff } ?? true
      let span = known.last?.span
      func isOpen(_ purge: Purge) -> Bool { purge.applied[host].map { $0 >= now } ?? true }
      /// The host was told that the journal has it.
      func isAnnounced(_ purge: Purge) -> Bool {
        guard let span, purge.journal == span.journal, purge.lost == nil else { return false }
        return (span.first..<(span.last + 1)).contains(purge.sequence)
      }
      let loss = losses.last { $0.host == host && $0.at <= now }?.at ?? .min
      lazy var isBehind =
        !isCutOff
        && purges.contains {
          isOpen($0) && isAnnounced($0) && $0.ordered > loss && now - $0.ordered > Self.patience + 1_000
        }
      for purge in purgesOfURL {
        let text = "host \(host) at \(now): content of \(answer.made), purge \(purge.sequence) of \(purge.ordered)"
        if !isOpen(purge) { return Contradiction(rule: .carriedOut, answer: text) }
        // No host can know of an order that the journal has lost before it was carried out.
        if let lost = purge.lost, lost <= now { continue }
        if answer.isFallback, isCutOff { continue }
        if now - purge.ordered > Self.patience { return Contradiction(rule: .late, answer: text) }
        if isBehind, isAnnounced(purge) { return Contradiction(rule: .behind, answer: text) }
      }
      return nil
    }
  }
}
