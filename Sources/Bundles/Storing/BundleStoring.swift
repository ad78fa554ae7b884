import HTTPCaching
import HTTPTransport

/// A durable, content-addressed store of bundles, their releases, and downloads that are not complete.
///
/// Several processes may use the same store at once.
public protocol BundleStoring: Sendable {
  // MARK: Releases

  /// What is known of a source; nil before its first release was registered.
  func source(_ url: PageURL) async throws -> StoredSource?

  /// Every source of the store.
  func sources() async throws -> [StoredSource]

  /// The bundles and files of a release, in the manifest's order, each with its bytes where they are there.
  ///
  /// Bytes whose file has gone or was changed since it was written count as not there.
  func contents(of release: StoredRelease) async throws -> [StoredBundle]

  /// The same as it was recorded, without a look at the files.
  func recordedContents(of release: StoredRelease) async throws -> [StoredBundle]

  /// Makes a release of a manifest known, without switching to it. Bytes of former releases of the same source,
  /// and of any source where the manifest gives their SHA-256, are taken over.
  ///
  /// Registering the same manifest bytes again gives the same release.
  func register(
    _ manifest: Manifest, bytes: [UInt8], bundles: [PageBundle], for source: PageURL, validators: Validators
  ) async throws -> StoredRelease

  /// Remembers the validators of a manifest that a release was made of.
  func setValidators(_ validators: Validators, of release: StoredRelease) async throws

  /// Makes the release the source's current one, if every bundle that is not on demand is there.
  ///
  /// - Parameter leavingIdle: idle bundles may still be missing; they are fetched when they are opened.
  /// - Returns: whether it is current now and was not before.
  func activate(_ release: StoredRelease, leavingIdle: Bool) async throws -> Bool

  /// The manifest as the server sent it.
  func manifestBytes(of release: StoredRelease) async throws -> [UInt8]

  /// The release's own rule for query parameters; `nil` if its manifest has none.
  func identity(of release: StoredRelease) async throws -> PageIdentity?

  /// Keeps a release, its entries and their bytes from being collected by any process while the result lives.
  ///
  /// - Throws: ``StoreError/releaseGone(name:)`` if the release was collected already.
  func lease(_ release: StoredRelease) async throws -> any ReleaseLease

  // MARK: Bundles

  /// A download that may go on from where a former one, also of a killed process, ended.
  func download(for expected: ExpectedContent, url: PageURL) throws -> any BundleDownload

  /// Makes a finished download durable, and then known as the bytes of whatever in the release has these digests.
  ///
  /// Returns when a power failure can no longer undo it.
  func add(_ download: any BundleDownload, digests: ContentDigests, to release: StoredRelease) async throws -> Blob

  /// The same for a bundle that no manifest lists.
  func add(_ download: any BundleDownload, digests: ContentDigests, for url: PageURL) async throws -> Blob

  /// The bundle or file at this URL: the current release's before others', the incoming one's before the current one's
  /// where its bytes are there, then those that no manifest lists.
  func bundle(at url: PageURL) async throws -> StoredBundle?

  /// Everything stored for this URL: the entries of the source's incoming, current and previous release, newest first,
  /// then the bundle that no manifest lists.
  ///
  /// - Parameter source: the manifest's URL; `nil` for every source.
  func candidates(at url: PageURL, of source: PageURL?) async throws -> [StoredCandidate]

  /// The bundle or file that a release lists at this URL.
  func bundle(at url: PageURL, in release: StoredRelease) async throws -> StoredBundle?

  /// The bytes of a blob, checked against its SHA-256; those checked last are kept in memory.
  ///
  /// - Throws: ``BlobError``.
  func bytes(of blob: Blob) async throws -> BlobBytes

  /// Checks a blob's file anew, whatever is in memory.
  ///
  /// - Throws: ``BlobError``.
  func check(_ blob: Blob) async throws

  /// Moves bytes that are not what they should be out of the way; everything that had them counts as not stored.
  func quarantine(_ blob: Blob) async throws

  /// How many blobs there are, and their bytes together.
  func usage() async throws -> (blobs: Int, bytes: Int64)

  /// Bytes that can still be written where the store is.
  func availableBytes() throws -> Int64

  /// Why what is stored now is gone with the process: the store's folder may not be written. `nil` for a store that
  /// keeps what it is given.
  var readOnlyReason: String? { get }

  /// Removes what no current or previous release needs; see the store's own documentation.
  func collectGarbage(keepingPrevious: Bool, dryRun: Bool) async throws -> GarbageReport
}

extension BundleStoring {
  /// Makes the release the source's current one, if every bundle that is not on demand is there.
  public func activate(_ release: StoredRelease) async throws -> Bool {
    try await activate(release, leavingIdle: false)
  }

  public var readOnlyReason: String? { nil }
}

/// Where a manifest comes from, and what the store has of it.
public struct StoredSource: Hashable, Sendable {
  public let url: PageURL
  public let current: StoredRelease?
  /// The one before, until it is collected.
  public let previous: StoredRelease?
  /// Newer than `current` and not complete yet.
  public let incoming: StoredRelease?
  /// When somebody chose the current release, in seconds since 1970. It stays current until the source is followed
  /// again. `nil` for a source that switches to each complete release.
  public let heldSince: Double?
  /// When the source was last asked for, in seconds since 1970.
  public let usedAt: Double?

