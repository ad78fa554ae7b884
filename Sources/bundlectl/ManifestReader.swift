import ArgumentParser
import Foundation
import HTTPTypes
import PageKit

/// Reads a manifest without a store.
struct ManifestReader {
  let header: [String]
  let caFile: String?

  func read(_ url: PageURL) async throws -> Manifest { try Manifest(reading: try await found(at: url).bytes) }

  /// The bytes of a manifest, and its URL: another one than that which was asked for if a pointer is there.
  func found(at url: PageURL) async throws -> (bytes: [UInt8], url: PageURL) {
    let bytes = try await bytes(at: url)
    guard let reference = try ReleasePointer(reading: bytes)?.current.manifest,
      let place = url.resolving(reference.url)
    else { return (bytes, url) }
    guard url.mayName(place) else { throw SourceError.localFile(url, url: place) }
    let manifest = try await self.bytes(at: place)
    let digest = try SHA256Digest(of: manifest)
    guard digest == reference.sha256 else {
      throw SourceError.otherBytes(url, url: place, expected: reference.sha256, found: digest)
    }
    return (manifest, place)
  }

  private func bytes(at url: PageURL) async throws -> [UInt8] {
    guard let bytes = try await bytes(at: url, limit: ManifestLimits.standard.manifestBytes) else {
      throw CommandError(
        url.filePath.map { "\($0) cannot be read: there is no such file" } ?? "\(url): the server answers 404 Not Found"
      )
    }
    return bytes
  }

  /// The files that say whether the manifest is trusted.
  func signedFiles(of url: PageURL) -> SignedFiles {
    SignedFiles(of: url) { [self] in try await bytes(at: $0, limit: $1) }
  }

  /// - Returns: `nil` if there is no such file.
  private func bytes(at url: PageURL, limit: Int64) async throws -> [UInt8]? {
    if let path = url.filePath {
      do {
        return try RegularFile.contents(of: path, upTo: limit)
      } catch RegularFileError.absent {
        return nil
      } catch {
        throw CommandError("\(path) cannot be read: \(error.sentence)")
      }
    }
    var options = try SourceOptions.parse(header.flatMap { ["--header", $0] })
    options.caFile = caFile
    let fields = OriginFields(try options.fields(), for: url)
    return try await CurlTransport.using(.init(certificateAuthorities: caFile)) { transport in
      let response = try await OriginClient(transport, fields: fields).send(.get, url, bodyLimit: limit)
      if response.head.status == .notFound { return nil }
      if response.head.status == .forbidden {
        throw SourceError.unreachable(url, HTTPFault(response.head, url: url, now: .now))
      }
      guard response.head.status == .ok else {
        throw CommandError("\(url): the server answers \(response.head.status)")
      }
      return try await response.body.collect(upTo: limit)
    }
  }
}

extension ManifestReader {
  /// How the server is asked.
  struct Options: ParsableArguments {
    @Option(
      name: .long, help: ArgumentHelp("A header field, sent to this origin only. Repeatable.", valueName: "field"))
    var header: [String] = []

    @Option(
      name: .long, help: ArgumentHelp("PEM file of the certificate authorities to trust.", valueName: "file"),
      completion: .file())
    var caFile: String?

    var reader: ManifestReader { ManifestReader(header: header, caFile: caFile) }
  }
}
