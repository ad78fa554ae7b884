import Foundation
import HTTPTransport
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

struct ElementTreeTests {
  private static func element(_ ref: String, _ children: [ElementDescription] = []) -> ElementDescription {
    ElementDescription(ref: ref, type: "div", children: children)
  }

  /// A body with two branches: 1 with 3 below, and 2.
  private static func tree() throws -> ElementTree {
    var tree = ElementTree()
    try tree.apply(.createBody(element("_root", [element("1", [element("3")]), element("2")])))
    return tree
  }

  @Test(
    "an invalid command changes nothing and throws its reason",
    arguments: [
      (RenderCommand.addElement(parent: "9", element("4"), index: nil), ElementTreeError.unknown("9")),
      (.addElement(parent: "1", element("2"), index: nil), .duplicate("2")),
      (.addElement(parent: "1", element("4", [element("4")]), index: nil), .duplicate("4")),
      (.createBody(element("5")), .secondBody), (.removeElement("_root"), .body), (.removeElement("9"), .unknown("9")),
      (.moveElement("1", parent: "3", index: 0), .cycle("1")), (.moveElement("1", parent: "1", index: 0), .cycle("1")),
      (.moveElement("_root", parent: "1", index: 0), .body), (.updateAttributes("9", [:]), .unknown("9")),
      (.updateStyle("9", [:]), .unknown("9")), (.addEvent("9", type: "click"), .unknown("9")),
    ])
  func invalidCommands(_ command: RenderCommand, _ error: ElementTreeError) throws {
    var tree = try Self.tree()
    let before = tree
    #expect(throws: error) { try tree.apply(command) }
    #expect(tree == before)
  }

  @Test(
    "an index beyond the children is the end",
    arguments: [(0, ["4", "3"]), (1, ["3", "4"]), (nil, ["3", "4"]), (99, ["3", "4"]), (-5, ["4", "3"])])
  func largeIndex(_ index: Int?, _ expected: [String]) throws {
    var tree = try Self.tree()
    try tree.apply(.addElement(parent: "1", Self.element("4"), index: index))
    #expect(tree["1"]?.children == expected)
  }

  @Test("a moved element keeps the elements below it")
  func move() throws {
    var tree = try Self.tree()
    try tree.apply(.moveElement("1", parent: "2", index: nil))
    #expect(tree.preorder(from: "_root").map(\.ref) == ["_root", "2", "1", "3"])
    #expect(tree["3"]?.depth == 3)
    try tree.apply(.removeElement("2"))
    #expect(tree.count == 1)
  }

  @Test("a tree has limits of depth and of elements")
  func limits() throws {
    var tree = ElementTree(elementLimit: 4, depthLimit: 2)
    try tree.apply(.createBody(Self.element("_root", [Self.element("1", [Self.element("2")])])))
    #expect(throws: ElementTreeError.tooDeep(2)) {
      try tree.apply(.addElement(parent: "2", Self.element("3"), index: nil))
    }
    #expect(throws: ElementTreeError.tooMany(4)) {
      try tree.apply(.addElement(parent: "1", Self.element("4", []), index: nil))
      try tree.apply(.addElement(parent: "1", Self.element("5"), index: nil))
    }
  }

  /// After any commands, every element but the body is a child of one parent, once, and one level deeper.
  @Test("any commands leave a valid tree")
  func randomCommands() throws {
    var generator = SeededGenerator(seed: 3)
    var tree = try Self.tree()
    var next = 10
    for _ in 0..<5_000 {
      func any() -> String {
        Int.random(in: 0...20, using: &generator) == 0
          ? "none" : tree.elements.keys.sorted().randomElement(using: &generator) ?? "_root"
      }
      let command: RenderCommand
      switch Int.random(in: 0...4, using: &generator) {
      case 0, 1:
        next += 2
        command = .addElement(
          parent: any(), Self.element("\(next)", [Self.element("\(next + 1)")]),
          index: Int.random(in: -1...5, using: &generator))
      case 2: command = .removeElement(any())
      default: command = .moveElement(any(), parent: any(), index: Int.random(in: -1...5, using: &generator))
      }
      try? tree.apply(command)
    }
    let reached = tree.preorder(from: "_root")
    #expect(reached.count == tree.count)
    for element in reached {
      guard let parent = element.parent.flatMap({ tree[$0] }) else { continue }
      #expect(parent.children.count { $0 == element.ref } == 1)
      #expect(element.depth == parent.depth + 1)
    }
  }

  @Test("the text of a tree is that of its JSON value")
  func jsonText() throws {
    #expect(ElementTree().jsonText == ElementTree().json.text)
    var tree = try Self.tree()
    let values: [String: ScriptValue] = [
      "z": "a \"quoted\" \u{1}\n text", "a": 1, "b": 1.5, "nan": .number(.nan), "c": .bool(true), "d": .null,
      "e": .undefined, "f": .array([.undefined, ["g": 2, "A": []]]), "h": .data([1, 2, 3]), "é": "ü", "": [:],
    ]
    try tree.apply(.updateAttributes("1", values))
    try tree.apply(.updateStyle("3", values))
    for type in ["click", "appear"] { try tree.apply(.addEvent("2", type: type)) }
    try tree.apply(.addElement(parent: "2", Self.element("4"), index: nil))
    tree.setImage(.failed(url: "a", reason: "gone"), of: "3")
    tree.setImage(.loading(url: "a"), of: "4")
    #expect(String(decoding: tree.jsonText, as: UTF8.self) == String(decoding: tree.json.text, as: UTF8.self))
  }

  @Test("a tree is the same after it was a record")
  func record() async throws {
    let tree = try Self.tree()
    let read = try await ElementTree.read(record: tree.record)
    #expect(read.root == tree.root)
    #expect(read.preorder(from: "_root") == tree.preorder(from: "_root"))
    #expect(read.count == tree.count)
  }

  @Test(
    "elements that are not a tree are refused",
    arguments: [
      ("an element below itself", [("a", "b", 0, ["b"]), ("b", "a", 1, ["a"])], ElementTreeError.cycle("a")),
      ("an element twice below another", [("a", nil, 0, ["b", "b"]), ("b", "a", 1, [])], .duplicate("b")),
      ("an element below two", [("a", nil, 0, ["b", "c"]), ("b", "a", 1, ["c"]), ("c", "a", 1, [])], .duplicate("c")),
      ("a child that is not there", [("a", nil, 0, ["b"])], .unknown("b")),
      ("a parent that does not know of it", [("a", nil, 0, []), ("b", "a", 1, [])], .unknown("b")),
      ("one ref for two", [("a", nil, 0, []), ("a", nil, 0, [])], .duplicate("a")),
      ("a depth that no tree has", [("a", nil, .max, [])], .tooDeep(1_000)),
      ("no body", [("b", nil, 0, [])], .unknown("a")),
    ] as [(String, [(String, String?, Int, [String])], ElementTreeError)])
  func invalidRecord(
    _ what: String, _ elements: [(ref: String, parent: String?, depth: Int, children: [String])],
    _ error: ElementTreeError
  ) async throws {
    let list: [JSONValue] = elements.map { element in
      .object([
        "ref": .string(element.ref), "type": .string("div"), "attributes": .object([:]), "style": .object([:]),
        "events": .array([]),
        "parent": element.parent.map { .string($0) } ?? .null, "depth": .integer(Int64(element.depth)),
        "children": .array(element.children.map { .string($0) }),
      ])
    }
    let record = JSONValue.object(["root": .string("a"), "elements": .array(list)]).text
    await #expect(throws: error) { try await ElementTree.read(record: record) }
  }
}
