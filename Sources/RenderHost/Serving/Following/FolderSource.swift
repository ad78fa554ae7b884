import Bundles
import DiskStorage
import Foundation
import HTTPTransport

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
    var digester = try Digester.sha256()
    digester.update(Array(absolute.utf8))
    let name = try digester.finish().hex.prefix(16)
    self.store = StoreDirectory(URL(fileURLWithPath: store.path).standardizedFileURL.path)
    manifestNames = ["folders", "\(name).json"]
    manifestPath = ([self.store.path] + manifestNames).joined(separator: "/")
  }

  /// Replaces the manifest.
  ///
  /// - Throws: ``StoreError``; the former manifest stays.
  func write(_ manifest: Manifest) throws { try store.write(ServedJSON.bytes(manifest), to: manifestNames) }

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
