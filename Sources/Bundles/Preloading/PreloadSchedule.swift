import Foundation
import HTTPTransport

/// The rounds of a preload that continues until everything is stored, or until it is cancelled.
///
/// A failed round is followed by a pause, which grows from round to round. The network's return ends the pause early.
///
///     configuration.releases.preloadSchedule = PreloadSchedule(
///       every: .seconds(3600), events: PageURL("https://pages.example.com/releases/events"))
public struct PreloadSchedule: Hashable, Sendable {
  /// The upper limit of the pause after the first round with a transient failure, such as an unreachable server; 1
  /// second by default. The limit doubles from round to round, and starts again when an entry was stored.
  public var firstPause: Duration
  /// The longest pause after transient failures; 300 seconds by default.
  public var longestPause: Duration
  /// The upper limit of the pause after the first round with a lasting failure, such as wrong bytes, a 404 or a full
  /// disk; 60 seconds by default. It doubles like ``firstPause``.
  public var firstPauseAfterRefusal: Duration
  /// The longest pause after lasting failures, and the longest `Retry-After` that is respected; 3600 seconds by
  /// default.
  public var longestPauseAfterRefusal: Duration
  /// The interval at which the server is asked for a newer release once everything is stored; `nil`, the default, to
  /// end the preload then.
  public var every: Duration?
  /// The URL of a stream of server-sent events that announces new releases, such as `/releases/events` of renderhost.
  /// The preload listens until it is cancelled. `nil`, the default, for none.
  public var events: PageURL?

  /// Makes a schedule with the given values.
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

  /// Continues until everything is stored, and then ends.
  public static let standard = PreloadSchedule()

  /// The pause after consecutive failures.
  ///
  /// - Parameters:
  ///   - failures: the number of failures, at least one.
  ///   - isPassing: `true` if the last failure is transient.
  ///   - asked: the pause that the server asks for in `Retry-After`.
  ///   - jitter: a random number from 0 to 1, which spreads clients that failed at the same time.
  func pause(after failures: Int, isPassing: Bool, asked: Duration? = nil, jitter: Double) -> Duration {
    let (first, longest) =
      isPassing ? (firstPause, longestPause) : (firstPauseAfterRefusal, longestPauseAfterRefusal)
    let pause = first.doubled(failures - 1, atMost: longest, jitter: jitter)
    return max(pause, min(asked ?? .zero, longestPauseAfterRefusal))
  }
}

/// Decides the step after each round of a preload. A value.
struct PreloadPacing: Equatable, Sendable {
  /// The result of a round.
  enum RoundResult: Equatable, Sendable {
    case complete
    /// - Parameters:
    ///   - isPassing: `true` if one of the failures is transient.
    ///   - hasProgress: `true` if an entry or a response was stored.
    ///   - asked: the longest pause that a server asked for with `Retry-After`.
    case failed(isPassing: Bool, hasProgress: Bool, asked: Duration? = nil)
  }

  enum Step: Equatable, Sendable {
    case finish
    /// - Parameters:
    ///   - duration: the length of the pause; `nil` to wait only for the network or for release events.
    ///   - endsOnReturn: `true` if the network's return ends the pause.
    case pause(Duration?, endsOnReturn: Bool)
  }

  private let schedule: PreloadSchedule
  /// The number of consecutive failures of the same kind.
  private var failures = 0
  private var wasPassing = true

  init(_ schedule: PreloadSchedule) { self.schedule = schedule }

  /// - Parameters:
  ///   - isOffline: `true` if the app has set the network to offline.
  ///   - jitter: a random number from 0 to 1.
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

extension Preloader {
  /// Continues by itself, one round after the other, as the schedule says.
  func rounds(_ schedule: PreloadSchedule) async -> PreloadReport {
    // The first is sent when the server announces a new release or another status; the second before it for another
    // status, since what that disables must not open for long.
    let (announced, urgent) = (Signal(), Signal())
    return await withTaskGroup(of: Void.self) { group in
      if let events = schedule.events {
        let listener = ReleaseListener(
          url: events, source: verifier.source, store: store, client: downloader.client, schedule: schedule,
          sleep: sleep, logger: logger)
        group.addTask {
          await listener.listen { isUrgent in
            if isUrgent { urgent.send() }
            announced.send()
          }
        }
      }
      defer { group.cancelAll() }
      return await rounds(schedule, announced, urgent)
    }
  }

  private func rounds(
    _ schedule: PreloadSchedule, _ announced: Signal, _ urgent: Signal
  ) async -> PreloadReport {
    let reachability = downloader.client.reachability
    var report = PreloadReport()
    var pacing = PreloadPacing(schedule)
    var question = Question.oncePerLaunch
    while true {
      let (seen, seenUrgent) = (announced.count, urgent.count)
      let outcome = await round(question, &report)
      let seenRecoveries = reachability.recovered.count
      let step = pacing.step(
        after: outcome, isOffline: reachability.setting == .offline, jitter: .random(in: 0...1))
      guard !Task.isCancelled, case .pause(let duration, let endsOnReturn) = step else { return report }
      feed.wait(
        .init(missing: report.failures, until: duration.map { Date(timeIntervalSinceNow: $0.seconds) }))
      await schedule.pause(
        duration,
        until: [endsOnReturn ? (reachability.recovered, seenRecoveries) : nil, (announced, seen)].compactMap(\.self),
        hastily: (urgent, seenUrgent), sleep: sleep)
      guard !Task.isCancelled else { return report }
      switch outcome {
      case .complete:
        // The next rounds belong to another check for a newer release.
        report = PreloadReport()
        question = .anew
      // After lasting failures only a newer manifest helps.
      case .failed(isPassing: false, _, _): question = .anew
      // A check that did not reach the server is repeated.
      case .failed: question = question == .anew || announced.count > seen ? .anew : .onceMore
      }
      feed.goOn()
    }
  }
}

extension PreloadSchedule {
  /// The part of the pause after a signal that is left if the signal is urgent.
  private static let urgentPart = 4

  /// Pauses, and returns when the time is over, when a signal's count exceeds `seen`, or when the task is cancelled.
  ///
  /// A signal is followed by an extra pause up to ``firstPause``, which spreads clients that are woken at the same time.
  ///
  /// - Parameters:
  ///   - duration: the length of the pause; `nil` to wait only for signals.
  ///   - urgent: if its count exceeds `seen` too, the clients are spread over a shorter time.
  func pause(
    _ duration: Duration?, until signals: [(signal: Signal, seen: UInt64)],
    hastily urgent: (signal: Signal, seen: UInt64)? = nil, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) async {
    let wasWoken = await withTaskGroup(of: Bool.self) { group in
      for (signal, seen) in signals {
        group.addTask {
          await signal.wait(beyond: seen)
          return true
        }
      }
      if let duration {
        group.addTask {
          try? await sleep(duration)
          return false
        }
      }
      defer { group.cancelAll() }
      return await group.next() ?? false
    }
    guard wasWoken, !Task.isCancelled else { return }
    let isUrgent = urgent.map { $0.signal.count > $0.seen } ?? false
    try? await sleep((isUrgent ? firstPause / Self.urgentPart : firstPause) * Double.random(in: 0...1))
  }
}
