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

  /// Adds up the places at which children of the body are looked for, and those that are numbered.
  private struct Work {
    var tree: ElementTree
    var places = 0

    mutating func apply(_ command: RenderCommand, for ref: String) throws {
      if let child = tree[ref] { places += tree.body?.places(of: child).count ?? 0 }
      let before = tree.body?.search.shifts ?? 0
      try tree.apply(command)
      if tree.body?.search.shifts ?? 0 < before { places += tree.body?.children.count ?? 0 }
    }
  }

  @Test(
    "each of many siblings is removed, moved or inserted with work that does not grow with their number",
    .timeLimit(.minutes(1)),
    arguments: [
      "removed from the front", "removed from the back", "removed anywhere", "moved to the end", "moved to the front",
      "reversed", "moved anywhere", "inserted at the front", "inserted anywhere",
    ])
  func manySiblings(_ kind: String) throws {
    let count = 20_000
    var tree = ElementTree()
    try tree.apply(.createBody(Self.element("body", (0..<count).map { Self.element("\($0)") })))
    var work = Work(tree: tree)
    // The tree has to be the only owner of its elements.
    tree = ElementTree()
    for number in 0..<count {
      let any = "\(number * 7_919 % count)", place = number * 104_729 % count
      let (command, ref): (RenderCommand, String) =
        switch kind {
        case "removed from the front": (.removeElement("\(number)"), "\(number)")
        case "removed from the back": (.removeElement("\(count - 1 - number)"), "\(count - 1 - number)")
        case "removed anywhere": (.removeElement(any), any)
        case "moved to the end": (.moveElement("\(number)", parent: "body", index: nil), "\(number)")
        case "moved to the front": (.moveElement(any, parent: "body", index: 0), any)
        case "reversed": (.moveElement("\(count - 1)", parent: "body", index: number), "\(count - 1)")
        case "moved anywhere": (.moveElement(any, parent: "body", index: place), any)
        case "inserted at the front": (.addElement(parent: "body", Self.element("new\(number)"), index: 0), "")
        default: (.addElement(parent: "body", Self.element("new\(number)"), index: place), "")
        }
      try work.apply(command, for: ref)
    }
    // The whole list would be 10,000 places on average.
    #expect(work.places / count < 1_200, "\(work.places / count)")
    let children = try #require(work.tree.body).children
    #expect(children.count == (kind.hasPrefix("removed") ? 0 : kind.hasPrefix("inserted") ? 2 * count : count))
    #expect(Set(children).count == children.count)
  }

  @Test("children are where the commands put them, also after more changes than they are numbered for")
  func places() throws {
    var generator = SeededGenerator(seed: 5)
    var expected = (0..<900).map(String.init)
    var tree = ElementTree()
    try tree.apply(.createBody(Self.element("body", [Self.element("other")] + expected.map { Self.element($0) })))
    try tree.apply(.moveElement("other", parent: "body", index: nil))
    expected.append("other")
    for number in 0..<4_000 {
      let ref = try #require(expected.randomElement(using: &generator))
      let index = Int.random(in: 0...expected.count, using: &generator)
      switch Int.random(in: 0...3, using: &generator) {
      case 0 where ref != "other":
        try tree.apply(.removeElement(ref))
        expected.removeAll { $0 == ref }
      case 1:
        try tree.apply(.addElement(parent: "body", Self.element("new\(number)"), index: index))
        expected.insert("new\(number)", at: index)
      case 2 where ref != "other":
        // There and back.
        try tree.apply(.moveElement(ref, parent: "other", index: 0))
        try tree.apply(.moveElement(ref, parent: "body", index: index))
        expected.removeAll { $0 == ref }
        expected.insert(ref, at: min(index, expected.count))
      default:
        let former = try #require(expected.firstIndex(of: ref))
        try tree.apply(.moveElement(ref, parent: "body", index: index))
        expected.remove(at: former)
        expected.insert(ref, at: former < index ? index - 1 : index)
      }
      if number % 400 == 0 { tree = try ElementTree(root: tree.root, elements: Array(tree.elements.values)) }
    }
    #expect(tree.body?.children == expected)
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
