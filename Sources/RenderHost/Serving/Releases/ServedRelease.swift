import Blobs
import Bundles
import Foundation
import HTTPCaching
import HTTPTransport
import Releases
import ServerKit

/// A release as it is served: an immutable snapshot.
final class ServedRelease: Sendable {
  let stored: StoredRelease
  /// The identity of what its manifest lists: ``SHA256Digest/init(ofContents:)``.
  let identity: SHA256Digest
  /// `true` if hosts are kept from switching to it: by the status, or by a rollout of 0 percent.
  let isHalted: Bool
  /// The manifest of the installs that do not get the release, if it is rolled out and its manifest is written here.
  let otherwise: ManifestReference?
  let entries: [ServedEntry]
  let manifest: ServedContent
  let checksums: ServedContent
  /// The signed manifest that is passed on; `nil` if the served one is written here.
  let signed: SignedContents?
  /// The sequence of the status beside it; `nil` if there is none.
  let statusSequence: Int64?
  /// The time when this host switched to it.
  let since: HTTPDate
  private let byPath: [String: Int]
  /// The indices of entries by the path that a signed manifest gives them.
  private let byLocation: [String: Int]
  /// The files beside a signed manifest, by path.
  private let signedFiles: [String: ServedContent]
  private let byDigest: [SHA256Digest: Int]
  private let byURL: [PageURL: Int]
  /// The indices of bundles by name; files are not included.
  private let byName: [String: Int]

  var name: String { stored.name }
  /// A number that grows with each release, also across processes.
  var id: Int64 { stored.id }

  /// The base of the paths in the served manifest.
  private static let base = "bundles/"

  /// - Parameters:
  ///   - manifest: the source's manifest.
  ///   - contents: in the manifest's order.
  ///   - signed: the manifest's bytes and the files published beside it; `nil` to serve one that is written here.
  ///   - halt: given for a rollout of 0 percent, if the manifest is written here and another one is known.
  ///   - former: the previous release, for the dates of unchanged contents.
  init(
    _ stored: StoredRelease, identity: SHA256Digest, manifest source: Manifest, contents: [StoredBundle],
    signed: SignedContents? = nil, halt: ReleaseHalts.Halt? = nil, after former: ServedRelease?
  ) throws {
    (self.stored, self.identity, self.signed) = (stored, identity, signed)
    let status = signed?.readStatus
    statusSequence = status?.sequence
    let since = HTTPDate(secondsSinceEpoch: Int64(stored.activatedAt ?? 0))
    self.since = since
    let locations = signed?.paths ?? []
    var entries: [ServedEntry] = []
    var byLocation: [String: Int] = [:]
    var checksums: [String: Checksum] = [:]
    let items = try Self.items(of: stored, source, contents)
    for (position, item, content) in items {
      let (bundle, blob) = (content.bundle, content.blob)
      let path = item.path.unescapedPath ?? item.path
      if locations.indices.contains(position), let location = locations[position] {
        byLocation[location] = entries.count
      }
      entries.append(
        ServedEntry(
          bundle: bundle, path: path, blob: blob,
          modified: Self.modified(bundle, since: since, before: former?.entry(at: path))))
      checksums[path] = Checksum(md5: bundle.md5, sha256: item.sha256, size: item.size)
    }
    var written = Self.manifest(of: stored, source, items)
    // A rollout that is over names no other manifest any more.
    written.otherwise = written.otherwise ?? halt?.otherwise
    otherwise = signed == nil ? written.otherwise : nil
    if halt != nil, otherwise != nil { written.rollout = Rollout(percent: 0, salt: written.rollout?.salt ?? "halted") }
    isHalted = signed == nil ? halt != nil && otherwise != nil : status?.isHalted == true
    manifest = try ServedContent(json: signed?.manifest ?? written.servedJSON())
    signedFiles = try signed?.files() ?? [:]
    self.byLocation = byLocation
    self.checksums = try ServedContent(json: checksums.servedJSON())
    byPath = Dictionary(entries.indices.map { (entries[$0].path, $0) }, uniquingKeysWith: { first, _ in first })
    byDigest = Dictionary(
      entries.indices.compactMap { index in entries[index].blob.map { ($0.sha256, index) } },
      uniquingKeysWith: { first, _ in first })
    byURL = Dictionary(entries.indices.map { (entries[$0].bundle.url, $0) }, uniquingKeysWith: { first, _ in first })
    byName = Dictionary(
      entries.indices.filter { entries[$0].bundle.kind == .bundle }.map { (entries[$0].bundle.name, $0) },
      uniquingKeysWith: { first, _ in first })
    self.entries = entries
  }

