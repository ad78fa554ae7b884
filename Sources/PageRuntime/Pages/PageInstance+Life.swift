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
    guard hasAppeared != (isShown && hasRendered) else { return }
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
    calls[key] = PageCall(task: task, isRequest: false)
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
    for timer in timers.values { timer.task.cancel() }
    for timer in callbackTimers.values { timer.task.cancel() }
    for call in calls.values { call.task.cancel() }
    for task in sourceTasks.values { task.cancel() }
    (timers, callbackTimers, calls, sourceTasks) = ([:], [:], [:], [:])
    socket?.cancel()
    (socket, socketListeners) = (nil, [:])
  }

  /// Ends the page with an error, unless its opening may go on. Its script no longer runs; its elements stay.
  ///
  /// - Returns: the error, to be thrown.
  package func fail(_ error: PageError) -> PageError {
    if case .destroyed = phase { return error }
    failure = error
    if holdsFailures { return error }
    noteFailure(error)
    dropSnapshot()
    _ = move(to: .failed)
    feed.send(.failed(error))
    cancelLoads()
    cancelWork()
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
    environment.channels.close(self)
    let children = embedded.values
    (globalListeners, rules, viewport, scrollTarget) = ([:], [], [:], nil)
    (embedded, documents, focusedInput) = ([:], [:], nil)
    (hasCellComponents, cellComponents, changedComponents, listData) = (false, [:], [:], [:])
    (tree, messages, missing) = (ElementTree(), [], [])
    let isSound = hasRendered && failure == nil
    (hasRendered, hasAppeared, visibilityTask) = (false, false, nil)
    failure = nil
    for child in children { await child.destroy() }
    guard let group else { return }
    self.group = nil
    entries = nil
    let mayRunAnother = await group.close(id)
    if isSound, mayRunAnother, let purpose { await environment.frameworks.keep(group, for: purpose) }
  }
}
