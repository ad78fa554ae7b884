import ScriptEngine

/// `timer`: timers of frameworks that store the functions themselves, under callback ids.
enum TimerModule {
  static func register(_ table: inout ModuleTable) {
    for (name, repeats) in [("setTimeout", false), ("setInterval", true)] {
      table.add(
        "timer", name,
        .deferred(returning: 0) { call, page in
          guard let callback = call.callback(at: 0) else { return }
          let delay = min(max(call[1].number ?? 0, repeats ? 4 : 0), 2_073_600_000)
          page.startTimer(callback, every: .milliseconds(Int(delay)), repeats: repeats)
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
