import Bundles
import Foundation
import HTTPTransport

/// The manifest of a folder as the next release of a location, before its contents have names there.
struct ReleaseDraft: Hashable, Sendable {
  let manifest: Manifest
  /// `false` if the current release is the same, for the same installs.
  let isChanged: Bool

  /// - Parameters:
  ///   - current: the current release's manifest; `nil` if there is none.
  ///   - pointer: names it, and all other releases; `nil` if there is none.
  /// - Throws: ``FolderError``, ``ManifestError``, ``PublishError``.
  init(
    folder: String, options: FolderPublication.Options, current: Manifest?, in pointer: ReleasePointer?, now: Date
  ) throws {
    let path = "\(folder)/manifest.json"
    let own = try FileManager.default.contents(atPath: path).map { try Manifest(reading: Array($0)) }
    var builder = ManifestBuilder(folder: folder)
    builder.excluded = path
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
    let isSame = current.map { $0.contents == manifest.contents } ?? false
    if isSame, let current {
      (manifest.release, manifest.sequence) = (options.release ?? current.release, current.sequence)
    } else {
      // The current release may be one that was gone back to.
      let next = try Manifest.sequence(after: pointer?.releases.map(\.sequence).max() ?? 0)
      let isListed = own.map { $0.contents == manifest.contents && $0.sequence >= next } ?? false
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
  /// The members that make it another release, without the places of contents.
  fileprivate struct Contents: Hashable {
    let base: String
    let bundles: [Entry]
    let files: [Entry]
    let identity: PageIdentity?
  }

  fileprivate var contents: Contents {
    func plain(_ entries: [Entry]) -> [Entry] {
      entries.map { entry in
        var entry = entry
        (entry.blob, entry.deltas) = (nil, [:])
        return entry
      }
    }
    return Contents(base: base, bundles: plain(bundles), files: plain(files), identity: identity)
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
