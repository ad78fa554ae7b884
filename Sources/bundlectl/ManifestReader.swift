import ArgumentParser
import Foundation
import HTTPTypes
import PageKit

/// Reads a manifest without a store.
struct ManifestReader {
  let header: [String]
  let caFile: String?

  func read(_ url: PageURL) async throws -> Manifest {
    let limits = ManifestLimits.standard
    if let path = url.filePath {
      guard let data = FileManager.default.contents(atPath: path) else {
        throw CommandError("\(path) cannot be read")
      }
      return try Manifest(reading: Array(data), limits: limits)
    }
    var options = try SourceOptions.parse(header.flatMap { ["--header", $0] })
    options.caFile = caFile
    let client = OriginClient(
      try CurlTransport(.init(certificateAuthorities: caFile)), fields: OriginFields(try options.fields(), for: url))
    let response = try await client.send(.get, url, bodyLimit: limits.manifestBytes)
    guard response.head.status == .ok else {
      throw CommandError("\(url): the server answers \(response.head.status)")
    }
    return try Manifest(
      reading: try await response.body.collect(upTo: limits.manifestBytes, url: url.text), limits: limits)
  }
}
