import ScriptEngine

/// `timer`: timers of frameworks that store the functions themselves, under callback ids.
enum TimerModule {
  static func register(_ table: inout ModuleTable) {
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
