import HTTPTransport

/// An announcement that the store has other bytes than pages show.
public enum BundleNews: Hashable, Sendable {
  /// The page's bundle has newer verified bytes; `release` names their release, `nil` for a bundle without one.
  case bundle(PageURL, md5: MD5Digest, release: String?)
  /// The release is complete and is now the current one.
  case release(StoredRelease)
  /// A release is bad on this device, and `current` has taken its place.
  case undone(BadRelease, current: StoredRelease)

  /// Returns `true` if a page that shows these bytes may be reloaded to show newer ones.
  package func concerns(_ shown: LoadedBundle) -> Bool {
    switch self {
    case .bundle(let url, let md5, _): url == shown.url && md5 != shown.md5
    case .release(let release), .undone(_, let release):
      shown.view.map { $0.release.source == release.source && $0.release.id != release.id } ?? false
    }
  }
}
