/// The reason why a response's body cannot be decoded.
public enum ContentError: Error, Hashable, Sendable, CustomStringConvertible {
  /// `Content-Encoding` names an encoding that was not requested.
  case unsupportedEncoding(url: String, encoding: String)
  /// The encoded data is damaged.
  case corruptEncoding(url: String, encoding: String, reason: String)
  /// The encoded data ends too early.
  case cutShort(url: String, encoding: String)
  /// The decoded content has more than `limit` bytes.
  case tooLarge(url: String, limit: Int64)

  public var description: String {
    switch self {
    case .unsupportedEncoding(let url, let encoding):
      "\(url): the answer is encoded as \(encoding.quotedForMessage), which was not asked for"
    case .corruptEncoding(let url, let encoding, let reason): "\(url): the \(encoding) data is damaged: \(reason)"
    case .cutShort(let url, let encoding): "\(url): the \(encoding) data ends too early"
    case .tooLarge(let url, let limit): "\(url): the decoded content has more than the limit of \(limit) bytes"
    }
  }
}
