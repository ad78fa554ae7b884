import HTTPTypes

/// From when on stored responses may be used, where purges of a former time may be missing: those that the origin gave or
/// confirmed earlier may be outdated, however fresh they are.
package struct StoredUse: Hashable, Sendable {
  /// What was asked for at this time or later may answer; `nil` for everything.
  package let answersSince: HTTPDate?
  /// What was asked for at this time or later may answer when the origin fails; `nil` for everything.
  package let fallsBackSince: HTTPDate?

  package init(answersSince: HTTPDate? = nil, fallsBackSince: HTTPDate? = nil) {
    (self.answersSince, self.fallsBackSince) = (answersSince, fallsBackSince)
  }

  /// Everything may be used.
  package static let unlimited = StoredUse()

  /// Returns `true` if the response of an exchange may answer.
  package func mayAnswer(_ times: ExchangeTimes) -> Bool { answersSince.map { times.request >= $0 } ?? true }

  /// Returns `true` if a stored response may answer when the origin fails.
  package func mayFallBack(_ stored: StoredResponse) -> Bool {
    fallsBackSince.map { stored.times.request >= $0 } ?? true
  }

  /// A decision, where this permits it; otherwise the one that asks the origin about the stored response.
  ///
  /// - Parameter mayAsk: `false` if the origin is not to be asked.
  package func limited(_ decision: CacheDecision, for request: HTTPRequest, mayAsk: Bool, policy: CachePolicy)
    -> CacheDecision
  {
    let stored: StoredResponse
    switch decision {
    case .serve(let chosen, _, _), .serveStale(let chosen, _, _): stored = chosen
    case .revalidate, .complete, .fetch, .gatewayTimeout: return decision
    }
    if mayAnswer(stored.times) { return decision }
    // RFC 9111 §5.2.1.7: it may not be asked for a request with only-if-cached either.
    guard mayAsk, !RequestControl(request.headerFields).directives.onlyIfCached else {
      return .gatewayTimeout(because: .unknownPurges)
    }
    return policy.validation(of: stored, for: request).map { .revalidate(stored, with: $0, because: .unknownPurges) }
      ?? .fetch(request, because: .unknownPurges)
  }
}
