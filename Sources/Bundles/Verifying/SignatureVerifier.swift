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
    files = SignedFiles(of: source) { try await fetcher.smallFile(at: $0, limit: $1) }
  }

  private var time: SignedTime { SignedTime(seconds: Int64(now().timeIntervalSince1970)) }

  /// Checks a manifest that the server has sent.
  ///
  /// - Parameter known: the release of the newest manifest before.
  /// - Returns: the times that it is signed for.
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  func verify(_ manifest: Manifest, _ bytes: [UInt8], known: StoredRelease?) async throws -> SignedSpan {
    do {
      var record = try await store.trustRecord(of: source)
      let root = try await newestRoot(&record)
      let signatures = try await files.signatures()
      let span = try ManifestTrust(root: root, freshFor: trust.freshFor).check(
        manifest, bytes, signatures, after: try await trusted(record, manifest, known), at: time)
      if record.sequence != manifest.sequence {
        record.sequence = manifest.sequence
        try await store.setTrustRecord(record, of: source)
      }
      return span
    } catch let error as TrustError {
      throw SourceError.untrusted(source, error)
    }
  }

  /// Checks that the manifest which the server calls unchanged may still be used.
  ///
  /// - Throws: ``SourceError/untrusted(_:_:)``.
  func check(unchanged release: StoredRelease) throws {
    do {
      guard let span = release.signed else { throw TrustError.unsigned(.manifest) }
      try ManifestTrust(root: trust.root, freshFor: trust.freshFor).check(span, at: time)
    } catch let error as TrustError {
      throw SourceError.untrusted(source, error)
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
    return try await files.newestRoot(from: root) { next, bytes, former in
      // Whoever held a lost key may have signed a sequence that no honest release reaches: The Update Framework §5.3.11.
      if next.roles[.release] != former.roles[.release] { record.sequence = nil }
      record.root = bytes
      try await store.setTrustRecord(record, of: source)
    }
  }
}
