import Foundation
import HTTPCache
import HTTPTransport
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
      "\(format) \(size.map { "\($0.width)×\($0.height)" } ?? "of no size"), from \(cache.rawValue)"
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

extension ElementTree {
  /// The tree as JSON, in the form in which scripts describe elements: `{ref, type, attr, style, event, children}`, and
  /// `image` for pictures. A `recycle-list` has its cells.
  public var json: JSONValue {
    let tree = expanded
    guard let root = tree.root else { return .null }
    var made: [String: JSONValue] = [:]
    // Children before parents: no recursion.
    for element in tree.preorder(from: root).reversed() {
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

  /// The text of ``json``, in a quarter of the time.
  package var jsonText: [UInt8] {
    let tree = expanded
    guard let body = tree.body else { return Array("null".utf8) }
    var writer = JSONWriter()
    // The elements whose children are being written, without recursion.
    var begun: [(element: Element, written: Int)] = []
    writer.begin(body)
    begun.append((body, 0))
    while let (element, written) = begun.last {
      if written < element.children.count {
        begun[begun.count - 1].written += 1
        guard let child = tree[element.children[written]] else { continue }
        if written > 0 { writer.append(",") }
        writer.begin(child)
        begun.append((child, 0))
      } else {
        writer.end(element)
        begun.removeLast()
      }
    }
    return writer.bytes
  }
}

extension JSONWriter {
  /// Writes the members of an element up to its children.
  fileprivate mutating func begin(_ element: ElementTree.Element) {
    append("{\"attr\":")
    write(element.attributes)
    if !element.children.isEmpty { append(",\"children\":[") }
  }

  /// Writes the members of an element that come after its children.
  fileprivate mutating func end(_ element: ElementTree.Element) {
    if !element.children.isEmpty { append("]") }
    if !element.events.isEmpty {
      append(",\"event\":")
      _ = write(JSONValue.array(element.events.sorted().map { .string($0) }))
    }
    if let image = element.image {
      append(",\"image\":")
      _ = write(image.json)
    }
    append(",\"ref\":")
    write(element.ref)
    append(",\"style\":")
    write(element.style)
    append(",\"type\":")
    write(element.type)
    append("}")
  }

  private mutating func write(_ members: [String: ScriptValue]) {
    append("{")
    var isFirst = true
    for (name, value) in members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
    where value != .undefined {
      if !isFirst { append(",") }
      isFirst = false
      write(name)
      append(":")
      write(value)
    }
    append("}")
  }

  /// Writes a value as ``ScriptValue/json`` converts it.
  private mutating func write(_ value: ScriptValue) {
    switch value {
    case .string(let text): write(text)
    case .object(let members): write(members)
    case .array(let values):
      append("[")
      for (index, value) in values.enumerated() {
        if index > 0 { append(",") }
        write(value)
      }
      append("]")
    case .undefined, .null, .bool, .number, .data: _ = write(value.json)
    }
  }
}

extension ImageState {
  fileprivate var json: JSONValue { .object(members) }

  /// The members of a picture in the JSON of its tree: its `state`, and `format`, `from`, `width` and `height`, or the
  /// `reason`.
  package var members: [String: JSONValue] {
    switch self {
    case .loading: ["state": .string("loading")]
    case .loaded(_, let format, let size, let cache):
      [
        "state": .string("loaded"), "format": .string(format), "from": .string(cache.rawValue),
        "width": size.map { .integer(Int64($0.width)) } ?? .null,
        "height": size.map { .integer(Int64($0.height)) } ?? .null,
      ]
    case .failed(_, let reason): ["state": .string("failed"), "reason": .string(reason)]
    }
  }
}

extension RenderCommand: CustomStringConvertible {
  /// The command in one line.
  public var description: String {
    switch self {
    case .createBody(let element): "createBody \(element.outlineText)"
    case .addElement(let parent, let element, let index):
      "addElement \(element.outlineText) in #\(parent)\(index.map { " at \($0)" } ?? "")"
    case .removeElement(let ref): "removeElement #\(ref)"
    case .moveElement(let ref, let parent, let index):
      "moveElement #\(ref) to #\(parent)\(index.map { " at \($0)" } ?? "")"
    case .updateAttributes(let ref, let changes): "updateAttrs #\(ref)\(changes.outlineText)"
    case .updateStyle(let ref, let changes): "updateStyle #\(ref)\(changes.outlineText)"
    case .addEvent(let ref, let type): "addEvent #\(ref) \(type)"
    case .removeEvent(let ref, let type): "removeEvent #\(ref) \(type)"
    case .createFinish: "createFinish"
    case .updateFinish: "updateFinish"
    case .refreshFinish: "refreshFinish"
    }
  }
}

extension ElementDescription {
  /// The element without its style, with the number of elements below it.
  fileprivate var outlineText: String {
    let events = events.isEmpty ? "" : " @" + events.sorted().joined(separator: ",")
    let below = elementsBelow
    return "\(type) #\(ref)\(attributes.outlineText)\(events)\(below == 0 ? "" : " (and \(below) below it)")"
  }

  private var elementsBelow: Int {
    var count = 0
    var waiting = children
    while let next = waiting.popLast() {
      count += 1
      waiting += next.children
    }
    return count
  }
}

extension [String: ScriptValue] {
  /// ` name="value"` for each member with a value, by name.
  var outlineText: String {
    sorted { $0.key < $1.key }.compactMap { name, value in
      value.isNothing ? nil : " \(name)=\(value.outlineText)"
    }.joined()
  }
}

extension [String: ScriptValue] {
  /// ` {color: red; fontSize: 32}`, by name; empty where no style has a value.
  var styleText: String {
    let styles = sorted { $0.key < $1.key }.compactMap { name, value in
      value.isNothing ? nil : "\(name): \((value.plainText ?? value.jsonText).oneLine)"
    }
    return styles.isEmpty ? "" : " {\(styles.joined(separator: "; "))}"
  }
}

extension String {
  /// The text in one line, clipped at 60 characters.
  fileprivate var oneLine: String {
    (count > 60 ? prefix(59) + "…" : self).replacing("\n", with: "⏎")
  }
}

extension ScriptValue {
  /// The value in quotes, in one line, clipped at 60 characters.
  var outlineText: String {
    "\"\((plainText ?? jsonText).oneLine)\""
  }
}
