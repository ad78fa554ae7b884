import Foundation
import HTTPTransport
import HTTPTypes
import Signing

/// Answers requests for a release from an archive, so that it is fetched, checked and switched to as from its server.
package struct ArchiveTransport: HTTPTransporting {
  private let archive: ReleaseArchive
  /// The names of the archive's files by the URLs that they answer.
  private let names: [String: String]
  private let source: PageURL
  /// The names of the release's entries that are fetched on demand, and are in the archive.
  package let onDemand: Set<String>

  /// Checks the archive's contents first, so that nothing of a damaged one gets into a store.
  ///
  /// - Parameter source: the URL that the manifest stands for.
  /// - Throws: ``ArchiveError``, ``ManifestError``.
  package init(_ archive: ReleaseArchive, of source: PageURL, limits: ManifestLimits = .standard) throws {
    let manifest = try Manifest(reading: try archive.manifest(limits: limits), limits: limits)
    try archive.check(manifest, limits: limits)
    let entries = manifest.bundles + manifest.files
    var names: [String: String] = [:]
    var onDemand: Set<String> = []
    for (entry, bundle) in zip(entries, try manifest.located(at: source)) {
      let name = ReleaseArchive.contentName(of: entry.path)
      names[bundle.contentURL.text] = name
      if entry.preload == .demand, try archive.has(name) { onDemand.insert(entry.name) }
    }
    names[source.text] = ReleaseArchive.manifestName
    (self.archive, self.names, self.source, self.onDemand) = (archive, names, source, onDemand)
  }

  package func send(_ request: TransportRequest) async throws -> TransportResponse {
    let limit = request.limits.bodyBytes ?? ManifestLimits.standard.fileBytes
    guard request.head.method == .get, let name = name(of: request.url),
      let bytes = try archive.bytes(of: name, upTo: limit)
    else { return TransportResponse(head: HTTPResponse(status: .notFound), body: Body([])) }
    return TransportResponse(
      head: HTTPResponse(status: .ok, headerFields: [.contentLength: String(bytes.count)]), body: Body(bytes))
  }

  /// Files beside the manifest have their own names.
  private func name(of url: String) -> String? {
    if let name = names[url] { return name }
    let folder = source.resolving(".")?.text ?? source.text
    if url == source.appendingToPath(SignatureFile.suffix)?.text {
      return ReleaseArchive.manifestName + SignatureFile.suffix
    }
    guard url.hasPrefix(folder) else { return nil }
    let name = String(url.dropFirst(folder.count))
    let signed = name.hasSuffix(SignatureFile.suffix) ? String(name.dropLast(SignatureFile.suffix.count)) : name
    return PublishedRoot.version(ofFile: signed) == nil ? nil : name
  }
}
