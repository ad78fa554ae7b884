/// An unchanging set of files, such as those of one release.
package protocol FileSnapshot: Sendable {}

/// Reads a file whose bytes were checked before, such as one of a release. Requests for its URL are answered with it, not
/// from the cache.
///
/// - Parameters:
///   - url: the file's URL.
///   - snapshot: the set of files that the caller sees; `nil` for the current ones.
///   - mayFetch: `true` if a file of the snapshot that is not stored may be fetched from the network.
/// - Returns: `nil` if the URL is not that of a file; without a snapshot, also if the bytes are not stored.
/// - Throws: an error if the snapshot's bytes cannot be provided; bytes of another snapshot never replace them.
package typealias FileReader = @Sendable (
  _ url: PageURL, _ snapshot: (any FileSnapshot)?, _ mayFetch: Bool
) async throws -> [UInt8]?
