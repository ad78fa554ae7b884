import HTTPTransport

/// Something newer than what pages show is in the store.
public enum BundleNews: Hashable, Sendable {
  /// Verified bytes of a page's bundle that it was not opened with.
  case bundle(PageURL, md5: MD5Digest, release: String?)
  /// A release is complete and current.
  case release(StoredRelease)

  /// Whether a page that shows these bytes may want to be reloaded.
  package func concerns(_ shown: LoadedBundle) -> Bool {
    switch self {
    case .bundle(let url, let md5, _): url == shown.url && md5 != shown.md5
    case .release(let release):
      shown.view.map { $0.release.source == release.source && $0.release.id != release.id } ?? false
    }
  }
}
