import HTTPCache

/// Changes requests on their way out, and answers on their way back.
///
///     registry.register(.prefix("https://api.example.com/"), RequestTransform(request: { request in
///       request.fields[.authorization] = token
///     }))
///
/// What is stored is what the server said: the answer is changed each time it is given.
public struct RequestTransform: ResourceRequestHandling {
  public typealias RequestChange = @Sendable (inout ResourceRequest) async throws -> Void
  public typealias ResponseChange = @Sendable (inout HandledResponse, ResourceRequest) async throws -> Void

  private let changeRequest: RequestChange?
  private let changeResponse: ResponseChange?

  /// - Parameters:
  ///   - request: what it throws is the failure that the page sees; nothing is asked then.
  ///   - response: gets the whole body in memory; what it throws takes the answer's place.
  public init(request: RequestChange? = nil, response: ResponseChange? = nil) {
    changeRequest = request
    changeResponse = response
  }

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
