/// Fetches and keeps the responses of URLs ahead of their use, in a cache that keeps them.
///
/// - Parameters:
///   - references: URLs as bundles list them; relative ones are resolved against `base`.
///   - dropped: URLs that are no longer listed, whose stored responses may be evicted again.
package typealias Prefetch =
  @Sendable (
    _ references: [String], _ base: PageURL?, _ dropped: [String]
  ) async -> PrefetchReport

/// The result of prefetching responses.
package struct PrefetchReport: Hashable, Sendable {
  /// The number of responses that are stored and kept.
  package var kept = 0
  /// The number of responses that the data saver did not allow.
  package var skipped = 0
  /// The URL and reason of each response that could not be fetched.
  package var failures: [String] = []
  /// The references whose failures may not occur at a later attempt.
  package var passing: Set<String> = []

  package init() {}
}
