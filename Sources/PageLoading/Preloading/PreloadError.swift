/// What stops a whole preload.
public enum PreloadError: Error, Hashable, CustomStringConvertible {
  /// In bytes.
  case notEnoughSpace(needed: Int64, available: Int64)
  case releaseTooLarge(limit: Int64)

  public var description: String {
    switch self {
    case .notEnoughSpace(let needed, let available):
      "the release needs \(needed) bytes, with 16 MiB to spare, and the disk has \(available) left: free some space and try again"
    case .releaseTooLarge(let limit): "the release has more than the limit of \(limit) bytes"
    }
  }
}
