/// A monotonic clock with functions to wait on it, so that deadlines can be tested with a manual clock.
package struct TimeSource: Sendable {
  /// Returns the time since an arbitrary beginning.
  package let now: @Sendable () -> Duration
  /// Sleeps until a time of ``now``.
  ///
  /// - Throws: `CancellationError`.
  package let sleepUntil: @Sendable (Duration) async throws -> Void
  /// Sleeps for a duration.
  ///
  /// - Throws: `CancellationError`.
  package let sleep: @Sendable (Duration) async throws -> Void

  package init<Time: Clock>(_ clock: Time) where Time.Duration == Duration {
    let beginning = clock.now
    now = { beginning.duration(to: clock.now) }
    sleepUntil = { try await clock.sleep(until: beginning.advanced(by: $0), tolerance: nil) }
    sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
  }

  package static let system = TimeSource(ContinuousClock())
}
