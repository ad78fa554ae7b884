import Foundation
import Logging
import PageKit
import PageWorkers

extension PageDirectory {
  /// The number of pages of an ended worker that are reopened at the same time, so that other pages can continue.
  private static let reopenedAtOnce = 2
  /// The name under which reopened pages take turns with the clients.
  private static let reopeningClient = "reopened pages"

  func replace(_ ended: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {
    var reopening: [Task<Void, any Error>] = []
    // The most recently used pages are reopened first.
    for page in pages.values.filter({ ended.contains($0.number) }).sorted(by: { $0.lastAsked > $1.lastAsked }) {
      if reason == .shutdown {
        await end(page.id, "killed", "\(reason)")
      } else if culprits.contains(page.number) {
        await kill(page.id, reason)
      } else {
        let before = reopening.dropLast(Self.reopenedAtOnce - 1).last
        reopening.append(reopen(page, reason, after: before))
      }
    }
  }

  /// - Parameter before: the task to await first; `nil` for none.
  private func reopen(
    _ page: OpenedPage, _ reason: KillReason, after before: Task<Void, any Error>?
  ) -> Task<Void, any Error> {
    numbers.remove(page.number)
    page.log.append("reopened", JSONValue.object(["reason": .string("\(reason)")]).text)
    pages[page.id]?.reopened += 1
    let task = Task { [weak self] in
      _ = await before?.result
      try await self?.openAgain(page)
    }
    pages[page.id]?.reopening = task
    return task
  }

  private func openAgain(_ page: OpenedPage) async throws {
    let target = Target(
      url: page.url, location: page.location, bundle: page.bundle, digest: page.digest, bundleTime: 0,
      caller: page.caller)
    do {
      guard pages[page.id] != nil else { return }
      let (number, reply, _) = try await pool.admission.admitted(Self.reopeningClient, within: .seconds(120)) {
        try await run(target, page.opening, page.log)
      }
      guard pages[page.id] != nil else { return await pool.close(number) }
      pages[page.id]?.number = number
      pages[page.id]?.reply = reply
      pages[page.id]?.reopening = nil
    } catch {
      let failure = PageFailure(error, url: page.location)
      logger.warning("a page could not be opened again: \(failure)", metadata: ["page": "\(page.id)"])
      await fail(page.id, "\(failure)")
      throw failure
    }
  }
}

extension PageDirectory: WorkerPoolDelegate {
  nonisolated func receive(event name: String, _ details: [UInt8], of page: UInt64) {
    guard let page = numbers[page] else { return }
    page.log?.append(name, details)
    guard name == "exception", let fault = try? JSONValue(reading: details).decoded(as: ScriptFault.self) else {
      return
    }
    record.threw(fault, in: page.location)
  }

  nonisolated func answer(
    _ question: PageQuestion, _ payload: [UInt8], of page: UInt64,
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async {
    if let page = numbers[page] {
      await answers.answer(question, payload, of: page, send)
    } else {
      try? await send(.failed("the page has ended"), [])
    }
  }

  /// Pages of one origin hear each other, as they share their stored values.
  nonisolated func channelScope(of page: UInt64) -> String? { numbers[page].map { "\($0.url.origin)" } }

  nonisolated func workerEnded(_ pages: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {
    await replace(pages, culprits: culprits, reason)
  }
}
