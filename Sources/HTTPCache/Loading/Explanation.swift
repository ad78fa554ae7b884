import HTTPCaching
import HTTPTransport
import HTTPTypes

/// The answer to "what would be done with this request now, and why?" Durations are seconds, times seconds since 1970.
package struct Explanation: Hashable, Sendable {
  /// A decision of the loader.
  package enum Decision: String, Hashable, Sendable {
    case serve, serveStale, revalidate, complete, fetch, refuse
  }

  /// The URL as it would be sent.
  package let url: PageURL
  /// The decision.
  package let decision: Decision
  /// In a sentence.
  package let rule: String
  /// The section that the rule is from; `nil` if it is the caller's or the app's own.
  package let clause: String?
  /// `nil` if nothing is stored that the request could be answered with.
  package let storedAt: Double?
  /// Seconds since the origin made what is stored; `nil` if nothing is. RFC 9111 §4.2.3.
  package let age: Int64?
  /// Seconds it stays fresh; nil once it is stale.
  package let freshFor: Int64?
  /// Seconds it has been stale; nil while it is fresh.
  package let staleFor: Int64?
  /// The stored validator. RFC 9110 §8.8.3.
  package let etag: String?
  /// The stored date. RFC 9110 §8.8.2.
  package let lastModified: String?
  /// Lower-case names of the request fields that chose it.
  package let vary: [String]
  /// The partition that is looked in.
  package let partition: String
  /// No eviction takes what is stored.
  package let isKept: Bool
  /// The behaviour's name.
  package let behavior: String
}

extension ResourceLoader {
  /// Tells what ``response(for:)`` would do now, without doing it.
  ///
  /// - Throws: ``LoadError``.
  package func explain(_ request: ResourceRequest) async throws -> Explanation {
    guard let hop = try requests.prepare(request).outgoing else {
      throw LoadError.invalidReference(request.reference)
    }
    let answer = try await lookup.answer(to: hop, mayFetch: false)
    let found = await cache.responses(for: hop.key, fields: hop.request.headerFields)
    let now = configuration.now()
    let stored = cache.policy.anyAnswer(to: hop.request, among: found.map(\.stored))
    let entry = stored.flatMap { found.first(holding: $0) }?.entry
    let freshness = stored.map { Freshness(of: $0, at: now, rule: hop.lifetime) }
    let verdict =
      switch answer {
      case .releaseFile: Verdict.releaseFile
      case .decided(let decision, _): decision.verdict
      }
    return Explanation(
      url: hop.url, decision: verdict.decision, rule: verdict.rule, clause: verdict.clause, storedAt: entry?.storedAt,
      age: freshness?.age, freshFor: freshness.flatMap { $0.isFresh ? $0.remaining : nil },
      staleFor: freshness.flatMap { $0.isFresh ? nil : -$0.remaining }, etag: stored?.validators.etag,
      lastModified: stored?.validators.lastModified, vary: stored?.vary.values.keys.sorted() ?? [],
      partition: hop.key.partition.text, isKept: entry?.isKept ?? false, behavior: hop.behavior.name)
  }
}

/// A decision in words.
private struct Verdict {
  let decision: Explanation.Decision
  let rule: String
  let clause: String?

  static let releaseFile = Verdict(decision: .serve, rule: "it is a file of the current release", clause: nil)
}

extension CacheDecision {
  fileprivate var verdict: Verdict {
    switch self {
    case .serve(_, _, let reason): Verdict(decision: .serve, rule: reason.rawValue, clause: reason.clause)
    case .serveStale:
      Verdict(
        decision: .serveStale, rule: ServeReason.whileRevalidating.rawValue,
        clause: ServeReason.whileRevalidating.clause)
    case .revalidate(_, _, let reason): Verdict(decision: .revalidate, rule: reason.rawValue, clause: reason.clause)
    case .complete:
      Verdict(decision: .complete, rule: ForwardReason.partial.rawValue, clause: ForwardReason.partial.clause)
    case .fetch(_, let reason): Verdict(decision: .fetch, rule: reason.rawValue, clause: reason.clause)
    case .gatewayTimeout(let reason): Verdict(decision: .refuse, rule: reason.rawValue, clause: reason.clause)
    }
  }
}
