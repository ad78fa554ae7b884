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
