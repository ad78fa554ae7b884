import Bundles
import HTTPCaching
import HTTPTransport

/// The switch to a release: its name, and its changes.
struct ReleaseEvent: Hashable, Sendable, Encodable {
  struct Change: Hashable, Sendable, Encodable {
    let name: String
    /// Its location on this host.
    let url: String
    let md5: MD5Digest
  }

  /// A growing number, the `id` of the event.
  let id: Int64
  let release: String
  let sequence: Int64
  /// RFC 3339.
  let since: String
  let bundles: Int
  let files: Int
  /// New entries, and entries with other bytes than before; empty if the former release is unknown.
  let changed: [Change]
  /// The names of removed entries.
  let removed: [String]
  /// `true` if there are more changes than an event lists.
  let isTruncated: Bool

  /// The limit of changes in one event; beyond it a client reads the manifest.
  static let changesLimit = 1000

  init(_ release: ServedRelease, after former: ServedRelease?) {
    id = release.id
    self.release = release.name
    sequence = release.stored.sequence
    since = Timestamp.text(release.since.secondsSinceEpoch)
    bundles = release.entries.count { $0.bundle.kind == .bundle }
    files = release.entries.count - bundles
    guard let former else {
      (changed, removed, isTruncated) = ([], [], false)
      return
    }
    let changed = release.entries.lazy.filter { former.entry(at: $0.path)?.bundle.md5 != $0.bundle.md5 }
    let removed = former.entries.lazy.filter { release.entry(at: $0.path) == nil }
    self.changed = changed.prefix(Self.changesLimit).map {
      Change(name: $0.bundle.name, url: $0.location, md5: $0.bundle.md5)
    }
    self.removed = removed.prefix(Self.changesLimit).map(\.bundle.name)
    isTruncated =
      changed.dropFirst(Self.changesLimit).first != nil || removed.dropFirst(Self.changesLimit).first != nil
  }
}
