import HTTPTransport
import ScriptEngine

/// An error of showing a page in an element.
enum EmbeddingError: Error, CustomStringConvertible {
  case tooDeep(Int)
  case tooMany(Int)

  var description: String {
    switch self {
    case .tooDeep(let limit): "pages are embedded more than \(limit) deep in one another"
    case .tooMany(let limit): "the page embeds more than \(limit) others"
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
      if self.tree[ref]?.source?.url == source { self.sourceTasks[ref] = nil }
    }
  }

  private func openEmbedded(_ source: String, in ref: String) async throws {
    guard embeddingDepth < Self.depthLimit else { throw EmbeddingError.tooDeep(Self.depthLimit) }
    guard embedded.count < Self.countLimit else { throw EmbeddingError.tooMany(Self.countLimit) }
    guard let target = resolve(source) else { throw PageError.invalidURL(source) }
    let page = environment.page(registry: ownRegistry)
    page.embeddingDepth = embeddingDepth + 1
    page.inheritedView = view
    page.partition = partition
    embedded[ref] = page
    if isShown { page.appear() }
    setSource(.page(url: source, id: page.id), of: ref)
    try await page.renderByURL(target.text, options: PageOptions(), data: [:])
  }
}
