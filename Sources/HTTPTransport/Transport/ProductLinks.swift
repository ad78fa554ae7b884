/// An unchanging set of files, such as those of one release.
package typealias FileSnapshot = Sendable

/// Returns the bytes of a file that were checked before. Requests for its URL are answered with them, not from the cache.
///
/// - Parameters:
///   - url: the file's URL.
///   - snapshot: the set of files that the caller sees; `nil` for the current ones.
///   - mayFetch: `true` if a file of the snapshot that is not stored may be fetched from the network.
/// - Returns: `nil` if the URL is not that of a file; without a snapshot, also if the bytes are not stored.
/// - Throws: an error if the snapshot's bytes cannot be provided; bytes of another snapshot never replace them.
package typealias FileLookup =
  @Sendable (
    _ url: PageURL, _ snapshot: (any FileSnapshot)?, _ mayFetch: Bool
  ) async throws -> [UInt8]?

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
