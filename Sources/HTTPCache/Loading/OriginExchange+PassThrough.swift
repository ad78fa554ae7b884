import HTTPCaching
import HTTPTransport
import HTTPTypes

/// Requests that are not answered from the cache: they may change what is stored. RFC 9111 §4.4.
extension OriginExchange {
  /// - Parameter cached: what may answer a HEAD if the server answers with an error.
  func passThrough(
    _ outgoing: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse?, _ reason: ForwardReason
  ) async throws -> Resource {
    let generation = inFlight.begin(outgoing.key)
    defer { inFlight.end(outgoing.key) }
    var request = request
    if outgoing.method == .head {
      // A client whose HEAD had no condition cannot use a 304.
      for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince] {
        request.headerFields[name] = outgoing.head.headerFields[name]
      }
    }
    let timer = ExchangeTimer(configuration.now)
    let response = try await send(outgoing, request)
    let times = timer.taken()
    if outgoing.method == .head, let cached,
      let stale = await staleResource(for: outgoing, request, response.head, cached, times)
    {
      return stale
    }
    var answer = response
    if outgoing.method == .head, response.head.status == .ok {
      await recorder.freshen(outgoing, byHead: response.head, times, generation)
    } else if outgoing.policy.invalidates(outgoing.method, response.head) {
      await recorder.invalidate(targets(of: response.head, outgoing))
      answer = await storingAnswerToGet(outgoing, request, response, times)
    }
    return resources.unshared(answer, for: outgoing, reason, generation: generation)
  }

  /// Returns what is stored, if the server answers a HEAD with an error that it may stand for. RFC 5861 §4.
  private func staleResource(
    for outgoing: OutgoingRequest, _ request: HTTPRequest, _ head: HTTPResponse, _ cached: CachedResponse,
    _ times: ExchangeTimes
  ) async -> Resource? {
    let decision = outgoing.policy.decision(
      on: head, to: request, for: outgoing.head, validating: cached.stored, at: times.response,
      lifetime: outgoing.lifetime)
    guard outgoing.behavior.fallback != .never, case .serveStale(let stored, let reason) = decision,
      lookup.mayFallBack(stored)
    else { return nil }
    let status = CacheStatus(
      .hit, forwardStatus: head.status.code, detail: reason == .ifError ? "stale-if-error" : nil)
    return await resources.stored(cached, for: outgoing, status)
  }

  /// The keys of the URL, and of those of the same origin that the response names. RFC 9111 §4.4.
  private func targets(of head: HTTPResponse, _ request: OutgoingRequest) -> [CacheKey] {
    let named = request.policy.invalidatedReferences(head).compactMap { reference in
      request.url.resolving(reference, ignoring: []).flatMap { Self.ownURL($0, request) }
    }
    return ([request.url] + named).map { requests.key(of: $0, namedBy: request) }
  }

  /// Returns the URL under which the cache stores it: the client's name for the server is replaced by the server's own.
  /// Returns `nil` if the URL is of another origin.
  ///
  /// The scheme is ignored, since a proxy in front may have terminated TLS.
  private static func ownURL(_ url: PageURL, _ request: OutgoingRequest) -> PageURL? {
    let origin = url.origin
    if origin == request.url.origin { return url }
    guard let host = request.clientHost, let scheme = origin.firstRange(of: "://"),
      PageURL(origin[..<scheme.upperBound] + host + "/", ignoring: [])?.origin == origin
    else { return nil }
    return PageURL(request.url.origin + url.text.dropFirst(origin.count), ignoring: [])
  }

  /// RFC 9110 §9.3.3: a POST's response that says it is what a GET would give is stored as that.
  private func storingAnswerToGet(
    _ outgoing: OutgoingRequest, _ request: HTTPRequest, _ response: TransportResponse, _ times: ExchangeTimes
  ) async -> TransportResponse {
    guard outgoing.method == .post,
      let (pending, writer) = recorder.storageOfPost(response.head, to: request, outgoing, times)
    else { return response }
    // It is what there is since the change.
    let generation = inFlight.begin(outgoing.key)
    let place = recorder.take(response.body, response.head, pending, writer, nil, to: request, generation)
    defer { withExtendedLifetime(place) {} }
    return place.incoming.body().map { TransportResponse(head: response.head, body: $0) } ?? response
  }
}

/// A place among the transfers to an origin, for a connection that somebody else makes. It is given back when it is let
/// go of.
package final class OriginPlace: Sendable {
  private let url: PageURL
  private let pass: TransferGate.Pass
  private let reachability: Reachability

  fileprivate init(_ url: PageURL, _ pass: TransferGate.Pass, _ reachability: Reachability) {
    (self.url, self.pass, self.reachability) = (url, pass, reachability)
  }

  /// The origin has answered.
  package func succeeded() { reachability.recordSuccess(url) }

  /// There was no answer.
  package func failed(_ error: any Error) { reachability.record(error, for: url) }
}

extension ResourceLoader {
  /// Waits for a place among the transfers to an origin.
  ///
  /// - Throws: ``LoadError/offline(_:)`` while the origin is left alone, ``LoadError/busy(_:limit:)``, `CancellationError`.
  package func place(at url: PageURL) async throws -> OriginPlace {
    guard reachability.admits(url) else { throw LoadError.offline(url) }
    do {
      return OriginPlace(url, try await gate.enter(gate.number(), priority: .normal), reachability)
    } catch let full as TransferGate.Full {
      throw LoadError.busy(url, limit: full.limit)
    }
  }
}
