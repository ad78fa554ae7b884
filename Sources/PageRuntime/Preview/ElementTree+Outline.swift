import HTTPCache
import HTTPTransport
import ScriptEngine

extension ElementTree {
  /// The tree as text, with a line for each element, for people and for tests.
  public var outline: String { outline(withStyles: false) }

  /// Returns the tree as text, with a line for each element.
  ///
  /// - Parameter withStyles: `true` ends each line with the element's style: `{color: red; fontSize: 32}`.
  public func outline(withStyles: Bool) -> String {
    guard let root else { return "" }
    return preorder(from: root).map { element in
      let indentation = String(repeating: "  ", count: element.depth)
      let events = element.events.isEmpty ? "" : " @" + element.events.sorted().joined(separator: ",")
      let image = element.image.map { " (\($0.outlineText))" } ?? ""
      let source = element.source.map { " (\($0.outlineText))" } ?? ""
      let style = withStyles ? element.style.styleText : ""
      return
        "\(indentation)\(element.type) #\(element.ref)\(element.attributes.outlineText)\(events)\(image)\(source)\(style)"
    }.joined(separator: "\n")
  }

  /// The tree as JSON, in the form in which scripts describe elements: `{ref, type, attr, style, event, children}`, and
  /// `image` for pictures.
  public var json: JSONValue {
    guard let root else { return .null }
    var made: [String: JSONValue] = [:]
    // Children before parents: no recursion.
    for element in preorder(from: root).reversed() {
      var members: [String: JSONValue] = [
        "ref": .string(element.ref), "type": .string(element.type), "attr": ScriptValue.object(element.attributes).json,
        "style": ScriptValue.object(element.style).json,
      ]
      if !element.events.isEmpty { members["event"] = .array(element.events.sorted().map { .string($0) }) }
      if !element.children.isEmpty {
        members["children"] = .array(element.children.compactMap { made.removeValue(forKey: $0) })
      }
      if let image = element.image { members["image"] = image.json }
      made[element.ref] = .object(members)
    }
    return made[root] ?? .null
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

  fileprivate var json: JSONValue {
    switch self {
    case .loading: .object(["state": .string("loading")])
    case .loaded(_, let format, let size, let cache):
      .object([
        "state": .string("loaded"), "format": .string(format.rawValue), "from": .string(cache.rawValue),
        "width": size.map { .integer(Int64($0.width)) } ?? .null,
        "height": size.map { .integer(Int64($0.height)) } ?? .null,
      ])
    case .failed(_, let reason): .object(["state": .string("failed"), "reason": .string(reason)])
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
