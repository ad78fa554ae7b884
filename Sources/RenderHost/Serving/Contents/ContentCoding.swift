import CZlib
import CZstd
import HTTPCaching
import PageWorkers

/// The content coding of a representation. RFC 9110 §8.4.1, RFC 7932, RFC 8878.
enum ContentCoding: String, Hashable, Sendable, CaseIterable {
  case brotli = "br"
  case zstd
  case gzip
  case identity

  /// Its name in `Accept-Encoding` and `Content-Encoding`.
  var token: String { rawValue }

  /// Encodes bytes. Returns `nil` if the library refuses.
  func encode(_ content: [UInt8]) -> [UInt8]? {
    switch self {
    case .brotli: Brotli.encode(content)
    case .zstd: Self.zstd(content)
    case .gzip: Self.gzip(content)
    case .identity: content
    }
  }
}

// MARK: - Encoders

extension ContentCoding {
  /// RFC 8878 through libzstd.
  private static func zstd(_ content: [UInt8]) -> [UInt8]? {
    // Larger contents would take too long at a high level.
    let patience = 2 << 20
    guard let context = ZSTD_createCCtx() else { return nil }
    defer { ZSTD_freeCCtx(context) }
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, content.count <= patience ? 19 : 6)
    // RFC 9659: clients need to decode windows of at most 8 MiB.
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

  /// RFC 1952 through zlib, at the highest level.
  private static func gzip(_ content: [UInt8]) -> [UInt8]? {
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

extension AcceptedCodings {
  /// The codings that may be sent, the one with the highest weight first; at equal weights the one with the smallest
  /// result first. `identity` comes last at equal weights, and is included unless the client forbids it.
  func ordered(among offered: [ContentCoding] = ContentCoding.allCases) -> [ContentCoding] {
    // No field: any coding is acceptable, and the client prefers none.
    guard let weights else { return offered.filter { $0 == .identity } }
    let weighted = offered.compactMap { coding -> (coding: ContentCoding, weight: Int)? in
      if let weight = weights[coding.token] ?? weights["*"] { return weight > 0 ? (coding, weight) : nil }
      // `identity` is acceptable without being named, but a client that names others prefers those.
      return coding == .identity ? (coding, 0) : nil
    }
    return weighted.enumerated()
      .sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }.map(\.element.coding)
  }
}
