import ScriptEngine
import Testing

@testable import PageInspector
@testable import PageRuntime

@Suite struct InspectedElementsTests {
  private static func element(_ ref: String, _ children: [ElementDescription] = []) -> ElementDescription {
    ElementDescription(ref: ref, type: "div", children: children)
  }

  /// A chain of elements.
  private static func chain(_ depth: Int) -> ElementDescription {
    var made = element("\(depth)")
    for level in stride(from: depth - 1, through: 0, by: -1) { made = element("\(level)", [made]) }
    return made
  }

  @Test("a document has three levels, and further ones when they are asked for")
  func levels() throws {
    let debugger = Debugger()
    debugger.tree = try .make(Self.chain(6))
    let answer = try debugger.ask("DOM.getDocument")
    #expect(answer["result"]["root"]["nodeName"].string == "#document")
    #expect(debugger.outline().count == 3)
    try debugger.expandAll()
    #expect(debugger.outline() == debugger.tree.inspectedOutline)
  }

  @Test("the first answer about 10,000 elements has at most 64 KiB")
  func large() throws {
    for body in [
      Self.element("r", (0..<10_000).map { Self.element("c\($0)") }),
      Self.element(
        "r", (0..<100).map { row in Self.element("r\(row)", (0..<100).map { Self.element("c\(row).\($0)") }) }),
    ] {
      let debugger = Debugger()
      debugger.tree = try .make(body)
      let answer = try debugger.ask("DOM.getDocument")
      #expect(answer.json.text.count <= 64 << 10)
      try debugger.expandAll()
      #expect(debugger.outline() == debugger.tree.inspectedOutline)
    }
  }

  @Test("changes of elements are told as they are, whatever they are")
  func randomChanges() throws {
    var random = SplitMix(state: 7)
    for _ in 0..<40 {
      let debugger = Debugger()
      var last = 0
      debugger.tree = try .make(Self.element("root"))
      _ = try debugger.ask("DOM.getDocument")
      for step in 0..<60 {
        for _ in 0...(Int.random(in: 0...3, using: &random)) {
          let refs = debugger.tree.elements.keys.sorted()
          let (ref, other) = (refs.randomElement(using: &random) ?? "", refs.randomElement(using: &random) ?? "")
          let index = Bool.random(using: &random) ? Int.random(in: 0...4, using: &random) : nil
          let command: RenderCommand
          switch Int.random(in: 0...9, using: &random) {
          case 0...3:
            last += 1
            let child = Self.element("n\(last)b")
            command = .addElement(parent: ref, Self.element("n\(last)", last % 3 == 0 ? [child] : []), index: index)
          case 4: command = .removeElement(ref)
          case 5, 6: command = .moveElement(ref, parent: other, index: index)
          case 7: command = .updateAttributes(ref, ["value": .number(Double(step))])
          case 8: command = .updateStyle(ref, ["backgroundColor": step % 2 == 0 ? "red" : .null])
          default: command = step % 2 == 0 ? .addEvent(ref, type: "click") : .removeEvent(ref, type: "click")
          }
          // Commands that do not fit change nothing.
          try? debugger.tree.apply(command)
        }
        debugger.hear(.elements)
        // Some elements are opened, others not.
        if step % 5 == 0 { try debugger.expandAll() }
      }
      #expect(debugger.events("DOM.documentUpdated").isEmpty)
      try debugger.expandAll()
      #expect(debugger.outline() == debugger.tree.inspectedOutline)
    }
  }

  @Test("many changes at once, or another body, have the debugger ask for the document again")
  func newDocument() throws {
    let debugger = Debugger()
    debugger.tree = try .make(Self.element("root"))
    _ = try debugger.ask("DOM.getDocument")
    debugger.tree = try .make(Self.element("root", (0..<2_000).map { Self.element("c\($0)") }))
    debugger.hear(.elements)
    #expect(debugger.events("DOM.documentUpdated").count == 1)
    // Until it asks it is told nothing more.
    debugger.tree = try .make(Self.element("other"))
    debugger.hear(.elements)
    #expect(debugger.events("DOM.documentUpdated").count == 1)
    _ = try debugger.ask("DOM.getDocument")
    #expect(debugger.outline() == ["div data-ref=other"])
    debugger.tree = try .make(Self.element("third"))
    debugger.hear(.elements)
    #expect(debugger.events("DOM.documentUpdated").count == 2)
  }

  @Test("attributes are those of the script, with the style as CSS, the ref and the events")
  func attributes() throws {
    let debugger = Debugger()
    debugger.tree = try .make(
      ElementDescription(
        ref: "7", type: "text",
        attributes: [
          "value": "Hi", "lines": 2, "none": .null, "list": [1, "a"], "style": "no",
          "long": .string(.init(repeating: "x", count: 20_000)),
        ],
        style: ["fontSize": 32, "color": "#f00"], events: ["longpress", "click"]))
    _ = try debugger.ask("DOM.getDocument")
    let found = try #require(debugger.nodes.values.first).attributes
    #expect(found["value"] == "Hi" && found["lines"] == "2" && found["none"] == nil && found["list"] == #"[1,"a"]"#)
    #expect(found["style"] == "color: #f00; font-size: 32;")
    #expect(found["data-ref"] == "7" && found["data-events"] == "click longpress")
    #expect(found["long"]?.count == 10_001)
  }
}

/// Random numbers that are the same in every run.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
