import HTTPCache
import HTTPTransport

/// Loads the pictures of image elements.
public protocol ImageLoading: Sendable {
  /// Starts to load a picture, and returns at once. The task has the result.
  func load(_ request: ImageRequest) -> ImageTask
}

/// A request for a picture. Its members are those of the Weex SDK's image protocol.
public struct ImageRequest: Sendable {
  /// The URL as the page wrote it, after the app's rewriters.
  public var url: String
  /// The base of a relative URL.
  public var pageURL: PageURL?
  /// The id of the page.
  public var page: String
  /// The size that the element's style gives it, in the design's units; `nil` without one.
  public var frame: (width: Double, height: Double)?
  /// The attribute `quality`: `low`, `normal`, `high` or `original`.
  public var quality: String?
  /// `true` if the attribute `sharpen` asks for it.
  public var isSharpened: Bool
  /// The radius of the style `filter: blur(…)`; 0 without one.
  public var blurRadius: Double
  /// The priority of the download.
  public var priority: LoadPriority

  /// A request for a picture; each default is that of an element without the attribute.
  package init(
    url: String, pageURL: PageURL? = nil, page: String = "", frame: (width: Double, height: Double)? = nil,
    quality: String? = nil, isSharpened: Bool = false, blurRadius: Double = 0, priority: LoadPriority = .normal
  ) {
    self.url = url
    self.pageURL = pageURL
    self.page = page
    self.frame = frame
    self.quality = quality
    self.isSharpened = isSharpened
    self.blurRadius = blurRadius
    self.priority = priority
  }
}

/// A picture: its bytes, which are not decoded, and its format and size.
public struct LoadedImage: Sendable {
  /// The place that a picture came from.
  public enum CacheType: String, Hashable, Sendable {
    /// No cache: the app made the picture, or it is in the URL itself.
    case none
    /// The memory cache.
    case memory
    /// The disk cache, or a file of the release.
    case disk
    /// The network.
    case network
  }

  /// The file.
  public let bytes: [UInt8]
  /// The format of the bytes.
  public let format: ImageFormat
  /// The size in pixels; `nil` for a drawing without one.
  public let size: ImageSize?
  /// The place that the picture came from.
  public let cacheType: CacheType

  /// A picture that an app's loader has made or loaded.
  public init(bytes: [UInt8], format: ImageFormat, size: ImageSize?, cacheType: CacheType) {
    self.bytes = bytes
    self.format = format
    self.size = size
    self.cacheType = cacheType
  }
}

/// A picture that is being loaded.
public struct ImageTask: Sendable {
  /// A step of the loading.
  public enum Update: Sendable {
    /// The bytes so far, and the length of the file if it is known.
    case progress(received: Int64, of: Int64?)
    /// The picture. A later one replaces an earlier one.
    case image(LoadedImage)
    /// The picture could not be loaded. One that has come stays.
    case failed(any Error)
  }

  /// The steps, to the end of the loading.
  public let updates: AsyncStream<Update>
  private let onCancel: @Sendable () -> Void

  /// A task of an app's loader.
  ///
  /// - Parameters:
  ///   - updates: the steps; the loader finishes the stream.
  ///   - onCancel: called if the element no longer needs the picture.
  public init(updates: AsyncStream<Update>, onCancel: @escaping @Sendable () -> Void) {
    self.updates = updates
    self.onCancel = onCancel
  }

  /// Ends the loading.
  public func cancel() { onCancel() }
}

/// An error of loading a picture.
enum ImageError: Error, Hashable, Sendable, CustomStringConvertible {
  case notAnImage(url: String, contentType: String?)
  case broken(url: String, ImageFormat)
  case oversized(url: String, pixels: Int, limit: Int)
  case status(url: String, Int)

  var description: String {
    switch self {
    case .notAnImage(let url, let type): "\(url): the answer is not a picture (\(type ?? "no Content-Type"))"
    case .broken(let url, let format): "\(url): the \(format.rawValue.uppercased()) picture is damaged"
    case .oversized(let url, let pixels, let limit):
      "\(url): the picture has \(pixels) pixels, \(limit) are allowed"
    case .status(let url, let status): "\(url): the server answers \(status)"
    }
  }
}

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
