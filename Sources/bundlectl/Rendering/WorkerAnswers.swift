import PageKit
import PageWorkers
import Synchronization

/// Answers the questions of a page in a worker from the host's loader and stores, as for a page in this process.
final class WorkerAnswers: WorkerPoolDelegate {
  private let host: PageHost
  private let listener: NoticeListener
  /// The release of the page.
  private let view = Mutex<ReleaseView?>(nil)
  private let longAnswers = FairGate<Int>(width: 1)

  init(_ host: PageHost, _ listener: NoticeListener) { (self.host, self.listener) = (host, listener) }

  /// The release for the next page.
  func show(_ view: ReleaseView?) { self.view.withLock { $0 = view } }

  func receive(event name: String, _ details: [UInt8], of page: UInt64) {
    if let notice = PageNotice(event: name, details) { listener.hear(notice) }
  }

  func workerEnded(_ pages: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {}

  func answer(
    _ question: PageQuestion, _ payload: [UInt8], of page: UInt64,
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async {
    do {
      switch question {
      case .resource(let question): try await load(question, payload, send)
      case .bundle(let text):
        guard let url = PageURL(text) else { throw PageError.invalidURL(text) }
        let bundle = try await host.bundles.load(url, options: OpenOptions(view: view.withLock(\.self)))
        try await relay(Body(bundle.bytes), send) { .bundle(hasMore: $0) }
      case .storedValue(let key): try await send(.value(try await storage.value(for: key)), [])
      case .storeValue(let key):
        try await storage.setValue(String(decoding: payload, as: UTF8.self), for: key)
        try await send(.value(nil), [])
      case .removeValue(let key):
        let wasThere = try await storage.removeValue(for: key)
        try await send(.value(wasThere ? "" : nil), [])
      case .storedKeys: try await send(.keys(try await storage.keys()), [])
      }
    } catch is CancellationError {
    } catch {
      try? await send(.failed(error.sentence), [])
    }
  }

  private var storage: any StorageProviding {
    host.pages.registry.snapshot().handlers.storage.values(of: host.resources.partition)
  }

  private func load(
    _ question: ResourceQuestion, _ body: [UInt8],
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async throws {
    guard var request = question.request(body: body) else { throw LoadError.invalidReference(question.reference) }
    request.snapshot = view.withLock(\.self)
    for await update in host.resources.updates(for: request) {
      switch update {
      case .cached(let loaded): try await relay(.cached, loaded, send)
      case .network(let loaded): try await relay(.network, loaded, send)
      case .notModified(let loaded): try await relay(.notModified, loaded, send)
      case .failed(let failure):
        if let answer = failure.answer {
          try await relay(.failed, answer, send)
        } else {
          try await send(.failed("\(failure)"), [])
        }
      }
    }
  }

  private func relay(
    _ kind: RelayedUpdate.Kind, _ loaded: Resource, _ send: @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async throws {
    try await relay(loaded.body, send) { .update(RelayedUpdate(kind, loaded, hasMore: $0)) }
  }

  private func relay(
    _ body: Body, _ send: @Sendable (PageAnswer, [UInt8]) async throws -> Void, _ head: (_ hasMore: Bool) -> PageAnswer
  ) async throws {
    try await PageAnswer.send(body, limit: .max, longAnswers: longAnswers, send, head)
  }
}
