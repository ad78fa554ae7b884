import ScriptEngine
import Testing

@testable import PageRuntime

/// Elements that are found in another run of their page.
struct ElementPlaceTests {
  private static func text(_ ref: String, _ value: String) -> ElementDescription {
    ElementDescription(ref: ref, type: "text", attributes: ["value": .string(value)], events: ["click"])
  }

  private static func tree(_ children: [ElementDescription]) throws -> ElementTree {
    var tree = ElementTree()
    try tree.apply(.createBody(ElementDescription(ref: "_root", type: "div", children: children)))
    return tree
  }

  private static func first() throws -> ElementTree {
    try tree([
      text("1", "a"), ElementDescription(ref: "2", type: "image"), text("3", "b"),
      ElementDescription(ref: "4", type: "div", events: ["click"], children: [text("5", "c")]),
    ])
  }

  @Test(
    "a place has the number among siblings of a type, and the first text",
    arguments: [("3", "text \"b\"", [1]), ("5", "text \"c\"", [0, 0]), ("4", "div \"c\"", [0]), ("2", "image", [0])])
  func place(ref: String, words: String, numbers: [Int]) throws {
    let place = try #require(try Self.first().place(of: ref))
    #expect(place.description == words)
    #expect(place.steps.map(\.index) == numbers)
    #expect(try Self.first().ref(at: place) == ref)
    #expect(try Self.first().place(of: "9") == nil)
  }

  @Test("an element is found by its text where it has moved, and by its place where its text was edited")
  func changes() throws {
    let place = try #require(try Self.first().place(of: "3"))
    let moved = try Self.tree([Self.text("11", "b"), Self.text("12", "a")])
    #expect(moved.ref(at: place, listeningTo: "click") == "11")
    let edited = try Self.tree([Self.text("11", "a"), Self.text("12", "B!")])
    #expect(edited.ref(at: place, listeningTo: "click") == "12")
    #expect(edited.ref(at: place, listeningTo: "swipe") == nil)
    #expect(try Self.tree([Self.text("11", "a")]).ref(at: place) == nil)
    #expect(ElementTree().ref(at: place) == nil)
  }

  @Test("a step from outside to no child finds nothing", arguments: [-1, Int.max, Int.min])
  func wildSteps(index: Int) throws {
    let place = ElementPlace(steps: [.init(type: "text", index: index)], text: "z", type: "text")
    #expect(try Self.first().ref(at: place) == (index < 0 ? "1" : nil))
  }
}
