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
///         var items = try await exchange.stored()?.json([Item].self) ?? []
///         let question = ResourceRequest("https://api.example.com/items?since=\(items.last?.id ?? 0)")
///         items += try await exchange.response(to: question).json([Item].self)
///         return try .json(items, storage: .askingEachTime)
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
  /// - Throws: ``LoadError`` if there is no answer, and the loader's other errors.
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
