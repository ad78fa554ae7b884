import Foundation
import HTTPTransport
import Logging
import PageKit

extension WorkerPool {
  /// The seconds that a page may take to run the steps of a recording again.
  private static let rerunTime: Double = 60

  /// Opens a page in the most suitable worker. Where a command's only worker has ended by ``KillReason/isAlarmFault``, the
  /// page is opened once more, in another one.
  ///
  /// - Parameters:
  ///   - source: the text of the bundle, or the recording that the page goes on from.
  ///   - digest: that of the bundle.
  ///   - caller: the caller for whom the page opens; what it does with the page later is its input.
  ///   - location: the public URL of the bundle.
  /// - Throws: ``PageFault``, ``WorkerError``.
  package func open(
    _ page: UInt64, _ opening: PageOpening, _ source: [UInt8], _ digest: SHA256Digest, for caller: PageCaller,
    location: String
  ) async throws -> WorkerLink.Reply {
    if let entry = barred.entry(digest, for: caller.client, at: configuration.now()) { throw WorkerError.barred(entry) }
    do {
      return try await openOnce(page, opening, source, digest, for: caller, location: location)
    } catch WorkerError.ended(let reason, _)
      where reason.isAlarmFault && !configuration.keepsWorkers && !opening.isRecorded
    {
      return try await openOnce(page, opening, source, digest, for: caller, location: location)
    }
  }

  private func openOnce(
    _ page: UInt64, _ opening: PageOpening, _ source: [UInt8], _ digest: SHA256Digest, for caller: PageCaller,
    location: String
  ) async throws -> WorkerLink.Reply {
    let worker = try await worker(for: digest, near: opening.former.flatMap(home))
    if let engineProblem { throw WorkerError.cannotRun(engineProblem) }
    workers[worker.id]?.pages.insert(page)
    assignments[page] = Assignment(worker: worker.id, digest: digest, location: location, caller: caller)
    do {
      let extra =
        opening.wait.settle + (opening.view?.picture?.timeLimit ?? 0) + (opening.lastStep == nil ? 0 : Self.rerunTime)
      let reply = try await send(page, extra: extra, source) { .open(call: $0, page: page, opening) }
      if opening.isOnce { forget(page) }
      return reply
    } catch let fault as PageFault {
      forget(page)
      throw fault
    }
  }

  /// Boots the framework of a recording in a worker, for calls of ``HostMessage/replay(call:page:step:)``.
  ///
  /// - Parameter recording: the lines of the recording, without its elements.
  /// - Throws: ``PageFault``, ``WorkerError``.
  package func replay(_ page: UInt64, _ recording: [UInt8]) async throws {
    let digest = try ContentDigests(of: recording).sha256
    let worker = try await worker(for: digest)
    if let engineProblem { throw WorkerError.cannotRun(engineProblem) }
    workers[worker.id]?.pages.insert(page)
    assignments[page] = Assignment(
      worker: worker.id, digest: digest, location: "", caller: PageCaller(client: "", hasInput: true))
    _ = try await send(page, extra: Self.rerunTime, recording) { .replay(call: $0, page: page, step: 0) }
  }

  /// Sends a call to a page.
  ///
  /// - Parameters:
  ///   - extra: seconds that the call may take beyond the page's time.
  ///   - isInput: `false` for a call that does nothing for the page's caller, so that later failures are the bundle's own.
  /// - Throws: ``PageFault``, ``WorkerError``.
  package func call(
    _ page: UInt64, extra: Double = 0, isInput: Bool = true, _ payload: [UInt8] = [],
    _ message: @escaping @Sendable (UInt64) -> HostMessage
  ) async throws -> WorkerLink.Reply {
    if isInput, let caller = assignments[page]?.caller {
      assignments[page]?.caller = PageCaller(client: caller.client, hasInput: true)
    }
    return try await send(page, extra: extra, payload, message)
  }

  private func send(
    _ page: UInt64, extra: Double, _ payload: [UInt8], _ message: @escaping @Sendable (UInt64) -> HostMessage
  ) async throws -> WorkerLink.Reply {
    guard let residence = assignments[page], let worker = workers[residence.worker] else { throw PageFault.unknownPage }
    workers[worker.id]?.calls += 1
    defer { workers[worker.id]?.calls -= 1 }
    // Scripts that exceed their time are stopped earlier. A worker without processor time is not to blame.
    let limit = limits.wait + extra
    do {
      return try await worker.link.call(page, within: .seconds(limit), payload, message)
    } catch let fault as PageFault {
      // The engine stopped the script; this counts against the bundle like a kill.
      if case .stopped(let reason) = fault { strike(page, reason) }
      throw fault
    }
  }

