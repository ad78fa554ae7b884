import HTTPCache
import HTTPTransport
import HTTPTypes

/// Loads pictures as other requests of the page are loaded: from the cache and the network, and equal ones once.
///
/// The format is read from the bytes. A file may have 32 MiB, and a picture 100 million pixels.
public struct DefaultImageLoader: ImageLoading {
  struct Limits: Hashable, Sendable {
    /// The largest length of a file in bytes.
    var bytes: Int64 = 32 << 20
    /// The largest width times height.
    var pixels = 100_000_000
  }

  private let loader: ResourceLoader
  private let limits: Limits

  /// A loader of pictures behind a host's loader of requests.
  public init(_ loader: ResourceLoader) { self.init(loader, limits: Limits()) }

  init(_ loader: ResourceLoader, limits: Limits) {
    self.loader = loader
    self.limits = limits
  }

  /// Starts to load a picture, and returns at once.
  public func load(_ request: ImageRequest) -> ImageTask { load(request) { [loader] in loader.updates(for: $0) } }

  /// Starts to load a picture through the handlers of a page.
  func load(_ request: ImageRequest, through next: @escaping ResourceHandlerChain.Next) -> ImageTask {
    let resource = ResourceRequest(
      request.url, base: request.pageURL, type: .image, priority: request.priority)
    let (updates, continuation) = AsyncStream.makeStream(of: ImageTask.Update.self)
    let work = Task {
      var hasImage = false
      for await update in next(resource) {
        // A picture that was given and confirmed is not given again.
        if case .notModified = update, hasImage { continue }
        for await result in results(of: update, request.url) {
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

  private func results(of update: ResourceUpdate, _ url: String) -> AsyncStream<ImageTask.Update> {
    let limits = limits
    return AsyncStream { continuation in
      let work = Task {
        defer { continuation.finish() }
        let loaded: Resource
        switch update {
        case .cached(let found), .network(let found), .notModified(let found): loaded = found
        case .failed(let failure):
          if let answer = failure.answer {
            continuation.yield(.failed(ImageError.status(url: url, answer.status)))
          } else if let error = failure.error {
            continuation.yield(.failed(error))
          }
          return
        }
        do {
          let bytes = try await Self.collect(loaded, limits) { continuation.yield($0) }
          continuation.yield(.image(try Self.image(bytes, loaded, url, limits)))
        } catch {
          continuation.yield(.failed(error))
        }
      }
      continuation.onTermination = { _ in work.cancel() }
    }
  }

  private static func collect(
    _ loaded: Resource, _ limits: Limits, _ report: (ImageTask.Update) -> Void
  ) async throws -> [UInt8] {
    func check(_ count: Int) throws {
      guard Int64(count) <= limits.bytes else {
        throw TransportError.tooLarge(url: loaded.url?.text ?? "", limit: limits.bytes)
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
      report(.progress(received: Int64(bytes.count), of: size))
    }
    return bytes
  }

  private static func image(
    _ bytes: [UInt8], _ loaded: Resource, _ url: String, _ limits: Limits
  ) throws -> LoadedImage {
    guard (200..<300).contains(loaded.status) else { throw ImageError.status(url: url, loaded.status) }
    guard let format = ImageFormat(bytes) else {
      throw ImageError.notAnImage(url: url, contentType: loaded.response.headerFields[.contentType])
    }
    let size = ImageSize(of: bytes, format: format)
    // A drawing needs no size; another picture without one is cut or damaged.
    guard size != nil || format == .svg else { throw ImageError.broken(url: url, format) }
    if let size {
      let (pixels, overflows) = size.width.multipliedReportingOverflow(by: size.height)
      guard !overflows, pixels <= limits.pixels else {
        throw ImageError.oversized(url: url, pixels: overflows ? .max : pixels, limit: limits.pixels)
      }
    }
    return LoadedImage(bytes: bytes, format: format, size: size, cacheType: loaded.cacheType)
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
