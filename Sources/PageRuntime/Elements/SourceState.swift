import HTTPTransport

/// How an element that shows another page (`embed`) or a document (`web`) fares.
public enum SourceState: Hashable, Sendable {
  case loading(url: String)
  /// A page of its own, by its id.
  case page(url: String, id: String)
  /// A document for browsers; its length in bytes.
  case document(url: String, contentType: String?, length: Int)
  case failed(url: String, reason: String)

  /// As the page wrote it.
  public var url: String {
    switch self {
    case .loading(let url), .page(let url, _), .document(let url, _, _), .failed(let url, _): url
    }
  }
}
