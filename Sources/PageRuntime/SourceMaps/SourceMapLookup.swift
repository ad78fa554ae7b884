import Foundation
import HTTPCache
import HTTPTransport

/// Loads the source map that a script names at its end: in a `data:` URL, beside the script, or on the network.
package struct SourceMapLookup: Sendable {
  private let loader: ResourceLoader
  private let limits: SourceMap.Limits

  package init(_ loader: ResourceLoader, limits: SourceMap.Limits = SourceMap.Limits()) {
    self.loader = loader
    self.limits = limits
  }

  /// Loads the map of a script.
  ///
  /// - Parameter url: the URL of the script.
  /// - Returns: `nil` if the script names no map.
  /// - Throws: ``SourceMapError``, and errors of loading. They do not affect the script.
  package func map(of source: String, at url: PageURL) async throws -> SourceMap? {
    guard let reference = SourceMapReference.find(in: source) else { return nil }
    let place = url.resolving(reference)
    // A script from the network must not read local files.
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
