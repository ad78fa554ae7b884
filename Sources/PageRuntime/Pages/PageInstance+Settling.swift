extension PageInstance {
  /// Waits until the page and the pages that it embeds have no work under way: requests, pictures, calls, and timers that
  /// are due soon. Work that a timer starts is waited for too, and so is a timer that it sets. Intervals are not.
  ///
  /// - Parameters:
  ///   - limit: the longest wait.
  ///   - timers: the longest time to a timer's due time at which it is waited for.
  /// - Returns: `true` if no such work was left at the end.
  @discardableResult
  public func settle(within limit: Duration, timers: Duration = .milliseconds(200)) async -> Bool {
    await pendingWork(within: limit, timers: timers).isSettled
  }

  /// Waits as ``settle(within:timers:)`` does.
  ///
  /// - Returns: the work that was still under way at the end.
  package func pendingWork(
    within limit: Duration, timers: Duration = PendingWork.timerLimit
  ) async -> PendingWork {
    let deadline = ContinuousClock.now + limit
    while true {
      let now = ContinuousClock.now
      let underway = underway(at: now)
      guard now < deadline, let next = underway.first(where: { $0.item.isWaitedFor(timers: timers) }) else {
        return PendingWork(underway.map(\.item), timers: timers)
      }
      await Self.wait(for: next.task, until: deadline)
    }
  }

  /// The work under way, with that of embedded pages. The page's own timers come last.
  func underway(at now: ContinuousClock.Instant) -> [(item: PendingWork.Item, task: Task<Void, Never>)] {
    var found = sourceTasks.values.map { (item: PendingWork.Item.request, task: $0) }
    found += calls.values.map { ($0.isRequest ? .request : .call, $0.task) }
    for child in embedded.values { found += child.underway(at: now) }
    for timer in [PageTimer](timers.values) + callbackTimers.values {
      found.append((timer.repeats ? .interval : .timer(remaining: timer.due - now), timer.task))
    }
    return found
  }

  /// Waits for a task until a deadline. The task goes on after it.
  static func wait(for task: Task<Void, Never>, until deadline: ContinuousClock.Instant) async {
    let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
    let relay = Task {
      await task.value
      continuation.yield()
    }
    let alarm = Task {
      try? await Task.sleep(until: deadline)
      continuation.yield()
    }
    defer {
      relay.cancel()
      alarm.cancel()
    }
    for await _ in ends { return }
  }
}
