import Bundles
import HTTPCaching
import HTTPTransport

/// The switch to a release, with its name and its changes; or another status of a release.
struct ReleaseEvent: Hashable, Sendable, Encodable {
  struct Change: Hashable, Sendable, Encodable {
    let name: String
    /// Its location on this host.
    let url: String
    let md5: MD5Digest
  }

  /// The position of an event among all events of a host, also across its processes: the release's number grows, and
  /// the status's sequence within a release. A client sends the text back when it reconnects.
  struct ID: Hashable, Comparable, Sendable, Encodable, CustomStringConvertible, LosslessStringConvertible {
    let release: Int64
    /// 0 if there is no status.
    var status: Int64 = 0

    var description: String { status == 0 ? "\(release)" : "\(release).\(status)" }

    init(release: Int64, status: Int64 = 0) { (self.release, self.status) = (release, status) }

    init?(_ text: String) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard (1...2).contains(parts.count), let release = Int64(parts[0]) else { return nil }
      self.release = release
      guard let last = parts.dropFirst().first else { return }
      guard let status = Int64(last), status > 0 else { return nil }
      self.status = status
    }

    static func < (left: ID, right: ID) -> Bool { (left.release, left.status) < (right.release, right.status) }

    /// The release's number alone.
    func encode(to encoder: any Encoder) throws { try release.encode(to: encoder) }
  }

  /// The `id` of the event.
  let id: ID
  let release: String
  let sequence: Int64
  /// The sequence of the status; `nil` if there is none.
  let status: Int64?
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
  /// `true` if the release is the same as before, and only its status is another.
  let isStatus: Bool

  private enum CodingKeys: CodingKey {
    case id, release, sequence, status, since, bundles, files, changed, removed, isTruncated
  }

  /// The limit of changes in one event; beyond it a client reads the manifest.
  static let changesLimit = 1000

  init(_ release: ServedRelease, after former: ServedRelease?) {
    id = ID(release: release.id, status: release.statusSequence ?? 0)
    self.release = release.name
    sequence = release.stored.sequence
    status = release.statusSequence
    isStatus = release.id == former?.id
    since = String(rfc3339: Double(release.since.secondsSinceEpoch))
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
