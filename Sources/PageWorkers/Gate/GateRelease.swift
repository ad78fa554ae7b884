import Blobs
import Foundation
import PageKit
import Releases

/// A release whose pages the gate runs, with its contents.
package struct GateRelease: Sendable {
  package let name: String
  /// In the order of their names.
  let pages: [PageBundle]
  private let contents: [PageURL: PageBundle]
  private let read: @Sendable (PageURL) async throws -> [UInt8]

  /// - Parameters:
  ///   - bundles: the release's bundles and files.
  ///   - read: returns the content of one of their URLs, which is compared with its digests.
  package init(
    _ name: String, _ bundles: [PageBundle], read: @escaping @Sendable (PageURL) async throws -> [UInt8]
  ) {
    (self.name, self.read) = (name, read)
    contents = Dictionary(bundles.map { ($0.url, $0) }) { first, _ in first }
    pages = bundles.filter { $0.kind == .bundle }.sorted { $0.name < $1.name }
  }

  /// - Parameters:
  ///   - url: the manifest's URL, which its base is relative to.
  ///   - read: returns an entry's content.
  /// - Throws: ``ManifestError``.
  package init(
    _ manifest: Manifest, at url: PageURL, read: @escaping @Sendable (Manifest.Entry) async throws -> [UInt8]
  ) throws {
    let bundles = try manifest.located(at: url)
    let entries = Dictionary(zip(bundles.map(\.url), manifest.bundles + manifest.files)) { first, _ in first }
    self.init(manifest.release, bundles) { url in
      guard let entry = entries[url] else { return [] }
      return try await read(entry)
    }
  }

  /// A release in a folder.
  ///
  /// - Parameters:
  ///   - manifest: lists the folder's files.
  ///   - folder: the folder.
  ///   - url: the manifest's URL.
  /// - Throws: ``ManifestError``.
  package init(_ manifest: Manifest, of folder: String, at url: PageURL) throws {
    try self.init(manifest, at: url) { entry in
      let path = "\(folder)/\(entry.path)"
      do {
        return try RegularFile.contents(of: path, upTo: ManifestLimits.standard.fileBytes)
      } catch {
        throw DescribedError("\(path) cannot be read: \(error.sentence)")
      }
    }
  }

  /// The name of a content of the release; `nil` if it has none of this URL.
  func name(of url: PageURL) -> String? { contents[url]?.name }

  /// Returns a content of the release; `nil` if it has none of this URL.
  ///
  /// - Throws: ``DescribedError``, and errors of reading.
  func content(at url: PageURL) async throws -> [UInt8]? {
    guard let bundle = contents[url] else { return nil }
    let bytes = try await read(url)
    if let mismatch = bundle.expected.mismatch(with: try ContentDigests(of: bytes), inFile: true) {
      throw DescribedError("\(url.readable) is not that of the release: \(mismatch)")
    }
    return bytes
  }
}
