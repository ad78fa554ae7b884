import HTTPTransport
import Signing

/// Keeps the signatures, roots and status of a source, without checking them, for hosts that follow this one.
struct SignatureKeeper: Sendable {
  /// The version of the root that this host begins with; 1 if it asks for no signatures.
  private let firstRoot: Int64
  private let source: PageURL
  private let fetcher: ManifestFetcher
  private let files: SignedFiles
  private let store: any BundleStoring

  init(firstRoot: Int64, fetcher: ManifestFetcher, store: any BundleStoring) {
    (self.firstRoot, self.fetcher, self.store) = (firstRoot, fetcher, store)
    source = fetcher.source
    files = fetcher.signedFiles
  }

  /// The signatures of a manifest that the server has sent; `nil` if it has none.
  ///
  /// - Throws: ``SourceError``, `CancellationError`.
  func signatures(of fetched: FetchedManifest) async throws -> ManifestSignatures? {
    guard fetched.manifest.expires != nil, let file = try await fetcher.signedFiles(of: fetched.url).signatures(),
      let signatures = try? SignatureFile(reading: file)
    else { return nil }
    return try await SourceError.naming(source) {
      guard try signatures.content == SHA256Digest(of: fetched.bytes) else { throw TrustError.otherBytes(.manifest) }
      return ManifestSignatures(file: file, checked: nil)
    }
  }

  /// Fetches what else is published beside the manifest: the roots that are not stored yet, and the status.
  ///
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  func keepOthers() async throws {
    try await keepRoots()
    // A host with keys has stored the status that it has checked.
    if !store.requiresSignatures { try await keepStatus() }
  }

  private func keepStatus() async throws {
    let known = try await store.status(of: source)
    let found = try await fetcher.status(unless: known)
    // A web server may answer with a page of its own for a file that it does not have.
    let status = found.flatMap { $0.isReadable ? $0 : nil }
    if status != known { try await store.setStatus(status, trusted: nil, of: source) }
  }

  /// A host with any earlier root needs all that follow it.
  private func keepRoots() async throws {
    let stored = try await store.roots(of: source)
    let next = max(2, (stored.last?.version ?? 1) + 1)
    let new = try await files.roots(from: next, certain: max(next, firstRoot))
    if !new.isEmpty { try await store.add(new, of: source) }
  }
}

extension PublishedStatus {
  /// `true` if the file is a status, with a signature file of these bytes.
  fileprivate var isReadable: Bool {
    guard (try? ReleaseStatus(reading: bytes)) != nil, let file = try? signatureFile() else { return false }
    return (try? SHA256Digest(of: bytes)) == file.content
  }
}
