import Foundation
import PageKit

extension ElementTree {
  /// A tree of elements as JSON: `{"type", "attr", "style", "event", "children"}`, whose refs count from 10.
  init(text: String) throws {
    var elements: [JSONValue] = []
    func add(_ value: ScriptValue, below parent: String?, depth: Int) -> String {
      let ref = "\(elements.count + 10)"
      let index = elements.count
      elements.append(.null)
      let children = (value["children"].array ?? []).map { add($0, below: ref, depth: depth + 1) }
      var members: [String: JSONValue] = [
        "ref": .string(ref), "type": value["type"].json,
        "attributes": ScriptValue.object(value["attr"].object ?? [:]).json,
        "style": ScriptValue.object(value["style"].object ?? [:]).json,
        "events": ScriptValue.array(value["event"].array ?? []).json,
        "children": .array(children.map { .string($0) }), "depth": .integer(Int64(depth)),
      ]
      if let parent { members["parent"] = .string(parent) }
      elements[index] = .object(members)
      return ref
    }
    let value = ScriptValue(try JSONValue(reading: Array(text.utf8)))
    let root = add(value, below: nil, depth: 0)
    try self.init(record: .object(["root": .string(root), "elements": .array(elements)]))
  }
}
