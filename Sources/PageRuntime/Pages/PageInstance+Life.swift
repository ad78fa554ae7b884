import Bundles
import Foundation
import HTTPTransport
import ScriptEngine

extension PageInstance {
  // MARK: Being shown

  /// Says that the page is shown to its user. The page's root gets the event `viewappear` when the page has rendered, or
  /// at once if it has; the pages that it embeds appear too. A page that is shown already stays as it is.
  ///
  /// ``PageStack`` calls this for its topmost page. An app that shows pages without a stack calls it.
  public func appear() { setShown(true) }

  /// Says that the page is no longer shown: another page covers it, or it leaves. The page's root gets the event
  /// `viewdisappear`, and so do the pages that it embeds.
  public func disappear() { setShown(false) }

  private func setShown(_ isShown: Bool) {
    self.isShown = isShown
    for child in embedded.values { child.setShown(isShown) }
    tellVisibility()
  }

  /// Fires the event that the page's root is due, if the script listens to it: the page has appeared once it is shown and
  /// has rendered.
  func tellVisibility() {
    guard rerun == nil, hasAppeared != (isShown && hasRendered) else { return }
    hasAppeared.toggle()
    let type = hasAppeared ? "viewappear" : "viewdisappear"
    guard let root = tree.body, root.events.contains(type) else { return }
    let (key, former) = (UUID(), visibilityTask)
    let task = Task { @PageActor [weak self] in
      await former?.value
      guard let self else { return }
      defer { calls[key] = nil }
      try? await call("fireEvent", [.string(root.ref), .string(type), [:], .undefined])
    }
    visibilityTask = task
    // Waited for as other calls are.
    calls[key] = (task, false)
  }

  /// The longest wait for the script of a page that leaves.
  private static let leavingTime: Duration = .seconds(1)

  /// Fires `viewdisappear` on a page that is shown, and waits until its script has handled it.
  func leave() async {
    disappear()
    if let visibilityTask { await Self.wait(for: visibilityTask, until: .now + Self.leavingTime) }
  }

  // MARK: Phases

  func move(to next: PagePhase) -> Bool {
    guard phase != next else { return true }
    guard phase.canMove(to: next) else { return false }
    phase = next
    feed.send(.phase(next))
    return true
  }

  func cancelWork() {
    for timer in timers.values { timer.task?.cancel() }
    for call in calls.values { call.task.cancel() }
    for task in sourceTasks.values { task.cancel() }
    (timers, calls, sourceTasks) = ([:], [:], [:])
    socket?.cancel()
    (socket, socketListeners) = (nil, [:])
  }

  /// Ends the page with an error, unless its opening may go on. Its script no longer runs; its elements stay.
  ///
  /// - Returns: the error, to be thrown.
  package func fail(_ error: PageError) -> PageError {
    if case .destroyed = phase { return error }
    failure = error
    if survivesFailures { return error }
    recordFailure(error)
    dropSnapshot()
    _ = move(to: .failed)
    feed.send(.failed(error))
    cancelLoads()
    cancelWork()
    recorder?.end("\(error)")
    if let group {
      (self.group, entries) = (nil, nil)
      Task { [id] in await group.close(id) }
    }
    return error
  }

  /// Opens the page, or shows the fallback if that fails.
  ///
  /// - Throws: ``PageError``.
  package func orFallBack(
    options: PageOptions, data: ScriptValue, _ open: () async throws -> Void
  ) async throws {
    do {
      try await open()
    } catch PageError.destroyed {
      throw PageError.destroyed
    } catch PageError.superseded {
      throw PageError.superseded
    } catch {
      let reason = error as? PageError ?? fail(.bundle(error))
      try await fallBack(from: reason, options: options, data: data)
    }
  }

