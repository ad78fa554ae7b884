import CZstd

/// RFC 8878 through libzstd.
enum ZstdEncoding {
  /// Above this many bytes a high level takes longer than a client would wait.
  private static let patience = 2 << 20

  static func encode(_ content: [UInt8]) -> [UInt8]? {
    guard let context = ZSTD_createCCtx() else { return nil }
    defer { ZSTD_freeCCtx(context) }
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, content.count <= patience ? 19 : 6)
    // RFC 9659: windows of at most 8 MiB are all that a client must be able to decode.
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, content.count <= patience ? 0 : 23)
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
    var isDone = false
    let encoded = [UInt8](unsafeUninitializedCapacity: ZSTD_compressBound(content.count)) { buffer, count in
      let size = ZSTD_compress2(context, buffer.baseAddress, buffer.count, content, content.count)
      isDone = ZSTD_isError(size) == 0
      count = isDone ? size : 0
    }
    return isDone ? encoded : nil
  }
}
