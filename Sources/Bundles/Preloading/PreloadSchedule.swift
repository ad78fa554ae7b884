import HTTPTransport

/// When a preload goes on by itself, until everything is here or it is cancelled.
///
/// A round that failed is followed by a pause that grows from round to round; the network's return ends it early.
public struct PreloadSchedule: Hashable, Sendable {
  /// The longest pause after the first round that failed for a reason that passes, such as a server that is away. It
  /// doubles from round to round, and begins anew when something has come in.
  public var firstPause: Duration
  public var longestPause: Duration
  /// The same where another try can hardly help: after wrong bytes, a 404, a full disk.
  public var firstPauseAfterRefusal: Duration
  public var longestPauseAfterRefusal: Duration
  /// How long after everything is here the server is asked for a newer release. Pass `nil` to end the preload then.
  public var every: Duration?
  /// A stream of server-sent events that says when there is a new release, `/releases/events` of renderhost for
  /// example. The preload listens until it is cancelled.
  public var events: PageURL?

  public init(
    firstPause: Duration = .seconds(1), longestPause: Duration = .seconds(300),
    firstPauseAfterRefusal: Duration = .seconds(60), longestPauseAfterRefusal: Duration = .seconds(3600),
    every: Duration? = nil, events: PageURL? = nil
  ) {
    self.firstPause = firstPause
    self.longestPause = longestPause
    self.firstPauseAfterRefusal = firstPauseAfterRefusal
    self.longestPauseAfterRefusal = longestPauseAfterRefusal
    self.every = every
    self.events = events
  }

  /// Goes on until everything is here, and looks no further.
  public static let standard = PreloadSchedule()

  /// The pause after failures in a row.
  ///
  /// - Parameters:
  ///   - failures: at least one.
  ///   - isPassing: whether the last of them may come right by itself.
  ///   - asked: what the server asks for in `Retry-After`.
  ///   - jitter: from 0 to 1; spreads clients that failed together.
  func pause(after failures: Int, isPassing: Bool, asked: Duration? = nil, jitter: Double) -> Duration {
    let (first, longest) =
      isPassing ? (firstPause, longestPause) : (firstPauseAfterRefusal, longestPauseAfterRefusal)
    let doubled = first * (1 << min(max(failures, 1) - 1, 20))
    // Never less than half, as between the tries of one download.
    let pause = min(doubled, longest) * (0.5 + jitter / 2)
    return max(pause, min(asked ?? .zero, longestPauseAfterRefusal))
  }
}

/// What is done after each round of a preload. A value.
struct PreloadPacing: Equatable, Sendable {
  /// What became of a round.
  enum RoundResult: Equatable, Sendable {
    case complete
    /// - Parameters:
    ///   - isPassing: whether one of the failures may come right by itself.
    ///   - hasProgress: whether something has come in.
    ///   - asked: the longest time for which a server asks to be left alone.
    case failed(isPassing: Bool, hasProgress: Bool, asked: Duration? = nil)
  }

  enum Step: Equatable, Sendable {
    case finish
    /// - Parameters:
    ///   - duration: `nil` to wait for the network or for news alone.
    ///   - endsOnReturn: whether the network's return ends it.
    case pause(Duration?, endsOnReturn: Bool)
  }

  private let schedule: PreloadSchedule
  /// In a row, of one kind.
  private var failures = 0
  private var wasPassing = true

  init(_ schedule: PreloadSchedule) { self.schedule = schedule }

  /// - Parameters:
  ///   - isOffline: whether the app says that there is no network.
  ///   - jitter: from 0 to 1.
  mutating func step(after outcome: RoundResult, isOffline: Bool, jitter: Double) -> Step {
    switch outcome {
    case .complete:
      failures = 0
      if let every = schedule.every { return .pause(every, endsOnReturn: false) }
      return schedule.events == nil ? .finish : .pause(nil, endsOnReturn: false)
    case .failed where isOffline:
      return .pause(nil, endsOnReturn: true)
    case .failed(let isPassing, let hasProgress, let asked):
      if hasProgress || isPassing != wasPassing { failures = 0 }
      wasPassing = isPassing
      failures += 1
      return .pause(
        schedule.pause(after: failures, isPassing: isPassing, asked: asked, jitter: jitter), endsOnReturn: isPassing)
    }
  }
}