  /// Counts a stop against the page's bundle once, since a stop by the engine and a kill may coincide.
  func strike(_ page: UInt64, _ reason: KillReason) {
    // The call may have waited for something else.
    guard reason != .silence else { return }
    guard let residence = assignments[page], !residence.hasStruck else { return }
    assignments[page]?.hasStruck = true
    barred.strike(
      residence.digest, url: residence.location, reason, for: residence.caller, at: configuration.now())
  }

  /// Ends a page after all its events were delivered.
  ///
  /// - Throws: ``PageFault``, ``WorkerError``.
  package func end(_ page: UInt64) async throws -> PageReply {
    defer { forget(page) }
    return try await call(page) { .end(call: $0, page: page) }.0
  }

  /// Ends a page.
  package func close(_ page: UInt64) async {
    guard let residence = assignments[page], let worker = workers[residence.worker] else { return }
    try? await worker.link.send(.close(page: page))
    forget(page)
  }

  /// Ends the reports of what changes in a page's HTML.
  package func unfollow(_ page: UInt64) async {
    guard let residence = assignments[page], let worker = workers[residence.worker] else { return }
    try? await worker.link.send(.unfollow(page: page))
  }

  private func forget(_ page: UInt64) {
    guard let residence = assignments.removeValue(forKey: page) else { return }
    workers[residence.worker]?.pages.remove(page)
  }

  /// The worker of a page; `nil` for none.
  package func home(of page: UInt64) -> Int? { assignments[page]?.worker }
}

extension WorkerPool {
  func receive(_ message: WorkerMessage, _ payload: [UInt8], from id: Int) async {
    switch message {
    case .done, .failed: break
    case .ready(let report, let engineProblem):
      guard workers[id]?.state == .starting else { return }
      workers[id]?.state = .ready
      workers[id]?.report = report
      failedStarts = 0
      if let engineProblem, engineProblem != self.engineProblem { logger.error("pages cannot run: \(engineProblem)") }
      self.engineProblem = engineProblem
      if report != lastReport {
        logger.log(level: report.kept.isEmpty ? .info : .warning, "a worker is ready; \(report.summary)")
      }
      lastReport = report
      updateAdmission()
    case .event(let page, let name):
      guard assignments[page]?.worker == id else { return }
      delegate?.receive(event: name, payload, of: page)
    case .channel(let page, let name): pass(payload, ofChannel: name, from: page, in: id)
    case .ask(let question, let page, let asked): await ask(question, asked, payload, page, id)
    // It counts until its task has ended, which keeps its bytes in memory.
    case .drop(let question): workers[id]?.questions[question]?.cancel()
    case .log(let level, let text):
      guard let started = workers[id]?.started else { return }
      switch workers[id]?.logRate.verdict(at: started.duration(to: configuration.now())) {
      case .permitted:
        logger.log(
          level: Logger.Level(rawValue: level) ?? .info, "\(text.prefix(2_000))", metadata: ["worker": "\(id)"])
      case .firstBeyond:
        logger.warning(
          "a worker logs more than \(Self.loggedLines) lines a minute; the rest is left out",
          metadata: ["worker": "\(id)"])
      case .beyond, nil: break
      }
    }
  }

  /// Passes a message of a page's channel on to the other pages of its scope. A worker that does not read loses it.
  private func pass(_ payload: [UInt8], ofChannel name: String, from page: UInt64, in id: Int) {
    guard assignments[page]?.worker == id, payload.count <= Frame.channelLimit,
      name.utf8.count <= Frame.channelNameLimit, let scope = delegate?.channelScope(of: page)
    else { return }
    let listeners = assignments.filter { $0.key != page && delegate?.channelScope(of: $0.key) == scope }
    for (worker, pages) in Dictionary(grouping: listeners.keys, by: { listeners[$0]?.worker }) {
      guard let worker, let link = workers[worker]?.link else { continue }
      link.post(.channel(pages: pages.sorted(), name: name), payload)
    }
  }

