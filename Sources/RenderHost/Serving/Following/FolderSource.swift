import DiskStorage
import Foundation
import HTTPTransport

/// A folder as a source of releases: its manifest is a file in the store's folder, which is made of what is there.
package struct FolderSource: Sendable {
  /// Absolute; may be a symbolic link.
  package let folder: String
  /// The manifest's file, by which the store knows the source.
  package let manifestPath: String

  /// - Throws: ``DigestError`` where libcrypto has no SHA-256.
  package init(folder: String, store: StoreDirectory) throws {
    let absolute = URL(fileURLWithPath: folder).standardizedFileURL.path
    self.folder = absolute
    var digester = try Digester.sha256()
    digester.update(Array(absolute.utf8))
    let name = try digester.finish().hex.prefix(16)
    manifestPath = URL(fileURLWithPath: store.path).standardizedFileURL.path + "/folders/\(name).json"
  }

  /// The manifest for a ``HostConfiguration``; `nil` if the path makes no URL.
  package var manifest: PageURL? { PageURL(filePath: manifestPath) }

  /// A file of settings in the folder that is no part of the release: `preload`, `prefetch` and unknown keys of its
  /// entries are taken over.
  var settingsPath: String { folder + "/manifest.json" }

  /// The base of the manifest's paths.
  var base: String {
    let url = PageURL(filePath: folder)?.text ?? folder
    return url.hasSuffix("/") ? url : url + "/"
  }
}
