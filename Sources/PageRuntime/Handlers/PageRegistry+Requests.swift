import HTTPCache
import HTTPTransport

/// Handlers of requests. Of those that match a request the newest comes first.
extension PageRegistry {
  /// - Parameter types: nil for all.
  @discardableResult
  public func register(
    _ pattern: URLPattern, types: Set<ResourceType>? = nil, _ handler: any ResourceRequestHandling
  ) -> Registration {
    register(.passing(handler), where: Self.matching(pattern, types))
  }

  /// For all URLs.
  @discardableResult
  public func register(types: Set<ResourceType>? = nil, _ handler: any ResourceRequestHandling) -> Registration {
    register(.any, types: types, handler)
  }

  /// - Parameter matches: gets the request, and its URL where its reference has one.
  @discardableResult
  public func register(
    where matches: @escaping @Sendable (ResourceRequest, PageURL?) -> Bool, _ handler: any ResourceRequestHandling
  ) -> Registration {
    register(.passing(handler), where: matches)
  }

  /// - Parameter types: nil for all.
  @discardableResult
  public func register(
    _ pattern: URLPattern, types: Set<ResourceType>? = nil, _ handler: any ResourceAnswering
  ) -> Registration {
    register(.answering(handler), where: Self.matching(pattern, types))
  }

  /// For all URLs.
  @discardableResult
  public func register(types: Set<ResourceType>? = nil, _ handler: any ResourceAnswering) -> Registration {
    register(.any, types: types, handler)
  }

  /// - Parameter matches: gets the request, and its URL where its reference has one.
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
      // What has no URL is matched by what matches all.
      return url.map { pattern.matches($0) } ?? (pattern == .any)
    }
  }
}
