import HTTPTransport

/// Why a bundle cannot be had. What is in the store stays as it is.
public enum BundleError: Error, CustomStringConvertible {
  /// The bytes are not those the server's digests promise, even past all caches.
  case mismatch(bundle: String, url: PageURL, difference: String, tries: Int)
  case html(bundle: String, url: PageURL, contentType: String?)
  case empty(bundle: String, url: PageURL)
  case notUTF8(bundle: String, url: PageURL)
  case tooLarge(bundle: String, url: PageURL, limit: Int64)
  /// The server or the way to it.
  case failed(bundle: String, tries: Int, any Error)
  /// Not stored, and the network may not be asked.
  case notStored(bundle: String)
  case unreadableFile(bundle: String, path: String, reason: String)
  /// Nothing is stored, and the server has sent nothing for this long.
  case noProgress(bundle: String, url: PageURL, after: Duration)

  public var description: String {
    switch self {
    case .mismatch(let bundle, let url, let difference, let tries):
      "bundle \(bundle.quotedForMessage): \(difference) (\(Self.count(tries)), \(url))"
    case .html(let bundle, let url, let type):
      "bundle \(bundle.quotedForMessage): the answer is HTML, not a script (\(type ?? "no Content-Type"), \(url))"
    case .empty(let bundle, let url):
      "bundle \(bundle.quotedForMessage): the answer is empty (\(url))"
    case .notUTF8(let bundle, let url):
      "bundle \(bundle.quotedForMessage): the answer is not UTF-8 text (\(url))"
    case .tooLarge(let bundle, let url, let limit):
      "bundle \(bundle.quotedForMessage): it has more than the limit of \(limit) bytes (\(url))"
    case .failed(let bundle, let tries, let error):
      "bundle \(bundle.quotedForMessage): \(error) (\(Self.count(tries)))"
    case .notStored(let bundle):
      "bundle \(bundle.quotedForMessage) is not in the store, and the network may not be asked"
    case .unreadableFile(let bundle, let path, let reason):
      "bundle \(bundle.quotedForMessage): \(path) cannot be read: \(reason)"
    case .noProgress(let bundle, let url, let limit):
      "bundle \(bundle.quotedForMessage): the server has sent nothing for \(limit.inSeconds), and nothing is stored (\(url))"
    }
  }

  private static func count(_ tries: Int) -> String { tries == 1 ? "1 try" : "\(tries) tries" }

  /// Whether fresh digests from the server might explain it.
  var mayBeOutdatedManifest: Bool {
    if case .mismatch = self { true } else { false }
  }
}

extension BundleError: RetryableError {
  package var isRetryable: Bool {
    if case .failed(_, _, let cause) = self { RetryPolicy.mayPass(cause) } else { false }
  }

  package var retryAfter: Duration? {
    if case .failed(_, _, let cause) = self { RetryPolicy.retryAfter(cause) } else { nil }
  }
}
