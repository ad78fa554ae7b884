import Foundation
import HTTPCache
import HTTPTransport
import ScriptEngine

/// A page's elements as an HTML document, to be looked at in a browser.
///
/// Nothing in it runs: texts of the page are escaped or left out, and the document's Content-Security-Policy forbids
/// scripts.
package struct HTMLPreview: Sendable {
  let tree: ElementTree
  package let title: String
  private let rules: [PageRule]
  let embedded: [String: HTMLPreview]
  /// The width of the design, which is the window's, in units.
  private let width: Double
  let screen: ScreenLayout
  let resource: @Sendable (String) -> String?

  /// - Parameters:
  ///   - rules: the page's rules, for its fonts.
  ///   - embedded: the pages that elements show, by the elements' refs.
  ///   - viewport: the argument of the page's `meta.setViewport`; its `width` is the width of the design, 750 by default.
  ///   - resource: gives the URL for a reference of the page, or `nil` to leave it out. `http`, `https`, `file`, and `data`
  ///     for pictures and fonts are allowed; others are left out.
  package init(
    _ tree: ElementTree, title: String, rules: [PageRule] = [], embedded: [String: HTMLPreview] = [:],
    viewport: ScriptValue = [:], resource: @escaping @Sendable (String) -> String? = { $0 }
  ) {
    self.tree = tree.expanded
    self.title = title
    self.rules = rules
    self.embedded = embedded
    width = Self.width(of: viewport)
    screen = ScreenLayout(self.tree, filling: Set(embedded.filter(\.value.screen.isFilled).keys))
    self.resource = resource
  }

  /// The whole document.
  package var html: String {
    """
    <!doctype html>
    <html lang="en"><head><meta charset="utf-8"><title>\(title.escaped)</title>
    <meta http-equiv="Content-Security-Policy" content="\(Self.policy)">
    <meta name="viewport" content="width=device-width">
    <style>
    \(scale)\(Self.styles)
    \(fonts)</style></head>
    <body\(bodyClass.isEmpty ? "" : " class=\"\(bodyClass)\"")>\(body)</body></html>

    """
  }

  /// The class of the document's body; empty for none.
  package var bodyClass: String { screen.isFilled ? "screen" : "" }

  /// The styles that a page has for itself: the size of a unit, and its fonts.
  package var ownStyles: String { scale + fonts }

  private static let standardWidth = 750.0

  private static func width(of viewport: ScriptValue) -> Double {
    guard let width = viewport["width"].plainText.flatMap({ Double($0) }), (100...5_000).contains(width) else {
      return standardWidth
    }
    return width
  }

  /// The size of a unit, which is a hundredth of a `rem`: the page is as wide as the window, and at most 750 pixels.
  private var scale: String {
    let size = String(format: "%.4f", 100 * Self.standardWidth / width)
    let ratio = String(format: "%.4f", width / 100)
    let body = "\(ratio)rem"
    return "html{background:#e4e4e4;font-size:min(\(size)px,calc(100vw / \(ratio)));"
      + "--x:max(0px,calc((100vw - \(body)) / 2))}body{width:\(body)}\n"
  }

  /// The elements, without the document around them.
  var body: String { elements(below: "") }

  /// - Parameter path: the prefix of the refs: the refs of the elements that the page is embedded in.
  private func elements(below path: String) -> String {
    guard let root = tree.root else { return "" }
    var output = ""
    // The elements that are left, the next one last, and the ends of elements. No recursion: scripts decide how deep the
    // tree is.
    var waiting: [(ref: String?, end: String)] = [(root, "")]
    let styles = InlineStyle.Texts()
    while let (ref, end) = waiting.popLast() {
      output += end
      guard let ref, let element = tree[ref] else { continue }
      let shown = PreviewElement(
        element: element, context: .init(of: element, in: tree, screen), path: path, resource: resource,
        styles: styles)
      output += shown.start
      if shown.isVoid { continue }
      if let page = embedded[ref] { output += page.elements(below: "\(path)\(ref)/") }
      waiting.append((nil, shown.end))
      waiting += element.children.reversed().map { ($0, "") }
    }
    return output
  }

  private var fonts: String {
    let own = rules.compactMap { rule -> String? in
      guard rule.kind.lowercased() == "fontface", let family = rule.values["fontFamily"].string,
        let name = InlineStyle.family(family), let url = rule.source.flatMap(resource)?.safeURL
      else { return nil }
      return "@font-face{font-family:\(name);src:url(\"\(url.quotedForStyles)\")}\n"
    }
    return (own + embedded.values.map(\.fonts).sorted()).joined()
  }

  private static let policy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src http: https: file: data:; font-src http: https: file: data:"

  /// The default styles of elements.
  package static let styles = """
    *{box-sizing:border-box;margin:0;padding:0;scrollbar-width:none}
    body{margin-left:var(--x);display:flex;flex-direction:column;min-height:100vh;background:#fff}
    body.screen{height:100vh}
    body>*,.w-embed>*{width:100%}body>:not([data-height]),.w-embed>:not([data-height]){flex-grow:1}
    body>:not([data-height]){min-height:100vh}.w-embed>:not([data-height]){min-height:100%}
    [data-ref]{display:flex;flex-direction:column;align-items:stretch;align-content:flex-start;position:relative;flex-shrink:0;min-width:0;min-height:0;border:0 solid #000;font:.32rem \(families);letter-spacing:normal;color:#000;text-align:start;text-transform:none;word-break:normal}
    .w-richtext [data-ref]{font:inherit;line-height:inherit!important;letter-spacing:inherit;color:inherit;text-align:inherit;text-transform:inherit;word-break:inherit}
    .w-richtext[style*="line-height:"] [data-ref]{line-height:0!important}
    .w-text,.w-richtext{display:block;max-width:100%;white-space:pre-wrap;overflow-wrap:anywhere}
    .w-richtext [data-ref]{display:inline}.w-richtext :is(.w-image,.w-img){display:inline-block;vertical-align:middle}
    [data-bounded=root]{flex-shrink:1}
    img,video{contain:size}img{object-fit:fill}img[data-resize=contain]{object-fit:contain}img[data-resize=cover]{object-fit:cover}
    .w-header{position:sticky;top:0;z-index:1}
    .w-waterfall{display:block}.columns>*{break-inside:avoid;width:100%}
    .columns>.w-header{column-span:all;width:auto;margin:0 calc(0px - var(--r)) 0 calc(0px - var(--l))}
    [data-scroll]{flex-wrap:nowrap!important;justify-content:flex-start!important}[data-scroll]>*{flex:0 0 auto!important}
    [data-scroll=down]{flex-direction:column!important;overflow:hidden auto}
    [data-scroll=across]{flex-direction:row!important;overflow:auto hidden}
    [data-slides]{display:grid;grid-template:minmax(0,1fr)/minmax(0,1fr);place-items:stretch!important;overflow:hidden}
    [data-slides]>:not(.w-indicator){grid-area:1/1;place-self:stretch!important;min-width:100%!important;max-width:100%!important;min-height:100%!important}
    [data-slides=own]>:not(.w-indicator){height:auto!important}
    [data-slide=hidden]{visibility:hidden!important}[data-hidden]{display:none!important}
    [data-slides]>.w-indicator{position:absolute!important}.w-indicator{flex-direction:row;justify-content:center;align-items:center;gap:.1rem}.w-indicator>i{border-radius:50%}
    .w-refresh,.w-loading{display:none}[data-shown]{display:flex}
    .w-input,.w-textarea{contain:inline-size;contain-intrinsic-width:0px;background:none;outline:0;resize:none}
    .w-input{min-height:.6rem}::placeholder{color:var(--p,#999);opacity:1}
    .w-switch{width:1.02rem;height:.62rem;border-radius:.31rem;background:#ddd}
    .w-switch::after{content:"";position:absolute;left:.04rem;top:.04rem;width:.54rem;height:.54rem;border-radius:50%;background:#fff;box-shadow:0 .02rem .06rem #0004}
    .w-switch[data-on]{background:#4cd864}.w-switch[data-on]::after{left:.44rem}
    .w-video{background:#000}.w-web,.w-embed{background:#eee}
    .w-web::after,.w-embed:empty::after{content:attr(data-label);margin:auto;padding:.2rem;font-size:.24rem;color:#666;overflow-wrap:anywhere}
    """

  /// Devices have fonts for Chinese, Japanese and Korean text; a browser finds one by its name. `Sans` is fontconfig's
  /// default, as in the page's layout; Chromium on Linux passes over a `sans-serif` that others follow.
  private static let families =
    "Sans,'Helvetica Neue',Helvetica,Arial,'PingFang SC','Hiragino Sans GB','Microsoft YaHei','Noto Sans CJK SC',"
    + "'Noto Sans SC','Source Han Sans SC','WenQuanYi Micro Hei',system-ui,sans-serif"
}

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
      guard case .loaded(let reference, let name, _, _)? = element.image, result[reference] == nil,
        let format = ImageFormat(rawValue: name)
      else { continue }
      add(reference, format.mediaType, await pictureBytes(reference))
    }
    for rule in rules where rule.isLoaded {
      guard let reference = rule.source, result[reference] == nil else { continue }
      add(reference, "font/ttf", await stored(ResourceRequest(reference, type: .font, behavior: .cacheFirst)))
    }
    return result
  }

  /// The bytes of a picture, from the page's image loader.
  func pictureBytes(_ reference: String) async -> [UInt8]? {
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

  /// The largest length of a file that a view of a page has in it, in bytes.
  private static let storedLimit: Int64 = 64 << 20

  /// The bytes of something that the page has loaded before, and that is most likely in the cache.
  func stored(_ request: ResourceRequest) async -> [UInt8]? {
    for await update in updates(for: request) {
      switch update {
      case .cached(let loaded), .network(let loaded), .notModified(let loaded):
        return try? await loaded.body.collect(upTo: Self.storedLimit)
      case .failed: return nil
      }
    }
    return nil
  }
}
