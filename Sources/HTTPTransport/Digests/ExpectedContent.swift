/// What bytes must be to be taken for a bundle: every part that is known must match.
public struct ExpectedContent: Hashable, Sendable {
  public let md5: MD5Digest?
  public let sha256: SHA256Digest?
  /// In bytes.
  public let size: Int64?

  public init(md5: MD5Digest?, sha256: SHA256Digest? = nil, size: Int64? = nil) {
    self.md5 = md5
    self.sha256 = sha256
    self.size = size
  }

  /// What differs, as a sentence's end; nil when the bytes are the expected ones.
  public func mismatch(with found: ContentDigests) -> String? {
    if let size, size != found.size { return "the server says \(size) bytes, the download has \(found.size)" }
    if let md5, md5 != found.md5 { return "the server says MD5 \(md5), the download has \(found.md5)" }
    if let sha256, sha256 != found.sha256 {
      return "the server says SHA-256 \(sha256), the download has \(found.sha256)"
    }
    return nil
  }
}
