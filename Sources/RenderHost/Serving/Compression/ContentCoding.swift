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
    case .brotli: BrotliEncoding.encode(content)
    case .zstd: ZstdEncoding.encode(content)
    case .gzip: GzipEncoding.encode(content)
    case .identity: content
    }
  }
}
