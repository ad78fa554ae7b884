import Foundation
import HTTPCache
import HTTPTransport
import ScriptEngine

extension PageInstance {
  /// Returns the page as it is now, as an HTML document for a browser.
  ///
  /// - Parameters:
  ///   - title: the document's title; `nil` for the page's URL.
  ///   - embedding: `true` puts the pictures and fonts that the page has loaded into the document, so that it needs no other
  ///     file; `false` puts their URLs there.
  ///   - limit: the largest number of bytes that one page embeds; URLs stand for the rest.
  package func preview(title: String? = nil, embedding: Bool = true, limit: Int = 64 << 20) async -> HTMLPreview {
    let (tree, rules, url) = (tree, rules, url)
    let resources = embedding ? await embeddedResources(limit: limit) : [:]
    var pages: [String: HTMLPreview] = [:]
    for (ref, page) in embedded { pages[ref] = await page.preview(embedding: embedding, limit: limit) }
    return HTMLPreview(
      tree, title: title ?? url?.text ?? "page", rules: rules, embedded: pages, viewport: viewport
    ) { reference in
      if let data = resources[reference] { return data }
      if reference.isDataURL { return reference }
      return url.map { $0.resolving(reference)?.text } ?? PageURL(reference)?.text
    }
  }

  /// `data:` URLs by the page's references.
  private func embeddedResources(limit: Int) async -> [String: String] {
    var result: [String: String] = [:]
    var room = limit
    func add(_ reference: String, _ type: String, _ bytes: [UInt8]?) {
      guard let bytes, !bytes.isEmpty, bytes.count <= room else { return }
      room -= bytes.count
      result[reference] = "data:\(type);base64,\(Data(bytes).base64EncodedString())"
    }
    for element in tree.root.map({ tree.preorder(from: $0) }) ?? [] {
      guard case .loaded(let reference, let format, _, _)? = element.image, result[reference] == nil else { continue }
      add(reference, format.mediaType, await picture(reference))
    }
    for rule in rules where rule.isLoaded {
      guard let reference = rule.source, result[reference] == nil else { continue }
      add(reference, "font/ttf", await stored(ResourceRequest(reference, type: .font, behavior: .cacheFirst)))
    }
    return result
  }

  /// The bytes of a picture, from the page's image loader.
  private func picture(_ reference: String) async -> [UInt8]? {
    let loader = registry.handlers.images
    if loader is DefaultImageLoader {
      return await stored(ResourceRequest(reference, type: .image, behavior: .cacheFirst))
    }
    var bytes: [UInt8]?
    for await update in loader.load(ImageRequest(url: reference, pageURL: url, page: id)).updates {
      if case .image(let image) = update { bytes = image.bytes }
    }
    return bytes
  }

  /// The bytes of something that the page has loaded before, and that is most likely in the cache.
  private func stored(_ request: ResourceRequest) async -> [UInt8]? {
    for await update in updates(for: request) {
      switch update {
      case .cached(let loaded), .network(let loaded), .notModified(let loaded): return try? await loaded.body.collect()
      case .failed: return nil
      }
    }
    return nil
  }
}
