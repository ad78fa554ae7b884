import Logging
import PageKit

extension WorkerPool {
  func receive(_ message: WorkerMessage, _ payload: [UInt8], from id: Int) async {
    switch message {
    case .done, .failed: break
    case .ready(let report):
      workers[id]?.state = .ready
      workers[id]?.report = report
      failedStarts = 0
      if report != lastReport { logger.info("a worker is ready; \(report.summary)") }
      lastReport = report
      noteReady()
      wakeWaiters()
    case .event(let page, let name):
      guard assignments[page]?.worker == id else { return }
      delegate?.receive(event: name, payload, of: page)
    case .ask(let question, let page, let asked): ask(question, asked, payload, page, id)
    case .drop(let question): workers[id]?.questions.removeValue(forKey: question)?.cancel()
    case .log(let level, let text):
      logger.log(level: Logger.Level(rawValue: level) ?? .info, "\(text.prefix(2_000))", metadata: ["worker": "\(id)"])
    }
  }

  private func ask(_ question: UInt64, _ asked: PageQuestion, _ payload: [UInt8], _ page: UInt64, _ id: Int) {
    guard let worker = workers[id], worker.questions[question] == nil else { return }
    let (link, limit) = (worker.link, configuration.questions)
    let isKnown = assignments[page]?.worker == id && worker.questions.count < limit
    workers[id]?.questions[question] = Task { [weak self, delegate] in
      @Sendable func send(_ answer: PageAnswer, _ bytes: [UInt8]) async throws {
        try Task.checkCancellation()
        try await link.send(.answer(question: question, answer), bytes)
      }
      if isKnown, let delegate {
        await delegate.answer(asked, payload, of: page, send)
      } else {
        try? await send(.failed("the page has more than \(limit) unanswered requests"), [])
      }
      try? await send(.end, [])
      await self?.finish(question, of: id)
    }
  }

  private func finish(_ question: UInt64, of id: Int) { workers[id]?.questions[question] = nil }
}