  private func ask(_ question: UInt64, _ asked: PageQuestion, _ payload: [UInt8], _ page: UInt64, _ id: Int) async {
    guard let worker = workers[id] else { return }
    let link = worker.link
    var refusal = workers[id]?.questionBounds.admit(question, bytes: payload.count)
    if workers[id]?.questionBounds.refusals ?? 0 > QuestionBounds.refusalLimit {
      return kill(id, .malformed("it goes on asking: \(refusal ?? "")"), culprits: [])
    }
    if refusal == nil, assignments[page]?.worker != id {
      workers[id]?.questionBounds.finish(question)
      refusal = "the page has ended"
    }
    if let refusal {
      // Without a task: a worker that does not read its answers is not read any more either.
      try? await link.send(.answer(question: question, .failed(refusal)))
      try? await link.send(.answer(question: question, .end))
      return
    }
    workers[id]?.questions[question] = Task { [weak self, delegate] in
      @Sendable func send(_ answer: PageAnswer, _ bytes: [UInt8]) async throws {
        try Task.checkCancellation()
        try await link.send(.answer(question: question, answer), bytes)
      }
      await delegate?.answer(asked, payload, of: page, send)
      // Also if the answer is no longer wanted: the worker counts the question until then. A cancelled task sends nothing.
      await Task { try? await link.send(.answer(question: question, .end)) }.value
      await self?.finish(question, of: id)
    }
  }

  private func finish(_ question: UInt64, of id: Int) {
    workers[id]?.questions[question] = nil
    workers[id]?.questionBounds.finish(question)
  }
}

extension WorkerPool {
  /// The longest wait of a page for memory that other pages release.
  private static let memoryWait: Duration = .seconds(2)

  /// Sets the number of concurrent calls by the number of ready workers.
  func updateAdmission() {
    admission.serve(workers: workers.values.count { $0.state == .ready && $0.link.end == nil })
  }

  /// Waits until a worker is ready.
  ///
  /// - Returns: the worker's confinement.
  /// - Throws: ``WorkerError/cannotStart(_:)`` if none becomes ready in time, `CancellationError`.
  package func ready(within limit: Duration) async throws -> ConfinementReport {
    let deadline = ContinuousClock.now + limit
    while true {
      let sound = workers.values.filter { $0.state == .ready && $0.link.end == nil }
      if let report = sound.lazy.compactMap(\.report).first { return report }
      guard !isStopping, !hasGivenUp, .now < deadline else {
        throw WorkerError.cannotStart(startProblem ?? "none was ready within \(limit.inSeconds)")
      }
      try Task.checkCancellation()
      await waitForChange(until: deadline)
    }
  }

  /// - Throws: ``WorkerError/noWorker`` if none becomes ready in time, ``WorkerError/noMemory(limit:)`` if all are
  ///   full, `CancellationError` if the caller has gone.
  ///
  /// - Parameter near: a worker that is preferred; `nil` for none.
  func worker(for digest: SHA256Digest, near: Int? = nil) async throws -> Worker {
    let began = ContinuousClock.now
    let deadline = began + configuration.pageTime + .seconds(10)
    while !isStopping {
      let candidates = workers.values.filter { $0.state == .ready && $0.link.end == nil }.map { worker in
        Placement.Candidate(
          id: worker.id, pages: worker.pages.count, calls: worker.calls,
          busy: worker.look.running.map(\.seconds).max() ?? 0,
          memory: Double(worker.residentBytes + Int64(worker.calls) * Placement.pageBytes)
            / Double(configuration.memory))
      }
      if let chosen = Placement.choose(candidates, warmWorkers: warmWorkers[digest] ?? [], near: near),
        let worker = workers[chosen]
      {
        if warmWorkers.count >= Self.warmWorkersLimit { warmWorkers = [:] }
        warmWorkers[digest, default: []].insert(chosen)
        return worker
      }
      let now = ContinuousClock.now
      guard now < deadline else { break }
      try Task.checkCancellation()
      guard !candidates.isEmpty else {
        await waitForChange(until: deadline)
        continue
      }
      guard now < began + Self.memoryWait else { throw WorkerError.noMemory(limit: configuration.memory) }
      try await Task.sleep(for: configuration.watchInterval)
    }
    throw WorkerError.noWorker
  }

  /// Returns when a worker has changed, at the deadline, or when the caller's task is cancelled.
  func waitForChange(until deadline: ContinuousClock.Instant) async {
    let seen = changes.count
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await Task.sleep(until: deadline) }
      group.addTask { [changes] in await changes.wait(beyond: seen) }
      await group.next()
      group.cancelAll()
    }
  }
}
