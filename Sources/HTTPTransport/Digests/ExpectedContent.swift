/// The digests and size that a bundle's bytes must have; unknown ones are not compared.
package struct ExpectedContent: Hashable, Sendable {
  package let md5: MD5Digest?
  package let sha256: SHA256Digest?
  /// The number of bytes.
  package let size: Int64?

  package init(md5: MD5Digest?, sha256: SHA256Digest? = nil, size: Int64? = nil) {
    self.md5 = md5
    self.sha256 = sha256
    self.size = size
  }

  /// Describes the first difference; `nil` if the bytes have the expected digests and size.
  package func mismatch(with found: ContentDigests) -> String? {
    if let size, size != found.size { return "the server says \(size) bytes, the download has \(found.size)" }
    if let md5, md5 != found.md5 { return "the server says MD5 \(md5), the download has \(found.md5)" }
    if let sha256, sha256 != found.sha256 {
      return "the server says SHA-256 \(sha256), the download has \(found.sha256)"
    }
    return nil
  }
}
