import HTTPTransport
import HTTPTypes

/// Answers in a server's place: what it says is cached as a server's answer would be.
package struct ResourceOrigin: Sendable {
  /// Requests of several callers at once are one where the name is the same.
  package let name: String
  let respond: @Sendable (ResourceRequest) async throws -> HandledResponse

  /// - Parameters:
  ///   - name: requests of several callers at once are one if the name is the same.
  ///   - respond: answers a request; what it throws is the caller's failure.
  package init(name: String, respond: @escaping @Sendable (ResourceRequest) async throws -> HandledResponse) {
    self.name = name
    self.respond = respond
  }
}

extension ResourceLoader {
  /// The same as ``updates(for:)`` with something in the server's place. What is stored answers by the request's
  /// behaviour before it is asked, and after it has failed; what it answers is stored as it says.
  ///
  /// A request without a URL that could be cached under is answered, and the answer is not stored.
  package func updates(for request: ResourceRequest, from origin: ResourceOrigin) -> AsyncStream<ResourceUpdate> {
    var handled = request
    handled.origin = HandlingOrigin(origin, request)
    return updates(for: handled)
  }
}

/// An origin, and the request it is to answer.
struct HandlingOrigin: Sendable {
  let name: String
  let respond: @Sendable () async throws -> HandledResponse

  init(_ origin: ResourceOrigin, _ request: ResourceRequest) {
    name = origin.name
    respond = { try await origin.respond(request) }
  }
}
