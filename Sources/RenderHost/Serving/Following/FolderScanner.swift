import Blobs
import Foundation
import HTTPTransport
import Releases
import ServerKit

/// A folder as a source of releases. Its manifest is generated from its contents, as a file in the store's folder.
package struct FolderSource: Sendable {
  /// An absolute path; it may be a symbolic link.
  package let folder: String
  /// The path of the manifest's file, which identifies the source in the store.
  package let manifestPath: String
  private let store: StoreDirectory
  private let manifestNames: [String]

  /// - Throws: ``DigestError`` if libcrypto has no SHA-256.
  package init(folder: String, store: StoreDirectory) throws {
    let absolute = URL(fileURLWithPath: folder).standardizedFileURL.path
    self.folder = absolute
    let name = try SHA256Digest(of: Array(absolute.utf8)).hex.prefix(16)
    self.store = StoreDirectory(URL(fileURLWithPath: store.path).standardizedFileURL.path)
    manifestNames = ["folders", "\(name).json"]
    manifestPath = ([self.store.path] + manifestNames).joined(separator: "/")
  }

  /// Replaces the manifest.
  ///
  /// - Throws: ``StoreError``; the former manifest stays.
  func write(_ manifest: Manifest) throws { try store.write(manifest.servedJSON(), to: manifestNames) }

  /// The manifest for a ``HostConfiguration``; `nil` if the path cannot be written as a URL.
  package var manifest: PageURL? { PageURL(filePath: manifestPath) }

  /// The folder's file of settings, which is not part of the release: `preload`, `prefetch` and unknown keys of its
  /// entries are copied into the manifest.
  var settingsPath: String { folder + "/manifest.json" }

  /// The base of the manifest's paths.
  var base: String {
    let url = PageURL(filePath: folder)?.text ?? folder
    return url.hasSuffix("/") ? url : url + "/"
  }
}

/// Makes a manifest of a folder, and reads only the files that changed since the last scan. Blocks its thread.
struct FolderScanner: Sendable {
  /// A file was changed while it was read, and must be read again.
  struct Unsettled: Error, Hashable {
    let path: String
  }

  private let source: FolderSource
  /// `true` to take sequences from the time, so that they grow also when the store is lost, or a second host publishes
  /// the same folder: hosts with keys refuse a lower one.
  private let isSigned: Bool
  /// `true` if `status.json` has what the status of this host is to say, and is no file of the release.
  private let hasStatus: Bool
  /// `true` if `gate.json` has the settings of the gate, and is no file of the release.
  private let hasGate: Bool
  private var known: [String: (stamp: FileStatus, digests: ContentDigests)] = [:]

  init(_ source: FolderSource, isSigned: Bool = false, hasStatus: Bool = false, hasGate: Bool = false) {
    (self.source, self.isSigned, self.hasStatus, self.hasGate) = (source, isSigned, hasStatus, hasGate)
  }

  /// The least sequence that comes from the time: of September 2001.
  private static let firstTime: Int64 = 1_000_000_000

  /// Returns the manifest of the folder's contents, under the former release's name; `nil` if nothing has changed.
  ///
  /// - Parameters:
  ///   - former: the manifest of the last scan.
  ///   - now: seconds since 1970; the release's name has this day.
  /// - Throws: ``DescribedError`` that names the file that cannot be published, ``Unsettled``.
  mutating func scan(after former: Manifest?, now: Double) throws -> Manifest? {
    var builder = ManifestBuilder(folder: source.folder)
    builder.excluded = source.settingsPath
    builder.hasStatus = hasStatus
    builder.hasGate = hasGate
    var seen: [String: (stamp: FileStatus, digests: ContentDigests)] = [:]
    var manifest = try builder.manifest(following: try settings(), base: source.base) { [known, source] path in
      let full = "\(source.folder)/\(path)"
      let stamp = try Self.status(full)
      if let before = known[path], before.stamp == stamp {
        seen[path] = before
        return before.digests
      }
      let digests = try builder.digests(of: path)
      guard try Self.status(full) == stamp else { throw Unsettled(path: path) }
      // File times have a limited resolution: a later write within it would not show.
      if now - Double(stamp.modified) / 1e9 > 2 { seen[path] = (stamp, digests) }
      return digests
    }
    known = seen
    if let former, former.bundles == manifest.bundles, former.files == manifest.files, former.base == manifest.base,
      former.additional == manifest.additional, former.identity == manifest.identity,
      former.hasSameAudience(as: manifest), !isSigned || former.sequence >= Self.firstTime
    {
      return nil
    }
    manifest.sequence = max(
      try Manifest.sequence(after: former?.sequence ?? 0), isSigned ? Int64(exactly: now.rounded(.down)) ?? 0 : 0)
    let date = Date(timeIntervalSince1970: now)
    let day = date.formatted(.iso8601.year().month().day().dateSeparator(.dash)).replacing("-", with: ".")
    let time = date.formatted(.iso8601.time(includingFractionalSeconds: false).timeSeparator(.omitted))
    manifest.release = "\(day)-\(isSigned ? time : "\(manifest.sequence)")"
    return manifest
  }

  private static func status(_ path: String) throws -> FileStatus {
    guard let status = FileStatus(ofLink: path) else { throw Unsettled(path: path) }
    return status
  }

  private func settings() throws -> Manifest? {
    let settings: Manifest
    do {
      settings = try Manifest(
        reading: try RegularFile.contents(of: source.settingsPath, upTo: ManifestLimits.standard.manifestBytes))
    } catch RegularFileError.absent {
      return nil
    } catch {
      throw DescribedError(
        "\(source.settingsPath) is not a valid manifest, so that its settings cannot be used: \(error.sentence)")
    }
    // There is one release of a folder.
    guard settings.otherwise == nil, settings.channels.isEmpty else {
      throw DescribedError(
        "\(source.settingsPath) names other releases, which the folder does not have: publish a rollout or channels on a web server, and follow it with --manifest URL"
      )
    }
    return settings
  }
}
