extension PageInstance {
  /// Waits until the page, and those it embeds, are busy with nothing: requests, pictures, calls, and timers that are
  /// due soon. What a timer does is waited for in turn, and so is the next timer that it sets. Intervals are not.
  ///
  /// - Parameters:
  ///   - limit: the longest wait.
  ///   - timers: a timer is waited for while it has this long to go, or less.
  /// - Returns: what was still under way at the end.
  @discardableResult
  public func settle(within limit: Duration, timers: Duration = PendingWork.timerLimit) async -> PendingWork {
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

  /// Everything under way, of the pages it embeds too; timers come last.
  func underway(at now: ContinuousClock.Instant) -> [(item: PendingWork.Item, task: Task<Void, Never>)] {
    var found = sourceTasks.values.map { (item: PendingWork.Item.request, task: $0) }
    found += calls.values.map { ($0.isRequest ? .request : .call, $0.task) }
    for child in embedded.values { found += child.underway(at: now) }
    for timer in [PageTimer](timers.values) + callbackTimers.values {
      found.append((timer.repeats ? .interval : .timer(remaining: timer.due - now), timer.task))
    }
    return found
  }

  /// The task goes on, whoever has given up waiting.
  private static func wait(for task: Task<Void, Never>, until deadline: ContinuousClock.Instant) async {
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
