import HTTPCache
import HTTPTransport
import ScriptEngine

extension PageInstance {
  /// Loads the picture of an image element that has a new source.
  func loadImage(of ref: String) {
    guard let element = tree[ref], ["image", "img"].contains(element.type) else { return }
    let source = element.attributes["src"]?.string ?? ""
    guard element.image?.url != source else { return }
    sourceTasks.removeValue(forKey: ref)?.cancel()
    guard !source.isEmpty else { return setImage(nil, of: ref) }
    setImage(.loading(url: source), of: ref)
    var request = ImageRequest(
      url: source, pageURL: url, page: id, frame: element.frame,
      quality: element.attributes["quality"]?.string ?? element.attributes["imageQuality"]?.string,
      isSharpened: element.attributes["sharpen"] == "sharpen",
      blurRadius: element.style["filter"]?.string.flatMap(Self.blurRadius) ?? 0)
    let loader = registry.handlers.images
    let task: ImageTask
    if let standard = loader as? DefaultImageLoader {
      task = standard.load(request) { [weak self] resource in
        AsyncStream { continuation in
          let relay = Task { @PageActor in
            if let updates = self?.counted(for: resource) {
              for await update in updates { continuation.yield(update) }
            }
            continuation.finish()
          }
          continuation.onTermination = { _ in relay.cancel() }
        }
      }
    } else {
      request.url = rewritten(ResourceRequest(source, type: .image)).reference
      task = loader.load(request)
    }
    sourceTasks[ref] = Task { @PageActor [weak self] in
      await withTaskCancellationHandler {
        for await update in task.updates {
          guard !Task.isCancelled else { return }
          await self?.receive(update, of: ref, source)
        }
      } onCancel: {
        task.cancel()
      }
      if self?.tree[ref]?.image?.url == source { self?.sourceTasks[ref] = nil }
    }
  }

  private func receive(_ update: ImageTask.Update, of ref: String, _ source: String) async {
    guard let element = tree[ref], element.image?.url == source else { return }
    switch update {
    case .progress: return
    case .image(let image):
      setImage(.loaded(url: source, image.format, image.size, image.cacheType), of: ref)
      await tellLoaded(ref, true, image.size)
    case .failed(let error):
      // A picture that is shown stays if its refresh fails.
      if case .loaded? = element.image { return }
      setImage(.failed(url: source, reason: "\(error)"), of: ref)
      await tellLoaded(ref, false, nil)
    }
  }

  private func tellLoaded(_ ref: String, _ isLoaded: Bool, _ size: ImageSize?) async {
    let event: ScriptValue = [
      "success": .bool(isLoaded),
      "size": [
        "naturalWidth": .number(Double(size?.width ?? 0)), "naturalHeight": .number(Double(size?.height ?? 0)),
      ],
    ]
    await tell(ref, "load", event)
  }

  /// `blur(4px)`
  private static func blurRadius(_ filter: String) -> Double? {
    guard filter.hasPrefix("blur("), filter.hasSuffix(")") else { return nil }
    let text = filter.dropFirst(5).dropLast()
    return Double(text.hasSuffix("px") ? text.dropLast(2) : text)
  }
}

extension ElementTree.Element {
  /// The size that the style gives the element.
  fileprivate var frame: (width: Double, height: Double)? {
    func length(_ name: String) -> Double? {
      guard let value = style[name] else { return nil }
      return value.number ?? value.string.flatMap { Double($0.hasSuffix("px") ? String($0.dropLast(2)) : $0) }
    }
    guard let width = length("width"), let height = length("height") else { return nil }
    return (width, height)
  }
}
