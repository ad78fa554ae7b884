import PageTesting
import Testing

@testable import PageRuntime
@testable import ScriptEngine

/// The commands that turn one tree into another.
struct TreeDifferenceTests {
  private static func tree(_ body: ElementDescription) throws -> ElementTree {
    var tree = ElementTree()
    try tree.apply(.createBody(body))
    return tree
  }

  private static func text(_ ref: String, _ value: String, style: [String: ScriptValue] = [:]) -> ElementDescription {
    ElementDescription(ref: ref, type: "text", attributes: ["value": .string(value)], style: style)
  }

  private static func body(_ children: [ElementDescription], type: String = "div") -> ElementDescription {
    ElementDescription(ref: "_root", type: type, children: children)
  }

  private static func made(_ old: ElementTree, _ difference: TreeDifference) throws -> ElementTree {
    var made = old
    for command in difference.removals { try made.apply(command) }
    made = try made.renaming(difference.refs)
    for command in difference.changes { try made.apply(command) }
    return made
  }

  @Test("equal trees need nothing, and small changes one command")
  func small() throws {
    let first = try Self.tree(Self.body([Self.text("1", "a"), Self.text("2", "b"), Self.text("3", "c")]))
    func difference(_ children: [ElementDescription]) throws -> TreeDifference {
      let tree = try Self.tree(Self.body(children))
      let difference = try #require(TreeDifference(from: first, to: tree))
      #expect(try Self.made(first, difference) == tree)
      return difference
    }
    var found = try difference([Self.text("1", "a"), Self.text("2", "b"), Self.text("3", "c")])
    #expect(found.removals.isEmpty && found.refs.isEmpty && found.changes.isEmpty)
    found = try difference([Self.text("7", "a"), Self.text("1", "b"), Self.text("2", "c")])
    #expect(found.removals.isEmpty && found.changes.isEmpty)
    #expect(found.refs == ["1": "7", "2": "1", "3": "2"])
    found = try difference([Self.text("1", "a"), Self.text("2", "x"), Self.text("3", "c")])
    #expect((found.removals, found.changes) == ([], [.updateAttributes("2", ["value": "x"])]))
    found = try difference([Self.text("1", "a"), Self.text("3", "c")])
    #expect((found.removals, found.changes) == ([.removeElement("2")], []))
    // Another element may get the ref of one that is gone.
    found = try difference([Self.text("1", "a"), Self.text("2", "c")])
    #expect(["1", "2", "3", "4"].map(found.newRef) == ["1", nil, "2", nil])
    found = try difference([Self.text("9", "new"), Self.text("1", "a"), Self.text("2", "b"), Self.text("3", "c")])
    #expect((found.removals, found.changes) == ([], [.addElement(parent: "_root", Self.text("9", "new"), index: 0)]))
    found = try difference([
      Self.text("1", "a"), Self.text("2", "b", style: ["color": "red"]), Self.text("3", "c"),
    ])
    #expect((found.removals, found.changes) == ([], [.updateStyle("2", ["color": "red"])]))
  }

  @Test("an attribute or a property that is gone makes the element anew")
  func gone() throws {
    let styled = try Self.tree(Self.body([Self.text("1", "a", style: ["color": "red"])]))
    let plain = try Self.tree(Self.body([Self.text("1", "a")]))
    let difference = try #require(TreeDifference(from: styled, to: plain))
    #expect(difference.removals == [.removeElement("1")])
    #expect(difference.changes == [.addElement(parent: "_root", Self.text("1", "a"), index: 0)])
  }

  @Test("a tree with another body is made anew, and so is one without")
  func bodies() throws {
    let first = try Self.tree(Self.body([]))
    #expect(TreeDifference(from: first, to: try Self.tree(Self.body([], type: "list"))) == nil)
    #expect(TreeDifference(from: first, to: ElementTree()) == nil)
    #expect(TreeDifference(from: ElementTree(), to: first) == nil)
  }

  @Test("any tree becomes any other one", arguments: 1...UInt64(300))
  func randomTrees(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (first, second) = (try Self.randomTree(&random), try Self.randomTree(&random))
    let difference = try #require(TreeDifference(from: first, to: second))
    #expect(try Self.made(first, difference) == second)
    // A description makes the same tree.
    #expect(try Self.tree(try #require(second.description(of: "_root"))) == second)
    // The same elements under other refs need no command.
    let names = Dictionary(
      uniqueKeysWithValues: zip(first.elements.keys.sorted(), first.elements.keys.sorted().shuffled(using: &random)))
    let renamed = try first.renaming(names)
    let same = try #require(TreeDifference(from: first, to: renamed))
    #expect(same.removals.isEmpty && same.changes.isEmpty)
    #expect(same.refs == names.filter { $0.key != $0.value })
  }

  @Test("a long list takes time as its length")
  func longList() throws {
    let count = 20_000
    let first = try Self.tree(Self.body((0..<count).map { Self.text("\($0)", "\($0)") }))
    let second = try Self.tree(Self.body((0..<count).reversed().map { Self.text("\($0)", "\($0)") }))
    let difference = try #require(TreeDifference(from: first, to: second))
    let (removed, isSame) = (difference.removals.count, try Self.made(first, difference) == second)
    #expect(removed < 100)
    #expect(isSame)
  }

  /// A tree of elements with few refs, so that two trees share many of them at different places.
  private static func randomTree(_ random: inout SeededGenerator) throws -> ElementTree {
    var tree = try tree(body([]))
    for _ in 0..<Int.random(in: 0...60, using: &random) {
      let ref = "\(Int.random(in: 0..<40, using: &random))"
      let parent = tree.elements.keys.sorted().randomElement(using: &random) ?? "_root"
      let types = ["div", "text", "image"]
      let names = ["a", "b", "c"].filter { _ in Bool.random(using: &random) }
      let values = names.map { ($0, ScriptValue.number(Double(Int.random(in: 0..<2, using: &random)))) }
      let made = ElementDescription(
        ref: ref, type: types[Int.random(in: 0..<3, using: &random)],
        attributes: Dictionary(uniqueKeysWithValues: values.prefix(1)),
        style: Dictionary(uniqueKeysWithValues: values.dropFirst()),
        events: Set(names.prefix(Int.random(in: 0...3, using: &random))))
      try? tree.apply(.addElement(parent: parent, made, index: Int.random(in: 0...4, using: &random)))
    }
    return tree
  }
}