  public init(
    url: PageURL, current: StoredRelease?, previous: StoredRelease?, incoming: StoredRelease?,
    heldSince: Double? = nil, usedAt: Double? = nil
  ) {
    self.url = url
    self.current = current
    self.previous = previous
    self.incoming = incoming
    self.heldSince = heldSince
    self.usedAt = usedAt
  }

  /// The manifest seen last.
  public var latest: StoredRelease? { incoming ?? current }

  public var isHeld: Bool { heldSince != nil }

  /// The releases that pages may open from, newest first: a held one alone.
  public var openable: [StoredRelease] {
    (isHeld ? [current] : [incoming, current]).compactMap(\.self)
  }
}

/// One release in the store.
public struct StoredRelease: Hashable, Sendable {
  public let id: Int64
  public let source: PageURL
  /// Its name in the manifest.
  public let name: String
  public let sequence: Int64
  /// Of the manifest's bytes.
  public let digest: SHA256Digest
  /// The manifest's, as the server sent them with it.
  public let validators: Validators
  /// Seconds since 1970; `nil` before it was first switched to, and 0 if a later release took its place before that.
  public let activatedAt: Double?

  public init(
    id: Int64, source: PageURL, name: String, sequence: Int64, digest: SHA256Digest, validators: Validators,
    activatedAt: Double? = nil
  ) {
    self.id = id
    self.source = source
    self.name = name
    self.sequence = sequence
    self.digest = digest
    self.validators = validators
    self.activatedAt = activatedAt
  }
}

/// A bundle, and its bytes in the store where they are there.
public struct StoredBundle: Hashable, Sendable {
  public let bundle: PageBundle
  public let blob: Blob?

  public init(bundle: PageBundle, blob: Blob?) {
    self.bundle = bundle
    self.blob = blob
  }
}

/// An entry of a release, or a bundle outside manifests, that the store has for a URL.
public struct StoredCandidate: Hashable, Sendable {
  public enum Place: Hashable, Sendable {
    /// Newer than the current release and not complete yet.
    case incoming
    case current
    case previous
    /// No manifest lists it.
    case unlisted
  }

  public let place: Place
  /// `nil` for a bundle that no manifest lists.
  public let release: StoredRelease?
  public let bundle: PageBundle
  public let blob: Blob?
  /// True if the store has all files of the release that are not on demand, and for every release that was current.
  public let hasAllFiles: Bool

  public init(place: Place, release: StoredRelease?, bundle: PageBundle, blob: Blob?, hasAllFiles: Bool) {
    self.place = place
    self.release = release
    self.bundle = bundle
    self.blob = blob
    self.hasAllFiles = hasAllFiles
  }
}

/// Keeps a release from being collected for as long as it lives.
public protocol ReleaseLease: AnyObject, Sendable {}

/// Bytes in the store, named by their SHA-256.
public struct Blob: Hashable, Sendable {
  public let sha256: SHA256Digest
  public let md5: MD5Digest
  /// In bytes.
  public let size: Int64

  public init(sha256: SHA256Digest, md5: MD5Digest, size: Int64) {
    self.sha256 = sha256
    self.md5 = md5
    self.size = size
  }

  public init(_ digests: ContentDigests) {
    self.init(sha256: digests.sha256, md5: digests.md5, size: digests.size)
  }
}

/// Verified bytes, and whether the disk was read for them.
public struct BlobBytes: Sendable {
  public let bytes: [UInt8]
  public let isFromMemory: Bool

  public init(bytes: [UInt8], isFromMemory: Bool) {
    self.bytes = bytes
    self.isFromMemory = isFromMemory
  }
}

/// Why a blob's bytes cannot be used. The caller fetches them again.
public enum BlobError: Error, Hashable, CustomStringConvertible {
  case missing(SHA256Digest, path: String)
  case corrupt(SHA256Digest, path: String, found: SHA256Digest, size: Int64)

  public var description: String {
    switch self {
    case .missing(_, let path): "the stored file \(path) has gone"
    case .corrupt(let expected, let path, let found, let size):
      "the stored file \(path) was changed: its SHA-256 should be \(expected), its \(size) bytes have \(found)"
    }
  }
}

/// What garbage collection removed, or would remove, and what it left.
public struct GarbageReport: Hashable, Sendable {
  /// Something in the store, and why it stays or goes.
  public struct Item: Hashable, Sendable, Codable {
    /// As `release r1 of https://…`.
    public let name: String
    public let reason: String
    /// Those of a release may be shared with others.
    public let bytes: Int64

    public init(name: String, reason: String, bytes: Int64) {
      self.name = name
      self.reason = reason
      self.bytes = bytes
    }
  }

  public var releases = 0
  /// Bundles that no manifest lists.
  public var unlisted = 0
  public var blobs = 0
  public var partials = 0
  public var quarantined = 0
  /// In bytes.
  public var bytes: Int64 = 0
  public var removed: [Item] = []
  public var kept: [Item] = []

  public init() {}
}
