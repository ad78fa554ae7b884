import Logging
import PageKit

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
      noteReady()
    case .event(let page, let name):
      guard assignments[page]?.worker == id else { return }
      delegate?.receive(event: name, payload, of: page)
    case .channel(let page, let name): pass(payload, ofChannel: name, from: page, in: id)
    case .ask(let question, let page, let asked): await ask(question, asked, payload, page, id)
    // It counts until its task has ended, which holds its bytes.
    case .drop(let question): workers[id]?.questions[question]?.cancel()
    case .log(let level, let text):
      switch workers[id]?.logAllowance.verdict(at: configuration.now()) ?? .leaveOut {
      case .log:
        logger.log(
          level: Logger.Level(rawValue: level) ?? .info, "\(text.prefix(2_000))", metadata: ["worker": "\(id)"])
      case .lastLine:
        logger.warning(
          "a worker logs more than \(LogAllowance.limit) lines a minute; the rest is left out",
          metadata: ["worker": "\(id)"])
      case .leaveOut: break
      }
    }
  }

  /// Passes a message of a page's channel on to the other pages of its scope. A worker that does not read loses it.
  private func pass(_ payload: [UInt8], ofChannel name: String, from page: UInt64, in id: Int) {
    guard assignments[page]?.worker == id, payload.count <= ChannelRelay.limit,
      name.utf8.count <= ChannelRelay.nameLimit, let scope = delegate?.channelScope(of: page)
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
      // Also if the answer is no longer wanted: the worker counts the question until then.
      try? await link.send(.answer(question: question, .end))
      await self?.finish(question, of: id)
    }
  }

  private func finish(_ question: UInt64, of id: Int) {
    workers[id]?.questions[question] = nil
    workers[id]?.questionBounds.finish(question)
  }
}
