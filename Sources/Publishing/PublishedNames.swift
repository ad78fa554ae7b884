import Bundles
import HTTPTransport

/// The names of the objects of published releases.
///
///     current.json                  the pointer, which alone is replaced
///     SHA256.manifest.json          a manifest, and beside it its signatures
///     N.root.json                   a root, and beside it its signatures
///     blobs/SHA256                  a content
///     blobs/deltas/…                the difference between two contents
///
/// Behind a digest stands the number of the last collection, if there was one: `blobs/SHA256-3`. What a collection
/// removes was written before it, so that no later publisher relies on a name that is about to be removed: publishers
/// and collections need no lock between them.
package enum PublishedNames {
  package static let pointer = ReleasePointer.fileName
  static let blobs = "blobs/"
  private static let manifestEnd = ".manifest.json"

  /// The name of a content below ``blobs``; `nil` if that is its digest alone.
  static func blob(of digest: SHA256Digest, after collections: Int64) -> String? {
    collections == 0 ? nil : numbered(digest, collections)
  }

  static func manifest(with digest: SHA256Digest, after collections: Int64) -> String {
    numbered(digest, collections) + manifestEnd
  }

  private static func numbered(_ digest: SHA256Digest, _ collections: Int64) -> String {
    collections == 0 ? digest.hex : "\(digest.hex)-\(collections)"
  }

  /// Returns `true` for the names of contents, deltas, manifests and their signatures: what a collection may remove.
  static func isCollected(_ name: String) -> Bool {
    if name.hasPrefix(blobs) { return true }
    return name.hasSuffix(manifestEnd) || name.hasSuffix(manifestEnd + ".sig")
  }
}
