import CBrotli

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
