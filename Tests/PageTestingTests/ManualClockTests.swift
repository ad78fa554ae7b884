import PageTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ManualClockTests {
  @Test("the clock stands still until it is advanced")
  func standsStill() {
    let clock = ManualClock()
    let start = clock.now
    #expect(clock.now == start)
    clock.advance(by: .seconds(90))
    #expect(start.duration(to: clock.now) == .seconds(90))
    clock.advance(to: start)
    #expect(start.duration(to: clock.now) == .seconds(90))
  }

  @Test("a sleeper wakes at its deadline and not before")
  func deadline() async throws {
    let clock = ManualClock()
    let sleeper = Task { try await clock.sleep(for: .seconds(10)) }
    try await clock.waitForSleepers()
    clock.advance(by: .seconds(9.999))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(0.001))
    #expect(clock.sleeperCount == 0)
    try await sleeper.value
  }

  @Test("a sleep until a past deadline returns at once")
  func pastDeadline() async throws {
    let clock = ManualClock(now: ManualClock.Instant(offset: .seconds(5)))
    try await clock.sleep(until: ManualClock.Instant(offset: .seconds(5)))
    #expect(clock.sleeperCount == 0)
  }

  @Test("an advance over several deadlines wakes all their sleepers")
  func severalDeadlines() async throws {
    let clock = ManualClock()
    let woken = Monitor<[Int]>([])
    let sleepers = [3, 1, 2, 1].map { seconds in
      Task {
        try await clock.sleep(for: .seconds(seconds))
        woken.change { $0.append(seconds) }
      }
    }
    try await clock.waitForSleepers(4)
    clock.advance(by: .seconds(3))
    for sleeper in sleepers { try await sleeper.value }
    // Tasks run in any order once they are woken.
    #expect(woken.read { $0.sorted() } == [1, 1, 2, 3])
  }

  @Test("a cancelled sleeper is removed")
  func cancelledSleeper() async throws {
    let clock = ManualClock()
    let sleeper = Task { try await clock.sleep(for: .seconds(10)) }
    try await clock.waitForSleepers()
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
    #expect(clock.sleeperCount == 0)
  }

  @Test("waiting for sleepers ends at its limit")
  func waitLimit() async {
    await #expect(throws: TimeoutError("expected 1 sleepers on the clock, found 0")) {
      try await ManualClock().waitForSleepers(within: .milliseconds(10))
    }
  }

  @Test("a periodic task takes one step per advance")
  func periodicTask() async throws {
    let clock = ManualClock()
    let ticks = Monitor(0)
    let poller = Task {
      while true {
        try await clock.sleep(for: .seconds(60))
        ticks.change { $0 += 1 }
      }
    }
    for tick in 1...50 {
      try await clock.waitForSleepers()
      clock.advance(by: .seconds(60))
      try await ticks.wait(within: .seconds(10)) { $0 == tick }
    }
    poller.cancel()
    #expect(clock.now.offset == .seconds(3000))
  }
}
