import Foundation
import HTTPTransport

/// A preload that continues by itself: one round after the other, as its schedule says.
struct PreloadRounds: Sendable {
  let run: PreloadRun
  let schedule: PreloadSchedule
  let sleep: @Sendable (Duration) async throws -> Void
  /// Sent when the server announces a new release, or another status.
  private let news = Signal()
  /// Sent before ``news`` for another status: what it disables must not open for long.
  private let urgentNews = Signal()

  init(run: PreloadRun, schedule: PreloadSchedule, sleep: @escaping @Sendable (Duration) async throws -> Void) {
    self.run = run
    self.schedule = schedule
    self.sleep = sleep
  }

  private var reachability: Reachability { run.downloader.client.reachability }

  func report() async -> PreloadReport {
    await withTaskGroup(of: Void.self) { group in
      if let events = schedule.events {
        let listener = ReleaseListener(
          url: events, source: run.verifier.source, store: run.store, client: run.downloader.client,
          schedule: schedule, sleep: sleep, logger: run.logger)
        group.addTask { [news, urgentNews] in
          await listener.listen { subject in
            if subject == .status { urgentNews.send() }
            news.send()
          }
        }
      }
      defer { group.cancelAll() }
      return await rounds()
    }
  }

  private func rounds() async -> PreloadReport {
    var report = PreloadReport()
    var pacing = PreloadPacing(schedule)
    var question = PreloadRun.Question.oncePerLaunch
    while true {
      let (seenNews, seenUrgentNews) = (news.count, urgentNews.count)
      let outcome = await run.round(question, &report)
      let seenReturns = reachability.returns.count
      let step = pacing.step(
        after: outcome, isOffline: reachability.setting == .offline, jitter: .random(in: 0...1))
      guard !Task.isCancelled, case .pause(let duration, let endsOnReturn) = step else { return report }
      run.feed.wait(
        .init(missing: report.failures, until: duration.map { Date(timeIntervalSinceNow: $0.seconds) }))
      let rest = PreloadRest(duration: duration, sleep: sleep, spread: schedule.firstPause)
      await rest.wait(
        until: [endsOnReturn ? (reachability.returns, seenReturns) : nil, (news, seenNews)].compactMap(\.self),
        hastily: (urgentNews, seenUrgentNews))
      guard !Task.isCancelled else { return report }
      switch outcome {
      case .complete:
        // The next rounds belong to another check for a newer release.
        report = PreloadReport()
        question = .anew
      // After lasting failures only a newer manifest helps.
      case .failed(isPassing: false, _, _): question = .anew
      // A check that did not reach the server is repeated.
      case .failed: question = question == .anew || news.count > seenNews ? .anew : .onceMore
      }
      run.feed.goOn()
    }
  }
}

/// A pause that may end early.
struct PreloadRest: Sendable {
  /// The length of the pause; `nil` to wait only for signals.
  let duration: Duration?
  let sleep: @Sendable (Duration) async throws -> Void
  /// The longest extra pause after a signal, which spreads clients that are woken at the same time.
  let spread: Duration

  /// The part of the spread after a signal that is urgent.
  private static let urgentPart = 4

  /// Returns when the time is over, when a signal's count exceeds `seen`, or when the task is cancelled.
  ///
  /// - Parameter urgent: if its count exceeds `seen` too, the clients are spread over a shorter time.
  func wait(
    until signals: [(signal: Signal, seen: UInt64)], hastily urgent: (signal: Signal, seen: UInt64)? = nil
  ) async {
    let wasWoken = await withTaskGroup(of: Bool.self) { group in
      for (signal, seen) in signals {
        group.addTask {
          await signal.wait(beyond: seen)
          return true
        }
      }
      if let duration {
        group.addTask { [sleep] in
          try? await sleep(duration)
          return false
        }
      }
      defer { group.cancelAll() }
      return await group.next() ?? false
    }
    guard wasWoken, !Task.isCancelled else { return }
    let isUrgent = urgent.map { $0.signal.count > $0.seen } ?? false
    try? await sleep((isUrgent ? spread / Self.urgentPart : spread) * Double.random(in: 0...1))
  }
}
