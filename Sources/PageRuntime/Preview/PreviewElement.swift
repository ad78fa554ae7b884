import ScriptEngine

/// An element as HTML: its tag, and its content before its children.
struct PreviewElement {
  let element: ElementTree.Element
  let context: Context
  /// The prefix of its ref in the document.
  let path: String
  let tag: String
  /// The URL of an image's picture; `nil` if it failed or there is none.
  private let picture: String?
  /// Gives the URL for a reference of the page, or `nil` to leave it out.
  private let resource: (String) -> String?
  private let styles: InlineStyle.Texts

  /// - Parameter styles: the styles of elements that were written before.
  init(
    element: ElementTree.Element, context: Context, path: String, resource: @escaping (String) -> String?,
    styles: InlineStyle.Texts
  ) {
    (self.element, self.context, self.path, self.resource, self.styles) = (element, context, path, resource, styles)
    picture = Self.picture(of: element, resource)
    tag =
      switch element.type {
      // Browsers draw a frame for a missing picture; devices show nothing.
      case "image", "img": picture == nil ? "div" : "img"
      case "input": "input"
      case "textarea": "textarea"
      case "video": "video"
      default: "div"
      }
  }

  /// The facts that follow from other elements.
  struct Context: Hashable {
    let isScroller: Bool
    let isBounded: Bool
    let isSized: Bool
    /// A slider shows one of its children, and is as high as the highest one.
    var isHiddenSlide = false
    /// Of an indicator: the number of its slider's slides, and the index of the one that is shown.
    var slides = 0
    var shownSlide = 0

    init(of element: ElementTree.Element, in tree: ElementTree, _ screen: ScreenLayout) {
      isScroller = screen.scrollers.contains(element.ref)
      isBounded = screen.bounded.contains(element.ref)
      isSized = screen.sized.contains(element.ref)
      guard let parent = element.parent.flatMap({ tree[$0] }), PreviewElement.sliders.contains(parent.type) else {
        return
      }
      let all = parent.children.filter { tree[$0]?.type != "indicator" }
      let shown = parent.attributes["index"]?.plainText.flatMap { Int($0) } ?? 0
      if element.type == "indicator" {
        (slides, shownSlide) = (all.count, shown)
      } else {
        isHiddenSlide = element.ref != (all.indices.contains(shown) ? all[shown] : all.first)
      }
    }
  }

  /// An attribute with its text, which is not escaped.
  typealias Attribute = (name: String, value: String)

  var isVoid: Bool { tag == "img" || tag == "input" }

  /// The beginning, up to its children.
  var start: String { start(with: attributes) }

  /// - Parameter attributes: ``attributes``.
  func start(with attributes: [Attribute]) -> String {
    let all = attributes.map { " \($0.name)=\"\($0.value.escaped)\"" }.joined()
    return "<\(tag)\(all)>\(content)\(columns.map { "<div \($0)>" } ?? "")"
  }

  /// The end, after its children.
  var end: String { "\(columns == nil ? "" : "</div>")</\(tag)>" }

  /// The attributes of an element around a waterfall's children: a browser that scrolls the columns themselves puts what
  /// does not fit into further columns beside them.
  var columns: String? {
    guard element.type == "waterfall" else { return nil }
    func length(_ name: String) -> String? {
      Double(text(name)).flatMap { $0.isFinite && (0...1e6).contains($0) ? InlineStyle.units($0) : nil }
    }
    let (count, width) = (Int(text("columnCount")).flatMap { $0 > 0 ? min($0, 100) : nil }, length("columnWidth"))
    // Without either there is one column, as wide as all of it.
    let (left, right) = count == nil && width == nil ? (nil, nil) : (length("leftGap"), length("rightGap"))
    var style = ["column-count:\(count.map(String.init) ?? (width == nil ? "1" : "auto"))"]
    if let width { style.append("column-width:\(width)") }
    style.append("column-gap:\(length("columnGap") ?? InlineStyle.units(32))")
    func gap(_ length: String?) -> String { length.map { $0 == "0" ? "0px" : $0 } ?? "0px" }
    style += ["--l:\(gap(left))", "--r:\(gap(right))", "padding:0 var(--r) 0 var(--l)"]
    return "class=\"columns\" style=\"\(style.joined(separator: ";"))\""
  }

