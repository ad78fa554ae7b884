import HTTPTransport

/// The server's list of bundles with their MD5s: one release.
///
/// Keys that this version does not know are kept in `additional` and written back, never interpreted.
public struct Manifest: Hashable, Sendable {
  /// The newest manifest schema this version reads.
  public static let supportedSchema = 1

  /// The release's name, as people say it.
  public var release: String
  /// Grows with each release of a source.
  public var sequence: Int64
  /// What the paths are relative to; resolves against the manifest's own URL or folder.
  public var base: String
  public var bundles: [Entry]
  /// Pictures, fonts and data of the release.
  public var files: [Entry]
  /// Which query parameters belong to a page's identity; `nil` for what the host says.
  public var identity: PageIdentity?
  public var additional: [String: JSONValue]
  /// Whose shape it was read in.
  public var dialect: Dialect = .pageKit

  public init(
    release: String, sequence: Int64 = 0, base: String = "", bundles: [Entry], files: [Entry] = [],
    identity: PageIdentity? = nil, additional: [String: JSONValue] = [:]
  ) {
    self.release = release
    self.sequence = sequence
    self.base = base
    self.bundles = bundles
    self.files = files
    self.identity = identity
    self.additional = additional
  }
}

extension Manifest {
  /// When a bundle is preloaded.
  public enum Preload: String, Hashable, Sendable, Codable, CaseIterable {
    /// At once.
    case launch
    /// When the launch bundles and files are there.
    case idle
    /// Only when it is opened.
    case demand
  }

  /// One bundle or file of a release.
  public struct Entry: Hashable, Sendable {
    /// What people call it; a file's is its path.
    public var name: String
    /// Relative to the manifest's `base`.
    public var path: String
    /// In bytes; fleets that publish only MD5s do not tell.
    public var size: Int64?
    public var md5: MD5Digest
    public var sha256: SHA256Digest?
    public var preload: Preload
    /// URLs fetched into the response cache with the bundle.
    public var prefetch: [String]
    public var additional: [String: JSONValue]

    public init(
      name: String, path: String, size: Int64? = nil, md5: MD5Digest, sha256: SHA256Digest? = nil,
      preload: Preload = .launch, prefetch: [String] = [], additional: [String: JSONValue] = [:]
    ) {
      self.name = name
      self.path = path
      self.size = size
      self.md5 = md5
      self.sha256 = sha256
      self.preload = preload
      self.prefetch = prefetch
      self.additional = additional
    }
  }
}

/// How much a manifest may ask for. Everything over a limit is refused whole.
public struct ManifestLimits: Hashable, Sendable {
  /// The manifest's own size in bytes; 64 MiB unless told.
  public var manifestBytes: Int64
  /// Bundles and files together; 200,000 unless told.
  public var entries: Int
  /// One bundle or file, in bytes; 64 MiB unless told.
  public var fileBytes: Int64
  /// All bundles and files of a release, in bytes; 2 GiB unless told.
  public var releaseBytes: Int64

  public init(
    manifestBytes: Int64 = 64 << 20, entries: Int = 200_000, fileBytes: Int64 = 64 << 20,
    releaseBytes: Int64 = 2 << 30
  ) {
    self.manifestBytes = manifestBytes
    self.entries = entries
    self.fileBytes = fileBytes
    self.releaseBytes = releaseBytes
  }

  public static let standard = ManifestLimits()

  /// An entry has up to seven members, its prefetched URLs, and whatever its tool adds.
  var json: JSONLimits { JSONLimits(values: 10_000 + 16 * entries) }
}
