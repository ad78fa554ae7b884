import Foundation
import HTTPTransport
import NIOCore

/// Bytes as they go over the wire, in one encoding, with what their head says of them. RFC 9110 §8.
final class Representation: Sendable {
  let coding: ContentCoding
  let buffer: ByteBuffer
  /// Strong, and its own for each encoding: it comes from the encoded bytes. RFC 9110 §8.8.3.3.
  let etag: String
  /// RFC 1864: of the bytes on the wire.
  let contentMD5: String
  /// RFC 9530 §3: of the same.
  let reprDigest: String

  var size: Int { buffer.readableBytes }

  init(_ buffer: ByteBuffer, coding: ContentCoding, digests: ContentDigests) {
    self.buffer = buffer
    self.coding = coding
    etag = "\"\(digests.sha256.hex)\""
    contentMD5 = Data(digests.md5.bytes).base64EncodedString()
    reprDigest = "sha-256=:\(Data(digests.sha256.bytes).base64EncodedString()):"
  }
}
