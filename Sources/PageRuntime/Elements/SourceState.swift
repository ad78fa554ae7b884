import HTTPTransport

/// The state of the page of an `embed` element, or of the document of a `web` element.
public enum SourceState: Hashable, Sendable {
  /// The page or document is loading.
  case loading(url: String)
  /// The element shows the page with this id; ``PageInstance/embedded`` has it.
  case page(url: String, id: String)
  /// The element has a document, with its length in bytes; ``PageInstance/document(of:)`` has it.
  case document(url: String, contentType: String?, length: Int)
  /// The page or document could not be loaded, with the reason as a sentence.
  case failed(url: String, reason: String)

  /// The URL as the page wrote it.
  public var url: String {
    switch self {
    case .loading(let url), .page(let url, _), .document(let url, _, _), .failed(let url, _): url
    }
  }
}
