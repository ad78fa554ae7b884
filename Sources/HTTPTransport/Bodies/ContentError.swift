/// Why an answer's body is not the content it claims to be.
public enum ContentError: Error, Hashable, Sendable, CustomStringConvertible {
  /// `Content-Encoding` names something that was not asked for.
  case unsupportedEncoding(url: String, encoding: String)
  case corruptEncoding(url: String, encoding: String, reason: String)
  /// The encoded stream has no end.
  case cutShort(url: String, encoding: String)
  /// The decoded content is larger than allowed.
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
