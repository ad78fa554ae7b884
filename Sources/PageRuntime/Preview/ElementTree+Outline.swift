import HTTPCache
import ScriptEngine

extension ElementTree {
  /// The tree as text, with a line for each element, for people and for tests. A `recycle-list` has its cells.
  public var outline: String { outline(withStyles: false) }

  /// Returns the tree as text, with a line for each element.
  ///
  /// - Parameter withStyles: `true` ends each line with the element's style: `{color: red; fontSize: 32}`.
  public func outline(withStyles: Bool) -> String {
    let tree = expanded
    guard let root = tree.root else { return "" }
    return tree.preorder(from: root).map { element in
      let indentation = String(repeating: "  ", count: element.depth)
      let events = element.events.isEmpty ? "" : " @" + element.events.sorted().joined(separator: ",")
      let image = element.image.map { " (\($0.outlineText))" } ?? ""
      let source = element.source.map { " (\($0.outlineText))" } ?? ""
      let style = withStyles ? element.style.styleText : ""
      return
        "\(indentation)\(element.type) #\(element.ref)\(element.attributes.outlineText)\(events)\(image)\(source)\(style)"
    }.joined(separator: "\n")
  }
}

extension ImageState {
  fileprivate var outlineText: String {
    switch self {
    case .loading: "loading"
    case .loaded(_, let format, let size, let cache):
      "\(format.rawValue) \(size.map { "\($0.width)×\($0.height)" } ?? "of no size"), from \(cache.rawValue)"
    case .failed(_, let reason): "failed: \(reason)"
    }
  }
}

extension SourceState {
  fileprivate var outlineText: String {
    switch self {
    case .loading: "loading"
    case .page(_, let id): "page \(id)"
    case .document(_, let type, let length): "\(type ?? "document"), \(length) bytes"
    case .failed(_, let reason): "failed: \(reason)"
    }
  }
}
