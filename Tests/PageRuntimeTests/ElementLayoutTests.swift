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

  @Test("a style and attributes that change many times at once are read once", .timeLimit(.minutes(1)))
  func manyChanges() throws {
    var tree = ElementTree()
    let names = (0..<50_000).map { "name \($0)" }
    let many = [String: ScriptValue](uniqueKeysWithValues: names.map { ($0, "10wx") })
    try tree.apply(
      .createBody(
        ElementDescription(
          ref: "_root", type: "div",
          children: [ElementDescription(ref: "1", type: "text", attributes: many, style: many)])))
    var layout = ElementLayout(window: LayoutWindow(), measurer: FixedAdvances())
    _ = layout.update(tree) { nil }
    var commands: [RenderCommand] = []
    for number in 0..<50_000 {
      commands.append(.updateStyle("1", ["fontSize": .number(Double(number % 50))]))
      commands.append(.updateAttributes("1", ["value": .string("text \(number)")]))
    }
    for command in commands { try tree.apply(command) }
    layout.follow(commands, in: tree)
    _ = layout.update(tree) { nil }
    #expect(layout.boxes.text(of: "1")?.spans.map(\.text) == ["text 49999"])
    #expect(layout.boxes.text(of: "1")?.style.fontSize == 49)
  }

  @Test("scrolls of many scrollers are found in a time linear in their number", .timeLimit(.minutes(1)))
  func manyScrolls() throws {
    var tree = ElementTree()
    let count = 90_000
    let scrollers = (0..<count).map { number in
      ElementDescription(
        ref: "the scroller with the number \(number)", type: "scroller", style: ["height": 10], events: ["scroll"],
        children: [ElementDescription(ref: "\(number)", type: "div", style: ["height": 100])])
    }
    try tree.apply(.createBody(ElementDescription(ref: "_root", type: "div", children: scrollers)))
    var layout = ElementLayout(window: LayoutWindow(), measurer: FixedAdvances())
    _ = layout.update(tree) { nil }
    for offset in [20.0, 10, 40] {
      for scroller in scrollers { layout.scroll(scroller.ref, to: LayoutPoint(x: 0, y: offset)) }
    }
    let events = layout.dueEvents(in: tree)
    #expect(events.map(\.ref) == scrollers.map(\.ref))
    #expect(events.allSatisfy { $0.details["contentOffset"]["y"] == -40 })
    #expect(layout.dueEvents(in: tree).isEmpty)
  }

  /// A ref that counts how often it is compared and hashed.
  private struct CountedRef: Hashable {
    final class Counter { var count = 0 }

    let number: Int
    let counter: Counter

    static func == (one: CountedRef, other: CountedRef) -> Bool {
      one.counter.count += 1
      return one.number == other.number
    }

    func hash(into hasher: inout Hasher) {
      counter.count += 1
      hasher.combine(number)
    }
  }

  @Test(
    "children in another order are put in their places in a time linear in their number",
    arguments: ["reversed", "first to last", "last to first", "mixed", "new between", "all new", "the same"])
  func displacedChildren(_ kind: String) {
    let counter = CountedRef.Counter()
    let count = 2_000
    func refs(_ numbers: [Int]) -> [CountedRef] { numbers.map { CountedRef(number: $0, counter: counter) } }
    let former = Array(0..<count)
    let children =
      switch kind {
      case "reversed": Array(former.reversed())
      case "first to last": Array(former.dropFirst()) + [0]
      case "last to first": [count - 1] + former.dropLast()
      case "mixed": former.map { $0 * 7_919 % count }
      case "new between": former.flatMap { [$0, count + $0] }
      case "all new": former.map { $0 + count }
      default: former
      }
    let kept = Set(children).isDisjoint(with: former) ? [] : former
    let steps = ElementLayout.displaced(from: refs(kept), to: refs(children))
    // Each is hashed and compared a few times, also as the set of those that have moved grows.
    #expect(counter.count < 20 * children.count, "\(counter.count)")
    #expect(["last to first", "the same"].contains(kind) == (steps.count <= 1))
    guard kind != "all new" else { return }
    var order = kept
    for (index, ref) in steps {
      order.removeAll { $0 == ref.number }
      order.insert(ref.number, at: index)
    }
    #expect(order == children)
  }

  @Test(
    "lengths are units of the design",
    arguments: [(12, 12), ("12", 12), ("12px", 12), ("12wx", 24), ("-3.5px", -3.5)] as [(ScriptValue, Double)])
  func lengths(_ value: ScriptValue, _ units: Double) { #expect(value.units(LayoutWindow()) == units) }

  @Test(
    "other values are no lengths", arguments: ["", "px", "12%", "1e999", .number(.nan), .null, true] as [ScriptValue])
  func noLengths(_ value: ScriptValue) { #expect(value.units(LayoutWindow()) == nil) }
}
