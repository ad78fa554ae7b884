/// When a folder that is being changed may be looked at: not amid a burst, and not while files are open for writing.
struct FolderActivity: Equatable, Sendable {
  enum Event: Hashable, Sendable {
    /// A file was made or written to, and whoever did so may go on.
    case writing(String)
    /// A file was closed after writing, moved or removed.
    case settled(String)
    /// Something else, or nobody knows what.
    case changed
    /// Events were lost.
    case overflow
  }

  enum Decision: Equatable, Sendable {
    case rest
    case wait(Duration)
    case look
  }

  /// A burst has ended after so long without an event.
  static let quiet: Duration = .milliseconds(100)
  /// A burst without an end is cut here, so that it hides nothing for ever.
  static let patience: Duration = .seconds(2)
  /// The time after which a writer that has an open file and writes nothing is no longer waited for.
  static let writerPatience: Duration = .seconds(10)
  /// And no writers hold back everything else for longer than this.
  static let writersPatience: Duration = .seconds(60)
  /// Open files that are kept account of.
  static let writersLimit = 10_000

  private var first: ContinuousClock.Instant?
  private var last: ContinuousClock.Instant?
  private var writers: [String: ContinuousClock.Instant] = [:]

  mutating func note(_ event: Event, at now: ContinuousClock.Instant) {
    first = first ?? now
    last = now
    switch event {
    case .writing(let path): if writers.count < Self.writersLimit { writers[path] = now }
    case .settled(let path): writers[path] = nil
    case .changed: break
    case .overflow: writers = [:]
    }
  }

  func decision(at now: ContinuousClock.Instant) -> Decision {
    guard let first, let last else { return .rest }
    var due = min(last + Self.quiet, first + Self.patience)
    if let newest = writers.values.max() {
      // The file's end is an event of its own; this is for the case that it never comes.
      due = max(due, min(newest + Self.writerPatience, first + Self.writersPatience))
    }
    return due <= now ? .look : .wait(due - now)
  }

  /// The folder is being looked at: what comes now is new.
  mutating func look(at now: ContinuousClock.Instant) {
    (first, last) = (nil, nil)
    writers = writers.filter { $0.value + Self.writerPatience > now }
  }
}
