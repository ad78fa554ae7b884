import Foundation
import Logging
import PageKit

extension PageDirectory {
  func replace(_ ended: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {
    for page in pages.values where ended.contains(page.number) {
      if reason == .shutdown {
        await end(page.id, "killed", "\(reason)")
      } else if culprits.contains(page.number) {
        await kill(page.id, reason)
      } else {
        reopen(page, reason)
      }
    }
  }

  private func reopen(_ page: OpenedPage, _ reason: KillReason) {
    numbers.remove(page.number)
    page.log.append("reopened", JSONValue.object(["reason": .string("\(reason)")]).text)
    pages[page.id]?.reopened += 1
    pages[page.id]?.reopening = Task { [weak self] in try await self?.openAgain(page) }
  }

  private func openAgain(_ page: OpenedPage) async throws {
    let target = Target(url: page.url, location: page.location, bundle: page.bundle, digest: page.digest, bundleTime: 0)
    do {
      let (number, reply, _) = try await run(target, page.opening, page.log)
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
    guard name == "exception", let fault = try? JSONDecoder().decode(ScriptFault.self, from: Data(details)) else {
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

  nonisolated func workerEnded(_ pages: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {
    await replace(pages, culprits: culprits, reason)
  }
}