  /// Frees the page's script and its embedded pages, before another opening or at the end.
  func closeScript() async throws {
    cancelWork()
    environment.closeChannels(of: self)
    let children = embedded.values
    (globalListeners, rules, viewport, scrollTarget) = ([:], [], [:], nil)
    (embedded, documents, focusedInput) = ([:], [:], nil)
    failedPictures = [:]
    (hasCellComponents, cellComponents, changedComponents, listData) = (false, [:], [:], [:])
    componentTask = nil
    (tree, sentElements, messages, missing) = (ElementTree(), nil, [], [])
    (elementLayout, listensToLayout, layoutTask, listensToSlides) = (nil, false, nil, false)
    (slides, newSliders, overdueEvents, toldSources) = ([], [], [], [:])
    (ownTexts, usedFonts) = (nil, [:])
    let isSound = hasRendered && failure == nil
    (hasRendered, hasAppeared, visibilityTask) = (false, false, nil)
    failure = nil
    for child in children { await child.destroy() }
    recorder?.end("closed")
    if let recorder { await recorder.flush(tree) }
    guard let group else { return }
    self.group = nil
    entries = nil
    let mayRunAnother = await group.close(id)
    if isSound, mayRunAnother, let purpose { await environment.frameworks.keep(group, for: purpose) }
  }
}

extension PageInstance {
  /// Says that the page works, so that its release is good at once. Of a page whose release is not on trial, or that shows
  /// another release since the first one failed, nothing follows.
  public func markReady() async { await trial?.ready() }

  /// Ends the trial of an opening that is over.
  func endTrial() {
    trial?.abandon()
    (trial, survivesFailures) = (nil, false)
  }

  /// Records a failure after the page had its tree.
  func recordFailure(_ error: PageError) {
    guard let trial, let failure = TrialFailure(error, page: trial.url) else { return }
    Task { _ = await trial.failed(failure) }
  }
}

extension TrialFailure {
  /// Returns `nil` for an error that says nothing about the release.
  init?(_ error: PageError, page: PageURL) {
    let kind: Kind
    switch error {
    case .script(_, .exception), .script(_, .wrongArgument), .script(_, .notPlainData): kind = .exception
    case .script(_, .timeLimit): kind = .timeLimit
    case .script(_, .memoryLimit): kind = .memoryLimit
    case .noFramework, .unknownFramework, .notABundle, .refused: kind = .exception
    case .script(_, .closed), .script(_, .engine), .invalidURL, .bundle, .destroyed, .superseded: return nil
    }
    let message: String
    if case .script(_, let script) = error { message = "\(script)" } else { message = "\(error)" }
    self.init(kind, page: page.text, message: message)
  }
}

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
    // Timers that set each other without end take no time by a virtual clock.
    let end = time.map { $0.now + limit }
    while true {
      let now = ContinuousClock.now
      let underway = underway(at: now)
      let awaited = underway.filter { $0.item.isWaitedFor(timers: timers) }
      guard now < deadline, !awaited.isEmpty else { return PendingWork(underway.map(\.item), timers: timers) }
      if let task = awaited.lazy.compactMap(\.task).first {
        await Self.wait(for: task, until: deadline)
      } else if let next = nextVirtualTimer, let end, next.due <= end {
        await next.page.fireVirtualTimer(next.key)
      } else {
        return PendingWork(underway.map(\.item), timers: timers)
      }
    }
  }

  /// The work under way, with that of embedded pages. The page's own timers come last; those of a virtual clock have no task.
  func underway(at now: ContinuousClock.Instant) -> [(item: PendingWork.Item, task: Task<Void, Never>?)] {
    var found = sourceTasks.values.map { (item: PendingWork.Item.request, task: Optional($0)) }
    found += calls.values.map { ($0.isRequest ? .request : .call, $0.task) }
    for child in embedded.values { found += child.underway(at: now) }
    for timer in timers.values {
      let remaining = timer.remaining(at: now, time)
      found.append((timer.repeats ? .interval : .timer(remaining: remaining), timer.task))
    }
    return found
  }

  /// Waits for a task until a deadline. The task goes on after it.
  static func wait(for task: Task<Void, Never>, until deadline: ContinuousClock.Instant) async {
    let end = Task<Void, any Error> { await task.value }
    _ = try? await within(deadline - .now) { try await end.valueForWaiter() }
  }
}
