/// A set of files that does not change, such as those of one release. ``FileProviding`` knows the kinds it has made.
public protocol FileSnapshot: Sendable {}

/// Files whose bytes were checked already: requests for their URLs are answered from them, not from the cache.
public protocol FileProviding: Sendable {
  /// - Parameters:
  ///   - snapshot: the files that the caller sees; `nil` for the current ones.
  ///   - mayFetch: the network may be asked for a file of the snapshot that is not stored.
  /// - Returns: `nil` if the URL belongs to no file. Without a snapshot also if its bytes are not stored.
  /// - Throws: if the snapshot's own bytes cannot be had: those of another snapshot never take their place.
  func file(at url: PageURL, in snapshot: (any FileSnapshot)?, mayFetch: Bool) async throws -> [UInt8]?
}
