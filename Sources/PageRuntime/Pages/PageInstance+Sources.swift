import Foundation
import HTTPCache
import HTTPTransport
import HTTPTypes
import ScriptEngine

extension PageInstance {
  /// Loads the sources of new elements and of those whose `src` has changed, and drops those of removed elements.
  func followSources(_ commands: [RenderCommand]) {
    var hasRemovals = false
    for command in commands {
      switch command {
      case .createBody(let element), .addElement(_, let element, _): load(element)
      case .updateAttributes(let ref, let changes):
        if changes["src"] != nil { loadSource(of: ref) }
        // The script's later data replaces what methods have made of the former.
        if changes["listData"] != nil { listData[ref] = nil }
      case .addEvent(let ref, let type): if let element = tree[ref] { noteListening(to: [type], element.type) }
      case .removeElement: hasRemovals = true
      default: break
      }
    }
    if hasRemovals { forgetSources() }
    followComponents()
  }

  /// Loads the sources of a description's elements, parents first, without recursion.
  private func load(_ description: ElementDescription) {
    var waiting = [description]
    while let next = waiting.popLast() {
      if Self.sourceTypes.contains(next.type) { loadSource(of: next.ref) }
      if !registry.components.has(next.type) { record(.component(next.type)) }
      if next.attributes["@templateId"] != nil { hasCellComponents = true }
      if !next.events.isEmpty { noteListening(to: next.events, next.type) }
      if ElementTree.Element.sliderTypes.contains(next.type) { newSliders.append(next.ref) }
      waiting += next.children
    }
  }

  /// The largest number of parts that are reported: a script may make up names.
  private static let missingLimit = 200

  /// Reports a part that is not registered, once.
  func record(_ part: MissingPart) {
    guard missing.count < Self.missingLimit, missing.insert(part).inserted else { return }
    feed.send(.missing(part))
  }

  private static let sourceTypes: Set<String> = ["image", "img", "embed", "web"]

  func loadSource(of ref: String) {
    // Of a page that runs again, sources are loaded after the last step.
    guard rerun == nil else { return toldSources[ref] = nil }
    switch tree[ref]?.type {
    case "image", "img": loadImage(of: ref)
    case "embed": loadEmbedded(of: ref)
    case "web": loadDocument(of: ref)
    default: break
    }
  }

  private func forgetSources() {
    for (ref, task) in sourceTasks where tree[ref] == nil {
      task.cancel()
      sourceTasks[ref] = nil
    }
    for ref in documents.keys where tree[ref] == nil { documents[ref] = nil }
    if let focusedInput, tree[focusedInput] == nil { self.focusedInput = nil }
    for (ref, page) in embedded where tree[ref] == nil {
      embedded[ref] = nil
      Task { await page.destroy() }
    }
  }

  /// The element's new source, as the page wrote it; `nil` if there is nothing to load.
  func newSource(of ref: String) -> String? {
    guard let element = tree[ref] else { return nil }
    let source = element.attributes["src"]?.string ?? ""
    guard element.source?.url != source else { return nil }
    sourceTasks.removeValue(forKey: ref)?.cancel()
    if source.isEmpty { setSource(nil, of: ref) }
    return source.isEmpty ? nil : source
  }

  func setSource(_ state: SourceState?, of ref: String) {
    tree.setSource(state, of: ref)
    if tree[ref] != nil { sentElements?.note(state, of: ref) }
    if snapshot == nil { feed.send(.source(ref: ref, state)) }
  }

  /// Fires an event on an element, if the script listens to it.
  func tell(_ ref: String, _ type: String, _ event: ScriptValue) async {
    guard toldSources[ref]?.remove(type) == nil else { return }
    guard tree[ref]?.events.contains(type) == true else { return }
    try? await fireEvent(ref, type, event)
  }
}

extension PageInstance {
  /// Loads the picture of an image element that has a new source.
  func loadImage(of ref: String) {
    guard let element = tree[ref], ["image", "img"].contains(element.type) else { return }
    let source = element.attributes["src"]?.string ?? ""
    guard element.image?.url != source else { return }
    sourceTasks.removeValue(forKey: ref)?.cancel()
    guard !source.isEmpty else { return setImage(nil, of: ref) }
    switch knownPictures[source, at: url] {
    case .loaded(_, let format, let size, _)?:
      setImage(.loaded(url: source, format, size, .memory), of: ref)
      sourceTasks[ref] = Task { @PageActor [weak self] in
        guard !Task.isCancelled else { return }
        await self?.tellLoaded(ref, true, size)
        if !Task.isCancelled { self?.sourceTasks[ref] = nil }
      }
    case .failed(_, let reason)?:
      setImage(.failed(url: source, reason: reason), of: ref)
      let isAskedFor = failedPictures[source] != nil
      failedPictures[source, default: []].append(ref)
      if !isAskedFor, !defersFailedPictures { askAgain(for: source) }
    default:
      setImage(.loading(url: source), of: ref)
      let task = imageTask(for: element, source)
      sourceTasks[ref] = Task { @PageActor [weak self] in
        await withTaskCancellationHandler {
          for await update in task.updates {
            guard !Task.isCancelled else { return }
            await self?.receive(update, of: ref, source)
          }
        } onCancel: {
          task.cancel()
        }
        // A task that another one replaces, also of a page that is opened again, is cancelled.
        if !Task.isCancelled { self?.sourceTasks[ref] = nil }
      }
    }
  }

