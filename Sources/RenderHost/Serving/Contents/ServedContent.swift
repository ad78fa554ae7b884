import Bundles
import Foundation
import HTTPCache
import HTTPTransport
import NIOCore
import Releases

/// Bytes that are served under one or more names. Their SHA-256 identifies them.
struct ServedContent: Sendable {
  enum Origin: Sendable {
    /// Bytes of the store. If they are damaged, they are fetched again as the bundle says.
    case blob(Blob, of: PageBundle, in: StoredRelease)
    /// Bytes that this process made, such as JSON.
    case made(ByteBuffer)
  }

  let digests: ContentDigests
  let mediaType: String
  let origin: Origin

  init(_ blob: Blob, of bundle: PageBundle, in release: StoredRelease, path: String) {
    digests = blob
    mediaType = Self.mediaType(of: path)
    origin = .blob(blob, of: bundle, in: release)
  }

  init(made bytes: [UInt8], mediaType: String) throws {
    digests = try ContentDigests(of: bytes)
    self.mediaType = mediaType
    origin = .made(ByteBuffer(bytes: bytes))
  }

  /// - Parameter bytes: JSON.
  init(json bytes: [UInt8]) throws { try self.init(made: bytes, mediaType: "application/json") }

  var isMade: Bool { if case .made = origin { true } else { false } }

  /// The encodings that may make the content smaller.
  var codings: [ContentCoding] {
    Self.isCompressible(mediaType) ? ContentCoding.allCases : [.identity]
  }
}

extension ServedContent {
  /// The media type for a path. Text types are sent as UTF-8: scripts were checked to be, and other texts are assumed
  /// to be.
  private static func mediaType(of path: String) -> String {
    let type = MediaType.of(path: path)
    return type.hasPrefix("text/") ? "\(type); charset=utf-8" : type
  }

  /// Returns `false` for pictures, videos and web fonts, which are compressed already.
  private static func isCompressible(_ type: String) -> Bool {
    let name = MediaType(type).name
    return name.hasPrefix("text/") || name.hasSuffix("json") || name.hasSuffix("xml")
      || ["application/wasm", "font/ttf", "font/otf", "application/octet-stream", "image/vnd.microsoft.icon"]
        .contains(name)
  }
}
