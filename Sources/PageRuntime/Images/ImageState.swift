import HTTPCache

/// The state of an image element's picture.
public enum ImageState: Hashable, Sendable {
  /// The picture is loading.
  case loading(url: String)
  /// The picture has come; its size is `nil` for a drawing without one.
  case loaded(url: String, ImageFormat, ImageSize?, LoadedImage.CacheType)
  /// The picture could not be loaded, with the reason as a sentence.
  case failed(url: String, reason: String)

  /// The URL as the page wrote it.
  public var url: String {
    switch self {
    case .loading(let url), .loaded(let url, _, _, _), .failed(let url, _): url
    }
  }
}
