import Bundles
import HTTPTransport

/// The contents of a release, those that a publisher uploads among them, and the manifest with their names.
struct PublishPlan: Hashable, Sendable {
  /// A content of the folder.
  struct Content: Hashable, Sendable {
    /// The path in the folder.
    let path: String
    let kind: PageBundle.Kind
    let digests: ContentDigests
    /// The object's name below ``PublishedNames/blobs``.
    let name: String
  }

  /// The manifest as it is published; deltas are added to it.
  var manifest: Manifest
  /// The contents that no published release has. In the manifest's order, each content once.
  let missing: [Content]
  /// The contents of published releases, which the store should have. In the manifest's order, each content once.
  let reused: [Content]

  /// - Parameters:
  ///   - manifest: the folder's, with all digests.
  ///   - published: the manifests of releases that the pointer names, the newest first.
  ///   - collections: the pointer's count.
  init(_ manifest: Manifest, published: [Manifest], collections: Int64) {
    let known = Self.names(of: published)
    var manifest = manifest
    manifest.blobs = PublishedNames.blobs
    var (missing, reused): ([Content], [Content]) = ([], [])
    var placed: Set<SHA256Digest> = []
    func place(_ entry: inout Manifest.Entry, _ kind: PageBundle.Kind) {
      guard let sha256 = entry.sha256, let size = entry.size else { return }
      let isKnown = known[sha256] != nil
      entry.blob =
        isKnown
        ? known[sha256].flatMap { $0 == sha256.hex ? nil : $0 } : PublishedNames.blob(of: sha256, after: collections)
      guard placed.insert(sha256).inserted else { return }
      let content = Content(
        path: entry.path, kind: kind, digests: ContentDigests(md5: entry.md5, sha256: sha256, size: size),
        name: entry.blob ?? sha256.hex)
      if isKnown { reused.append(content) } else { missing.append(content) }
    }
    for index in manifest.bundles.indices { place(&manifest.bundles[index], .bundle) }
    for index in manifest.files.indices { place(&manifest.files[index], .file) }
    (self.manifest, self.missing, self.reused) = (manifest, missing, reused)
  }

  /// The names that contents have in published releases.
  static func names(of published: [Manifest]) -> [SHA256Digest: String] {
    var names: [SHA256Digest: String] = [:]
    for manifest in published where manifest.blobs == PublishedNames.blobs {
      for entry in manifest.bundles + manifest.files {
        guard let sha256 = entry.sha256, names[sha256] == nil else { continue }
        names[sha256] = entry.blob ?? sha256.hex
      }
    }
    return names
  }
}