  private var content: String {
    // HTML §13.1.2.5: a line end at the beginning does not count.
    (tag == "textarea" && value.hasPrefix("\n") ? "\n" : "") + value.escaped + dots
  }

  /// The text in it, before its children, which is not escaped.
  var value: String { ["text", "span", "richtext", "textarea"].contains(element.type) ? text("value") : "" }

  var attributes: [Attribute] {
    var result: [Attribute] = [("data-ref", path + element.ref), ("class", "w-\(element.type.classSafe)")]
    let style = styles.declarations(of: element.style) + moreStyle
    func add(_ name: String, _ value: String?) {
      if let value, !value.isEmpty { result.append((name, value)) }
    }
    add("style", style.joined(separator: ";"))
    add("data-events", element.events.sorted().joined(separator: " "))
    switch element.type {
    case "image", "img":
      if case .failed? = element.image { add("data-failed", "yes") }
      if let picture {
        add("src", picture)
        // HTML §15.4.3: with an empty `alt` a browser that cannot load the picture shows nothing in its place.
        result.append(("alt", ""))
      }
      add("aria-label", text("alt"))
      add("data-resize", text("resize"))
    case "input":
      // A browser's own date and time fields show no placeholder.
      let types = ["password", "email", "tel", "number", "url"]
      add("type", types.first { $0 == text("type") } ?? "text")
      add("value", text("value"))
      add("placeholder", text("placeholder"))
    case "textarea":
      add("placeholder", text("placeholder"))
      add("rows", Int(text("rows")).map { String(min(max($0, 1), 100)) } ?? "2")
    case "switch": add("data-on", isOn("checked") ? "yes" : nil)
    case "video": add("poster", Self.url("poster", of: element, resource))
    // Other people's pages are named, not run.
    case "web", "embed": add("data-label", text("src"))
    case "refresh", "loading": add("data-shown", text("display") == "show" ? "yes" : nil)
    case "scroller", "list", "recycle-list", "waterfall", "hlist", "vlist", "recycler", "simplelist":
      add("data-scroll", scrolling)
    case "slider", "cycleslider", "slider-neighbor":
      add("data-slides", element.style["height"] == nil ? "yes" : "own")
    default: break
    }
    if isOn("disabled"), element.type == "input" || element.type == "textarea" { add("disabled", "disabled") }
    if element.parent == nil, hasOwnHeight { add("data-height", "own") }
    if context.isBounded { add("data-bounded", element.parent == nil ? "root" : "yes") }
    if context.isHiddenSlide { add("data-slide", "hidden") }
    if element.style["display"]?.plainText == "none" { add("data-hidden", "yes") }
    return result
  }

  // MARK: Computed from several attributes

  private static func picture(of element: ElementTree.Element, _ resource: (String) -> String?) -> String? {
    guard element.type == "image" || element.type == "img" else { return nil }
    if case .failed? = element.image { return nil }
    return url("src", of: element, resource) ?? url("placeholder", of: element, resource)
  }

  /// `true` if the body has a height of its own. A share of the window's height does not count.
  private var hasOwnHeight: Bool {
    ["height", "maxHeight"].contains { element.style[$0]?.plainText.map { !$0.isEmpty && !$0.hasSuffix("%") } ?? false }
  }

  private var moreStyle: [String] {
    var more = ownSize
    // A list or scroller takes what the others leave of the screen.
    if context.isScroller || takesWidth, element.style["flex"] == nil,
      element.style["flexGrow"] == nil
    {
      more.append("flex:1")
    } else if context.isSized {
      // Where the height around it follows from what is in there, the height of an element with a share counts.
      more.append("flex-basis:auto")
    }
    return more
  }

  /// Sizes that a browser would give to texts, fields and pictures by rules of its own.
  private var ownSize: [String] {
    var result: [String] = []
    switch element.type {
    case "text", "richtext": if has("width"), !has("maxWidth", "max-width") { result.append("max-width:none") }
    case "input": if has("height"), !has("minHeight", "min-height") { result.append("min-height:0") }
    default: break
    }
    // An absolute element fills what is between its offsets.
    if tag != "div", element.style["position"]?.plainText == "absolute", !has("aspectRatio", "aspect-ratio") {
      if has("left"), has("right"), !has("width") { result.append("width:-webkit-fill-available") }
      if has("top"), has("bottom"), !has("height") { result.append("height:-webkit-fill-available") }
    }
    return result
  }

