extension PageInstance {
  /// Waits until nothing that the page has asked for is under way: requests, pictures, calls, and those of pages it
  /// embeds. Timers do not count.
  ///
  /// - Returns: false where that took longer than `limit`.
  @discardableResult
  public func settle(within limit: Duration) async -> Bool {
    let deadline = ContinuousClock.now + limit
    while let task = underway.first {
      guard .now < deadline else { return false }
      let isDone = await Self.wait(for: task, until: deadline)
      if !isDone { return false }
    }
    for child in embedded.values {
      guard await child.settle(within: deadline - .now) else { return false }
    }
    return true
  }

  /// The task goes on, whoever has given up waiting.
  private static func wait(for task: Task<Void, Never>, until deadline: ContinuousClock.Instant) async -> Bool {
    let (ends, continuation) = AsyncStream.makeStream(of: Bool.self)
    let relay = Task {
      await task.value
      continuation.yield(true)
    }
    let alarm = Task {
      try? await Task.sleep(until: deadline)
      continuation.yield(false)
    }
    defer {
      relay.cancel()
      alarm.cancel()
    }
    for await isDone in ends { return isDone }
    return false
  }
}
