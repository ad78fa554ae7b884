import Bundles
import HTTPTransport
import NIOCore

/// Bytes that are served, by whichever names; what identifies them is their SHA-256.
struct ServedContent: Sendable {
  enum Origin: Sendable {
    /// In the store; where they were damaged, the bundle tells how to have them again.
    case blob(Blob, of: PageBundle, in: StoredRelease)
    /// Made here, as JSON is.
    case made(ByteBuffer)
  }

  let digests: ContentDigests
  let mediaType: String
  let origin: Origin

  init(_ blob: Blob, of bundle: PageBundle, in release: StoredRelease, path: String) {
    digests = ContentDigests(md5: blob.md5, sha256: blob.sha256, size: blob.size)
    mediaType = ServedMediaType.of(path: path)
    origin = .blob(blob, of: bundle, in: release)
  }

  init(made bytes: [UInt8], mediaType: String) throws {
    digests = try ContentDigests(of: bytes)
    self.mediaType = mediaType
    origin = .made(ByteBuffer(bytes: bytes))
  }

  var isMade: Bool { if case .made = origin { true } else { false } }

  /// Encodings that may be worth their while.
  var codings: [ContentCoding] {
    ServedMediaType.isCompressible(mediaType) ? ContentCoding.allCases : [.identity]
  }
}