  /// `true` if the style has a value for one of the names.
  private func has(_ names: String...) -> Bool {
    names.contains { element.style[$0]?.plainText.map { !$0.isEmpty } ?? false }
  }

  /// `true` for what scrolls across without the size that counts for it (`RenderScroller::GetDefaultStyle`).
  private var takesWidth: Bool {
    guard scrolling == "across", element.type != "waterfall", Self.scrollers.contains(element.type) else {
      return false
    }
    return element.style[element.type == "scroller" ? "height" : "width"] == nil
  }

  private static let scrollers = ScreenLayout.scrollerTypes.union(["hlist"])

  /// The direction in which an element scrolls that has a height of its own or one that follows from the screen's; others
  /// scroll with the page.
  private var scrolling: String? {
    if text("scrollDirection") == "horizontal" || element.type == "hlist" { return "across" }
    if context.isScroller { return "down" }
    return element.style["height"] != nil || element.style["maxHeight"] != nil ? "down" : nil
  }

  private static let sliders: Set<String> = ["slider", "cycleslider", "slider-neighbor"]

  /// One for each child of the slider.
  var dots: String {
    guard context.slides > 0 else { return "" }
    let size = element.style["itemSize"]?.plainText.flatMap { Double($0) } ?? 12
    func color(_ name: String, _ standard: String) -> String {
      element.style[name]?.plainText.flatMap { InlineStyle.safe($0) } ?? standard
    }
    return (0..<min(context.slides, 50)).map { index in
      let color = index == context.shownSlide ? color("itemSelectedColor", "#fff") : color("itemColor", "#ffffff80")
      let style = "width:\(InlineStyle.units(size));height:\(InlineStyle.units(size));background:\(color)"
      return "<i style=\"\(style.escaped)\"></i>"
    }.joined()
  }

  private func text(_ name: String) -> String { element.attributes[name]?.plainText ?? "" }
  private func isOn(_ name: String) -> Bool { text(name) == "true" }

  private static func url(
    _ name: String, of element: ElementTree.Element, _ resource: (String) -> String?
  ) -> String? {
    guard let text = element.attributes[name]?.plainText, !text.isEmpty else { return nil }
    return resource(text).flatMap(\.safeURL)
  }
}

extension String {
  /// The text, escaped for HTML text and quoted attributes.
  package var escaped: String {
    guard utf8.contains(where: { "&<>\"'".utf8.contains($0) }) else { return self }
    return replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;").replacing("'", with: "&#39;")
  }

  fileprivate var classSafe: String { filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") } }
}

extension String {
  /// The text as the URL of a picture or a font in a preview; `nil` for a URL that would run, or that a browser cannot load
  /// by itself.
  var safeURL: String? {
    // Browsers remove these bytes before they read the scheme.
    guard !isEmpty, !utf8.contains(where: { $0 <= 32 || $0 == 127 }) else { return nil }
    guard let colon = firstIndex(of: ":") else { return self }
    let scheme = self[..<colon].lowercased()
    if scheme.contains("/") || scheme.contains("?") || scheme.contains("#") { return self }
    switch scheme {
    case "http", "https", "file": return self
    case "data":
      let type = self[index(after: colon)...].prefix { $0 != ";" && $0 != "," }.lowercased()
      return ["image/", "font/", "application/font", "application/x-font", "application/octet-stream"]
        .contains { type.hasPrefix($0) } ? self : nil
    default: return nil
    }
  }

  /// The URL for `url("…")` in a style sheet, escaped so that it cannot end the string, the rule or the element.
  var quotedForStyles: String {
    utf8.reduce(into: "") { result, byte in
      if byte >= 0x80 || "\"'\\<>".utf8.contains(byte) || byte <= 32 {
        let digits = String(byte, radix: 16, uppercase: true)
        result += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
      } else {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
  }
}
