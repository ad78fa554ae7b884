import ScriptEngine

/// The calls without an answer, and the timers, that the steps of a recording leave open for a page that runs them again
/// and goes on after the last one.
struct PageRerun: Sendable {
  /// The time of the step at hand in milliseconds since 1970.
  private(set) var time: Double
  /// The results of the calls in the first step, which opens the page.
  let firstAnswers: [CallAnswer]
  private var waiting: [OpenCall] = []
  private var timers: [Int: OpenTimer] = [:]

  private struct OpenCall {
    let call: ModuleCall
    let ticket: Int?
    /// The ids of its callbacks; none if it has no answer.
    let callbacks: Set<String>
  }

  private struct OpenTimer {
    /// The time at which it was set, or has fired last.
    var since: Double
    let delay: Duration
    let repeats: Bool
  }

  /// - Parameter first: the step that opens the page.
  init(_ first: RecordedStep) { (time, firstAnswers) = (first.time, first.answers) }

  /// Begins a step.
  mutating func begin(_ step: RecordedStep) {
    time = step.time
    switch step.input {
    case .entry(.timer(let id)): if timers[id]?.repeats == true { timers[id]?.since = time } else { timers[id] = nil }
    case .entry(.settle(let ticket, _)): waiting.removeAll { $0.ticket == ticket }
    case .entry(.call("callback", let arguments, _)):
      // One that is kept is called again.
      guard let id = arguments.first?.reference, arguments.count < 3 || arguments[2] != .bool(true) else { return }
      waiting.removeAll { $0.callbacks.contains(id) }
    case .open, .entry: break
    }
  }

  /// Notes what the script has done in the step.
  mutating func note(_ outcome: EntryOutcome) {
    for id in outcome.cancelledTimers { timers[id] = nil }
    for timer in outcome.timers {
      timers[timer.id] = OpenTimer(since: time, delay: timer.delay, repeats: timer.repeats)
    }
    for (call, ticket) in outcome.calls {
      let callbacks = call.isSetting ? [] : Set(call.arguments.compactMap(\.callback))
      guard call.isSetting || ticket != nil || !callbacks.isEmpty else { continue }
      waiting.append(OpenCall(call: call, ticket: ticket, callbacks: callbacks))
    }
  }

  /// The calls to make when the page is live, in their order: those that wait for an answer, and those by which the host
  /// knows the page, such as `globalEvent.addEventListener`. The others have had their effect.
  var calls: [(call: ModuleCall, ticket: Int?)] { waiting.map { ($0.call, $0.ticket) } }

  /// The timers that wait, with the rest of their time; an interval begins anew.
  var openTimers: [(id: Int, delay: Duration, repeats: Bool)] {
    timers.sorted { $0.key < $1.key }.map { id, timer in
      let rest = timer.delay - PageTime.duration(ofMilliseconds: time - timer.since)
      return (id, timer.repeats ? timer.delay : max(rest, .zero), timer.repeats)
    }
  }
}

extension ModuleCall {
  /// `true` if the host knows something of the page by the call alone.
  fileprivate var isSetting: Bool {
    guard ref == nil else { return false }
    return switch (module, method) {
    case ("broadcastChannel", "open"), ("broadcastChannel", "close"), ("dom", "addRule"), ("dom", "scrollToElement"),
      ("globalEvent", _), ("meta", _):
      true
    default: false
    }
  }
}

extension ScriptValue {
  /// The id of a callback, which frameworks write as the digits of a number; `nil` for other values.
  fileprivate var callback: String? {
    string.flatMap { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? $0 : nil }
  }
}

extension PageInstance {
  /// Runs a recorded page again up to a step, with the recorded answers, times and events, and goes on from there: calls
  /// that have no answer by then are made, timers go on, and pictures and embedded pages are loaded.
  ///
  /// Until then the script has no effect but on its elements. The page's clock goes on from the time of the step.
  ///
  /// - Parameters:
  ///   - last: the number of the step, from 1.
  ///   - options: the options of the recorded opening.
  /// - Throws: ``RecordingError`` if there is no such step, or the elements after it are others than the recorded ones;
  ///   ``PageError`` if the script cannot run.
  package func render(_ recording: Recording, to last: Int, options: PageOptions) async throws {
    _ = try recording.step(last)
    let first = try recording.step(1)
    var options = options
    options.determinism = recording.determinism
    rerun = PageRerun(first)
    defer { rerun = nil }
    try await render(try recording.page().bundle, options: options, data: first.data)
    for number in 1...last {
      if number > 1 { try await run(try recording.step(number)) }
      applyRecorded(try recording.changes(after: number))
    }
    guard try tree == recording.tree(after: last) else { throw RecordingError.otherElements(after: last) }
    try await goOn()
  }

  /// Runs a step after the first.
  private func run(_ step: RecordedStep) async throws {
    guard case .entry(let input) = step.input, let group else { throw failure ?? PageError.superseded }
    rerun?.begin(step)
    takeOver(input)
    try await group.give(.given(step.answers[...]), to: id)
    do {
      try await enter(input)
    } catch {
      throw failure ?? error as any Error
    }
    if let failure { throw failure }
  }

  /// Takes over what the page itself has done for an input: it does not do it again.
  private func takeOver(_ input: ScriptInput) {
    switch input {
    case .hooks: _ = dueHooks()
    case .call("fireEvent", let arguments, _):
      guard arguments.count >= 2, let ref = arguments[0].reference, let type = arguments[1].string else { return }
      switch type {
      case "viewappear", "viewdisappear": if ref == tree.body?.ref { hasAppeared = type == "viewappear" }
      case "load", "pagestart", "pagefinish", "error": toldSources[ref, default: []].insert(type)
      case "appear", "disappear", "loadmore", "scroll", "scrollend", "change":
        takeOver(type, on: ref, arguments.count > 2 ? arguments[2] : [:])
      default: break
      }
    default: break
    }
  }

  /// Makes the page live after the last step.
  private func goOn() async throws {
    guard let left = rerun, let group else { throw failure ?? PageError.superseded }
    time?.set(toMilliseconds: left.time)
    try await group.give(recorder == nil ? .made : .recorded, to: id)
    rerun = nil
    for element in tree.preorder(from: tree.root ?? "") { loadSource(of: element.ref) }
    for timer in left.openTimers { start(timer) }
    for (call, ticket) in left.calls { dispatch(call, ticket: ticket) }
    followComponents()
    tellVisibility()
    followLayout()
  }
}

extension RecordedStep {
  /// The data that the page was opened with; nothing in later steps.
  fileprivate var data: ScriptValue {
    if case .open(_, let data) = input { data } else { [:] }
  }
}
