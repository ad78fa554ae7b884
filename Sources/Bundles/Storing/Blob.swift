import HTTPTransport

/// Bytes in the store, named by their SHA-256.
package struct Blob: Hashable, Sendable {
  package let sha256: SHA256Digest
  package let md5: MD5Digest
  /// The size in bytes.
  package let size: Int64

  package init(sha256: SHA256Digest, md5: MD5Digest, size: Int64) {
    self.sha256 = sha256
    self.md5 = md5
    self.size = size
  }

  package init(_ digests: ContentDigests) {
    self.init(sha256: digests.sha256, md5: digests.md5, size: digests.size)
  }
}

/// The verified bytes of a blob, and whether they came from memory.
package struct BlobBytes: Sendable {
  package let bytes: [UInt8]
  package let isFromMemory: Bool

  package init(bytes: [UInt8], isFromMemory: Bool) {
    self.bytes = bytes
    self.isFromMemory = isFromMemory
  }
}

/// The reason why a blob's bytes cannot be used. The caller fetches them again.
package enum BlobError: Error, Hashable, CustomStringConvertible {
  case missing(SHA256Digest, path: String)
  case corrupt(SHA256Digest, path: String, found: SHA256Digest, size: Int64)

  package var description: String {
    switch self {
    case .missing(_, let path): "the stored file \(path) has gone"
    case .corrupt(let expected, let path, let found, let size):
      "the stored file \(path) was changed: its SHA-256 should be \(expected), its \(size) bytes have \(found)"
    }
  }
}
