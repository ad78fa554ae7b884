import HTTPTransport
import Signing

/// Keeps the signatures and roots of a source, without checking them, for hosts that follow this one.
struct SignatureKeeper: Sendable {
  /// The version of the root that this host begins with; 1 if it asks for no signatures.
  private let firstRoot: Int64
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
  /// - Parameter other: the files beside it; `nil` for those beside the source's.
  ///
  /// - Throws: ``SourceError``, `CancellationError`.
  func signatures(
    of manifest: Manifest, _ bytes: [UInt8], files other: SignedFiles? = nil
  ) async throws -> ManifestSignatures? {
    guard manifest.expires != nil, let file = try await (other ?? files).signatures(),
      let signatures = try? SignatureFile(reading: file)
    else { return nil }
    return try await SourceError.naming(source) {
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
