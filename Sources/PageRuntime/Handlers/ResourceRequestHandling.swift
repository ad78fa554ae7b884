import HTTPCache
import HTTPTransport

/// Stands between pages and the loader, and sees every update on its way back. Most handlers are simpler as a
/// ``RequestTransform``, or as ``ResourceAnswering``.
public protocol ResourceRequestHandling: Sendable {
  /// The handler behind one, or the loader behind the last.
  typealias Next = @Sendable (ResourceRequest) -> AsyncStream<ResourceUpdate>

  /// - Parameter next: the handler behind this one; in the end the loader.
  func updates(for request: ResourceRequest, next: @escaping Next) -> AsyncStream<ResourceUpdate>
}

/// Answers requests in the place of their server.
///
/// The cache stands in front of it as it stands in front of a server: what is stored may answer by the request's
/// behaviour before it is asked, and where it throws. What it answers is stored as it says.
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
  /// - Throws: what the page is told where nothing stored may answer instead.
  func response(to request: ResourceRequest, _ exchange: ResourceExchange) async throws -> HandledResponse
}

/// What a handler that answers can turn to.
public struct ResourceExchange: Sendable {
  /// The page's id.
  public let page: String
  let request: ResourceRequest
  let loader: ResourceLoader
  let next: ResourceRequestHandling.Next

  /// What is stored for the request, however old; nil for nothing.
  public func stored() async -> HandledResponse? {
    var request = request
    request.behavior = .cacheOnly
    guard let loaded = try? await loader.response(for: request) else { return nil }
    return try? await HandledResponse(loaded)
  }

  /// Asks what is behind this handler, in the end the server. The answer itself is not stored.
  ///
  /// - Parameter question: nil for the page's own request. Unless it names a behaviour, no cache answers it.
  /// - Throws: where there is no answer, or one with a status of 400 or more after something stored.
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
