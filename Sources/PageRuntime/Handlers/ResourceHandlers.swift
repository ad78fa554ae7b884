import HTTPCache
import HTTPTransport

/// A handler that stands between pages and the loader and sees every update on its way back. Most handlers are simpler
/// as a ``RequestTransform`` or as ``ResourceAnswering``.
public protocol ResourceRequestHandling: Sendable {
  /// Passes a request to the next handler, or to the loader after the last one.
  typealias Next = @Sendable (ResourceRequest) -> AsyncStream<ResourceUpdate>

  /// Answers a request, usually with the updates of the next handler.
  ///
  /// - Parameters:
  ///   - request: the page's request, after the rewriters.
  ///   - next: the next handler, or the loader.
  /// - Returns: the answers, as they come. Cancelling the reader ends the request.
  func updates(for request: ResourceRequest, next: @escaping Next) -> AsyncStream<ResourceUpdate>
}

/// A handler that answers requests in the place of a server.
///
/// The cache stands in front of it as in front of a server. By the request's behaviour, a stored answer may be given
/// before the handler is asked, and if it throws. Its own answer is stored as the answer says.
///
///     struct NewerItems: ResourceAnswering {
///       func response(to request: ResourceRequest, _ exchange: ResourceExchange) async throws -> HandledResponse {
///         var items = try await exchange.stored()?.decoded(as: [Item].self) ?? []
///         let question = ResourceRequest("https://api.example.com/items?since=\(items.last?.id ?? 0)")
///         items += try await exchange.response(to: question).decoded(as: [Item].self)
///         return try .json(items, storage: .askingEachTime)  // or .none, .asTheServerSaid, .lifetime(.seconds(60))
///       }
///     }
public protocol ResourceAnswering: Sendable {
  /// Answers a request.
  ///
  /// - Parameters:
  ///   - request: the page's request, after the rewriters.
  ///   - exchange: gives the stored answer, and asks the server.
  /// - Throws: the error that the page gets if no stored answer may be given instead.
  func response(to request: ResourceRequest, _ exchange: ResourceExchange) async throws -> HandledResponse
}

/// The cache and the server behind a handler that answers requests.
public struct ResourceExchange: Sendable {
  /// The page's id.
  public let page: String
  let request: ResourceRequest
  let loader: ResourceLoader
  let next: ResourceRequestHandling.Next

  /// Returns the stored answer to the request, of any age, or `nil` if there is none.
  public func stored() async -> HandledResponse? {
    var request = request
    request.behavior = .cacheOnly
    guard let loaded = try? await loader.response(for: request) else { return nil }
    return try? await HandledResponse(loaded)
  }

  /// Asks the next handler, or the server. The answer is not stored.
  ///
  /// - Parameter question: the request to send; `nil` for the page's own. Without a behaviour it is `networkOnly`.
  /// - Returns: the last answer. An HTTP error is an answer too.
  /// - Throws: `LoadError` if there is no answer, and the other errors of `ResourceLoader.response(for:)`.
  public func response(to question: ResourceRequest? = nil) async throws -> HandledResponse {
    var question = question ?? request
    question.base = question.base ?? request.base
    question.behavior = question.behavior ?? .networkOnly
    question.isStored = false
    var last: HandledResponse?
    for await update in next(question) {
      switch update {
      case .cached(let loaded), .network(let loaded), .notModified(let loaded):
        last = try await HandledResponse(loaded)
      case .failed(let failure):
        if let answer = failure.answer { return try await HandledResponse(answer) }
        if let error = failure.error { throw error }
      }
    }
    try Task.checkCancellation()
    guard let last else { throw LoadError.invalidReference(question.reference) }
    return last
  }
}

/// Changes requests on their way out and answers on their way back.
///
///     host.pages.registry.register(
///       .prefix("https://api.example.com/"),
///       RequestTransform(request: { $0.fields[.authorization] = await session.token }))
///
/// The cache stores the server's answer; the change is applied each time the answer is given.
public struct RequestTransform: ResourceRequestHandling {
  /// Changes a request before it is sent.
  public typealias RequestChange = @Sendable (inout ResourceRequest) async throws -> Void
  /// Changes the answer to a request before the page gets it.
  public typealias ResponseChange = @Sendable (inout HandledResponse, ResourceRequest) async throws -> Void

  private let changeRequest: RequestChange?
  private let changeResponse: ResponseChange?

  /// Makes a transform of requests, of responses, or of both.
  ///
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

/// Answers requests by a handler: gets the page's id, the handler's place, the loader, and what comes behind the handler.
typealias ResourceHandlerLink =
  @Sendable (
    _ page: String, _ index: Int, _ loader: ResourceLoader, _ next: @escaping ResourceRequestHandling.Next
  ) -> ResourceRequestHandling.Next

extension PageRegistry.Snapshot {
  /// Makes the function that answers a request: the matching handlers, newest first, and the loader behind them.
  ///
  /// - Parameters:
  ///   - target: the request's URL, if its reference has one.
  ///   - page: the page's id.
  func answers(
    to request: ResourceRequest, _ target: PageURL?, page: String, _ loader: ResourceLoader
  ) -> ResourceRequestHandling.Next {
    var next: ResourceRequestHandling.Next = { loader.updates(for: $0) }
    for (index, handler) in requestHandlers.enumerated() where handler.matches(request, target) {
      next = handler.link(page, index, loader, next)
    }
    return next
  }
}
