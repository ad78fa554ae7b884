import ScriptEngine

extension ModuleTable {
  /// `timer`: timers of frameworks that store the functions themselves, under callback ids.
  static let timer: [String: ModuleMethod] = [
    "setTimeout": setting(repeats: false), "setInterval": setting(repeats: true), "clearTimeout": clearing,
    "clearInterval": clearing,
  ]

  private static func setting(repeats: Bool) -> ModuleMethod {
    .deferred(returning: { call, _ in call[0] }) { call, page in
      guard let callback = call.callback(at: 0) else { return }
      let limits = (repeats ? 4 : 0)...2_073_600_000.0
      let delay = call[1].milliseconds(in: limits) ?? .milliseconds(Int(limits.lowerBound))
      page.startTimer(PageInstance.key(ofCallback: callback), every: delay, repeats: repeats) { page, atEnd in
        try await page.callback(callback, .undefined, keepAlive: repeats, atEnd: atEnd)
      }
    }
  }

  private static let clearing = ModuleMethod.deferred { call, page in
    if let callback = call.callback(at: 0) {
      page.timers.removeValue(forKey: PageInstance.key(ofCallback: callback))?.task.cancel()
    }
  }
}

/// A timer that was set.
typealias PageTimer = (task: Task<Void, Never>, due: ContinuousClock.Instant, repeats: Bool)

extension PageInstance {
  /// Starts a timer that a script has set, and enters the script each time it is due.
  func start(_ timer: (id: Int, delay: Duration, repeats: Bool)) {
    let id = id
    startTimer(Self.key(ofTimer: timer.id), every: timer.delay, repeats: timer.repeats) { page, atEnd in
      try await page.enter({ try await $0.fireTimer(id, timer.id) }, atEnd: atEnd)
    }
  }

  /// Cancels a timer of a script.
  func cancelTimer(_ id: Int) { timers.removeValue(forKey: Self.key(ofTimer: id))?.task.cancel() }

  private static func key(ofTimer id: Int) -> String { "timer \(id)" }
  fileprivate static func key(ofCallback id: String) -> String { "callback \(id)" }

  /// Starts a timer, in the place of an earlier one of the key.
  ///
  /// - Parameter fire: enters the script, and calls its second argument when the script has returned: the timer is
  ///   forgotten before one that the script has set anew is there.
  fileprivate func startTimer(
    _ key: String, every delay: Duration, repeats: Bool,
    _ fire: @escaping @PageActor (PageInstance, @escaping @PageActor () -> Void) async throws -> Void
  ) {
    timers[key]?.task.cancel()
    let task = Task { @PageActor [weak self] in
      var hasEnded = false
      repeat {
        do {
          try await Task.sleep(for: delay)
          guard let self else { return }
          try await fire(self) {
            guard !repeats else { return }
            hasEnded = true
            self.timers[key] = nil
          }
        } catch {
          break
        }
      } while repeats && !Task.isCancelled
      if let self, !hasEnded, !Task.isCancelled { timers[key] = nil }
    }
    timers[key] = (task, .now + delay, repeats)
  }
}
