import Testing

@testable import Bundles
@testable import HTTPCache
@testable import HTTPTransport

struct PreloadScheduleTests {
  private static let passing = PreloadPacing.RoundResult.failed(isPassing: true, hasProgress: false)
  private static let lasting = PreloadPacing.RoundResult.failed(isPassing: false, hasProgress: false)

  /// The pauses after these results, in seconds, with the longest jitter.
  private static func pauses(
    _ outcomes: [PreloadPacing.RoundResult], _ schedule: PreloadSchedule = .standard, jitter: Double = 1
  ) -> [Double?] {
    var pacing = PreloadPacing(schedule)
    return outcomes.map { outcome in
      guard case .pause(let duration, _) = pacing.step(after: outcome, isOffline: false, jitter: jitter) else {
        return nil
      }
      return duration.map { Double($0.components.seconds) + Double($0.components.attoseconds) / 1e18 }
    }
  }

  @Test("pauses double from round to round, up to the longest")
  func pausesGrow() {
    #expect(Self.pauses(Array(repeating: Self.passing, count: 11)) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
    #expect(Self.pauses(Array(repeating: Self.passing, count: 3), jitter: 0) == [0.5, 1, 2])
  }

  @Test("lasting failures are retried after long pauses")
  func lastingFailures() {
    #expect(Self.pauses(Array(repeating: Self.lasting, count: 8)) == [60, 120, 240, 480, 960, 1920, 3600, 3600])
  }

  @Test("pauses start again after progress, and when the kind of failure changes")
  func progress() {
    let progress = PreloadPacing.RoundResult.failed(isPassing: true, hasProgress: true)
    #expect(Self.pauses([Self.passing, Self.passing, progress, Self.passing]) == [1, 2, 1, 2])
    #expect(Self.pauses([Self.passing, Self.passing, Self.lasting, Self.passing]) == [1, 2, 60, 1])
  }

  @Test("a server's Retry-After is respected, up to the longest pause")
  func retryAfter() {
    func asked(_ duration: Duration) -> [Double?] {
      Self.pauses([.failed(isPassing: true, hasProgress: false, asked: duration)])
    }
    #expect([asked(.seconds(90)), asked(.milliseconds(1)), asked(.seconds(1 << 40))] == [[90], [1], [3600]])
  }

  @Test("a complete release ends the preload, unless there is an interval or an event stream")
  func completion() {
    #expect(Self.pauses([.complete]) == [nil])
    var pacing = PreloadPacing(.standard)
    #expect(pacing.step(after: .complete, isOffline: false, jitter: 1) == .finish)
    #expect(Self.pauses([.complete, .complete], .init(every: .seconds(600))) == [600, 600])
    pacing = PreloadPacing(.init(events: PageURL("https://a.example/events")))
    #expect(pacing.step(after: .complete, isOffline: false, jitter: 1) == .pause(nil, endsOnReturn: false))
  }

  @Test("the network's return ends pauses after transient failures, and without the network nothing else does")
  func returns() {
    var pacing = PreloadPacing(.standard)
    #expect(pacing.step(after: Self.passing, isOffline: true, jitter: 1) == .pause(nil, endsOnReturn: true))
    #expect(pacing.step(after: Self.passing, isOffline: false, jitter: 1) == .pause(.seconds(1), endsOnReturn: true))
    #expect(pacing.step(after: Self.lasting, isOffline: false, jitter: 1) == .pause(.seconds(60), endsOnReturn: false))
  }
}