  /// The manifest of a release as this host writes it.
  ///
  /// - Throws: ``StoreError/releaseGone(name:)``.
  static func manifest(of stored: StoredRelease, _ source: Manifest, _ contents: [StoredBundle]) throws -> Manifest {
    manifest(of: stored, source, try items(of: stored, source, contents))
  }

  /// The identity of a release as this host serves it.
  ///
  /// - Throws: ``StoreError/releaseGone(name:)``.
  static func identity(of stored: StoredRelease, _ source: Manifest, _ contents: [StoredBundle]) throws -> SHA256Digest
  {
    try SHA256Digest(
      ofContents: try items(of: stored, source, contents).map { $0.content.bundle }.map {
        ($0.kind.rawValue, $0.name, $0.md5)
      })
  }

  private static func manifest(of stored: StoredRelease, _ source: Manifest, _ items: [Item]) -> Manifest {
    var served = source.namingOthersAbsolutely(from: stored.source)
    (served.release, served.base, served.blobs) = (stored.name, base, nil)
    served.bundles = items.filter { $0.content.bundle.kind == .bundle }.map(\.item)
    served.files = items.filter { $0.content.bundle.kind == .file }.map(\.item)
    return served
  }

  /// An entry that is served, with its position in the source's manifest.
  private typealias Item = (position: Int, item: Manifest.Entry, content: StoredBundle)

  private static func items(
    of stored: StoredRelease, _ source: Manifest, _ contents: [StoredBundle]
  ) throws -> [Item] {
    let listed = source.bundles + source.files
    guard listed.count == contents.count else { throw StoreError.releaseGone(name: stored.name) }
    return zip(listed, contents).enumerated().compactMap { position, pair in
      var (item, content) = pair
      // The source's bytes differ from its manifest: a host that follows this one could never fetch the whole release.
      if content.bundle.isOptional, content.blob == nil { return nil }
      if let blob = content.blob { (item.size, item.sha256) = (blob.size, blob.sha256) }
      // This host makes its own.
      (item.deltas, item.blob) = ([:], nil)
      return (position, item, content)
    }
  }

  func bundle(named name: String) -> ServedEntry? { byName[name].map { entries[$0] } }

  /// - Parameter url: the URL of its bytes.
  func entry(from url: PageURL) -> ServedEntry? { byURL[url].map { entries[$0] } }

  func entry(at path: String) -> ServedEntry? { byPath[path].map { entries[$0] } }

  /// - Parameter location: a path on this host as a signed manifest has it, such as `v1/home.js`.
  func entry(located location: String) -> ServedEntry? { byLocation[location].map { entries[$0] } }

  /// A file beside a signed manifest, such as `manifest.json.sig` or `2.root.json`.
  func signedFile(at path: String) -> ServedContent? { signedFiles[path] }

  /// - Parameter path: the path of one of the entries with these bytes; `nil` for any.
  func entry(of digest: SHA256Digest, at path: String? = nil) -> ServedEntry? {
    guard let path else { return byDigest[digest].map { entries[$0] } }
    return entry(at: path).flatMap { $0.blob?.sha256 == digest ? $0 : nil }
  }

  private struct Checksum: Encodable {
    let md5: MD5Digest
    /// `nil` if the manifest has none and the bytes are not stored yet.
    let sha256: SHA256Digest?
    let size: Int64?
  }

