import CZlib

/// Compresses with gzip (RFC 1952).
enum Gzip {
  /// Returns `nil` if zlib cannot be set up.
  static func compress(_ content: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    guard pk_deflate_init(&stream, 15 + 16) == Z_OK else { return nil }  // 16: gzip's header and trailer
    defer { deflateEnd(&stream) }
    let bound = Int(deflateBound(&stream, UInt(content.count)))
    var isWhole = false
    let packed = [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
      content.withUnsafeBufferPointer { source in
        stream.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
        stream.avail_in = UInt32(clamping: source.count)
        stream.next_out = buffer.baseAddress
        stream.avail_out = UInt32(clamping: bound)
        isWhole = deflate(&stream, Z_FINISH) == Z_STREAM_END && source.count <= UInt32.max
        count = Int(stream.total_out)
      }
    }
    return isWhole ? packed : nil
  }
}
