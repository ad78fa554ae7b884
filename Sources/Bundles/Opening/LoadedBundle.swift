import HTTPTransport

/// A bundle's bytes, checked against their digests, with their origin.
public struct LoadedBundle: Sendable {
  /// The origin of a bundle's bytes.
  public enum Source: String, Hashable, Sendable, Codable {
    /// From memory; the bytes were checked when they were read.
    case memory
    /// From the store on disk.
    case store
    /// From the server.
    case network
    /// From the store, although the server has newer bytes, which could not be fetched.
    case stale
    /// From the store, although the server no longer has the bundle.
    case kept
  }

  /// The page's URL, as the page sees it, wherever the bytes come from.
  public let url: PageURL
  /// The script, in UTF-8.
  public let bytes: [UInt8]
  /// The origin of the bytes.
  public let source: Source
  /// The MD5 of the bytes.
  public let md5: MD5Digest
  /// `true` if the server confirmed the bytes in this launch.
  public let isVerified: Bool
  /// A sentence that says why the bytes are stale or unconfirmed; `nil` for verified bytes.
  public let note: String?
  /// The view of the release that the bytes belong to; `nil` for a bundle that no manifest lists.
  package let view: ReleaseView?

  /// The release that the bytes belong to; `nil` for a bundle that no manifest lists.
  public var release: StoredRelease? { view?.release }
}

/// The options of one opening.
package struct OpenOptions: Hashable, Sendable {
  /// The policy; `nil` to apply the loader's rules.
  package var policy: OpenPolicy?
  /// Fetches the bytes from the server even if they are stored.
  package var ignoresStore: Bool
  /// Opens the bundle of this release only, which is the release of the page around it. A bundle that the release does
  /// not list is opened like one outside of manifests.
  package var view: ReleaseView?
  /// The reason why the release is opened in place of the newest one; the release must list the bundle then. `nil` for
  /// a page inside of another one.
  package var reason: String?
  /// The time that the caller has already waited for the server; it counts towards the policy's deadline.
  package var timeWaited: Duration = .zero

  package init(
    policy: OpenPolicy? = nil, ignoresStore: Bool = false, view: ReleaseView? = nil, reason: String? = nil
  ) {
    self.policy = policy
    self.ignoresStore = ignoresStore
    self.view = view
    self.reason = reason
  }
}
