import Foundation
import HTTPCache
import HTTPTransport
import ScriptEngine

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
