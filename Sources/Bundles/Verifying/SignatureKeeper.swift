import HTTPTransport
import Logging
import Signing

/// Keeps the signatures, roots and status of a source, without checking them, for hosts that follow this one.
struct SignatureKeeper: Sendable {
  /// The version of the root that this host begins with; 1 if it asks for no signatures.
  private let firstRoot: Int64
  private let source: PageURL
  private let fetcher: ManifestFetcher
  private let files: SignedFiles
  private let store: BundleStore
  private let logger: Logger

  init(firstRoot: Int64, fetcher: ManifestFetcher, store: BundleStore, logger: Logger) {
    (self.firstRoot, self.fetcher, self.store, self.logger) = (firstRoot, fetcher, store, logger)
    source = fetcher.source
    files = fetcher.signedFiles
  }

  /// The signatures of its manifest that a server has.
  enum Kept: Sendable {
    case signatures(ManifestSignatures)
    /// The manifest is not signed.
    case unsigned
    /// It may be signed, and what the server has cannot be used.
    case unusable
  }

  /// The signatures of a manifest that the server has sent.
  ///
  /// This host does not need them: without them it goes on as if the manifest were not signed.
  ///
  /// - Parameter mayBePublishing: `true` to refuse signatures of other bytes, since a release may be published just now.
  /// - Throws: ``SourceError/untrusted(_:_:)``, `CancellationError`.
  func signatures(of fetched: FetchedManifest, mayBePublishing: Bool) async throws -> Kept {
    guard fetched.manifest.expires != nil else { return .unsigned }
    return try await unlessUnusable("the signatures of the manifest", else: .unusable) {
      guard let file = try await fetcher.signedFiles(of: fetched.url).signatures() else { return .unsigned }
      guard try SignatureFile(reading: file).content == SHA256Digest(of: fetched.bytes) else {
        let error = TrustError.otherBytes(.manifest)
        throw mayBePublishing ? SourceError.untrusted(source, error) : error
      }
      return .signatures(ManifestSignatures(file: file, checked: nil))
    }
  }

  /// Fetches what else is published beside the manifest: the roots that are not stored yet, and the status. What cannot
  /// be fetched now is fetched with the next check.
  ///
  /// - Throws: ``StoreError``, `CancellationError`.
  func keepOthers() async throws {
    try await unlessUnusable("the roots beside the manifest", else: ()) { try await keepRoots() }
    // A host with keys has stored the status that it has checked.
    if !store.requiresSignatures {
      try await unlessUnusable("the status beside the manifest", else: ()) { try await keepStatus() }
    }
  }

  /// Runs a body, and notes the reason if the server has nothing that can be used.
  private func unlessUnusable<Value>(
    _ subject: String, else other: Value, _ body: () async throws -> Value
  ) async throws -> Value {
    do {
      return try await body()
    } catch SourceError.unreachable(let url, let error) {
      logger.warning(
        "\(subject) cannot be kept for other hosts", metadata: ["url": "\(url)", "reason": "\(error.sentence)"])
    } catch let error as TrustError {
      logger.warning("\(subject) cannot be kept for other hosts", metadata: ["url": "\(source)", "reason": "\(error)"])
    }
    return other
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
