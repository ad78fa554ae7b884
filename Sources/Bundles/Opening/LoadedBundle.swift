import HTTPTransport

/// A bundle's bytes, checked, and how they were come by.
public struct LoadedBundle: Sendable {
  public enum Source: String, Hashable, Sendable, Codable {
    /// Checked before, and kept in memory.
    case memory
    case store
    case network
    /// The server has newer bytes, which are not here.
    case stale
    /// The server has the bundle no more; these are the bytes it had.
    case kept
  }

  /// As the page sees it, also when the bytes come from the disk.
  public let url: PageURL
  public let bytes: [UInt8]
  public let source: Source
  public let md5: MD5Digest
  /// Whether the server confirmed the bytes in this launch.
  public let isVerified: Bool
  /// Why they are stale or unconfirmed, in words.
  public let note: String?
  /// The release that the bytes are of; `nil` for a bundle that no manifest lists.
  public let view: ReleaseView?
}

/// What the caller of an open allows.
public struct OpenOptions: Hashable, Sendable {
  /// `nil` for what the loader's rules say.
  public var policy: OpenPolicy?
  /// Fetch the bytes anew, whatever is stored.
  public var ignoresStore: Bool
  /// Open the bundle of this release and no other: that of the page it is embedded in. A bundle that the release does
  /// not list is opened as one outside of manifests.
  public var view: ReleaseView?
  /// How long the caller has waited for the server already, which counts for the policy's deadline.
  package var timeWaited: Duration = .zero

  public init(policy: OpenPolicy? = nil, ignoresStore: Bool = false, view: ReleaseView? = nil) {
    self.policy = policy
    self.ignoresStore = ignoresStore
    self.view = view
  }
}
