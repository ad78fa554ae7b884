import PageKit

/// Draws the pictures whose URLs begin with `swatch:`, and leaves the others to the loader behind it.
struct Swatches: ImageLoading {
  let behind: any ImageLoading

  init(behind: any ImageLoading) { self.behind = behind }

  func load(_ request: ImageRequest) -> ImageTask {
    guard request.url.hasPrefix("swatch:") else { return behind.load(request) }
    let color = request.url.dropFirst("swatch:".count).filter { $0.isLetter }
    let (width, height) = (Int(request.frame?.width ?? 100), Int(request.frame?.height ?? 100))
    let drawing = Array(
      "<svg xmlns='http://www.w3.org/2000/svg' width='\(width)' height='\(height)' style='background:\(color)'/>".utf8)
    let (updates, continuation) = AsyncStream.makeStream(of: ImageTask.Update.self)
    continuation.yield(.image(LoadedImage(bytes: drawing, cacheType: .none)))
    continuation.finish()
    return ImageTask(updates: updates, onCancel: {})
  }
}
