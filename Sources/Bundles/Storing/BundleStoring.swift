import HTTPCaching
import HTTPTransport
import Signing

/// A durable, content-addressed store of bundles, their releases, and downloads that are not complete.
///
/// Several processes may use the same store at once.
package protocol BundleStoring: Sendable {
  // MARK: Releases

  /// Returns a source and its releases; `nil` before its first release was registered.
  func source(_ url: PageURL) async throws -> StoredSource?

  /// Returns all sources of the store.
  func sources() async throws -> [StoredSource]

  /// Returns the bundles and files of a release in the manifest's order, each with its blob if its bytes are stored.
  ///
  /// Bytes whose file was removed, or changed since it was written, count as not stored.
  func contents(of release: StoredRelease) async throws -> [StoredBundle]

  /// Returns the same from the database alone, without checking the files.
  func recordedContents(of release: StoredRelease) async throws -> [StoredBundle]

  /// Returns the stored bytes that other releases of the same source have for entries, newest first, without those that
  /// the release has for the same entry. Their files are not checked.
  func formerContents(of release: StoredRelease) async throws -> [EntryName: [Blob]]

  /// Returns the origins that stored bytes may have come from: those of all entries and unlisted bundles with them.
  func origins(of blob: Blob) async throws -> Set<String>

  /// Returns the first bundle in a release's manifest; `nil` if it lists none.
  func firstBundle(of release: StoredRelease) async throws -> StoredBundle?

  /// Counts the bundles and files of a release of which nothing is to be downloaded: everything is stored but what is on
  /// demand, and the files are as they were written. Their bytes are not read.
  ///
  /// - Returns: `nil` if something is missing, or a file was touched.
  func countsIfStored(of release: StoredRelease) async throws -> ReleaseCounts?

  /// Returns the references that a release's bundles list for prefetching, each once.
  ///
  /// - Parameter onlyStored: `true` to leave out those of bundles that are not stored.
  func prefetches(of release: StoredRelease, onlyStored: Bool) async throws -> Set<String>

  /// Registers a manifest as a release, without switching to it. Stored bytes of earlier releases of the same source
  /// are taken over, and those of any source if the manifest gives their SHA-256.
  ///
  /// Registering the same manifest bytes again returns the same release.
  ///
  /// - Parameters:
  ///   - signatures: `nil` for a manifest without.
  ///   - former: the release that the manifest is of, and that was signed at another time; `nil` for a new release.
  func register(
    _ manifest: Manifest, bytes: [UInt8], bundles: [PageBundle], for source: PageURL, validators: Validators,
    signatures: ManifestSignatures?, renewing former: StoredRelease?
  ) async throws -> StoredRelease

  /// `true` if only releases whose signatures were checked are seen, and no bundle outside of them.
  var requiresSignatures: Bool { get }

  /// Returns the root and the sequences that were trusted last for a source.
  func trustRecord(of source: PageURL) async throws -> TrustRecord

  func setTrustRecord(_ record: TrustRecord, of source: PageURL) async throws

  /// Returns the id of this store, which decides about rollouts: 32 random hexadecimal digits, made when it is first asked
  /// for.
  func installID() async throws -> String

  /// Returns how a source's newest release was chosen.
  func choice(of source: PageURL) async throws -> SourceChoice

  func setChoice(_ choice: SourceChoice, of source: PageURL) async throws

  /// Returns the reason for which a release is bad; `nil` if it is not.
  func badRelease(_ release: StoredRelease) async throws -> BadRelease?

  /// Returns the bytes of the signature file of a release's manifest; `nil` if it has none.
  func signatures(of release: StoredRelease) async throws -> [UInt8]?

  /// Returns the roots that were published beside a source's manifests, oldest first. They are not trusted for that.
  func roots(of source: PageURL) async throws -> [PublishedRoot]

  /// Adds roots to those of a source.
  func add(_ roots: [PublishedRoot], of source: PageURL) async throws

  /// Returns the status that was published beside a source's manifest: the one that was trusted last, where signatures
  /// are required, and the one that is passed on elsewhere. `nil` if there is none.
  func status(of source: PageURL) async throws -> PublishedStatus?

  /// Replaces the status of a source. One with a lower sequence than the trusted one changes nothing.
  ///
  /// - Parameters:
  ///   - status: `nil` for none.
  ///   - trusted: what the status says; `nil` if its signatures were not checked.
  func setStatus(_ status: PublishedStatus?, trusted: ReleaseStatus?, of source: PageURL) async throws

  /// Returns the messages of the bundles that a source's publisher has disabled, by the names of the bundles; none where
  /// no signatures are required.
  func disabled(of source: PageURL) async throws -> [String: String]

  /// Stores the validators of a release's manifest.
  func setValidators(_ validators: Validators, of release: StoredRelease) async throws

  /// Makes the release the source's current one, if every bundle that is not on demand is stored.
  ///
  /// - Parameter leavingIdle: `true` if idle bundles may be missing; they are fetched when they are opened.
  /// - Returns: `true` if the release is current now and was not before.
  func activate(_ release: StoredRelease, leavingIdle: Bool) async throws -> Bool

  /// Returns the manifest's bytes as the server sent them.
  func manifestBytes(of release: StoredRelease) async throws -> [UInt8]

  /// Returns the release's own rule for query parameters; `nil` if its manifest has none.
  func identity(of release: StoredRelease) async throws -> PageIdentity?

  /// Protects a release, its entries and their bytes from the garbage collectors of all processes while the result
  /// lives.
  ///
  /// - Throws: ``StoreError/releaseGone(name:)`` if the release was collected already.
  func lease(_ release: StoredRelease) async throws -> any ReleaseLease

  // MARK: Bundles

  /// Returns a download that continues an earlier one of the same content, also of a process that was killed.
  func download(for expected: ExpectedContent, url: PageURL) async throws -> any BundleDownload

  /// Returns the download of a release's entry, as ``download(for:url:)``; or its bytes, if another process has stored
  /// them. Waits for a process that downloads them, as long as bytes arrive.
  ///
  /// - Parameter progress: called when the other process has received bytes.
  func claim(
    _ expected: ExpectedContent, url: PageURL, of release: StoredRelease, progress: @Sendable () -> Void
  ) async throws -> BundleClaim

  /// Makes a finished download durable, and then records it as the bytes of the release's entries with these digests.
  ///
  /// Returns when a power failure can no longer undo it.
  func add(_ download: any BundleDownload, digests: ContentDigests, to release: StoredRelease) async throws -> Blob

  /// Makes a finished download durable, and then records it as a bundle that no manifest lists.
  func add(_ download: any BundleDownload, digests: ContentDigests, for url: PageURL) async throws -> Blob

  /// Returns the bundle or file at this URL: the incoming release's if its bytes are stored, then the current
  /// release's, then one that no manifest lists.
  func bundle(at url: PageURL) async throws -> StoredBundle?

  /// Returns all candidates for this URL: the entries of the source's incoming, current and previous release, newest
  /// first, then the bundle that no manifest lists.
  ///
  /// - Parameter source: the manifest's URL; `nil` for all sources.
  func candidates(at url: PageURL, of source: PageURL?) async throws -> [StoredCandidate]

  /// Returns the bundle or file that a release lists at this URL.
  func bundle(at url: PageURL, in release: StoredRelease) async throws -> StoredBundle?

  /// Returns the bytes of a blob, checked against its SHA-256. The bytes that were checked last are kept in memory.
  ///
  /// - Throws: ``BlobError``.
  func bytes(of blob: Blob) async throws -> BlobBytes

  /// Reads and checks a blob's file, even if its bytes are in memory.
  ///
  /// - Throws: ``BlobError``.
  func check(_ blob: Blob) async throws

  /// Moves damaged bytes to the quarantine folder; entries that had them count as not stored.
  func quarantine(_ blob: Blob) async throws

  /// Returns the number of blobs and their total size in bytes.
  func usage() async throws -> (blobs: Int, bytes: Int64)

  /// Returns the bytes that can still be written to the store's file system.
  func availableBytes() throws -> Int64

  /// The reason why the store's folder cannot be written, so that new bytes are lost when the process ends; `nil` for a
  /// writable store.
  var readOnlyReason: String? { get }

  /// Removes releases and files that are no longer needed; see ``BundleStore``.
  func collectGarbage(keepingPrevious: Bool, dryRun: Bool) async throws -> GarbageReport

  /// Removes what a switch to another release left, but not the previous one.
  func collectAfterSwitch() async throws
}

