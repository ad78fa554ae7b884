import Foundation

/// The time of a page that runs deterministically, and of the pages that it embeds.
@PageActor final class PageTime {
  let determinism: PageDeterminism
  private var began = ContinuousClock.now
  private var passed = Duration.zero
  private var lastTimer = 0

  init(_ determinism: PageDeterminism) { self.determinism = determinism }

  /// `true` if the time stands still until somebody moves it on.
  var isVirtual: Bool { determinism.clock == .virtual }

  /// The time since the page was opened. It never goes back.
  var now: Duration {
    if !isVirtual { passed = max(passed, ContinuousClock.now - began) }
    return passed
  }

  /// The time for the script, in whole milliseconds since 1970.
  var milliseconds: Double { determinism.milliseconds + (now / .milliseconds(1)).rounded(.down) }

  /// Moves the time on. An earlier time changes nothing.
  func move(to time: Duration) { passed = max(passed, time) }

  /// Moves the time to that of the script, which it has moved on by reading it often.
  func move(toMilliseconds time: Double) {
    let further = time - determinism.milliseconds
    if further > 0, further < 1e15 { move(to: .milliseconds(Int64(further))) }
  }

  /// Sets the time in milliseconds since 1970, as the script has it, from which it goes on.
  func set(toMilliseconds time: Double) {
    passed = Self.duration(ofMilliseconds: time - determinism.milliseconds)
    began = .now - passed
  }

  /// A duration of 0 to 1e15 milliseconds.
  nonisolated static func duration(ofMilliseconds time: Double) -> Duration {
    .milliseconds(Int64(time.isNaN ? 0 : min(max(time, 0), 1e15)))
  }

  /// The number of a timer: of two that are due at the same time, the one that was set first comes first.
  func nextTimer() -> Int {
    lastTimer += 1
    return lastTimer
  }
}

extension PageInstance {
  /// Records the page's next opening: what enters its script, and its changes of the elements.
  ///
  /// - Parameter write: writes the bytes, which follow those before them. It is called after each step.
  package func record(_ write: @escaping @Sendable ([UInt8]) async -> Void) { record(PageRecorder(write: write)) }

  /// Records the page's next opening.
  func record(_ recorder: PageRecorder) { self.recorder = recorder }

  /// The time and the rest for a page that this one pushes: the same, from the present time on.
  var determinismFromNow: PageDeterminism? {
    guard let time else { return nil }
    var determinism = time.determinism
    determinism.time = Date(timeIntervalSince1970: time.milliseconds / 1_000)
    return determinism
  }

  /// Moves the time of a page with a virtual clock on, and fires the timers of the page, and of those that it embeds, that are
  /// due by then: in the order of their times, each when all that came before it is done.
  ///
  /// A page without ``PageDeterminism``, or with a running clock, does nothing.
  ///
  /// - Parameters:
  ///   - duration: the time by which the clock goes on.
  ///   - limit: the longest real time for the work that the timers start.
  /// - Returns: `true` if the clock has gone on by all of the duration; `false` if the limit came first.
  @discardableResult
  public func advance(by duration: Duration, within limit: Duration = .seconds(10)) async -> Bool {
    guard let time, time.isVirtual else { return false }
    let deadline = ContinuousClock.now + limit
    let end = time.now + max(duration, .zero)
    while true {
      while let next = underway(at: .now).lazy.compactMap(\.task).first {
        guard .now < deadline else { return false }
        await Self.wait(for: next, until: deadline)
      }
      guard let next = nextVirtualTimer, next.due <= end else { break }
      guard .now < deadline else { return false }
      await next.page.fireVirtualTimer(next.key)
    }
    time.move(to: end)
    return true
  }
}
