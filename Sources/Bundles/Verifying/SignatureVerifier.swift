import Foundation
import HTTPTransport
import Logging
import Releases

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
        after: record.sequence.map { ($0, $0 == manifest.sequence ? other : nil) }, at: time)
      let signed = ReleaseStatus.Manifest(sequence: manifest.sequence, sha256: try SHA256Digest(of: bytes))
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
  func check(unchanged release: StoredRelease, namedBy choice: ReleaseStatus.Manifest?) async throws {
    try await SourceError.naming(source) {
      var record = try await store.trustRecord(of: source)
      let root = try await newestRoot(&record)
      try root.checkExpiry(at: time)
      let signatures = try await store.signatures(of: release).map { try SignatureFile(reading: $0) }
      try root.check(try await store.manifestBytes(of: release), signatures, by: .release, as: .manifest)
      guard let span = release.signed else { throw TrustError.unsigned(.manifest) }
      try manifestTrust(root).check(span, at: time)
      try await checkStatus(
        of: choice ?? .init(sequence: release.sequence, sha256: release.digest), root, &record, conditionally: true)
    }
  }

  /// The manifest's own age does not count where a status says that it is current.
  private func manifestTrust(_ root: TrustRoot) -> ManifestTrust {
    ManifestTrust(root: root, freshFor: asksForStatus(root) ? nil : trust.freshFor)
  }

  private func asksForStatus(_ root: TrustRoot) -> Bool { trust.needsStatus && root.asksForStatus }

  /// Fetches, checks and stores the status, if the root has the role for it.
  private func checkStatus(
    of manifest: ReleaseStatus.Manifest, _ root: TrustRoot, _ record: inout TrustRecord, conditionally: Bool
  ) async throws {
    guard asksForStatus(root) else {
      // No later status could take back a former one.
      if !root.asksForStatus, try await store.status(of: source) != nil {
        record.statusSequence = nil
        try await store.setStatus(nil, trusted: nil, of: source)
      }
      return
    }
    let known = try await store.status(of: source)
    guard let found = try await fetcher.status(unless: conditionally ? known : nil) else { throw TrustError.noStatus }
    let status = try ManifestTrust(root: root, freshFor: trust.freshFor).checkStatus(
      found.bytes, try found.signatureFile(), of: manifest,
      after: record.statusSequence.map { ($0, known?.bytes) }, at: time)
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
    /// It may be signed, and the server's signature file cannot be used.
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

  /// Fetches the other files that are published beside the manifest: the roots that are not stored yet, and the status.
  /// Those that cannot be fetched now are fetched with the next check.
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