/// The bytes of an entry, or the download that is to bring them.
package enum BundleClaim: Sendable {
  case stored(Blob)
  case download(any BundleDownload)
}

extension BundleStoring {
  /// Makes the release the source's current one, if every bundle that is not on demand is stored.
  package func activate(_ release: StoredRelease) async throws -> Bool {
    try await activate(release, leavingIdle: false)
  }

  package var readOnlyReason: String? { nil }

  /// Registers a manifest without signatures.
  package func register(
    _ manifest: Manifest, bytes: [UInt8], bundles: [PageBundle], for source: PageURL, validators: Validators
  ) async throws -> StoredRelease {
    try await register(
      manifest, bytes: bytes, bundles: bundles, for: source, validators: validators, signatures: nil,
      renewing: nil)
  }
}

/// The times that a manifest was signed for.
package struct SignedSpan: Hashable, Sendable {
  /// `nil` if it does not say.
  package let signed: SignedTime?
  package let expires: SignedTime

  package init(signed: SignedTime?, expires: SignedTime) { (self.signed, self.expires) = (signed, expires) }
}

/// The signatures of a manifest.
package struct ManifestSignatures: Hashable, Sendable {
  /// The bytes of its signature file.
  package let file: [UInt8]
  /// The times that it is signed for; `nil` if nobody has checked the signatures.
  package let checked: SignedSpan?

  package init(file: [UInt8], checked: SignedSpan?) { (self.file, self.checked) = (file, checked) }
}

