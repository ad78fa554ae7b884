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
      page.timers.removeValue(forKey: PageInstance.key(ofCallback: callback))?.task?.cancel()
    }
  }
}

/// A timer that was set.
struct PageTimer {
  /// Enters the script, and calls its second argument when the script has returned.
  typealias Firing = @PageActor (PageInstance, @escaping @PageActor () -> Void) async throws -> Void

  /// A timer that a virtual clock fires.
  struct Virtual {
    /// The time of the page at which it is due.
    var due: Duration
    /// Of timers that are due at the same time, the one with the least number comes first.
    var number: Int
    let delay: Duration
    let fire: Firing
  }

  /// Waits for the time, and fires; `nil` with a virtual clock.
  var task: Task<Void, Never>?
  var due: ContinuousClock.Instant
  let repeats: Bool
  /// `nil` with the machine's clock.
  var virtual: Virtual?

  /// The time until it is due.
  @PageActor func remaining(at now: ContinuousClock.Instant, _ time: PageTime?) -> Duration {
    if let virtual, let time { virtual.due - time.now } else { due - now }
  }
}

extension PageInstance {
  /// Starts a timer that a script has set, and enters the script each time it is due.
  func start(_ timer: (id: Int, delay: Duration, repeats: Bool)) {
    startTimer(Self.key(ofTimer: timer.id), every: timer.delay, repeats: timer.repeats) { page, atEnd in
      try await page.enter(.timer(timer.id), atEnd: atEnd)
    }
  }

  /// Cancels a timer of a script.
  func cancelTimer(_ id: Int) { timers.removeValue(forKey: Self.key(ofTimer: id))?.task?.cancel() }

  private static func key(ofTimer id: Int) -> String { "timer \(id)" }
  fileprivate static func key(ofCallback id: String) -> String { "callback \(id)" }

  /// Starts a timer, in the place of an earlier one of the key.
  ///
  /// - Parameter fire: enters the script, and calls its second argument when the script has returned: the timer is
  ///   forgotten before one that the script has set anew is there.
  fileprivate func startTimer(
    _ key: String, every delay: Duration, repeats: Bool,
    _ fire: @escaping PageTimer.Firing
  ) {
    timers[key]?.task?.cancel()
    if let time, time.isVirtual {
      // One that takes no time at all would keep the clock where it is for ever.
      let delay = max(delay, .milliseconds(1))
      timers[key] = PageTimer(
        task: nil, due: .now, repeats: repeats,
        virtual: .init(due: time.now + delay, number: time.nextTimer(), delay: delay, fire: fire))
      return
    }
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
    timers[key] = PageTimer(task: task, due: .now + delay, repeats: repeats)
  }

  /// The timer that a virtual clock reaches first, of this page and of those that it embeds.
  var nextVirtualTimer: (page: PageInstance, key: String, due: Duration)? {
    pagesWithin.flatMap { page in
      page.timers.compactMap { key, timer in timer.virtual.map { (page: page, key: key, timer: $0) } }
    }.min { ($0.timer.due, $0.timer.number) < ($1.timer.due, $1.timer.number) }.map { ($0.page, $0.key, $0.timer.due) }
  }

  /// The page and those that it embeds.
  private var pagesWithin: [PageInstance] { [self] + embedded.values.flatMap(\.pagesWithin) }

  /// Moves the clock to a timer, and fires it.
  func fireVirtualTimer(_ key: String) async {
    guard let time, let timer = timers[key], let virtual = timer.virtual else { return }
    time.move(to: virtual.due)
    var mayRepeat = timer.repeats
    do {
      try await virtual.fire(self) { [weak self] in
        // It is forgotten before one that the script has set anew is there.
        if !timer.repeats { self?.timers[key] = nil }
      }
    } catch {
      mayRepeat = false
    }
    guard timers[key]?.virtual?.number == virtual.number else { return }
    guard mayRepeat else { return timers[key] = nil }
    timers[key]?.virtual?.due = time.now + virtual.delay
    timers[key]?.virtual?.number = time.nextTimer()
  }
}
