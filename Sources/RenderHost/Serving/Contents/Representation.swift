import Foundation
import HTTPTransport
import NIOCore

/// The bytes of a response in one encoding, with their digests and their tag. RFC 9110 §8.
final class Representation: Sendable {
  /// The value of `Content-Encoding`; `nil` for the content itself.
  let encoding: String?
  let buffer: ByteBuffer
  /// A strong entity tag, computed from the encoded bytes so that each encoding has its own. RFC 9110 §8.8.3.3.
  let etag: String
  /// RFC 1864: the digest of the encoded bytes.
  let contentMD5: String
  /// RFC 9530 §3: the digest of the encoded bytes.
  let reprDigest: String

  var size: Int { buffer.readableBytes }

  /// - Parameter digests: those of the encoded bytes.
  init(_ buffer: ByteBuffer, encoding: String? = nil, digests: ContentDigests) {
    self.buffer = buffer
    self.encoding = encoding
    etag = "\"\(digests.sha256.hex)\""
    contentMD5 = Data(digests.md5.bytes).base64EncodedString()
    reprDigest = "sha-256=:\(Data(digests.sha256.bytes).base64EncodedString()):"
  }
}
