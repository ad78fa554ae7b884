/// Decides when a changing folder may be scanned: not during a burst of events, and not while files are being written.
struct FolderActivity: Equatable, Sendable {
  enum Event: Hashable, Sendable {
    /// A file was created or written to, and its writer may continue.
    case writing(String)
    /// A file was closed after writing, moved or removed.
    case settled(String)
    /// Another change, or one of an unknown kind.
    case changed
    /// Events were lost.
    case overflow
  }

  enum Decision: Equatable, Sendable {
    case rest
    case wait(Duration)
    case look
  }

  /// The time without an event after which a burst has ended.
  static let quiet: Duration = .milliseconds(100)
  /// The longest burst: after this time the folder is scanned even if events continue.
  static let patience: Duration = .seconds(2)
  /// The time after which a writer that has a file open without writing is no longer waited for.
  static let writerPatience: Duration = .seconds(10)
  /// The longest time that writers can delay a scan.
  static let writersPatience: Duration = .seconds(60)
  /// The limit of open files that are tracked.
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
      // The closing of the file is an event of its own; this limit applies if that event never comes.
      due = max(due, min(newest + Self.writerPatience, first + Self.writersPatience))
    }
    return due <= now ? .look : .wait(due - now)
  }

  /// Starts a scan: later events count as new.
  mutating func look(at now: ContinuousClock.Instant) {
    (first, last) = (nil, nil)
    writers = writers.filter { $0.value + Self.writerPatience > now }
  }
}
