import CZstd

/// Decodes Zstandard (RFC 8878) with libzstd, with windows of at most 8 MiB, as RFC 9659 requires for
/// `Content-Encoding`.
final class ZstdStream: DecodingStream {
  private static let windowLogLimit: Int32 = 23

  private let context: OpaquePointer?
  private(set) var isAtEnd = false
  private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

  init() {
    context = ZSTD_createDCtx()
    _ = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLogLimit)
  }

  deinit {
    ZSTD_freeDCtx(context)
    output.deallocate()
  }

  func decode(_ input: UnsafeRawBufferPointer, emit: (UnsafeRawBufferPointer) throws -> Void) throws {
    guard let context else { throw StreamFault(reason: "libzstd cannot be set up") }
    var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
    var isFull = false
    while source.pos < source.size || isFull {
      var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
      let result = ZSTD_decompressStream(context, &target, &source)
      guard ZSTD_isError(result) == 0 else { throw StreamFault(reason: String(cString: ZSTD_getErrorName(result))) }
      try emit(UnsafeRawBufferPointer(rebasing: output[..<target.pos]))
      isAtEnd = result == 0
      isFull = target.pos == target.size && !isAtEnd
    }
  }
}
