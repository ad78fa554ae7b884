import HTTPCache

/// Changes requests on their way out and answers on their way back.
///
///     registry.register(.prefix("https://api.example.com/"), RequestTransform(request: { request in
///       request.fields[.authorization] = token
///     }))
///
/// The cache stores the server's answer; the change is applied each time the answer is given.
public struct RequestTransform: ResourceRequestHandling {
  /// Changes a request before it is sent.
  public typealias RequestChange = @Sendable (inout ResourceRequest) async throws -> Void
  /// Changes the answer to a request before the page gets it.
  public typealias ResponseChange = @Sendable (inout HandledResponse, ResourceRequest) async throws -> Void

  private let changeRequest: RequestChange?
  private let changeResponse: ResponseChange?

  /// - Parameters:
  ///   - request: if it throws, nothing is sent and the page gets the error as the request's failure.
  ///   - response: gets the whole body in memory. If it throws, the page gets the error instead of the answer.
  public init(request: RequestChange? = nil, response: ResponseChange? = nil) {
    changeRequest = request
    changeResponse = response
  }

  /// Passes the changed request on, and gives the changed answers.
  public func updates(
    for request: ResourceRequest, next: @escaping Next
  ) -> AsyncStream<ResourceUpdate> {
    AsyncStream { continuation in
      let work = Task {
        defer { continuation.finish() }
        var request = request
        do {
          try await changeRequest?(&request)
        } catch {
          continuation.yield(.failed(LoadFailure(error)))
          return
        }
        for await update in next(request) { continuation.yield(await changed(update, request)) }
      }
      continuation.onTermination = { _ in work.cancel() }
    }
  }

  private func changed(_ update: ResourceUpdate, _ request: ResourceRequest) async -> ResourceUpdate {
    guard let changeResponse else { return update }
    func changed(_ loaded: Resource) async throws -> Resource {
      var response = try await HandledResponse(loaded)
      try await changeResponse(&response, request)
      return loaded.replaced(by: response)
    }
    do {
      switch update {
      case .cached(let loaded): return .cached(try await changed(loaded))
      case .network(let loaded): return .network(try await changed(loaded))
      case .notModified(let loaded): return .notModified(try await changed(loaded))
      case .failed: return update
      }
    } catch {
      return .failed(LoadFailure(error))
    }
  }
}
