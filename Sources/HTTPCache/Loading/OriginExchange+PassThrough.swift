import HTTPCaching
import HTTPTransport
import HTTPTypes

/// Requests that are not answered from the cache: they may change what is stored. RFC 9111 §4.4.
extension OriginExchange {
  /// - Parameter cached: what may answer a HEAD if the server answers with an error.
  func passThrough(
    _ hop: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse?, _ reason: ForwardReason
  ) async throws -> Resource {
    let generation = inFlight.begin(hop.key)
    defer { inFlight.end(hop.key) }
    var request = request
    if hop.method == .head {
      // A client whose HEAD had no condition cannot use a 304.
      for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince] {
        request.headerFields[name] = hop.request.headerFields[name]
      }
    }
    let timer = ExchangeTimer(configuration.now)
    let response = try await send(hop, request)
    let times = timer.taken()
    if hop.method == .head, let cached,
      let stale = await staleResource(for: hop, request, response.head, cached, times)
    {
      return stale
    }
    var answer = response
    if hop.method == .head, response.head.status == .ok {
      await recorder.freshen(hop, byHead: response.head, times, generation)
    } else if hop.policy.invalidates(hop.method, response.head) {
      await recorder.invalidate(targets(of: response.head, hop))
      answer = await storingAnswerToGet(hop, request, response, times)
    }
    return resources.unshared(answer, for: hop, reason, generation: generation)
  }

  /// Returns what is stored, if the server answers a HEAD with an error that it may stand for. RFC 5861 §4.
  private func staleResource(
    for hop: OutgoingRequest, _ request: HTTPRequest, _ head: HTTPResponse, _ cached: CachedResponse,
    _ times: ExchangeTimes
  ) async -> Resource? {
    let decision = hop.policy.decision(
      on: head, to: request, for: hop.request, validating: cached.stored, at: times.response, lifetime: hop.lifetime)
    guard hop.behavior.fallback != .never, case .serveStale(let stored, let reason) = decision,
      lookup.mayFallBack(stored)
    else { return nil }
    let status = CacheStatus(
      .hit, forwardStatus: head.status.code, detail: reason == .ifError ? "stale-if-error" : nil)
    return await resources.stored(cached, for: hop, status)
  }

  /// The keys of the URL, and of those of the same origin that the response names. RFC 9111 §4.4.
  private func targets(of head: HTTPResponse, _ hop: OutgoingRequest) -> [CacheKey] {
    let named = hop.policy.invalidatedReferences(head).compactMap { reference in
      hop.url.resolving(reference, ignoring: []).flatMap { Self.ownURL($0, hop) }
    }
    return ([hop.url] + named).map { requests.key(of: $0, namedBy: hop) }
  }

  /// Returns the URL under which the cache stores it: the client's name for the server is replaced by the server's own.
  /// Returns `nil` if the URL is of another origin.
  ///
  /// The scheme is ignored, since a proxy in front may have terminated TLS.
  private static func ownURL(_ url: PageURL, _ hop: OutgoingRequest) -> PageURL? {
    let origin = url.origin
    if origin == hop.url.origin { return url }
    guard let host = hop.clientHost, let scheme = origin.firstRange(of: "://"),
      PageURL(origin[..<scheme.upperBound] + host + "/", ignoring: [])?.origin == origin
    else { return nil }
    return PageURL(hop.url.origin + url.text.dropFirst(origin.count), ignoring: [])
  }

  /// RFC 9110 §9.3.3: a POST's response that says it is what a GET would give is stored as that.
  private func storingAnswerToGet(
    _ hop: OutgoingRequest, _ request: HTTPRequest, _ response: TransportResponse, _ times: ExchangeTimes
  ) async -> TransportResponse {
    guard hop.method == .post,
      let (pending, writer) = recorder.storageOfPost(response.head, to: request, hop, times)
    else { return response }
    // It is what there is since the change.
    let generation = inFlight.begin(hop.key)
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
