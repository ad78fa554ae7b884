import HTTPTransport

extension ContentDigests {
  package static func filled(_ byte: UInt8, size: Int64 = 10) -> ContentDigests {
    // The counts are valid, so that neither result is `nil`.
    let md5 = MD5Digest(bytes: Array(repeating: byte, count: 16))
    let sha256 = SHA256Digest(bytes: Array(repeating: byte, count: 32))
    guard let md5, let sha256 else { preconditionFailure("wrong digest sizes") }
    return ContentDigests(md5: md5, sha256: sha256, size: size)
  }
}
