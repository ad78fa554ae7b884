import CBrotli.Encoding

/// The coding `br`. RFC 7932, through libbrotli.
package enum Brotli {
  /// Encodes a content as well as its size allows. Returns `nil` if the library refuses.
  package static func encode(_ content: [UInt8]) -> [UInt8]? {
    // Larger contents would take too long at the best quality.
    let patience = 256 << 10
    let quality: Int32 = content.count <= patience ? 11 : content.count <= patience * 8 ? 9 : 5
    let bound = BrotliEncoderMaxCompressedSize(content.count)
    guard bound > 0 else { return nil }
    var size = bound
    var isDone = false
    let encoded = [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
      isDone =
        BrotliEncoderCompress(
          quality, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT, content.count, content, &size, buffer.baseAddress) != 0
      count = isDone ? size : 0
    }
    return isDone ? encoded : nil
  }
}