  /// Begins to load the picture of an element.
  private func imageTask(for element: ElementTree.Element, _ source: String) -> ImageTask {
    var request = ImageRequest(
      url: source, pageURL: url, page: id, frame: element.frame,
      quality: element.attributes["quality"]?.string ?? element.attributes["imageQuality"]?.string,
      isSharpened: element.attributes["sharpen"] == "sharpen",
      blurRadius: element.style["filter"]?.string.flatMap(Self.blurRadius) ?? 0)
    let loader = registry.handlers.images
    if let standard = loader as? DefaultImageLoader {
      return standard.load(request) { [weak self] in await self?.counted(for: $0) ?? AsyncStream { $0.finish() } }
    }
    request.url = rewritten(ResourceRequest(source, type: .image)).reference
    return loader.load(request)
  }

  private func receive(_ update: ImageTask.Update, of ref: String, _ source: String) async {
    guard let element = tree[ref], element.image?.url == source else { return }
    switch update {
    case .progress: return
    case .image(let image):
      // Who shows nothing in its place shows it from here on.
      if case .failed? = element.image { setImage(.loading(url: source), of: ref) }
      setImage(.loaded(url: source, image.format, image.size, image.cacheType), of: ref)
      await tellLoaded(ref, true, image.size)
    case .failed(let error):
      // A picture that is shown stays if its refresh fails.
      if case .loaded? = element.image { return }
      let state = ImageState.failed(url: source, reason: "\(error)")
      if element.image != state { setImage(state, of: ref) }
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

/// The pictures that former runs of a page have loaded, or could not load, by the URLs of the pages that show them. A pure
/// value.
struct KnownPictures: Hashable, Sendable {
  private var states: [PageURL: [String: ImageState]] = [:]
  private var count = 0
  /// The number of pictures up to which those are kept that the latest run does not show.
  static let limit = 4_096

  /// The state of a picture; `nil` if it is not known. One that has come stays known as that.
  ///
  /// - Parameters:
  ///   - source: the URL as the page wrote it.
  ///   - url: the URL of the page.
  subscript(source: String, at url: PageURL?) -> ImageState? { url.flatMap { states[$0]?[source] } }

  mutating func add(_ state: ImageState, at url: PageURL) {
    if case .loading = state { return }
    let former = states[url]?[state.url]
    if case .loaded? = former { return }
    if former == nil { count += 1 }
    states[url, default: [:]][state.url] = state
  }

  /// Adds what is known from further back, as long as there is room.
  mutating func add(_ earlier: KnownPictures) {
    for (url, pictures) in earlier.states {
      for state in pictures.values where count < Self.limit && self[state.url, at: url] == nil { add(state, at: url) }
    }
  }
}

extension PageInstance {
  /// Takes over what a former run of the page knows of pictures, before this one opens.
  ///
  /// Pictures that have come are not asked for again, as in a document (WHATWG HTML §4.8.4.3.3: the list of available
  /// images). Those that could not be loaded show nothing until they come, and are asked for by ``askForFailedPictures()``.
  package func takePictures(of former: PageInstance) {
    var known = KnownPictures()
    var waiting = [former]
    while let page = waiting.popLast() {
      if let url = page.url {
        for element in page.tree.elements.values { if let state = element.image { known.add(state, at: url) } }
      }
      waiting += page.embedded.values
    }
    known.add(former.knownPictures)
    (knownPictures, defersFailedPictures) = (known, true)
  }

  /// Asks again for the pictures that a former run could not load, once for each URL. Until this is called, the page does
  /// not wait for them.
  package func askForFailedPictures() {
    guard defersFailedPictures else { return }
    defersFailedPictures = false
    for source in failedPictures.keys { askAgain(for: source) }
  }

  /// Asks for a picture that a former run could not load, for all elements that show it.
  private func askAgain(for source: String) {
    let element = failedPictures[source]?.lazy.compactMap { [tree] in tree[$0] }.first { $0.image?.url == source }
    guard let element else { return failedPictures[source] = nil }
    let (task, key) = (imageTask(for: element, source), UUID())
    // Not of the element's own: others wait for it too.
    let work = Task { @PageActor [weak self] in
      await withTaskCancellationHandler {
        var refs: [String] = []
        for await update in task.updates {
          guard !Task.isCancelled else { return }
          refs = await self?.receive(update, ofFailed: source, besides: refs) ?? []
        }
      } onCancel: {
        task.cancel()
      }
      if !Task.isCancelled { self?.calls[key] = nil }
    }
    calls[key] = (work, true)
  }

  /// - Parameter refs: the elements that have got earlier updates.
  /// - Returns: the elements that have got this one.
  private func receive(
    _ update: ImageTask.Update, ofFailed source: String, besides refs: [String]
  ) async -> [String] {
    let state: ImageState
    switch update {
    case .progress: return refs
    case .image(let image): state = .loaded(url: source, image.format, image.size, .memory)
    case .failed(let error): state = .failed(url: source, reason: "\(error)")
    }
    if let url { knownPictures.add(state, at: url) }
    // An element that comes later asks anew, unless the picture has come.
    let all = refs + (failedPictures.removeValue(forKey: source) ?? [])
    for ref in all { await receive(update, of: ref, source) }
    return all
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

extension PageInstance {
  /// The largest length of a document in bytes; a longer one is refused.
  private static let documentLimit: Int64 = 8 << 20

  /// Returns the bytes of the document that a `web` element shows, or `nil` before they have come.
  ///
  /// - Parameter ref: the element's ref in ``tree``.
  public func document(of ref: String) -> [UInt8]? { documents[ref] }

  /// Loads the document that a `web` element names, so that the app's web view can show it offline too.
  func loadDocument(of ref: String) {
    guard let source = newSource(of: ref) else { return }
    documents[ref] = nil
    setSource(.loading(url: source), of: ref)
    sourceTasks[ref] = Task { @PageActor [weak self] in
      guard let self else { return }
      await self.tell(ref, "pagestart", ["url": .string(source)])
      for await update in self.counted(for: ResourceRequest(source, base: self.url, type: .page)) {
        guard self.tree[ref]?.source?.url == source, !Task.isCancelled else { return }
        await self.receive(update, of: ref, source)
      }
      if !Task.isCancelled { self.sourceTasks[ref] = nil }
    }
  }

  /// Loads the document of a `web` element again.
  func reloadDocument(of ref: String) {
    guard tree[ref]?.type == "web" else { return }
    setSource(nil, of: ref)
    loadDocument(of: ref)
  }

  private func receive(_ update: ResourceUpdate, of ref: String, _ source: String) async {
    do {
      let loaded: Resource
      switch update {
      case .cached(let found), .network(let found): loaded = found
      case .notModified: return
      case .failed(let failure):
        // A document that is shown stays.
        if documents[ref] != nil { return }
        throw failure.error ?? DescribedError(of: source, status: failure.answer?.status ?? 0)
      }
      guard loaded.status < 400 else { throw DescribedError(of: source, status: loaded.status) }
      let bytes = try await loaded.body.collect(upTo: Self.documentLimit)
      guard tree[ref]?.source?.url == source else { return }
      documents[ref] = bytes
      let type = loaded.response.headerFields[.contentType]
      setSource(.document(url: source, contentType: type, length: bytes.count), of: ref)
      await tell(ref, "pagefinish", ["url": .string(source), "canGoBack": false, "canGoForward": false])
    } catch {
      guard tree[ref]?.source?.url == source, documents[ref] == nil else { return }
      setSource(.failed(url: source, reason: "\(error)"), of: ref)
      await tell(ref, "error", ["type": "page", "errorMsg": .string("\(error)")])
    }
  }
}

extension PageInstance {
  /// The largest depth of embedded pages: a page that embeds itself would never end.
  private static let depthLimit = 8
  private static let countLimit = 64

  /// Opens the page that an `embed` element names, as every page is opened.
  func loadEmbedded(of ref: String) {
    guard let source = newSource(of: ref) else { return }
    let former = embedded.removeValue(forKey: ref)
    setSource(.loading(url: source), of: ref)
    sourceTasks[ref] = Task { @PageActor [weak self] in
      await former?.destroy()
      guard let self, !Task.isCancelled else { return }
      do {
        try await self.openEmbedded(source, in: ref)
      } catch {
        if self.tree[ref]?.source?.url == source, !Task.isCancelled {
          self.setSource(.failed(url: source, reason: "\(error)"), of: ref)
        }
      }
      if !Task.isCancelled { self.sourceTasks[ref] = nil }
    }
  }

  private func openEmbedded(_ source: String, in ref: String) async throws {
    guard embeddingDepth < Self.depthLimit else {
      throw DescribedError("pages are embedded more than \(Self.depthLimit) deep in one another")
    }
    guard embedded.count < Self.countLimit else {
      throw DescribedError("the page embeds more than \(Self.countLimit) others")
    }
    guard let target = resolve(source) else { throw PageError.invalidURL(source) }
    let page = environment.page(registry: ownRegistry)
    page.embeddingDepth = embeddingDepth + 1
    (page.embedder, page.embedderRef) = (self, ref)
    page.inheritedView = view
    page.partition = partition
    page.knownPictures = knownPictures
    embedded[ref] = page
    if isShown { page.appear() }
    setSource(.page(url: source, id: page.id), of: ref)
    try await page.renderByURL(target.text, options: PageOptions(), data: [:])
  }
}
