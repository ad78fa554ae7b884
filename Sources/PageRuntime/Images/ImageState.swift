import HTTPCache

/// How an image element's picture fares.
public enum ImageState: Hashable, Sendable {
  case loading(url: String)
  case loaded(url: String, ImageFormat, ImageSize?, LoadedImage.CacheType)
  case failed(url: String, reason: String)

  /// As the page wrote it.
  public var url: String {
    switch self {
    case .loading(let url), .loaded(let url, _, _, _), .failed(let url, _): url
    }
  }
}
