import Foundation
import HTTPTransport
import Releases

/// The manifest of a folder as the next release of a location, before its contents have names there.
struct ReleaseDraft: Hashable, Sendable {
  let manifest: Manifest
  /// `false` if the current release is the same, for the same installs.
  let isChanged: Bool

  /// - Parameters:
  ///   - current: the current release's manifest; `nil` if there is none.
  ///   - pointer: names it, and all other releases; `nil` if there is none.
  /// - Throws: ``DescribedError``, ``ManifestError``, ``PublishError``.
  init(
    folder: String, options: FolderPublication.Options, current: Manifest?, in pointer: ReleasePointer?, now: Date
  ) throws {
    let path = "\(folder)/manifest.json"
    let own = try FileManager.default.contents(atPath: path).map { try Manifest(reading: Array($0)) }
    var builder = ManifestBuilder(folder: folder)
    builder.excluded = path
    builder.hasGate = options.gate != nil
    var manifest = try builder.manifest(
      following: own ?? current, base: options.base ?? own?.base ?? current?.base ?? "")
    manifest.removeTimes()
    try self.init(manifest, own: own, options: options, current: current, in: pointer, now: now)
  }

  /// - Parameters:
  ///   - manifest: lists the folder's contents.
  ///   - own: the folder's own manifest, if it has one.
  init(
    _ manifest: Manifest, own: Manifest?, options: FolderPublication.Options, current: Manifest?,
    in pointer: ReleasePointer?, now: Date
  ) throws {
    var manifest = manifest
    let isSame = current?.hasSameContents(as: manifest) ?? false
    if isSame, let current {
      (manifest.release, manifest.sequence) = (options.release ?? current.release, current.sequence)
    } else {
      // The current release may be one that was gone back to.
      let next = try Manifest.sequence(after: pointer?.releases.map(\.sequence).max() ?? 0)
      let isListed = own.map { $0.hasSameContents(as: manifest) && $0.sequence >= next } ?? false
      manifest.sequence = isListed ? manifest.sequence : next
      manifest.release =
        options.release
        ?? (isListed ? manifest.release : "\(Manifest.releaseName(of: now))-\(manifest.sequence)")
    }
    if let percent = options.percent {
      try manifest.rollOut(to: percent, isSame: isSame, current: current, as: pointer?.current.manifest)
    } else if isSame, let current {
      (manifest.rollout, manifest.otherwise) = (current.rollout, current.otherwise)
    } else if own == nil {
      manifest.endRollout()
    }
    self.manifest = manifest
    isChanged =
      !isSame || current.map { $0.release != manifest.release || !$0.hasSameAudience(as: manifest) } ?? true
  }
}

extension Manifest {
  /// Returns `true` if the other one makes the same release, apart from the places of contents.
  fileprivate func hasSameContents(as other: Manifest) -> Bool {
    func plain(_ entries: [Entry]) -> [Entry] {
      entries.map { entry in
        var entry = entry
        (entry.blob, entry.deltas) = (nil, [:])
        return entry
      }
    }
    return base == other.base && identity == other.identity && plain(bundles) == plain(other.bundles)
      && plain(files) == plain(other.files)
  }

  /// - Parameter isSame: `true` if the current release has the same contents: only its share changes.
  fileprivate mutating func rollOut(
    to percent: Double, isSame: Bool, current: Manifest?, as reference: ManifestReference?
  ) throws {
    guard percent < 100 else { return endRollout() }
    if isSame {
      guard let former = current?.otherwise else { throw PublishError.notRolledOut(release: release) }
      otherwise = former
      rollout = Rollout(percent: percent, salt: current?.rollout?.salt ?? release)
    } else {
      guard let current, let reference else { throw PublishError.firstRelease(release) }
      // The others stay with a release that all installs can get.
      let others = current.rollout == nil ? reference : current.otherwise ?? reference
      otherwise = others
      rollout = Rollout(percent: percent, salt: release)
    }
  }
}

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
