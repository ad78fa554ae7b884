import Foundation
import HTTPTransport
import Signing

/// Checks the signatures of a source's manifests, and remembers what was trusted.
struct SignatureVerifier: Sendable {
  private let trust: ReleaseTrust
  private let source: PageURL
  private let fetcher: ManifestFetcher
  private let files: SignedFiles
  private let store: BundleStore
  private let now: @Sendable () -> Date

  init(
    _ trust: ReleaseTrust, fetcher: ManifestFetcher, store: BundleStore, now: @escaping @Sendable () -> Date
  ) {
    (self.trust, self.fetcher, self.store, self.now) = (trust, fetcher, store, now)
    source = fetcher.source
    files = fetcher.signedFiles
  }

  private var time: SignedTime { SignedTime(seconds: Int64(now().timeIntervalSince1970)) }

  /// Checks a manifest that the server has sent, and the status beside it.
  ///
  /// - Parameters:
  ///   - other: the manifest before, if it has the same sequence.
  ///   - conditionally: `false` to have the status sent even if it is unchanged.
  /// - Returns: its signatures, with the times that it is signed for.
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  func verify(
    _ fetched: FetchedManifest, sameSequence other: Manifest?, conditionally: Bool
  ) async throws -> ManifestSignatures {
    let (manifest, bytes) = (fetched.manifest, fetched.bytes)
    return try await SourceError.naming(source) {
      var record = try await store.trustRecord(of: source)
      let root = try await newestRoot(&record)
      let file = try await fetcher.signedFiles(of: fetched.url).signatures()
      let span = try manifestTrust(root).check(
        manifest, bytes, try file.map { try SignatureFile(reading: $0) },
        after: record.sequence.map { .init(sequence: $0, manifest: $0 == manifest.sequence ? other : nil) }, at: time)
      let signed = StatusTrust.SignedManifest(sequence: manifest.sequence, digest: try SHA256Digest(of: bytes))
      try await checkStatus(of: signed, root, &record, conditionally: conditionally)
      if record.sequence != manifest.sequence {
        record.sequence = manifest.sequence
        try await store.setTrustRecord(record, of: source)
      }
      return ManifestSignatures(file: file ?? [], checked: span)
    }
  }

  /// Checks a manifest that one of the source's names, which was checked before. Its sequence may be lower.
  ///
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  func verify(named other: FetchedManifest) async throws -> ManifestSignatures {
    try await SourceError.naming(source) {
      var record = try await store.trustRecord(of: source)
      let root = try await newestRoot(&record)
      let file = try await fetcher.signedFiles(of: other.url).signatures()
      let span = try manifestTrust(root).check(
        other.manifest, other.bytes, try file.map { try SignatureFile(reading: $0) }, after: nil, at: time)
      return ManifestSignatures(file: file ?? [], checked: span)
    }
  }

  /// Checks that the manifest which the server calls unchanged may still be used: with the newest root too, and now;
  /// and checks the status beside it.
  ///
  /// - Parameter choice: the source's manifest, if it names that of the release.
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  func check(unchanged release: StoredRelease, namedBy choice: StatusTrust.SignedManifest?) async throws {
    try await SourceError.naming(source) {
      var record = try await store.trustRecord(of: source)
      let root = try await newestRoot(&record)
      try root.checkExpiry(at: time)
      let signatures = try await store.signatures(of: release).map { try SignatureFile(reading: $0) }
      try root.check(try await store.manifestBytes(of: release), signatures, by: .release, as: .manifest)
      guard let span = release.signed else { throw TrustError.unsigned(.manifest) }
      try manifestTrust(root).check(span, at: time)
      try await checkStatus(
        of: choice ?? .init(sequence: release.sequence, digest: release.digest), root, &record, conditionally: true)
    }
  }

  /// The manifest's own age does not count where a status says that it is current.
  private func manifestTrust(_ root: TrustRoot) -> ManifestTrust {
    ManifestTrust(root: root, freshFor: asksForStatus(root) ? nil : trust.freshFor)
  }

  private func asksForStatus(_ root: TrustRoot) -> Bool { trust.needsStatus && root.asksForStatus }

  /// Fetches, checks and stores the status, if the root has the role for it.
  private func checkStatus(
    of manifest: StatusTrust.SignedManifest, _ root: TrustRoot, _ record: inout TrustRecord, conditionally: Bool
  ) async throws {
    guard asksForStatus(root) else {
      // Nobody could take back what a former status says.
      if !root.asksForStatus, try await store.status(of: source) != nil {
        record.statusSequence = nil
        try await store.setStatus(nil, trusted: nil, of: source)
      }
      return
    }
    let known = try await store.status(of: source)
    guard let found = try await fetcher.status(unless: conditionally ? known : nil) else { throw TrustError.noStatus }
    let status = try StatusTrust(root: root, freshFor: trust.freshFor).check(
      found.bytes, try found.signatureFile(), of: manifest,
      after: record.statusSequence.map { .init(sequence: $0, bytes: known?.bytes) }, at: time)
    guard found != known || record.statusSequence != status.sequence else { return }
    record.statusSequence = status.sequence
    try await store.setStatus(found, trusted: status, of: source)
  }

  /// Follows the roots beside the manifest, from the newest one that is known.
  ///
  /// - Parameter record: gets each root as soon as it is trusted.
  private func newestRoot(_ record: inout TrustRecord) async throws -> TrustRoot {
    var root = trust.root
    if let stored = try record.root.map({ try TrustRoot(reading: $0) }), stored.version > root.version { root = stored }
    return try await files.newestRoot(from: root) { next, published, former in
      // Whoever held a lost key may have signed a sequence that no honest release reaches: The Update Framework §5.3.11.
      if next.roles[.release] != former.roles[.release] { (record.sequence, record.statusSequence) = (nil, nil) }
      if next.roles[.online] != former.roles[.online] { record.statusSequence = nil }
      record.root = published.bytes
      try await store.setTrustRecord(record, of: source)
    }
  }
}
