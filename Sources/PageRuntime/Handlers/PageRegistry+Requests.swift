import HTTPCache
import HTTPTransport

/// Handlers of requests. Of the handlers that match a request, the newest comes first.
extension PageRegistry {
  /// Registers a handler that stands between pages and the loader.
  ///
  /// - Parameters:
  ///   - pattern: matches the request's URL.
  ///   - types: the types of requests; `nil` for all.
  @discardableResult
  public func register(
    _ pattern: URLPattern, types: Set<ResourceType>? = nil, _ handler: any ResourceRequestHandling
  ) -> Registration {
    register(.passing(handler), where: Self.matching(pattern, types))
  }

  /// Registers a handler that stands between pages and the loader, for all URLs.
  ///
  /// - Parameter types: the types of requests; `nil` for all.
  @discardableResult
  public func register(types: Set<ResourceType>? = nil, _ handler: any ResourceRequestHandling) -> Registration {
    register(.any, types: types, handler)
  }

  /// Registers a handler that stands between pages and the loader, for requests of the app's choice.
  ///
  /// - Parameter matches: gets the request, and its URL if its reference has one.
  @discardableResult
  public func register(
    where matches: @escaping @Sendable (ResourceRequest, PageURL?) -> Bool, _ handler: any ResourceRequestHandling
  ) -> Registration {
    register(.passing(handler), where: matches)
  }

  /// Registers a handler that answers in the place of a server.
  ///
  /// - Parameters:
  ///   - pattern: matches the request's URL.
  ///   - types: the types of requests; `nil` for all.
  @discardableResult
  public func register(
    _ pattern: URLPattern, types: Set<ResourceType>? = nil, _ handler: any ResourceAnswering
  ) -> Registration {
    register(.answering(handler), where: Self.matching(pattern, types))
  }

  /// Registers a handler that answers in the place of a server, for all URLs.
  ///
  /// - Parameter types: the types of requests; `nil` for all.
  @discardableResult
  public func register(types: Set<ResourceType>? = nil, _ handler: any ResourceAnswering) -> Registration {
    register(.any, types: types, handler)
  }

  /// Registers a handler that answers in the place of a server, for requests of the app's choice.
  ///
  /// - Parameter matches: gets the request, and its URL if its reference has one.
  @discardableResult
  public func register(
    where matches: @escaping @Sendable (ResourceRequest, PageURL?) -> Bool, _ handler: any ResourceAnswering
  ) -> Registration {
    register(.answering(handler), where: matches)
  }

  private func register(
    _ handler: ResourceHandlerChain.Entry.Handler,
    where matches: @escaping @Sendable (ResourceRequest, PageURL?) -> Bool
  ) -> Registration {
    register { $0.requests.add(ResourceHandlerChain.Entry(matches: matches, handler: handler)) }
  }

  private static func matching(
    _ pattern: URLPattern, _ types: Set<ResourceType>?
  ) -> @Sendable (ResourceRequest, PageURL?) -> Bool {
    { request, url in
      guard types?.contains(request.type) ?? true else { return false }
      // A request without a URL is matched only by a pattern that matches all.
      return url.map { pattern.matches($0) } ?? (pattern == .any)
    }
  }
}
