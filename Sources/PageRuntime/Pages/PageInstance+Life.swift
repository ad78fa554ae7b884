import HTTPTransport
import ScriptEngine

extension PageInstance {
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
    let children = embedded.values
    (globalListeners, rules, viewport, scrollTarget) = ([:], [], [:], nil)
    (embedded, documents, focusedInput) = ([:], [:], nil)
    (tree, messages, missing) = (ElementTree(), [], [])
    let isSound = hasRendered && failure == nil
    hasRendered = false
    failure = nil
    for child in children { await child.destroy() }
    guard let group else { return }
    self.group = nil
    entries = nil
    let mayRunAnother = await group.close(id)
    if isSound, mayRunAnother, let purpose { await environment.frameworks.keep(group, for: purpose) }
  }
}
