import HTTPTransport

/// A stored release, what it is to its source, and how much of it is there.
public struct ReleaseSummary: Hashable, Sendable {
  public enum Role: String, Hashable, Sendable, Codable {
    case current
    /// The one before the current one.
    case previous
    /// Newer than the current one, and not switched to yet.
    case incoming
    /// Older than the previous one.
    case former
  }

  public let release: StoredRelease
  public let role: Role
  /// Whether it stays current whatever the server has.
  public let isHeld: Bool
  /// Bundles and files.
  public let entries: Int
  /// Bundles and files that must be there before the release can be switched to, and are not.
  public let missing: Int
  /// Of the bytes that are there; other releases may share them.
  public let bytes: Int64

  public init(
    release: StoredRelease, role: Role, isHeld: Bool, entries: Int, missing: Int, bytes: Int64
  ) {
    self.release = release
    self.role = role
    self.isHeld = isHeld
    self.entries = entries
    self.missing = missing
    self.bytes = bytes
  }
}

/// A stored bundle that no manifest lists.
public struct UnlistedBundle: Hashable, Sendable {
  public let url: PageURL
  public let blob: Blob
  /// Seconds since 1970.
  public let storedAt: Double
  /// When it was last opened, to the minute; seconds since 1970.
  public let usedAt: Double

  public init(url: PageURL, blob: Blob, storedAt: Double, usedAt: Double) {
    self.url = url
    self.blob = blob
    self.storedAt = storedAt
    self.usedAt = usedAt
  }
}

/// How much a store may keep of each class, in bytes. What was used longest ago goes first.
public struct StoreQuotas: Hashable, Sendable {
  /// Releases. A held release, one that is coming in, and the current one of the source that was used last stay in
  /// any case. `nil` for no limit.
  public var releases: Int64?
  /// Bundles that no manifest lists, the one that was used last not counted. `nil` for no limit; 64 MiB unless told.
  public var unlisted: Int64?
  /// Responses on disk that are not kept, in the cache that a host makes; 20 MiB unless told.
  public var responses: Int64

  public init(releases: Int64? = nil, unlisted: Int64? = 64 << 20, responses: Int64 = 20 << 20) {
    self.releases = releases
    self.unlisted = unlisted
    self.responses = responses
  }
}

/// Files of a store that belong to no release and no bundle.
public struct StoreLeftovers: Hashable, Sendable {
  /// Downloads that are not complete, and their bytes.
  public var partials = 0
  public var partialBytes: Int64 = 0
  /// Files whose bytes were not what they should be.
  public var quarantined = 0
  public var quarantinedBytes: Int64 = 0

  public init() {}
}
