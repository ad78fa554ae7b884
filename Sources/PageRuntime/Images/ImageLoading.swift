import HTTPCache
import HTTPTransport
import HTTPTypes

/// Loads the pictures of image elements.
///
///     struct PackagedImages: ImageLoading {
///       let pictures: [String: [UInt8]]
///       let others: any ImageLoading  // DefaultImageLoader(host.resources)
///
///       func load(_ request: ImageRequest) -> ImageTask {
///         guard let bytes = pictures[request.url] else { return others.load(request) }
///         let (updates, continuation) = AsyncStream.makeStream(of: ImageTask.Update.self)
///         continuation.yield(.image(LoadedImage(bytes: bytes, cacheType: .none)))
///         continuation.finish()
///         return ImageTask(updates: updates, onCancel: {})
///       }
///     }
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
  /// The format of the bytes: `png`, `jpeg`, `gif`, `webp`, `avif` or `svg`; empty if it is another one.
  public let format: String
  /// The size in pixels; `nil` for a drawing without one.
  public let size: ImageSize?
  /// The place that the picture came from.
  public let cacheType: CacheType

  /// A picture that an app's loader has made or loaded. Its format and its size are read from the bytes.
  ///
  ///     continuation.yield(.image(LoadedImage(bytes: bytes, cacheType: .disk)))
  public init(bytes: [UInt8], cacheType: CacheType) {
    let format = ImageFormat(bytes)
    self.init(
      bytes: bytes, format: format?.rawValue ?? "", size: format.flatMap { ImageSize(of: bytes, format: $0) },
      cacheType: cacheType)
  }

  init(bytes: [UInt8], format: String, size: ImageSize?, cacheType: CacheType) {
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
    /// The picture could not be loaded. One that has come stays. The built-in loader's error is an ``ImageError``, or that
    /// of the request.
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

/// The state of an image element's picture.
public enum ImageState: Hashable, Sendable {
  /// The picture is loading.
  case loading(url: String)
  /// The picture has come, with the name of its format, such as `png`; its size is `nil` for a drawing without one.
  case loaded(url: String, String, ImageSize?, LoadedImage.CacheType)
  /// The picture could not be loaded, with the reason as a sentence.
  case failed(url: String, reason: String)

  /// The URL as the page wrote it.
  public var url: String {
    switch self {
    case .loading(let url), .loaded(let url, _, _, _), .failed(let url, _): url
    }
  }
}

/// Loads pictures as other requests of the page are loaded: from the cache and the network, and equal ones once.
///
/// The format is read from the bytes. A file may have 32 MiB, and a picture 100 million pixels.
public struct DefaultImageLoader: ImageLoading {
  private let loader: ResourceLoader
  /// The largest length of a file in bytes.
  private let byteLimit: Int64
  /// The largest width times height.
  private static let pixelLimit = 100_000_000

  /// A loader of pictures behind a host's loader of requests.
  public init(_ loader: ResourceLoader) { self.init(loader, byteLimit: 32 << 20) }

  init(_ loader: ResourceLoader, byteLimit: Int64) { (self.loader, self.byteLimit) = (loader, byteLimit) }

  /// Starts to load a picture, and returns at once.
  public func load(_ request: ImageRequest) -> ImageTask { load(request) { [loader] in loader.updates(for: $0) } }

  /// Starts to load a picture through the handlers of a page.
  func load(
    _ request: ImageRequest, through next: @escaping @Sendable (ResourceRequest) async -> AsyncStream<ResourceUpdate>
  ) -> ImageTask {
    let resource = ResourceRequest(
      request.url, base: request.pageURL, type: .image, priority: request.priority)
    let (updates, continuation) = AsyncStream.makeStream(of: ImageTask.Update.self)
    let work = Task {
      var hasImage = false
      for await update in await next(resource) {
        // A picture that was given and confirmed is not given again.
        if case .notModified = update, hasImage { continue }
        await follow(update, request.url) { result in
          if case .image = result { hasImage = true }
          continuation.yield(result)
        }
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in work.cancel() }
    return ImageTask(updates: updates, onCancel: { work.cancel() })
  }

  /// Loads pictures into the cache, one after the other, with the lowest priority.
  ///
  /// - Parameter base: the base of relative URLs.
  public func prefetch(_ urls: [String], base: PageURL?) async {
    for url in urls {
      for await _ in load(ImageRequest(url: url, pageURL: base, priority: .idle)).updates {}
    }
  }

  /// Gives the progress of a picture, and the picture or its failure.
  private func follow(
    _ update: ResourceUpdate, _ url: String, _ give: (ImageTask.Update) -> Void
  ) async {
    do {
      switch update {
      case .cached(let loaded), .network(let loaded), .notModified(let loaded):
        let bytes = try await collect(loaded, give)
        give(.image(try Self.image(bytes, loaded, url)))
      case .failed(let failure):
        if let answer = failure.answer { throw ImageError.status(answer.status, url: url) }
        if let error = failure.error { throw error }
      }
    } catch {
      // Whoever has cancelled the loading knows.
      if !Task.isCancelled { give(.failed(error)) }
    }
  }

  private func collect(_ loaded: Resource, _ give: (ImageTask.Update) -> Void) async throws -> [UInt8] {
    func check(_ count: Int) throws {
      guard Int64(count) <= byteLimit else {
        throw TransportError.tooLarge(url: loaded.url?.text ?? "", limit: byteLimit)
      }
    }
    if let bytes = loaded.body.bytesInMemory {
      try check(bytes.count)
      return bytes
    }
    let size = loaded.response.headerFields[.contentLength].flatMap { Int64($0) }
    var bytes: [UInt8] = []
    for try await chunk in loaded.body {
      bytes += chunk
      try check(bytes.count)
      give(.progress(received: Int64(bytes.count), of: size))
    }
    return bytes
  }

  private static func image(_ bytes: [UInt8], _ loaded: Resource, _ url: String) throws -> LoadedImage {
    guard (200..<300).contains(loaded.status) else { throw ImageError.status(loaded.status, url: url) }
    guard let format = ImageFormat(bytes) else {
      throw ImageError.notAnImage(url: url, contentType: loaded.response.headerFields[.contentType])
    }
    let size = ImageSize(of: bytes, format: format)
    // A drawing needs no size; another picture without one is cut or damaged.
    guard size != nil || format == .svg else {
      throw ImageError.damaged(url: url, format: format.rawValue.uppercased())
    }
    if let size {
      let (pixels, overflows) = size.width.multipliedReportingOverflow(by: size.height)
      guard !overflows, pixels <= pixelLimit else {
        throw ImageError.tooManyPixels(url: url, pixels: overflows ? .max : pixels, limit: pixelLimit)
      }
    }
    return LoadedImage(bytes: bytes, format: format.rawValue, size: size, cacheType: loaded.cacheType)
  }
}

extension Resource {
  fileprivate var cacheType: LoadedImage.CacheType {
    switch source {
    case .memory: .memory
    case .disk, .release, .revalidated: .disk
    case .network: .network
    case .local: .none
    }
  }
}

/// The reason why a response is not a picture that can be shown.
public enum ImageError: Error, Hashable, CustomStringConvertible {
  /// The server answers with this status.
  case status(Int, url: String)
  /// The bytes have none of the known formats.
  case notAnImage(url: String, contentType: String?)
  /// The picture is cut or damaged; `format` is its name, such as `PNG`.
  case damaged(url: String, format: String)
  /// The picture has more than `limit` pixels.
  case tooManyPixels(url: String, pixels: Int, limit: Int)

  public var description: String {
    switch self {
    case .status(let status, let url): "\(url): the server answers \(status)"
    case .notAnImage(let url, let type): "\(url): the answer is not a picture (\(type ?? "no Content-Type"))"
    case .damaged(let url, let format): "\(url): the \(format) picture is damaged"
    case .tooManyPixels(let url, let pixels, let limit):
      "\(url): the picture has \(pixels) pixels, \(limit) are allowed"
    }
  }
}
