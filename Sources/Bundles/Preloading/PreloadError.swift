/// A failure that ends a whole round of a preload.
package enum PreloadError: Error, Hashable, CustomStringConvertible {
  /// The disk has too little space; both values are in bytes.
  case notEnoughSpace(needed: Int64, available: Int64)
  /// The release has more than `limit` bytes.
  case releaseTooLarge(limit: Int64)
  /// The store's folder cannot be written.
  case readOnly(reason: String)

  package var description: String {
    switch self {
    case .notEnoughSpace(let needed, let available):
      "the release needs \(needed) bytes, with 16 MiB to spare, and the disk has \(available) left: free some space and try again"
    case .readOnly(let reason): "nothing is preloaded, since nothing would be kept: \(reason)"
    case .releaseTooLarge(let limit): "the release has more than the limit of \(limit) bytes"
    }
  }
}
