import CZstd

/// Decodes Zstandard (RFC 8878) with libzstd.
final class ZstdStream: DecodingStream {
  /// The largest window without a dictionary, as a power of two: the 8 MiB of RFC 9659.
  static let windowLogLimit: Int32 = 23

  private let context: OpaquePointer?
  private(set) var isAtEnd = false
  private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  /// The bytes before the first frame's content; libzstd reads them in place.
  private let prefix: UnsafeMutableRawBufferPointer

  /// - Parameters:
  ///   - prefix: the bytes that the first frame may refer to.
  ///   - windowLogLimit: the largest window, as a power of two.
  init(prefix: [UInt8] = [], windowLogLimit: Int32 = ZstdStream.windowLogLimit) {
    context = ZSTD_createDCtx()
    _ = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, windowLogLimit)
    self.prefix = UnsafeMutableRawBufferPointer.allocate(byteCount: prefix.count, alignment: 16)
    self.prefix.copyBytes(from: prefix)
    if !prefix.isEmpty { _ = ZSTD_DCtx_refPrefix(context, self.prefix.baseAddress, prefix.count) }
  }

  deinit {
    ZSTD_freeDCtx(context)
    output.deallocate()
    prefix.deallocate()
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
