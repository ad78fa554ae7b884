import ScriptEngine

/// `timer`: timers of frameworks that store the functions themselves, under callback ids.
extension ModuleTable {
  static func addTimers(to table: inout ModuleTable) {
    for (name, repeats) in [("setTimeout", false), ("setInterval", true)] {
      table.add(
        "timer", name,
        .deferred(returning: { call, _ in call[0] }) { call, page in
          guard let callback = call.callback(at: 0) else { return }
          let limits = (repeats ? 4 : 0)...2_073_600_000.0
          let delay = call[1].milliseconds(in: limits) ?? .milliseconds(Int(limits.lowerBound))
          page.startTimer(callback, every: delay, repeats: repeats)
        })
    }
    for name in ["clearTimeout", "clearInterval"] {
      table.add(
        "timer", name,
        .deferred { call, page in
          if let callback = call.callback(at: 0) { page.callbackTimers.removeValue(forKey: callback)?.task.cancel() }
        })
    }
  }
}

/// A timer that was set.
typealias PageTimer = (task: Task<Void, Never>, due: ContinuousClock.Instant, repeats: Bool)

extension PageInstance {
  /// Starts a timer that a script has set, and enters the script each time it is due.
  func start(_ timer: (id: Int, delay: Duration, repeats: Bool)) {
    let id = id
    timers[timer.id] = after(timer.delay, repeats: timer.repeats) { page, atEnd in
      try await page.enter({ try await $0.fireTimer(id, timer.id) }, atEnd: atEnd)
    } atEnd: { page in
      page.timers[timer.id] = nil
    }
  }

  /// Calls a callback after a delay, once or repeatedly.
  func startTimer(_ callback: String, every delay: Duration, repeats: Bool) {
    callbackTimers[callback]?.task.cancel()
    callbackTimers[callback] = after(delay, repeats: repeats) { page, atEnd in
      try await page.callback(callback, .undefined, keepAlive: repeats, atEnd: atEnd)
    } atEnd: { page in
      page.callbackTimers[callback] = nil
    }
  }

  /// - Parameters:
  ///   - fire: enters the script, and calls its second argument when the script has returned.
  ///   - atEnd: forgets the timer, before a timer that the script has set anew is there; not called if it was cancelled.
  private func after(
    _ delay: Duration, repeats: Bool,
    _ fire: @escaping @PageActor (PageInstance, @escaping @PageActor () -> Void) async throws -> Void,
    atEnd: @escaping @PageActor (PageInstance) -> Void
  ) -> PageTimer {
    let task = Task { @PageActor [weak self] in
      var hasEnded = false
      repeat {
        do {
          try await Task.sleep(for: delay)
          guard let self else { return }
          try await fire(self) {
            guard !repeats else { return }
            hasEnded = true
            atEnd(self)
          }
        } catch {
          break
        }
      } while repeats && !Task.isCancelled
      if let self, !hasEnded, !Task.isCancelled { atEnd(self) }
    }
    return (task, .now + delay, repeats)
  }
}
