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
    let fields = OriginFields(try options.fields(), for: url)
    let bytes = try await CurlTransport.using(.init(certificateAuthorities: caFile)) { transport in
      let response = try await OriginClient(transport, fields: fields).send(.get, url, bodyLimit: limits.manifestBytes)
      guard response.head.status == .ok else {
        throw CommandError("\(url): the server answers \(response.head.status)")
      }
      return try await response.body.collect(upTo: limits.manifestBytes)
    }
    return try Manifest(reading: bytes, limits: limits)
  }
}
