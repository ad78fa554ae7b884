import HTTPTransport

/// The reason why a resource cannot be loaded. Stored responses stay as they are.
public enum LoadError: Error, CustomStringConvertible {
  /// The reference cannot be resolved to a URL.
  case invalidReference(String)
  /// The behaviour leaves out the network, and nothing stored may be used.
  case notStored(PageURL, reason: String)
  /// The origin could not be reached a moment ago, and nothing stored may be used.
  case offline(PageURL)
  /// The origin could not be reached, and the stored response has to be validated first, as by `must-revalidate`.
  case unvalidated(PageURL, because: any Error)
  /// The queue of requests that wait for a transfer is full.
  case busy(PageURL, limit: Int)
  /// The file of a `file` URL cannot be read.
  case unreadableFile(PageURL, reason: String)
  /// The `data:` URL does not follow RFC 2397; with the reason.
  case badDataURL(String)
  /// The body has more than `limit` bytes.
  case tooLarge(PageURL, limit: Int64)

  public var description: String {
    switch self {
    case .invalidReference(let text):
      "\(text.quotedForMessage) is no URL that can be loaded: give an absolute one, or a base for a relative one"
    case .notStored(let url, let reason): "\(url): the network may not be asked, and \(reason)"
    case .offline(let url): "\(url): the origin could not be reached a moment ago, and nothing stored may be used"
    case .unvalidated(let url, let error):
      "\(url): what is stored may not be used without asking its server (RFC 9111 §5.2.2.2): \(error.sentence)"
    case .busy(let url, let limit): "\(url): \(limit) requests wait for the origin already; try again a little later"
    case .unreadableFile(let url, let reason): "\(url.readable): \(reason)"
    case .badDataURL(let reason): "the data: URL cannot be read: \(reason)"
    case .tooLarge(let url, let limit): "\(url): the answer has more than the limit of \(limit) bytes"
    }
  }
}

extension LoadError: RetryableError {
  package var isRetryable: Bool {
    switch self {
    case .offline, .busy: true
    default: false
    }
  }
}