  private static func modified(_ bundle: PageBundle, since: HTTPDate, before: ServedEntry?) -> HTTPDate {
    guard let before else { return since }
    if before.bundle.md5 == bundle.md5 { return before.modified }
    // Two contents within one second must have different dates.
    return max(since, HTTPDate(secondsSinceEpoch: before.modified.secondsSinceEpoch + 1))
  }
}

// MARK: - Entries

/// A bundle or file of a release, as it is served.
struct ServedEntry: Sendable {
  /// The entry of the manifest, with its URL in the store.
  let bundle: PageBundle
  /// The path below `/bundles/`, unescaped.
  let path: String
  /// The stored bytes; `nil` if they are fetched at the first request.
  let blob: Blob?
  /// The time since which this path has these bytes here. Each content of a path has another time.
  let modified: HTTPDate

  /// The path as it is written in a URL.
  var location: String { "/bundles/" + path.escapedPath }
}

/// A signed manifest and the files beside it, byte for byte: other bytes than these would not be what was signed.
struct SignedContents: Sendable {
  let manifest: [UInt8]
  /// The bytes of the signature file.
  let signatures: [UInt8]
  let roots: [PublishedRoot]
  /// The status beside it as it is served; `nil` if there is none.
  var status: PublishedStatus?
  /// The status of the folder or of the other server, which this host may sign anew; `nil` if there is none.
  var published: PublishedStatus?
  /// The times of the status, and if it halts the release, if this host has signed it.
  var ownStatus: (times: StatusTimes, isHalted: Bool)?
  /// The path of each entry on this host, unescaped, in the manifest's order; `nil` for an entry on another host. Empty
  /// if all entries are below `/bundles/`.
  var paths: [String?] = []
  /// The time at which this host signs it anew; `nil` if another has signed it.
  var renewed: SignedTime?

  /// Returns `true` if both have the same bytes.
  func isSame(as other: SignedContents?) -> Bool {
    manifest == other?.manifest && signatures == other?.signatures && roots == other?.roots
      && (status?.isSame(as: other?.status) ?? (other?.status == nil))
  }

  /// The status as hosts read it; `nil` if there is none, or it cannot be read.
  var readStatus: ReleaseStatus? { status.flatMap { try? ReleaseStatus(reading: $0.bytes) } }

  /// The files by their paths, without the manifest.
  func files() throws -> [String: ServedContent] {
    var files = ["manifest.json" + SignatureFile.suffix: try ServedContent(json: signatures)]
    if let status {
      files[ReleaseStatus.fileName] = try ServedContent(json: status.bytes)
      if let signatures = status.signatures {
        files[ReleaseStatus.fileName + SignatureFile.suffix] = try ServedContent(json: signatures)
      }
    }
    for root in roots {
      let name = PublishedRoot.name(of: root.version)
      files[name] = try ServedContent(json: root.bytes)
      if let signatures = root.signatures {
        files[name + SignatureFile.suffix] = try ServedContent(json: signatures)
      }
    }
    return files
  }

  /// The ``paths`` of a manifest that another server has signed.
  static func paths(of manifest: Manifest) throws -> [String?] {
    // Any origin does: only references are resolved.
    guard let url = PageURL("http://host.invalid/manifest.json") else { return [] }
    let prefix = url.origin + "/"
    return try manifest.located(at: url).map { entry in
      let text = entry.contentURL.text
      return text.hasPrefix(prefix) ? text.dropFirst(prefix.count).unescapedPath : nil
    }
  }
}

/// The paths of manifests in URLs.
extension StringProtocol {
  /// The path without its escapes; `nil` if the result is not UTF-8.
  var unescapedPath: String? { String(self).removingPercentEncoding }

  var escapedPath: String { String(self).percentEncoded { $0.isPathCharacter } }

  /// The path as a pattern of URLs that matches it alone; `nil` if it has characters of the patterns' syntax.
  var pathPattern: String? {
    let escaped = escapedPath
    return escaped.contains { "*:+?(){}\\".contains($0) } ? nil : escaped
  }
}
