/// A clock that stands still until it is moved, for tests of timeouts, polling and expiry.
///
/// ```swift
/// let clock = ManualClock()
/// let poller = Task { try await poll(every: .seconds(60), on: clock) }
/// try await clock.waitForSleepers()
/// clock.advance(by: .seconds(60))
/// ```
public final class ManualClock: Clock, Sendable {
  /// A time, counted from the clock's beginning.
  public struct Instant: InstantProtocol {
    public let offset: Duration

    public init(offset: Duration = .zero) {
      self.offset = offset
    }

    public func advanced(by duration: Duration) -> Instant {
      Instant(offset: offset + duration)
    }

    public func duration(to other: Instant) -> Duration {
      other.offset - offset
    }

    public static func < (left: Instant, right: Instant) -> Bool {
      left.offset < right.offset
    }
  }

  fileprivate struct Face: Sendable {
    var now: Instant
    /// When each sleeper wants to be woken, by its number.
    var alarms: [Int: Instant] = [:]
    var nextNumber = 0
  }

  private let face: Monitor<Face>

  public init(now: Instant = Instant()) {
    face = Monitor(Face(now: now))
  }

  public var now: Instant { face.read(\.now) }

  public var minimumResolution: Duration { .nanoseconds(1) }

  /// How many tasks sleep on this clock.
  public var sleeperCount: Int { face.read(\.alarms.count) }

  /// Returns once the clock has been moved to `deadline`.
  ///
  /// - Throws: `CancellationError`
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
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

  /// Moves the clock forward and wakes the sleepers on its way, in the order of their deadlines.
  ///
  /// A task that sleeps again after it was woken counts from where the clock stands by then, which is usually the
  /// end of the move: several steps of one task need several calls, with ``waitForSleepers(_:within:)`` between.
  public func advance(by duration: Duration) {
    advance(to: now.advanced(by: duration))
  }

  /// Moves the clock forward to a time; one in the past changes nothing.
  public func advance(to end: Instant) {
    while let stop = face.read({ $0.alarms.values.filter { $0 <= end }.min() }) {
      face.change { $0.move(to: stop) }
    }
    face.change { $0.move(to: end) }
  }

  /// Returns once at least that many tasks sleep on this clock.
  ///
  /// - Parameter limit: how long to wait in real time.
  /// - Throws: ``ManualClockError/tooFewSleepers(expected:found:)`` when the time is up, or `CancellationError`.
  public func waitForSleepers(_ count: Int = 1, within limit: Duration = .seconds(60)) async throws {
    try await face.wait(within: limit) {
      $0.alarms.count >= count
    } failure: {
      ManualClockError.tooFewSleepers(expected: count, found: $0.alarms.count)
    }
  }
}

extension ManualClock.Face {
  mutating func move(to time: ManualClock.Instant) {
    now = max(now, time)
    alarms = alarms.filter { $0.value > now }
  }
}

/// What can go wrong with a ``ManualClock``.
public enum ManualClockError: Error, Equatable, Sendable, CustomStringConvertible {
  case tooFewSleepers(expected: Int, found: Int)

  public var description: String {
    switch self {
    case .tooFewSleepers(let expected, let found): "expected \(expected) sleepers on the clock, found \(found)"
    }
  }
}
