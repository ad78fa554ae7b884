import HTTPTransport

/// The difference between a release and the store: the contents to fetch and to keep.
package struct ManifestDiff: Equatable, Sendable {
  /// One content to fetch, and the entries of the release that have it.
  package struct Fetch: Equatable, Sendable {
    package let expected: ExpectedContent
    /// The entries with this content, at least one; the first whose URL delivers it serves all.
    package let bundles: [PageBundle]

    /// `true` if the release is complete without it.
    package var isOptional: Bool { bundles.allSatisfy(\.isOptional) }
  }

  /// The contents to fetch: launch bundles and files first, then idle ones.
  package let fetch: [Fetch]
  /// The entries that are already in the store.
  package let keep: [PageBundle]
  /// The entries that are fetched when a page opens them, and disabled bundles.
  package let onDemand: [PageBundle]

  /// The bytes to fetch, as far as the manifest gives sizes.
  package var bytesToFetch: Int64 { fetch.reduce(0) { $0 + ($1.expected.size ?? 0) } }

  /// - Parameters:
  ///   - only: the names of the entries to fetch; `nil` for all.
  ///   - disabled: the names of bundles that are not fetched.
  ///   - isStored: returns `true` if the store has the entry's bytes.
  package init(
    of release: [PageBundle], only: Set<String>? = nil, disabled: Set<String> = [],
    isStored: (PageBundle) -> Bool
  ) {
    var keep: [PageBundle] = []
    var onDemand: [PageBundle] = []
    var wanting: [ExpectedContent: [PageBundle]] = [:]
    var order: [ExpectedContent] = []
    for bundle in release {
      if isStored(bundle) {
        keep.append(bundle)
      } else if bundle.kind == .bundle, disabled.contains(bundle.name) {
        onDemand.append(bundle)
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
  }
}

/// The paths that changed between two releases, for people.
package struct ManifestChanges: Equatable, Sendable, Encodable {
  package let added: [String]
  package let changed: [String]
  package let removed: [String]

  package init(from old: Manifest, to new: Manifest) {
    func digests(_ manifest: Manifest) -> [String: MD5Digest] {
      Dictionary((manifest.bundles + manifest.files).map { ($0.path, $0.md5) }, uniquingKeysWith: { first, _ in first })
    }
    let (before, after) = (digests(old), digests(new))
    added = after.keys.filter { before[$0] == nil }.sorted()
    removed = before.keys.filter { after[$0] == nil }.sorted()
    changed = after.keys.filter { path in before[path].map { $0 != after[path] } ?? false }.sorted()
  }
}
