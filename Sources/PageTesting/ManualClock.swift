/// A clock that only a test advances, for tests of timeouts, polling and expiry.
///
/// ```swift
/// let clock = ManualClock()
/// let poller = Task { try await poll(every: .seconds(60), on: clock) }
/// try await clock.waitForSleepers()
/// clock.advance(by: .seconds(60))
/// ```
package final class ManualClock: Clock, Sendable {
  /// A time as an offset from the clock's start.
  package struct Instant: InstantProtocol {
    package let offset: Duration

    package init(offset: Duration = .zero) {
      self.offset = offset
    }

    package func advanced(by duration: Duration) -> Instant {
      Instant(offset: offset + duration)
    }

    package func duration(to other: Instant) -> Duration {
      other.offset - offset
    }

    package static func < (left: Instant, right: Instant) -> Bool {
      left.offset < right.offset
    }
  }

  fileprivate struct Face: Sendable {
    var now: Instant
    /// The deadline of each sleeper, by its number.
    var alarms: [Int: Instant] = [:]
    var nextNumber = 0
  }

  private let face: Monitor<Face>

  package init(now: Instant = Instant()) {
    face = Monitor(Face(now: now))
  }

  package var now: Instant { face.read(\.now) }

  package var minimumResolution: Duration { .nanoseconds(1) }

  /// The number of tasks that sleep on this clock.
  package var sleeperCount: Int { face.read(\.alarms.count) }

  /// Returns once the clock has reached `deadline`.
  ///
  /// - Throws: `CancellationError`
  package func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    let number = face.change { face -> Int? in
      guard face.now < deadline else { return nil }
      defer { face.nextNumber += 1 }
      face.alarms[face.nextNumber] = deadline
      return face.nextNumber
    }
    guard let number else { return }
    defer { face.change { $0.alarms[number] = nil } }
    try await face.wait(within: nil) { $0.now >= deadline }
  }

  /// Advances the clock and wakes sleepers, those with the earliest deadlines first. Their tasks run in any order.
  ///
  /// A task that sleeps again after it was woken usually counts from the end of the advance. Several steps of one task
  /// need several calls, with ``waitForSleepers(_:within:)`` between.
  package func advance(by duration: Duration) {
    advance(to: now.advanced(by: duration))
  }

  /// Advances the clock to a time; a time in the past has no effect.
  package func advance(to end: Instant) {
    while let stop = face.read({ $0.alarms.values.filter { $0 <= end }.min() }) {
      face.change { $0.move(to: stop) }
    }
    face.change { $0.move(to: end) }
  }

  /// Returns once at least `count` tasks sleep on this clock.
  ///
  /// - Parameters:
  ///   - count: the number of tasks.
  ///   - limit: the longest wait in real time.
  /// - Throws: ``TimeoutError`` after `limit`, or `CancellationError`.
  package func waitForSleepers(_ count: Int = 1, within limit: Duration = .seconds(60)) async throws {
    try await face.wait(within: limit) {
      $0.alarms.count >= count
    } failure: {
      TimeoutError("expected \(count) sleepers on the clock, found \($0.alarms.count)")
    }
  }
}

extension ManualClock.Face {
  mutating func move(to time: ManualClock.Instant) {
    now = max(now, time)
    alarms = alarms.filter { $0.value > now }
  }
}
