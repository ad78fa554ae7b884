import Bundles
import HTTPTransport

/// The contents that a publisher uploads, and the manifest with their names.
struct PublishPlan: Hashable, Sendable {
  /// A content of the folder that no published release has.
  struct Missing: Hashable, Sendable {
    /// The path in the folder.
    let path: String
    let kind: PageBundle.Kind
    let digests: ContentDigests
    /// The object's name below ``PublishedNames/blobs``.
    let name: String
  }

  /// The manifest as it is published; deltas are added to it.
  var manifest: Manifest
  /// In the manifest's order, each content once.
  let missing: [Missing]

  /// - Parameters:
  ///   - manifest: the folder's, with all digests.
  ///   - published: the manifests of releases that the pointer names, the newest first.
  ///   - collections: the pointer's count.
  init(_ manifest: Manifest, published: [Manifest], collections: Int64) {
    let known = Self.names(of: published)
    var manifest = manifest
    manifest.blobs = PublishedNames.blobs
    var missing: [Missing] = []
    var new: Set<SHA256Digest> = []
    func place(_ entry: inout Manifest.Entry, _ kind: PageBundle.Kind) {
      guard let sha256 = entry.sha256, let size = entry.size else { return }
      if let name = known[sha256] {
        entry.blob = name == sha256.hex ? nil : name
        return
      }
      entry.blob = PublishedNames.blob(of: sha256, after: collections)
      guard new.insert(sha256).inserted else { return }
      missing.append(
        Missing(
          path: entry.path, kind: kind, digests: ContentDigests(md5: entry.md5, sha256: sha256, size: size),
          name: entry.blob ?? sha256.hex))
    }
    for index in manifest.bundles.indices { place(&manifest.bundles[index], .bundle) }
    for index in manifest.files.indices { place(&manifest.files[index], .file) }
    (self.manifest, self.missing) = (manifest, missing)
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
