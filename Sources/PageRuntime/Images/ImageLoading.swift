import HTTPCache
import HTTPTransport

/// Loads pictures for image elements.
public protocol ImageLoading: Sendable {
  /// Starts at once; what comes of it is in the task.
  func load(_ request: ImageRequest) -> ImageTask
}

/// A picture, and how it is wanted. The members are those of the SDK's image protocol.
public struct ImageRequest: Sendable {
  public var url: String
  /// What a relative URL counts from.
  public var pageURL: PageURL?
  /// The page's id.
  public var page: String
  /// The element's size, where it has one: width and height.
  public var frame: (width: Double, height: Double)?
  /// `low`, `normal`, `high` or `original`.
  public var quality: String?
  public var isSharpened: Bool
  public var blurRadius: Double
  public var priority: LoadPriority

  public init(
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

/// A picture's bytes, not decoded.
public struct LoadedImage: Sendable {
  /// Where they came from.
  public enum CacheType: String, Hashable, Sendable {
    /// From no cache: made by the app, or the URL itself.
    case none
    case memory
    case disk
    case network
  }

  public let bytes: [UInt8]
  public let format: ImageFormat
  public let size: ImageSize?
  public let cacheType: CacheType

  public init(bytes: [UInt8], format: ImageFormat, size: ImageSize?, cacheType: CacheType) {
    self.bytes = bytes
    self.format = format
    self.size = size
    self.cacheType = cacheType
  }
}

/// A picture on its way.
public struct ImageTask: Sendable {
  public enum Update: Sendable {
    /// Bytes so far, and of how many where that is known.
    case progress(received: Int64, of: Int64?)
    /// The picture; a later one takes the place of an earlier.
    case image(LoadedImage)
    case failed(any Error)
  }

  /// All that happens to it; ends when nothing more will.
  public let updates: AsyncStream<Update>
  private let onCancel: @Sendable () -> Void

  public init(updates: AsyncStream<Update>, onCancel: @escaping @Sendable () -> Void) {
    self.updates = updates
    self.onCancel = onCancel
  }

  public func cancel() { onCancel() }
}

/// Why bytes are no picture that can be shown.
enum ImageError: Error, Hashable, Sendable, CustomStringConvertible {
  case notAnImage(url: String, contentType: String?)
  case broken(url: String, ImageFormat)
  case oversized(url: String, pixels: Int, limit: Int)
  case status(url: String, Int)

  var description: String {
    switch self {
    case .notAnImage(let url, let type): "\(url): the answer is no picture (\(type ?? "no Content-Type"))"
    case .broken(let url, let format): "\(url): the \(format.rawValue.uppercased()) picture is damaged"
    case .oversized(let url, let pixels, let limit):
      "\(url): the picture has \(pixels) pixels, \(limit) are allowed"
    case .status(let url, let status): "\(url): the server answers \(status)"
    }
  }
}
