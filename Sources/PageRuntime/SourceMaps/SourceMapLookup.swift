import Foundation
import HTTPCache
import HTTPTransport

/// Finds and reads the map that a script names at its end: in a `data:` URL, beside it, or anywhere on the network.
package struct SourceMapLookup: Sendable {
  private let loader: ResourceLoader
  private let limits: SourceMap.Limits

  package init(_ loader: ResourceLoader, limits: SourceMap.Limits = SourceMap.Limits()) {
    self.loader = loader
    self.limits = limits
  }

  /// - Parameter url: the script's own.
  /// - Returns: nil where the script names none.
  /// - Throws: ``SourceMapError``, and what loading it throws. The script is none the worse for it.
  package func map(of source: String, at url: PageURL) async throws -> SourceMap? {
    guard let reference = SourceMapReference.find(in: source) else { return nil }
    let place = url.resolving(reference)
    // What comes over the network does not read files here.
    if let place, place.isFile, !url.isFile {
      throw LoadError.unreadableFile(place, reason: "local files may not be read")
    }
    let loaded = try await loader.response(for: ResourceRequest(reference, base: url, priority: .low))
    guard (200..<300).contains(loaded.status) else {
      throw AnswerStatusError(url: "\(loaded.url ?? url)", status: loaded.status)
    }
    let bytes = try await loaded.body.collect(upTo: Int64(limits.bytes))
    return try SourceMap(reading: bytes, at: loaded.url ?? url, limits: limits)
  }
}
