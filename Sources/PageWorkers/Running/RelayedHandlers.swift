import PageKit

/// Relays every request of a page to the daemon.
struct RelayedResources: ResourceRequestHandling {
  let relay: HostRelay
  let page: UInt64

  func updates(
    for request: ResourceRequest, next: @escaping Next
  ) -> AsyncStream<ResourceUpdate> {
    let arrivals = relay.ask(.resource(ResourceQuestion(request)), request.body, page: page)
    return AsyncStream { continuation in
      let work = Task {
        for await arrival in arrivals {
          switch arrival {
          case .update(let update): continuation.yield(update)
          case .failed(let reason): continuation.yield(.failed(LoadFailure(RelayedError(reason))))
          default: break
          }
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in work.cancel() }
    }
  }
}

/// Relays the storage of pages to the daemon.
struct RelayedStorage: StorageProviding {
  let relay: HostRelay
  let page: UInt64

  func value(for key: String) async throws -> String? {
    if case .value(let value) = try await answer(.storedValue(key: key)) { value } else { nil }
  }

  func setValue(_ value: String, for key: String) async throws {
    _ = try await answer(.storeValue(key: key), Array(value.utf8))
  }

  func removeValue(for key: String) async throws -> Bool {
    if case .value(let value) = try await answer(.removeValue(key: key)) { value != nil } else { false }
  }

  func keys() async throws -> [String] {
    if case .keys(let keys) = try await answer(.storedKeys) { keys } else { [] }
  }

  private func answer(_ question: PageQuestion, _ payload: [UInt8] = []) async throws -> HostRelay.Arrival {
    for await arrival in relay.ask(question, payload, page: page) {
      if case .failed(let reason) = arrival { throw RelayedError(reason) }
      return arrival
    }
    throw RelayedError("the daemon did not answer")
  }
}

/// Does not navigate: the viewer of the page gets the target.
struct RelayedNavigation: Navigating {
  let socket: WorkerSocket
  let page: UInt64

  func push(_ url: PageURL, options: ScriptValue, from page: PageInstance) async throws {
    await tell(.object(["action": .string("push"), "url": .string(url.text), "options": options.json]))
  }

  func pop(options: ScriptValue, from page: PageInstance) async throws {
    await tell(.object(["action": .string("pop"), "options": options.json]))
  }

  private func tell(_ event: JSONValue) async {
    await socket.send(.event(page: page, name: "navigate"), event.text)
  }
}

/// Workers have no network.
struct NoTransport: HTTPTransporting {
  func send(_ request: TransportRequest) async throws -> TransportResponse {
    throw TransportError.cannotConnect(url: request.url, reason: "a worker has no network")
  }
}
