import PageCore

/// Answers requests for the URLs of releases' files, whose bytes were checked against their manifest.
public protocol ReleaseFileProviding: Sendable {
  /// - Parameters:
  ///   - view: the release that the page sees; `nil` for whichever is current.
  ///   - mayFetch: the network may be asked for a file of the view that is not stored.
  /// - Returns: `nil` if the URL belongs to no file of the release. Without a view also if its bytes are not stored.
  /// - Throws: ``ReleaseError``, ``BundleError``, ``StoreError`` if the view's own bytes cannot be had: those of another
  ///   release never take their place.
  func file(at url: PageURL, in view: ReleaseView?, mayFetch: Bool) async throws -> [UInt8]?
}
