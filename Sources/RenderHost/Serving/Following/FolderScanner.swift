import Bundles
import DiskStorage
import Foundation
import HTTPTransport

/// Makes a manifest of a folder, and reads only the files that changed since the last scan. Blocks its thread.
struct FolderScanner: Sendable {
  /// A file was changed while it was read, and must be read again.
  struct Unsettled: Error, Hashable {
    let path: String
  }

  private let source: FolderSource
  private var known: [String: (stamp: FileStatus, digests: ContentDigests)] = [:]

  init(_ source: FolderSource) { self.source = source }

  /// Returns the manifest of the folder's contents, under the former release's name; `nil` if nothing has changed.
  ///
  /// - Parameters:
  ///   - former: the manifest of the last scan.
  ///   - now: seconds since 1970; the release's name has this day.
  /// - Throws: ``FolderError`` that names the file that cannot be published, ``Unsettled``.
  mutating func scan(after former: Manifest?, now: Double) throws -> Manifest? {
    var builder = ManifestBuilder(folder: source.folder)
    builder.excluded = source.settingsPath
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
      former.additional == manifest.additional
    {
      return nil
    }
    manifest.sequence = max(former?.sequence ?? 0, 0) + 1
    let day = Date(timeIntervalSince1970: now).formatted(.iso8601.year().month().day().dateSeparator(.dash))
    manifest.release = "\(day.replacing("-", with: "."))-\(manifest.sequence)"
    return manifest
  }

  private static func status(_ path: String) throws -> FileStatus {
    guard let status = FileStatus(ofLink: path) else { throw Unsettled(path: path) }
    return status
  }

  private func settings() throws -> Manifest? {
    guard let data = FileManager.default.contents(atPath: source.settingsPath) else { return nil }
    do {
      return try Manifest(reading: Array(data))
    } catch {
      throw FolderError("\(source.settingsPath) is not a valid manifest, so that its settings cannot be used: \(error)")
    }
  }
}
