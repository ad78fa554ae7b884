import CZlib

/// Decodes gzip (RFC 1952) with zlib; consecutive members are one content.
final class GzipStream: DecodingStream {
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let isReady: Bool
  private(set) var isAtEnd = false
  private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

  init() {
    stream.initialize(to: z_stream())
    isReady = pk_inflate_init(stream, 15 + 16) == Z_OK  // 16: expect gzip's header and check its trailer
  }

  deinit {
    if isReady { inflateEnd(stream) }
    stream.deallocate()
    output.deallocate()
  }

  func decode(_ input: UnsafeRawBufferPointer, emit: (UnsafeRawBufferPointer) throws -> Void) throws {
    guard isReady else { throw StreamFault(reason: "zlib cannot be set up") }
    stream.pointee.next_in = UnsafeMutablePointer(
      mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
    stream.pointee.avail_in = UInt32(input.count)
    while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0 {
      if isAtEnd {
        guard stream.pointee.avail_in > 0 else { return }
        inflateReset(stream)
        isAtEnd = false
      }
      stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.pointee.avail_out = UInt32(output.count)
      let code = inflate(stream, Z_NO_FLUSH)
      try emit(UnsafeRawBufferPointer(rebasing: output[..<(output.count - Int(stream.pointee.avail_out))]))
      switch code {
      case Z_STREAM_END: isAtEnd = true
      case Z_OK: break
      case Z_BUF_ERROR: return  // no input left, and nothing held back
      default: throw StreamFault(reason: stream.pointee.msg.map { String(cString: $0) } ?? "zlib code \(code)")
      }
    }
  }
}

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
