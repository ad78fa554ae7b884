import CZlib

/// RFC 1952 through zlib, as small as it can be made.
enum GzipEncoding {
  static func encode(_ content: [UInt8]) -> [UInt8]? {
    guard content.count <= UInt32.max else { return nil }
    var stream = z_stream()
    guard pk_deflate_init_level(&stream, 15 + 16, 9) == Z_OK else { return nil }  // 16: gzip's header and trailer
    defer { deflateEnd(&stream) }
    let bound = Int(deflateBound(&stream, UInt(content.count)))
    var isWhole = false
    let encoded = [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
      content.withUnsafeBufferPointer { source in
        stream.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
        stream.avail_in = UInt32(source.count)
        stream.next_out = buffer.baseAddress
        stream.avail_out = UInt32(clamping: bound)
        isWhole = deflate(&stream, Z_FINISH) == Z_STREAM_END
        count = Int(stream.total_out)
      }
    }
    return isWhole ? encoded : nil
  }
}
