/// The unanswered questions of a worker, and their bytes, within bounds.
///
/// A worker keeps to the bounds by itself, so that a page that exceeds them gets an error. The daemon has wider ones,
/// since it learns of an answer's end before the worker does: a worker that exceeds those was taken over. A pure value.
struct QuestionBounds: Sendable {
  /// The limit of unanswered questions.
  let count: Int
  /// The limit of their bytes; a single question may have more.
  let bytes: Int

  private var sizes: [UInt64: Int] = [:]
  private(set) var heldBytes = 0
  /// The number of questions that were refused since one was admitted.
  private(set) var refusals = 0

  /// The limit of bytes in a worker.
  static let standardBytes = 64 << 20
  /// The refusals in a row by the daemon after which the worker counts as taken over.
  static let refusalLimit = 16

  init(count: Int, bytes: Int = standardBytes) { (self.count, self.bytes) = (count, bytes) }

  /// The bounds that the daemon enforces on a worker with these ones.
  var enforced: QuestionBounds { QuestionBounds(count: count + count / 4 + Self.refusalLimit, bytes: 2 * bytes) }

  /// Counts a question until ``finish(_:)``.
  ///
  /// - Returns: the reason why the question is refused; `nil` if it is admitted.
  mutating func admit(_ question: UInt64, bytes size: Int) -> String? {
    guard sizes[question] == nil, sizes.count < count else {
      refusals += 1
      return "the page has more than \(count) unanswered requests"
    }
    guard sizes.isEmpty || heldBytes + size <= bytes else {
      refusals += 1
      return "the page's unanswered requests have more than \(bytes >> 20) MiB of contents"
    }
    refusals = 0
    sizes[question] = size
    heldBytes += size
    return nil
  }

  mutating func finish(_ question: UInt64) { heldBytes -= sizes.removeValue(forKey: question) ?? 0 }
}

/// Limits the lines that a worker logs, so that one that was taken over does not fill the daemon's log. A pure value.
struct LogAllowance: Sendable {
  enum Verdict: Sendable {
    case log
    /// The first line that is left out.
    case lastLine
    case leaveOut
  }

  /// The lines in a minute.
  static let limit = 100

  private var began: ContinuousClock.Instant?
  private var count = 0

  mutating func verdict(at now: ContinuousClock.Instant) -> Verdict {
    if began.map({ $0 + .seconds(60) <= now }) ?? true { (began, count) = (now, 0) }
    count = min(count + 1, Self.limit + 2)
    return count <= Self.limit ? .log : count == Self.limit + 1 ? .lastLine : .leaveOut
  }
}
