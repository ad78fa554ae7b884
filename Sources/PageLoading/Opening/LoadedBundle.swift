import PageCore

/// A bundle's bytes, checked, and how they were come by.
public struct LoadedBundle: Sendable {
  public enum Source: String, Hashable, Sendable, Codable {
    /// Checked before, and kept in memory.
    case memory
    case store
    case network
    /// The server has newer bytes, which could not be had.
    case stale
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
}

/// What the caller of an open allows.
public struct OpenOptions: Hashable, Sendable {
  /// Run older bytes when the server's cannot be had.
  public var allowsStale: Bool
  /// Leave the network alone.
  public var isOffline: Bool
  /// Fetch the bytes anew, whatever is stored.
  public var ignoresStore: Bool

  public init(allowsStale: Bool = true, isOffline: Bool = false, ignoresStore: Bool = false) {
    self.allowsStale = allowsStale
    self.isOffline = isOffline
    self.ignoresStore = ignoresStore
  }
}
