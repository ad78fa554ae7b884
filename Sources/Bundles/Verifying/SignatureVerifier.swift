import Foundation
import HTTPTransport
import Signing

/// Checks the signatures of a source's manifests, and remembers what was trusted.
struct SignatureVerifier: Sendable {
  private let trust: ReleaseTrust
  private let source: PageURL
  private let files: SignedFiles
  private let store: any BundleStoring
  private let now: @Sendable () -> Date

  init(
    _ trust: ReleaseTrust, fetcher: ManifestFetcher, store: any BundleStoring, now: @escaping @Sendable () -> Date
  ) {
    (self.trust, self.store, self.now) = (trust, store, now)
    source = fetcher.source
    files = fetcher.signedFiles
  }

  private var time: SignedTime { SignedTime(seconds: Int64(now().timeIntervalSince1970)) }

  /// Checks a manifest that the server has sent.
  ///
  /// - Parameter known: the release of the newest manifest before.
  /// - Returns: its signatures, with the times that it is signed for.
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  func verify(_ manifest: Manifest, _ bytes: [UInt8], known: StoredRelease?) async throws -> ManifestSignatures {
    try await naming(source) {
      var record = try await store.trustRecord(of: source)
      let root = try await newestRoot(&record)
      let file = try await files.signatures()
      let span = try ManifestTrust(root: root, freshFor: trust.freshFor).check(
        manifest, bytes, try file.map { try SignatureFile(reading: $0) },
        after: try await trusted(record, manifest, known), at: time)
      if record.sequence != manifest.sequence {
        record.sequence = manifest.sequence
        try await store.setTrustRecord(record, of: source)
      }
      return ManifestSignatures(file: file ?? [], checked: span)
    }
  }

  /// Checks that the manifest which the server calls unchanged may still be used: with the newest root too, and now.
  ///
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  func check(unchanged release: StoredRelease) async throws {
    try await naming(source) {
      var record = try await store.trustRecord(of: source)
      let root = try await newestRoot(&record)
      try root.checkExpiry(at: time)
      let signatures = try await store.signatures(of: release).map { try SignatureFile(reading: $0) }
      try root.check(try await store.manifestBytes(of: release), signatures, by: .release, as: .manifest)
      guard let span = release.signed else { throw TrustError.unsigned(.manifest) }
      try ManifestTrust(root: root, freshFor: trust.freshFor).check(span, at: time)
    }
  }

  private func trusted(
    _ record: TrustRecord, _ manifest: Manifest, _ known: StoredRelease?
  ) async throws -> ManifestTrust.Known? {
    guard let sequence = record.sequence else { return nil }
    // It is compared only with one of the same sequence.
    var same: Manifest?
    if manifest.sequence == sequence, let known, known.sequence == sequence {
      same = try Manifest(reading: try await store.manifestBytes(of: known))
    }
    return ManifestTrust.Known(sequence: sequence, manifest: same)
  }

  /// Follows the roots beside the manifest, from the newest one that is known.
  ///
  /// - Parameter record: gets each root as soon as it is trusted.
  private func newestRoot(_ record: inout TrustRecord) async throws -> TrustRoot {
    var root = trust.root
    if let stored = try record.root.map({ try TrustRoot(reading: $0) }), stored.version > root.version { root = stored }
    return try await files.newestRoot(from: root) { next, published, former in
      // Whoever held a lost key may have signed a sequence that no honest release reaches: The Update Framework §5.3.11.
      if next.roles[.release] != former.roles[.release] { record.sequence = nil }
      record.root = published.bytes
      try await store.setTrustRecord(record, of: source)
    }
  }
}

/// Keeps the signatures and roots of a source for hosts that get its releases from this one. They are not checked.
struct SignatureKeeper: Sendable {
  /// The version of the root that this host begins with; 1 if it asks for no signatures.
  let firstRoot: Int64
  private let source: PageURL
  private let files: SignedFiles
  private let store: any BundleStoring

  init(firstRoot: Int64, fetcher: ManifestFetcher, store: any BundleStoring) {
    (self.firstRoot, self.store) = (firstRoot, store)
    source = fetcher.source
    files = fetcher.signedFiles
  }

  /// The signatures of a manifest that the server has sent; `nil` if it has none.
  ///
  /// - Throws: ``SourceError``, `CancellationError`.
  func signatures(of manifest: Manifest, _ bytes: [UInt8]) async throws -> ManifestSignatures? {
    guard manifest.expires != nil, let file = try await files.signatures(),
      let signatures = try? SignatureFile(reading: file)
    else { return nil }
    return try await naming(source) {
      guard try signatures.content == ContentDigests(of: bytes).sha256 else { throw TrustError.otherBytes(.manifest) }
      return ManifestSignatures(file: file, checked: nil)
    }
  }

  /// Fetches the roots that are not stored yet. A host with any earlier root needs all that follow it.
  ///
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  func keepRoots() async throws {
    let stored = try await store.roots(of: source)
    let next = max(2, (stored.last?.version ?? 1) + 1)
    let new = try await files.roots(from: next, certain: max(next, firstRoot))
    if !new.isEmpty { try await store.add(new, of: source) }
  }
}

/// Adds the source to errors of trust.
private func naming<Value>(_ source: PageURL, _ body: () async throws -> Value) async throws -> Value {
  do {
    return try await body()
  } catch let error as TrustError {
    throw SourceError.untrusted(source, error)
  }
}
