import Foundation
import HTTPTransport

/// The server's list of bundles with their MD5s: one release.
///
/// Keys that this version does not know are kept in ``additional`` and written back unchanged. Encode a manifest with
/// `JSONEncoder` to publish it.
package struct Manifest: Hashable, Sendable {
  /// The newest manifest schema this version reads.
  package static let supportedSchema = 1

  /// The release's name, for people.
  package var release: String
  /// The release's number; it grows with each release of a source.
  package var sequence: Int64
  /// The URL that paths are relative to. It is itself relative to the manifest's URL; an empty text stands for the
  /// manifest's own folder.
  package var base: String
  /// The URL of a folder that has the contents of all entries under names of their own, relative to the manifest's URL;
  /// `nil` if each entry's content is at its own URL. A file of that folder never changes.
  package var blobs: String?
  /// The scripts of the pages.
  package var bundles: [Entry]
  /// The pictures, fonts and data of the release.
  package var files: [Entry]
  /// The query parameters that belong to a page's identity; `nil` for the host's own rule,
  /// ``BundleLoader/Configuration/identity``.
  package var identity: PageIdentity?
  /// The share of installs that get the release; `nil` for all.
  package var rollout: Rollout?
  /// The manifest of the release for the installs that do not get this one.
  package var otherwise: ManifestReference?
  /// The manifests of other channels, by the channels' names.
  package var channels: [String: ManifestReference] = [:]
  /// The lowest version of an app's own parts with which the release runs; `nil` for any.
  package var minimumRuntime: String?
  /// The members that this version does not know, by their names.
  package var additional: [String: JSONValue]
  /// The format in which the manifest was read.
  package var dialect: Dialect = .pageKit

  /// Makes a manifest with the given values.
  package init(
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
  /// The time at which a bundle is preloaded.
  package enum Preload: String, Hashable, Sendable, Codable, CaseIterable {
    /// It is fetched first; the release is complete only with it.
    case launch
    /// It is fetched after the launch bundles and files, if the data saver allows it.
    case idle
    /// It is fetched when a page opens it.
    case demand
  }

  /// One bundle or file of a release.
  package struct Entry: Hashable, Sendable {
    /// The name for people and for ``PreloadOptions/only``; a file's name is its path by default.
    package var name: String
    /// The path below the manifest's ``Manifest/base``.
    package var path: String
    /// The size in bytes; `nil` if the manifest gives only digests.
    package var size: Int64?
    /// The MD5 of the content.
    package var md5: MD5Digest
    /// The SHA-256 of the content, if the manifest gives one.
    package var sha256: SHA256Digest?
    /// The name of the content's file in ``Manifest/blobs``; `nil` for the digits of ``sha256``.
    package var blob: String?
    /// The time at which the entry is preloaded.
    package var preload: Preload
    /// The URLs of responses that are fetched into the response cache together with the bundle.
    package var prefetch: [String]
    /// The sizes in bytes of published files that turn older contents into this one, by the older content's SHA-256.
    package var deltas: [SHA256Digest: Int64] = [:]
    /// The members that this version does not know, by their names.
    package var additional: [String: JSONValue]

    /// Makes an entry with the given values, without deltas.
    package init(
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

/// The limits of a manifest. A manifest that exceeds one of them is refused as a whole.
package struct ManifestLimits: Hashable, Sendable {
  /// The manifest's own size in bytes; 64 MiB by default.
  package var manifestBytes: Int64
  /// The number of bundles and files together; 200,000 by default.
  package var entries: Int
  /// The size of one bundle or file in bytes; 64 MiB by default.
  package var fileBytes: Int64
  /// The size of all bundles and files of a release together, in bytes; 2 GiB by default.
  package var releaseBytes: Int64

  /// Makes limits with the given values.
  package init(
    manifestBytes: Int64 = 64 << 20, entries: Int = 200_000, fileBytes: Int64 = 64 << 20,
    releaseBytes: Int64 = 2 << 30
  ) {
    self.manifestBytes = manifestBytes
    self.entries = entries
    self.fileBytes = fileBytes
    self.releaseBytes = releaseBytes
  }

  /// The defaults.
  package static let standard = ManifestLimits()

  /// The limits of the manifest's JSON: an entry has up to eight members, its prefetched URLs, its deltas, and its tool's
  /// additions.
  var json: JSONLimits { JSONLimits(values: 10_000 + 16 * entries) }
}

/// The query parameters that belong to a page's identity, if a manifest lists the page without them.
///
/// An entry with exactly the page's URL takes precedence. The page itself always sees its whole URL. In a manifest:
/// `"identity": {"ignore": "*"}` or `"identity": {"ignore": ["id", "from"]}`.
package enum PageIdentity: Hashable, Sendable {
  /// Ignores all parameters: `home.js?id=1` is the manifest's `home.js`. The default.
  case ignoringAllParameters
  /// Ignores the named parameters and keeps all others.
  case ignoring(Set<String>)

  /// The page's URL without the ignored parameters.
  package func reduced(_ url: PageURL) -> PageURL {
    guard let mark = url.text.firstIndex(of: "?") else { return url }
    let path = String(url.text[..<mark])
    switch self {
    case .ignoringAllParameters: return PageURL(normalised: path)
    case .ignoring(let names):
      let kept = url.text[url.text.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        .filter { !names.contains(String($0.prefix { $0 != "=" })) }
      return PageURL(normalised: kept.isEmpty ? path : path + "?" + kept.joined(separator: "&"))
    }
  }
}

extension PageIdentity: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    if let text = try? container.decode(String.self, forKey: "ignore") {
      guard text == "*" else {
        throw DecodingError.dataCorruptedError(
          forKey: "ignore", in: container,
          debugDescription: "\(text.quotedForMessage) is neither \"*\" nor a list of parameters")
      }
      self = .ignoringAllParameters
    } else {
      guard let names = try? container.decode([String].self, forKey: "ignore") else {
        throw DecodingError.dataCorruptedError(
          forKey: "ignore", in: container,
          debugDescription: "\"ignore\" must be \"*\" or a list of parameters' names")
      }
      self = .ignoring(Set(names))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: AnyKey.self)
    switch self {
    case .ignoringAllParameters: try container.encode("*", forKey: "ignore")
    case .ignoring(let names): try container.encode(names.sorted(), forKey: "ignore")
    }
  }
}

extension Manifest {
  /// The bytes of a file with the manifest, which every client can read.
  ///
  /// - Throws: ``ManifestError`` if a client could not.
  package func fileBytes() throws -> [UInt8] {
    let bytes = try SignedJSON.encode(self)
    _ = try Manifest(reading: bytes)
    return bytes
  }

  /// The name of a release of a day, such as `2026.11.21`.
  package static func releaseName(of date: Date) -> String {
    date.formatted(.iso8601.year().month().day().dateSeparator(.dash)).replacing("-", with: ".")
  }
}
