import HTTPTransport

/// A stored release, its role for its source, and how much of it is stored.
package struct ReleaseSummary: Hashable, Sendable {
  package enum Role: String, Hashable, Sendable, Codable {
    case current
    /// The release before the current one.
    case previous
    /// A newer release than the current one that has not become current, or is bad.
    case incoming
    /// An older release than the previous one.
    case former
  }

  package let release: StoredRelease
  package let role: Role
  /// `true` if it stays current whatever the server has.
  package let isHeld: Bool
  /// The number of its bundles and files.
  package let entries: Int
  /// The number of missing bundles and files without which it cannot become current.
  package let missing: Int
  /// The size of its stored bytes; other releases may share them.
  package let bytes: Int64
  /// The reason for which it is bad; `nil` if it is not.
  package let bad: BadRelease?

  package init(
    release: StoredRelease, role: Role, isHeld: Bool, entries: Int, missing: Int, bytes: Int64,
    bad: BadRelease? = nil
  ) {
    self.release = release
    self.role = role
    self.isHeld = isHeld
    self.entries = entries
    self.missing = missing
    self.bytes = bytes
    self.bad = bad
  }
}

/// The numbers of a release's bundles and files.
package struct ReleaseCounts: Hashable, Sendable {
  package var bundles = 0
  package var files = 0
  /// The numbers of those that are stored.
  package var storedBundles = 0
  package var storedFiles = 0
  /// The number of bundles and files that are not stored, and are fetched when a page opens them.
  package var onDemand = 0

  package init() {}

  /// - Parameter onDemand: the number of contents that are not stored and on demand.
  init(_ contents: [StoredBundle], onDemand: Int) {
    for item in contents { count(item.bundle.kind, isStored: item.blob != nil) }
    self.onDemand = onDemand
  }

  mutating func count(_ kind: PageBundle.Kind, isStored: Bool) {
    switch kind {
    case .bundle:
      bundles += 1
      if isStored { storedBundles += 1 }
    case .file:
      files += 1
      if isStored { storedFiles += 1 }
    }
  }
}

/// A stored bundle that no manifest lists.
package struct UnlistedBundle: Hashable, Sendable {
  package let url: PageURL
  package let blob: Blob
  /// The time at which it was stored, in seconds since 1970.
  package let storedAt: Double
  /// The time at which it was last opened, to the minute, in seconds since 1970.
  package let usedAt: Double

  package init(url: PageURL, blob: Blob, storedAt: Double, usedAt: Double) {
    self.url = url
    self.blob = blob
    self.storedAt = storedAt
    self.usedAt = usedAt
  }
}

/// The limits of each class of content in a store, in bytes. The least recently used content is removed first.
public struct StoreQuotas: Hashable, Sendable {
  /// The limit for releases; `nil`, the default, for no limit. A held release, an incoming one, and the current one of
  /// the most recently used source stay in any case.
  public var releases: Int64?
  /// The limit for bundles that no manifest lists, without the most recently used one; 64 MiB by default, `nil` for no
  /// limit.
  public var unlisted: Int64?
  /// The limit for responses on disk that are not marked as kept, in the cache that a host makes; 20 MiB by default.
  public var responses: Int64

  /// Makes quotas with the given values.
  public init(releases: Int64? = nil, unlisted: Int64? = 64 << 20, responses: Int64 = 20 << 20) {
    self.releases = releases
    self.unlisted = unlisted
    self.responses = responses
  }
}

/// The files of a store that belong to no release and no bundle.
package struct StoreLeftovers: Hashable, Sendable {
  /// The number of partial downloads, and their bytes.
  package var partials = 0
  package var partialBytes: Int64 = 0
  /// The number of files that were found damaged, and their bytes.
  package var quarantined = 0
  package var quarantinedBytes: Int64 = 0

  package init() {}
}
