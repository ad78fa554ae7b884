import CBrotli
import CZlib
import CZstd

/// A library's streaming decoder.
package protocol DecodingStream: AnyObject {
  /// `true` if the encoded stream may end here.
  var isAtEnd: Bool { get }

  /// Decodes all of `input`, and passes the output to `emit` piece by piece.
  func decode(_ input: UnsafeRawBufferPointer, emit: (UnsafeRawBufferPointer) throws -> Void) throws
}

/// A fault of encoded data, in a library's words.
struct StreamFault: Error {
  let reason: String
}

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

/// Decodes Brotli (RFC 7932) with libbrotli.
final class BrotliStream: DecodingStream {
  private let state: OpaquePointer?
  private(set) var isAtEnd = false
  private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

  init() {
    state = BrotliDecoderCreateInstance(nil, nil, nil)
  }

  deinit {
    BrotliDecoderDestroyInstance(state)
    output.deallocate()
  }

  func decode(_ input: UnsafeRawBufferPointer, emit: (UnsafeRawBufferPointer) throws -> Void) throws {
    guard let state else { throw StreamFault(reason: "libbrotli cannot be set up") }
    var available = input.count
    var next = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    while true {
      if isAtEnd {
        guard available == 0 else { throw StreamFault(reason: "\(available) bytes follow its end") }
        return
      }
      var room = output.count
      var target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
      let result = BrotliDecoderDecompressStream(state, &available, &next, &room, &target, nil)
      try emit(UnsafeRawBufferPointer(rebasing: output[..<(output.count - room)]))
      switch result {
      case BROTLI_DECODER_RESULT_SUCCESS: isAtEnd = true
      case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT: return
      case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: continue
      default:
        let code = BrotliDecoderGetErrorCode(state)
        throw StreamFault(reason: String(cString: BrotliDecoderErrorString(code)))
      }
    }
  }
}

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

// MARK: Encoding

extension [UInt8] {
  /// Returns the bytes compressed with gzip (RFC 1952); `nil` if zlib cannot be set up.
  package func gzipped() -> [UInt8]? {
    var stream = z_stream()
    guard pk_deflate_init(&stream, 15 + 16) == Z_OK else { return nil }  // 16: gzip's header and trailer
    defer { deflateEnd(&stream) }
    let bound = Int(deflateBound(&stream, UInt(self.count)))
    var isWhole = false
    let packed = [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
      withUnsafeBufferPointer { source in
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
