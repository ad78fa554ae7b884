import HTTPTransport

/// Fetches the bytes of a release's bundles and files. If the server has a newer release, they are fetched by their
/// digest from `/blobs/SHA256`, which servers such as renderhost offer.
struct ReleaseContents: Sendable {
  let store: BundleStore
  let downloader: BundleDownloader
  let verifier: LaunchVerifier?

  /// Fetches an entry's bytes into the store.
  ///
  /// - Parameter recent: looks for bytes that were stored since the caller last looked.
  /// - Throws: ``BundleError``, ``ReleaseError``, ``StoreError``, `CancellationError`.
  func fetch(
    _ entry: PageBundle, of release: StoredRelease, recent: @escaping @Sendable () async throws -> Blob?
  ) async throws -> BundleDownloader.Delivery {
    let target = FetchTarget(entry)
    let byDigest = Self.byDigest(entry, of: release)
    if let byDigest, try await latest(of: release) != nil,
      let delivery = try? await downloader.download(byDigest, for: release, recent: recent)
    {
      return delivery
    }
    do {
      return try await downloader.download(target, for: release, recent: recent)
    } catch let error as BundleError where error.meansOtherBytes {
      if let byDigest, let delivery = try? await downloader.download(byDigest, for: release, recent: recent) {
        return delivery
      }
      guard let latest = try await latest(of: release) else { throw error }
      throw superseded(entry, of: release, by: latest, error)
    }
  }

  /// Fetches a file that a page of the release asks for. If the server has other bytes, it is asked for its manifest
  /// again, so that the error names its newer release.
  ///
  /// - Throws: ``BundleError``, ``ReleaseError``, ``StoreError``, `CancellationError`.
  func fetchFile(
    _ entry: PageBundle, of release: StoredRelease, recent: @escaping @Sendable () async throws -> Blob?
  ) async throws -> BundleDownloader.Delivery {
    do {
      return try await fetch(entry, of: release, recent: recent)
    } catch let error as BundleError where error.meansOtherBytes {
      _ = try? await verifier?.verifiedUnconditionally()
      guard let latest = try await latest(of: release) else { throw error }
      throw superseded(entry, of: release, by: latest, error)
    }
  }

  private func superseded(
    _ entry: PageBundle, of release: StoredRelease, by latest: StoredRelease, _ error: BundleError
  ) -> ReleaseError {
    .superseded(entry: entry.name, release: release.name, latest: latest.name, reason: error.sentence)
  }

  /// The server's newer release; `nil` if none is known.
  private func latest(of release: StoredRelease) async throws -> StoredRelease? {
    guard let latest = try await store.source(release.source)?.latest, latest.id != release.id else { return nil }
    return latest
  }

  private static func byDigest(_ entry: PageBundle, of release: StoredRelease) -> FetchTarget? {
    // A content with a name of its own is there as long as its release.
    guard entry.location == nil, let sha256 = entry.sha256, !release.source.isFile,
      let url = release.source.resolving("/blobs/\(sha256.hex)")
    else { return nil }
    return FetchTarget(kind: entry.kind, name: entry.name, url: url, expected: entry.expected)
  }
}

extension BundleError {
  /// `true` if the server has other bytes than the requested ones, or none.
  fileprivate var meansOtherBytes: Bool {
    switch self {
    case .mismatch, .html, .empty, .notUTF8: true
    case .failed(_, _, let error): [404, 410].contains((error as? HTTPFault)?.status ?? 0)
    case .tooLarge, .notStored, .unreadableFile, .noProgress, .notSigned, .onlyInBadRelease, .disabled: false
    }
  }
}
