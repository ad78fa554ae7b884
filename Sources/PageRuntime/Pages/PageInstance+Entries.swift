import Bundles
import Foundation
import HTTPTransport
import ScriptEngine

extension PageInstance {
  /// Enters the script, after the outcomes of earlier entries have been applied.
  ///
  /// - Parameter atEnd: called when the script has returned, before its outcome is applied.
  func enter(
    _ body: @escaping @Sendable (FrameworkGroup) async throws -> EntryOutcome,
    atEnd: @escaping @PageActor () -> Void = {}
  ) async throws {
    guard let group else { throw ScriptError.closed }
    let former = entries
    let entry = Task { @PageActor [weak self] in
      await former?.value
      guard self?.group === group else { throw ScriptError.closed }
      let outcome = try await body(group)
      atEnd()
      await self?.apply(outcome, of: group)
    }
    entries = Task { _ = await entry.result }
    try await entry.value
  }

  /// Applies an outcome. Other pages take turns with a long one.
  private func apply(_ outcome: EntryOutcome, of group: FrameworkGroup) async {
    guard isRunning(in: group) else { return }
    if let created = outcome.created { timings.createInstance = created - began }
    if timings.firstElement == nil, let first = outcome.firstCommand { timings.firstElement = first - began }
    var rest = outcome.commands[...]
    while !rest.isEmpty {
      apply(Array(rest.prefix(Self.commandsAtOnce)))
      rest = rest.dropFirst(Self.commandsAtOnce)
      guard !rest.isEmpty else { break }
      await Task.yield()
      guard isRunning(in: group) else { return }
    }
    if !outcome.componentData.isEmpty { setComponentData(outcome.componentData) }
    for log in outcome.logs { feed.send(.log(level: log.level, text: log.text)) }
    for part in outcome.missing { note(part) }
    for exception in outcome.exceptions { report(exception) }
    for id in outcome.cancelledTimers { timers.removeValue(forKey: id)?.task.cancel() }
    for timer in outcome.timers { start(timer) }
    for call in outcome.calls { dispatch(call) }
    if let failure = outcome.failure { end(with: failure) }
  }

  private func isRunning(in group: FrameworkGroup) -> Bool { self.group === group && phase != .destroyed }

  /// The number of commands after which other pages have their turn: a few milliseconds.
  private static let commandsAtOnce = 1_000
  /// The number of refused commands among those that are applied at once that are reported one by one.
  private static let refusalsTold = 20

  func apply(_ commands: [RenderCommand]) {
    guard !commands.isEmpty else { return }
    tree.reserve(commands.reduce(0) { $0 + $1.insertions })
    var refusals: Set<Int> = []
    for (index, command) in commands.enumerated() {
      do {
        try tree.apply(command)
      } catch {
        refusals.insert(index)
        if refusals.count <= Self.refusalsTold { report(ScriptException(message: "\(error)")) }
      }
    }
    let refused = refusals.count
    let applied = refused == 0 ? commands : commands.indices.filter { !refusals.contains($0) }.map { commands[$0] }
    if refused > Self.refusalsTold {
      report(ScriptException(message: "\(refused - Self.refusalsTold) more changes of elements are invalid"))
    }
    if snapshot == nil { feed.send(.commands(applied)) }
    followSources(applied)
    for command in applied {
      switch command {
      case .createFinish: finishCreation()
      case .refreshFinish: feed.send(.refreshed)
      default: break
      }
    }
    // A bundle may make its body after it has waited for something.
    if phase == .empty { finishCreation() }
  }

  func setImage(_ state: ImageState?, of ref: String) {
    tree.setImage(state, of: ref)
    if snapshot == nil { feed.send(.image(ref: ref, state)) }
  }

  /// Puts an element where its animation would end.
  func settleAnimation(of ref: String, _ styles: [String: ScriptValue]) { apply([.updateStyle(ref, styles)]) }

  /// Moves the page to the phase `live`, if it has a body: a framework may call createFinish without one.
  func finishCreation() {
    guard !hasRendered, tree.body != nil else { return }
    hasRendered = true
    timings.createFinish = .now - began
    _ = move(to: .live)
    endSnapshot()
    feed.send(.rendered)
    storeSnapshot()
    if failure == nil { trial?.rendered() }
    registry.handlers.monitor?.record(timings, page: id, url: url)
    tellVisibility()
  }

  /// Ends the page if it has not rendered or its script was stopped; otherwise reports the error, and the page goes on.
  func end(with error: ScriptError) {
    switch error {
    case .exception(let exception) where phase == .live: report(exception)
    case .closed: break
    default: _ = fail(scriptError(error))
    }
  }

  /// The page's error for a script's error.
  func scriptError(_ error: ScriptError) -> PageError {
    let name = purpose?.url ?? url?.text ?? "page-\(id).js"
    return .script(url: name, purpose.map { environment.frameworks.explained(error, of: $0.type) } ?? error)
  }

  /// Registers the services. One that fails is reported, and the page opens without it.
  func registerServices(in group: FrameworkGroup) async {
    do {
      for failure in try await group.register(registry.services) { report(failure) }
    } catch {
      report(ScriptException(message: "services: \(error)"))
    }
  }

  package func report(_ exception: ScriptException) {
    feed.send(.exception(exception))
    registry.handlers.exceptions.handle(exception, page: id, url: url)
  }
}
