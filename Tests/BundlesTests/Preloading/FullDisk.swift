import Bundles
import HTTPCaching
import HTTPTransport
import Signing

/// A store whose disk is nearly full.
struct FullDisk: BundleStoring {
  private let store: any BundleStoring
  private let available: Int64

  init(_ store: any BundleStoring, available: Int64) {
    self.store = store
    self.available = available
  }

  func availableBytes() throws -> Int64 { available }

  func source(_ url: PageURL) async throws -> StoredSource? { try await store.source(url) }
  func sources() async throws -> [StoredSource] { try await store.sources() }
  func contents(of release: StoredRelease) async throws -> [StoredBundle] { try await store.contents(of: release) }
  func recordedContents(of release: StoredRelease) async throws -> [StoredBundle] {
    try await store.recordedContents(of: release)
  }
  func formerContents(of release: StoredRelease) async throws -> [EntryName: [Blob]] {
    try await store.formerContents(of: release)
  }
  func origins(of blob: Blob) async throws -> Set<String> { try await store.origins(of: blob) }
  func firstBundle(of release: StoredRelease) async throws -> StoredBundle? {
    try await store.firstBundle(of: release)
  }
  func countsIfStored(of release: StoredRelease) async throws -> ReleaseCounts? {
    try await store.countsIfStored(of: release)
  }
  func prefetches(of release: StoredRelease, onlyStored: Bool) async throws -> Set<String> {
    try await store.prefetches(of: release, onlyStored: onlyStored)
  }
  func register(
    _ manifest: Manifest, bytes: [UInt8], bundles: [PageBundle], for source: PageURL, validators: Validators,
    signatures: ManifestSignatures?, renewing former: StoredRelease?
  ) async throws -> StoredRelease {
    try await store.register(
      manifest, bytes: bytes, bundles: bundles, for: source, validators: validators, signatures: signatures,
      renewing: former)
  }
  var requiresSignatures: Bool { store.requiresSignatures }

  func signatures(of release: StoredRelease) async throws -> [UInt8]? { try await store.signatures(of: release) }

  func installID() async throws -> String { try await store.installID() }
  func choice(of source: PageURL) async throws -> SourceChoice { try await store.choice(of: source) }
  func setChoice(_ choice: SourceChoice, of source: PageURL) async throws {
    try await store.setChoice(choice, of: source)
  }
  func badRelease(_ release: StoredRelease) async throws -> BadRelease? { try await store.badRelease(release) }

  func roots(of source: PageURL) async throws -> [PublishedRoot] { try await store.roots(of: source) }

  func add(_ roots: [PublishedRoot], of source: PageURL) async throws { try await store.add(roots, of: source) }
  func trustRecord(of source: PageURL) async throws -> TrustRecord { try await store.trustRecord(of: source) }
  func setTrustRecord(_ record: TrustRecord, of source: PageURL) async throws {
    try await store.setTrustRecord(record, of: source)
  }
  func status(of source: PageURL) async throws -> PublishedStatus? { try await store.status(of: source) }
  func setStatus(_ status: PublishedStatus?, trusted: ReleaseStatus?, of source: PageURL) async throws {
    try await store.setStatus(status, trusted: trusted, of: source)
  }
  func disabled(of source: PageURL) async throws -> [String: String] { try await store.disabled(of: source) }
  func setValidators(_ validators: Validators, of release: StoredRelease) async throws {
    try await store.setValidators(validators, of: release)
  }
  func activate(_ release: StoredRelease, leavingIdle: Bool) async throws -> Bool {
    try await store.activate(release, leavingIdle: leavingIdle)
  }
  func manifestBytes(of release: StoredRelease) async throws -> [UInt8] {
    try await store.manifestBytes(of: release)
  }
  func download(for expected: ExpectedContent, url: PageURL) async throws -> any BundleDownload {
    try await store.download(for: expected, url: url)
  }
  func claim(
    _ expected: ExpectedContent, url: PageURL, of release: StoredRelease, progress: @Sendable () -> Void
  ) async throws -> BundleClaim {
    try await store.claim(expected, url: url, of: release, progress: progress)
  }
  func add(_ download: any BundleDownload, digests: ContentDigests, to release: StoredRelease) async throws -> Blob {
    try await store.add(download, digests: digests, to: release)
  }
  func add(_ download: any BundleDownload, digests: ContentDigests, for url: PageURL) async throws -> Blob {
    try await store.add(download, digests: digests, for: url)
  }
  func bundle(at url: PageURL) async throws -> StoredBundle? { try await store.bundle(at: url) }
  func candidates(at url: PageURL, of source: PageURL?) async throws -> [StoredCandidate] {
    try await store.candidates(at: url, of: source)
  }
  func identity(of release: StoredRelease) async throws -> PageIdentity? { try await store.identity(of: release) }
  func lease(_ release: StoredRelease) async throws -> any ReleaseLease { try await store.lease(release) }
  func bundle(at url: PageURL, in release: StoredRelease) async throws -> StoredBundle? {
    try await store.bundle(at: url, in: release)
  }
  func bytes(of blob: Blob) async throws -> BlobBytes { try await store.bytes(of: blob) }
  func check(_ blob: Blob) async throws { try await store.check(blob) }
  func quarantine(_ blob: Blob) async throws { try await store.quarantine(blob) }
  func usage() async throws -> (blobs: Int, bytes: Int64) { try await store.usage() }
  func collectGarbage(keepingPrevious: Bool, dryRun: Bool) async throws -> GarbageReport {
    try await store.collectGarbage(keepingPrevious: keepingPrevious, dryRun: dryRun)
  }
  func collectAfterSwitch() async throws { try await store.collectAfterSwitch() }
}
