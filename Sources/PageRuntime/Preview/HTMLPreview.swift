import PageCore
import ScriptEngine

/// A page's elements as a document that a browser shows: for looking at, not for using.
public struct HTMLPreview: Sendable {
  /// The width that pages are designed for; everything is scaled from there.
  public static let designWidth = 750.0

  private let tree: ElementTree
  private let title: String
  private let resource: @Sendable (String) -> String

  /// - Parameter resource: the URL at which a browser finds what the page calls so.
  public init(_ tree: ElementTree, title: String, resource: @escaping @Sendable (String) -> String = { $0 }) {
    self.tree = tree
    self.title = title
    self.resource = resource
  }

  /// The whole document.
  public var html: String {
    """
    <!doctype html>
    <html lang="en"><head><meta charset="utf-8"><title>\(title.escaped)</title>
    <meta name="viewport" content="width=750">
    <style>\(Self.styles)</style></head>
    <body>\(body)</body></html>

    """
  }

  /// The elements alone.
  public var body: String {
    guard let root = tree.root else { return "" }
    var output = ""
    // What is still to be written; the last comes first. No recursion: scripts decide how deep it is.
    var waiting: [Step] = [.element(root)]
    while let step = waiting.popLast() {
      switch step {
      case .end(let tag): output += "</\(tag)>"
      case .element(let ref):
        guard let element = tree[ref] else { continue }
        let tag = Self.tag(of: element)
        output += "<\(tag)\(attributes(of: element))>"
        output += content(of: element)
        if Self.isVoid(tag) { continue }
        waiting.append(.end(tag))
        waiting += element.children.reversed().map { .element($0) }
      }
    }
    return output
  }

  private enum Step {
    case element(String)
    case end(String)
  }

  // MARK: Elements

  private static func tag(of element: ElementTree.Element) -> String {
    switch element.type {
    case "image", "img": "img"
    case "input": "input"
    case "textarea": "textarea"
    case "a": "a"
    case "video": "video"
    case "web": "iframe"
    default: "div"
    }
  }

  private static func isVoid(_ tag: String) -> Bool { tag == "img" || tag == "input" }

  private func content(of element: ElementTree.Element) -> String {
    switch element.type {
    case "text", "textarea": element.text("value").escaped
    case "switch": element.attributes["checked"] == true || element.attributes["checked"] == "true" ? "●" : "○"
    default: ""
    }
  }

  private func attributes(of element: ElementTree.Element) -> String {
    var result = " data-ref=\"\(element.ref.escaped)\" class=\"w-\(element.type.classSafe)\""
    let style = StyleSheet.inline(element.style)
    if !style.isEmpty { result += " style=\"\(style.escaped)\"" }
    func add(_ name: String, _ value: String) {
      if !value.isEmpty { result += " \(name)=\"\(value.escaped)\"" }
    }
    switch element.type {
    case "image", "img":
      add("src", element.text("src").isEmpty ? "" : resource(element.text("src")))
      add("alt", element.text("alt"))
      add("data-resize", element.text("resize"))
    case "input":
      add("value", element.text("value"))
      add("placeholder", element.text("placeholder"))
      add(
        "type", ["password", "email", "tel", "number", "date", "time"].first { $0 == element.text("type") } ?? "text")
    case "textarea": add("placeholder", element.text("placeholder"))
    case "video": add("poster", element.text("poster").isEmpty ? "" : resource(element.text("poster")))
    // Other people's pages are named, not run.
    case "web": add("title", element.text("src"))
    default: break
    }
    if !element.events.isEmpty { add("data-events", element.events.sorted().joined(separator: " ")) }
    return result
  }

  private static let styles = """
    *{box-sizing:border-box;margin:0;padding:0}body{width:750px;font:32px/1.3 system-ui,sans-serif;background:#fff;overflow-x:hidden}
    div,a,img,input,textarea,video,iframe{display:flex;flex-direction:column;position:relative;flex-shrink:0;border:0 solid #000;min-width:0}
    a{color:inherit;text-decoration:none}.w-text{display:block;white-space:pre-wrap;overflow-wrap:anywhere}
    .w-scroller,.w-list,.w-waterfall{overflow:auto}.w-slider,.w-cycleslider{overflow:hidden}.w-indicator,.w-loading-indicator{display:none}
    img{object-fit:fill}img[data-resize=contain]{object-fit:contain}img[data-resize=cover]{object-fit:cover}
    """
}

extension ElementTree.Element {
  fileprivate func text(_ name: String) -> String { attributes[name]?.plainText ?? "" }
}

extension String {
  /// For HTML's text and quoted attributes.
  var escaped: String {
    guard utf8.contains(where: { "&<>\"'".utf8.contains($0) }) else { return self }
    return replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;").replacing("'", with: "&#39;")
  }

  fileprivate var classSafe: String { filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") } }
}
