import PageLayout
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// Boxes that follow the changes of an element tree.
struct ElementLayoutTests {
  private static let types = ["div", "text", "list", "cell", "scroller", "image"]

  private static func element(_ ref: Int, _ generator: inout SeededGenerator) -> ElementDescription {
    let isDeep = Int.random(in: 0..<4, using: &generator) == 0
    return ElementDescription(
      ref: "\(ref)", type: types.randomElement(using: &generator) ?? "div",
      attributes: ["value": .string("text \(ref)")],
      style: style(&generator), events: [["appear"], ["click"], []].randomElement(using: &generator) ?? [],
      children: isDeep ? [ElementDescription(ref: "\(ref).1", type: "text", attributes: ["value": "below"])] : [])
  }

  private static func style(_ generator: inout SeededGenerator) -> [String: ScriptValue] {
    let styles: [[String: ScriptValue]] = [
      ["height": 40], ["width": "50%"], ["flex": 1], ["flexDirection": "row"], ["margin": "8px"],
      ["position": "absolute", "left": 10, "top": 20], ["display": "none"], ["padding": "4wx"],
    ]
    return styles.randomElement(using: &generator) ?? [:]
  }

  /// A list with two kinds of cells; the first item has none.
  private static let recycleList = ElementDescription(
    ref: "list", type: "recycle-list", attributes: ["alias": "item", "switch": "kind", "listData": []],
    children: [
      ElementDescription(
        ref: "one", type: "cell-slot", attributes: ["case": "1"], style: ["height": 30], events: ["appear"],
        children: [ElementDescription(ref: "part", type: "text", attributes: ["value": ["@binding": "item.text"]])]),
      ElementDescription(ref: "two", type: "cell-slot", attributes: ["case": "2"], style: ["height": 50]),
    ])

  private static func command(_ number: Int, _ hasCells: Bool, _ generator: inout SeededGenerator) -> RenderCommand {
    func any() -> String {
      Int.random(in: 0..<6, using: &generator) == 0 ? "_root" : "\(Int.random(in: 0...number, using: &generator))"
    }
    switch Int.random(in: 0..<(hasCells ? 8 : 7), using: &generator) {
    case 0, 1:
      return .addElement(parent: any(), element(number, &generator), index: Int.random(in: -1...3, using: &generator))
    case 2: return .removeElement(any())
    case 3: return .moveElement(any(), parent: any(), index: Int.random(in: 0...3, using: &generator))
    case 4: return .updateStyle(any(), style(&generator))
    case 5: return .updateAttributes(any(), ["value": .string("changed \(number)")])
    case 6: return .addEvent(any(), type: "disappear")
    default:
      let items: [ScriptValue] = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
        ["kind": .number(Double(Int.random(in: 0...2, using: &generator))), "text": .string("item \(number)")]
      }
      return .updateAttributes("list", ["listData": .array(items)])
    }
  }

  @Test("changes one after the other give the boxes of a layout from the beginning", arguments: [false, true])
  func randomChanges(_ hasCells: Bool) throws {
    var generator = SeededGenerator(seed: 11)
    var tree = ElementTree()
    let body = RenderCommand.createBody(
      ElementDescription(ref: "_root", type: "div", children: hasCells ? [Self.recycleList] : []))
    try tree.apply(body)
    var layout = ElementLayout(window: LayoutWindow(), measurer: FixedAdvances())
    func update(_ layout: inout ElementLayout) {
      _ = layout.update(tree) { tree.expansion?.tree }
    }
    update(&layout)
    for number in 0..<2_000 {
      let command = Self.command(number, hasCells, &generator)
      guard (try? tree.apply(command)) != nil else { continue }
      layout.follow([command], in: tree)
      guard number % 20 == 0 else { continue }
      update(&layout)
      var fresh = ElementLayout(window: LayoutWindow(), measurer: FixedAdvances())
      update(&fresh)
      let shown = tree.expanded
      let root = try #require(shown.root)
      #expect(layout.boxes.count == fresh.boxes.count)
      let wrong = shown.preorder(from: root).filter {
        layout.boxes.box($0.ref) == nil || layout.boxes.box($0.ref) != fresh.boxes.box($0.ref)
          || layout.boxes.children(of: $0.ref) != $0.children
      }
      try #require(wrong.isEmpty, "after \(number) commands: \(wrong.map(\.ref))")
    }
    #expect(tree.count > 20)
  }

  @Test(
    "lengths are units of the design",
    arguments: [(12, 12), ("12", 12), ("12px", 12), ("12wx", 24), ("-3.5px", -3.5)] as [(ScriptValue, Double)])
  func lengths(_ value: ScriptValue, _ units: Double) { #expect(value.units(LayoutWindow()) == units) }

  @Test(
    "other values are no lengths", arguments: ["", "px", "12%", "1e999", .number(.nan), .null, true] as [ScriptValue])
  func noLengths(_ value: ScriptValue) { #expect(value.units(LayoutWindow()) == nil) }
}
