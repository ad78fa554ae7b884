import HTTPTransport

/// What a release needs, against what is stored: what to fetch, keep and drop.
public struct ManifestDiff: Equatable, Sendable {
  /// One content to fetch, and everything in the release that has it.
  public struct Fetch: Equatable, Sendable {
    public let expected: ExpectedContent
    /// At least one; the first that answers serves all.
    public let bundles: [PageBundle]

    /// Whether the release can do without it.
    public var isOptional: Bool { bundles.allSatisfy(\.isOptional) }
  }

  /// Launch bundles and the files first, then idle ones.
  public let fetch: [Fetch]
  /// In the store already.
  public let keep: [PageBundle]
  /// Neither stored nor to be fetched before someone opens them.
  public let onDemand: [PageBundle]
  /// Of the release before: no longer wanted by this one.
  public let drop: [PageBundle]

  /// Bytes to fetch, as far as the manifest tells sizes.
  public var bytesToFetch: Int64 { fetch.reduce(0) { $0 + ($1.expected.size ?? 0) } }

  /// - Parameters:
  ///   - only: names to restrict fetching to; nil means all.
  ///   - isStored: whether the store has the bundle's very bytes.
  public init(
    of release: [PageBundle], replacing previous: [PageBundle] = [], only: Set<String>? = nil,
    isStored: (PageBundle) -> Bool
  ) {
    var keep: [PageBundle] = []
    var onDemand: [PageBundle] = []
    var wanting: [ExpectedContent: [PageBundle]] = [:]
    var order: [ExpectedContent] = []
    for bundle in release {
      if isStored(bundle) {
        keep.append(bundle)
      } else if let only {
        if only.contains(bundle.name) { add(bundle) }
      } else if bundle.preload == .demand {
        onDemand.append(bundle)
      } else {
        add(bundle)
      }
    }
    func add(_ bundle: PageBundle) {
      if wanting[bundle.expected] == nil { order.append(bundle.expected) }
      wanting[bundle.expected, default: []].append(bundle)
    }
    let fetches = order.map { Fetch(expected: $0, bundles: wanting[$0] ?? []) }
    let canWait = { (fetch: Fetch) in fetch.bundles.allSatisfy { $0.preload == .idle } }
    fetch = fetches.filter { !canWait($0) } + fetches.filter(canWait)
    self.keep = keep
    self.onDemand = onDemand
    let wanted = Set(release.map { Identity(url: $0.url, md5: $0.md5) })
    drop = previous.filter { !wanted.contains(Identity(url: $0.url, md5: $0.md5)) }
  }

  private struct Identity: Hashable {
    let url: PageURL
    let md5: MD5Digest
  }
}

/// What changed between two releases, for people.
public struct ManifestChanges: Equatable, Sendable {
  public let added: [String]
  public let changed: [String]
  public let removed: [String]

  public init(from old: Manifest, to new: Manifest) {
    func digests(_ manifest: Manifest) -> [String: MD5Digest] {
      Dictionary((manifest.bundles + manifest.files).map { ($0.path, $0.md5) }, uniquingKeysWith: { first, _ in first })
    }
    let (before, after) = (digests(old), digests(new))
    added = after.keys.filter { before[$0] == nil }.sorted()
    removed = before.keys.filter { after[$0] == nil }.sorted()
    changed = after.keys.filter { path in before[path].map { $0 != after[path] } ?? false }.sorted()
  }
}
