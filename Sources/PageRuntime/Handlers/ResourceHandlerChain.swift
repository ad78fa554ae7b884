import HTTPCache
import HTTPTransport

/// The handlers of one request, newest first, and behind them the loader.
struct ResourceHandlerChain: Sendable {
  typealias Next = ResourceRequestHandling.Next

  /// A handler that was registered, and the requests that it is for.
  struct Entry: Sendable {
    enum Handler: Sendable {
      case passing(any ResourceRequestHandling)
      case answering(any ResourceAnswering)
    }

    let matches: @Sendable (ResourceRequest, PageURL?) -> Bool
    let handler: Handler
  }

  /// The handlers, newest last.
  private(set) var entries: [Entry] = []

  mutating func add(_ entry: Entry) { entries.append(entry) }

  /// Makes the function that answers a request: the matching handlers, and the loader behind them.
  ///
  /// - Parameters:
  ///   - target: the request's URL, if its reference has one.
  ///   - page: the page's id.
  func start(_ request: ResourceRequest, _ target: PageURL?, page: String, _ loader: ResourceLoader) -> Next {
    var next: Next = { loader.updates(for: $0) }
    for (index, entry) in entries.enumerated() where entry.matches(request, target) {
      let behind = next
      switch entry.handler {
      case .passing(let handler): next = { handler.updates(for: $0, next: behind) }
      case .answering(let handler):
        next = { request in
          loader.updates(for: request, from: "\(page)/\(index)") { request in
            let exchange = ResourceExchange(page: page, request: request, loader: loader, next: behind)
            return try await handler.response(to: request, exchange)
          }
        }
      }
    }
    return next
  }
}
