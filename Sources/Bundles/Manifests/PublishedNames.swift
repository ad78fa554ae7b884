import HTTPTransport
import Signing

/// The names of the objects of published releases.
///
///     current.json                  the pointer, which alone is replaced
///     SHA256.manifest.json          a manifest, and beside it its signatures
///     N.root.json                   a root, and beside it its signatures
///     status.json                   the status, and beside it its signatures
///     blobs/SHA256                  a content
///     blobs/deltas/…                the difference between two contents
///
/// Behind a digest stands the number of the last collection, if there was one: `blobs/SHA256-3`. What a collection
/// removes was written before it, so that no later publisher relies on a name that is about to be removed: publishers
/// and collections need no lock between them.
package enum PublishedNames {
  package static let pointer = ReleasePointer.fileName
  package static let blobs = "blobs/"
  private static let manifestEnd = ".manifest.json"

  /// The name of a content below ``blobs``; `nil` if that is its digest alone.
  package static func blob(of digest: SHA256Digest, after collections: Int64) -> String? {
    collections == 0 ? nil : numbered(digest, collections)
  }

  package static func manifest(with digest: SHA256Digest, after collections: Int64) -> String {
    numbered(digest, collections) + manifestEnd
  }

  private static func numbered(_ digest: SHA256Digest, _ collections: Int64) -> String {
    collections == 0 ? digest.hex : "\(digest.hex)-\(collections)"
  }

  /// Returns `true` for the names of contents, deltas, manifests and their signatures that a collection may remove.
  ///
  /// - Parameter collections: the pointer's count before the collection. Names with a higher one are of publishers who
  ///   have read a later pointer.
  package static func isCollected(_ name: String, upTo collections: Int64) -> Bool {
    number(of: name).map { $0 <= collections } ?? false
  }

  /// Returns `true` for the names of all objects that hosts read.
  package static func isRead(_ name: String) -> Bool {
    if name == pointer || number(of: name) != nil { return true }
    let file = name.hasSuffix(SignatureFile.suffix) ? String(name.dropLast(SignatureFile.suffix.count)) : name
    return file == ReleaseStatus.fileName || PublishedRoot.version(ofFile: file) != nil
  }

  /// Returns the number of the collection after which a content, a delta, a manifest or a signature file was uploaded;
  /// `nil` for any other name.
  private static func number(of name: String) -> Int64? {
    if name.hasPrefix(blobs) {
      let rest = name.dropFirst(blobs.count)
      guard rest.hasPrefix(Manifest.deltaFolder + "/") else { return number(ofDigest: rest) }
      let delta = Manifest.delta(named: rest.dropFirst(Manifest.deltaFolder.count + 1))
      return delta.flatMap { Manifest.deltaPath(to: $0.target, from: $0.base) == rest ? 0 : nil }
    }
    for end in [manifestEnd, manifestEnd + SignatureFile.suffix] where name.hasSuffix(end) {
      return number(ofDigest: name.dropLast(end.count))
    }
    return nil
  }

  private static func number(ofDigest text: Substring) -> Int64? {
    let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    let number = parts.count == 1 ? 0 : Int64(parts[1])
    guard let number, number >= 0, let digest = SHA256Digest(hex: parts[0]), numbered(digest, number) == text else {
      return nil
    }
    return number
  }
}
