import HTTPCaching
import HTTPTransport
import Releases

/// A source of manifests, and its releases in the store.
package struct StoredSource: Hashable, Sendable {
  /// The manifest's URL.
  package let url: PageURL
  /// The release that pages open; `nil` before the first one is complete.
  package internal(set) var current: StoredRelease?
  /// The release before the current one, until it is collected.
  package internal(set) var previous: StoredRelease?
  /// A release that is newer than the current one, and not complete or bad.
  package internal(set) var incoming: StoredRelease?
  /// The time at which a person chose the current release with ``BundleStore/hold(_:)``, in seconds since 1970; it
  /// stays current until ``BundleStore/follow(_:)``. `nil` for a source that switches to each complete release.
  package let heldSince: Double?
  /// The time at which the source was last used, in seconds since 1970.
  package let usedAt: Double?
  /// The SHA-256 of the manifest that the status keeps this host from: halted, or to be gone back from. `nil` for none.
  package let withheld: SHA256Digest?

  package init(
    url: PageURL, heldSince: Double? = nil, usedAt: Double? = nil, withheld: SHA256Digest? = nil
  ) {
    self.url = url
    self.heldSince = heldSince
    self.usedAt = usedAt
    self.withheld = withheld
  }

  /// Returns `true` if the status keeps this host from a release. A host that has no other takes it all the same.
  package func withholds(_ release: StoredRelease) -> Bool {
    current.map { $0.id != release.id && release.digest == withheld } ?? false
  }

  /// The release of the newest manifest.
  package var latest: StoredRelease? { incoming ?? current }

  package var isHeld: Bool { heldSince != nil }

  /// The releases that pages may open from, newest first; a held release is the only one.
  package var openable: [StoredRelease] {
    let isCurrentOnly = isHeld || incoming.map(withholds) == true
    return (isCurrentOnly ? [current] : [incoming, current]).compactMap(\.self).filter { $0.standing != .bad }
  }
}

/// A release in the store.
public struct StoredRelease: Hashable, Sendable {
  /// The release's number in this store; no other release ever gets the same one.
  package let id: Int64
  /// The URL of its manifest.
  public let source: PageURL
  /// The name in its manifest.
  public internal(set) var name: String
  /// The sequence in its manifest.
  public let sequence: Int64
  /// The SHA-256 of its manifest's bytes.
  package internal(set) var digest: SHA256Digest
  /// The validators with which the server sent its manifest.
  package internal(set) var validators: Validators
  /// The time at which it became current, in seconds since 1970; `nil` before that, and 0 if a later release replaced
  /// it before that.
  package let activatedAt: Double?
  /// The times of its manifest, whose signatures were checked; `nil` if they were not.
  package internal(set) var signed: SignedSpan?
  /// The experience of this device with the release, when it was read from the store.
  public let standing: ReleaseStanding

  package init(
    id: Int64, source: PageURL, name: String, sequence: Int64, digest: SHA256Digest, validators: Validators,
    activatedAt: Double? = nil, signed: SignedSpan? = nil, standing: ReleaseStanding = .trial
  ) {
    self.id = id
    self.source = source
    self.name = name
    self.sequence = sequence
    self.digest = digest
    self.validators = validators
    self.activatedAt = activatedAt
    self.signed = signed
    self.standing = standing
  }
}

/// The signatures of a manifest.
package struct ManifestSignatures: Hashable, Sendable {
  /// The bytes of its signature file.
  package let file: [UInt8]
  /// The times that it is signed for; `nil` if its signatures were not checked.
  package let checked: SignedSpan?

  package init(file: [UInt8], checked: SignedSpan?) { (self.file, self.checked) = (file, checked) }
}

/// A bundle or file that the store knows, with its bytes if they are stored.
public struct StoredBundle: Hashable, Sendable {
  /// The entry of the release; for a bundle that no manifest lists, an entry made from its bytes.
  package let bundle: PageBundle
  /// The bytes in the store; `nil` if they are not stored.
  package let blob: Blob?

  /// `true` if the bytes are stored.
  public var isStored: Bool { blob != nil }

  package init(bundle: PageBundle, blob: Blob?) {
    self.bundle = bundle
    self.blob = blob
  }
}

/// An entry of a release, or a bundle outside manifests, that the store has for a URL.
package struct StoredCandidate: Hashable, Sendable {
  package enum Place: Hashable, Sendable {
    /// The release is newer than the current one and not complete.
    case incoming
    case current
    case previous
    /// No manifest lists the bundle.
    case unlisted
  }

  package let place: Place
  /// `nil` for a bundle that no manifest lists.
  package let release: StoredRelease?
  package let bundle: PageBundle
  package let blob: Blob?
  /// `true` if the store has all files of the release that are not on demand, or if the release was current before.
  package let hasAllFiles: Bool

  package init(place: Place, release: StoredRelease?, bundle: PageBundle, blob: Blob?, hasAllFiles: Bool) {
    self.place = place
    self.release = release
    self.bundle = bundle
    self.blob = blob
    self.hasAllFiles = hasAllFiles
  }
}