/// The root and the sequences that a host trusted last for a source.
package struct TrustRecord: Hashable, Sendable {
  /// The bytes of the newest root; `nil` for the host's own.
  package var root: [UInt8]?
  /// The sequence of the newest trusted manifest; `nil` before the first.
  package var sequence: Int64?
  /// The sequence of the newest trusted status; `nil` before the first. ``BundleStoring/setStatus(_:trusted:of:)`` raises
  /// it.
  package var statusSequence: Int64?

  package init(root: [UInt8]? = nil, sequence: Int64? = nil, statusSequence: Int64? = nil) {
    (self.root, self.sequence, self.statusSequence) = (root, sequence, statusSequence)
  }
}

/// The reason why a source's newest release is the one for this host.
package struct SourceChoice: Hashable, Sendable {
  /// The host's ``Audience`` as a text.
  package var audience = ""
  /// The source's manifest, if it names the release's manifest and is not itself that.
  package var manifest: StatusTrust.SignedManifest?

  package init() {}
}

/// The identity of an entry across the releases of a source.
package struct EntryName: Hashable, Sendable {
  package let kind: PageBundle.Kind
  package let name: String

  package init(kind: PageBundle.Kind, name: String) { (self.kind, self.name) = (kind, name) }

  package init(_ bundle: PageBundle) { self.init(kind: bundle.kind, name: bundle.name) }
}

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

/// Protects a release from garbage collection while it lives.
package protocol ReleaseLease: AnyObject, Sendable {}

/// Bytes in the store, named by their SHA-256.
package struct Blob: Hashable, Sendable {
  package let sha256: SHA256Digest
  package let md5: MD5Digest
  /// The size in bytes.
  package let size: Int64

  package init(sha256: SHA256Digest, md5: MD5Digest, size: Int64) {
    self.sha256 = sha256
    self.md5 = md5
    self.size = size
  }

  package init(_ digests: ContentDigests) {
    self.init(sha256: digests.sha256, md5: digests.md5, size: digests.size)
  }
}

/// The verified bytes of a blob, and whether they came from memory.
package struct BlobBytes: Sendable {
  package let bytes: [UInt8]
  package let isFromMemory: Bool

  package init(bytes: [UInt8], isFromMemory: Bool) {
    self.bytes = bytes
    self.isFromMemory = isFromMemory
  }
}

/// The reason why a blob's bytes cannot be used. The caller fetches them again.
package enum BlobError: Error, Hashable, CustomStringConvertible {
  case missing(SHA256Digest, path: String)
  case corrupt(SHA256Digest, path: String, found: SHA256Digest, size: Int64)

  package var description: String {
    switch self {
    case .missing(_, let path): "the stored file \(path) has gone"
    case .corrupt(let expected, let path, let found, let size):
      "the stored file \(path) was changed: its SHA-256 should be \(expected), its \(size) bytes have \(found)"
    }
  }
}

/// The result of a garbage collection: the removed and the remaining items.
package struct GarbageReport: Hashable, Sendable {
  /// An item in the store, and the reason why it stays or goes.
  package struct Item: Hashable, Sendable, Codable {
    /// The item's kind and name, such as `release r1 of https://…`.
    package let name: String
    package let reason: String
    /// The item's bytes; those of a release may be shared with others.
    package let bytes: Int64

    package init(name: String, reason: String, bytes: Int64) {
      self.name = name
      self.reason = reason
      self.bytes = bytes
    }
  }

  /// The number of removed releases.
  package var releases = 0
  /// The number of removed bundles that no manifest lists.
  package var unlisted = 0
  /// The number of removed blobs.
  package var blobs = 0
  /// The number of removed partial downloads.
  package var partials = 0
  /// The number of removed quarantined files.
  package var quarantined = 0
  /// The bytes of all removed files.
  package var bytes: Int64 = 0
  package var removed: [Item] = []
  package var kept: [Item] = []

  package init() {}
}
