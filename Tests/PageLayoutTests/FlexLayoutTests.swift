import Testing

@testable import PageLayout

/// A tree in few words: a style as `name: value; name: value`.
struct Boxes {
  var tree: LayoutTree

  init(_ window: LayoutWindow = LayoutWindow()) {
    tree = LayoutTree(window: window)
    tree.createBody("body", type: "div")
  }

  static func style(_ text: String) -> [String: LayoutValue] {
    var style: [String: LayoutValue] = [:]
    for part in text.split(separator: ";") {
      let pair = part.split(separator: ":", maxSplits: 1).map { $0.drop { $0 == " " } }
      guard pair.count == 2 else { continue }
      style[String(pair[0])] = .text(String(pair[1]))
    }
    return style
  }

  mutating func add(
    _ ref: String, _ style: String = "", type: String = "div", _ attributes: [String: LayoutValue] = [:],
    to parent: String = "body"
  ) {
    tree.add(ref, type: type, style: Self.style(style), attributes: attributes, to: parent)
  }

  /// The frames in their parents, as `x y width height`.
  mutating func frames(_ refs: String...) -> [String] {
    tree.update()
    return refs.map { ref in
      guard let frame = tree.box(ref)?.frame else { return "none" }
      return [frame.x, frame.y, frame.width, frame.height].map(Self.number).joined(separator: " ")
    }
  }

  mutating func pages(_ refs: String...) -> [String] {
    tree.update()
    return refs.map { ref in
      guard let frame = tree.box(ref)?.pageFrame else { return "none" }
      return [frame.x, frame.y, frame.width, frame.height].map(Self.number).joined(separator: " ")
    }
  }

  static func number(_ number: Double) -> String {
    let rounded = (number * 100).rounded() / 100
    return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
  }
}

@Suite("Flexible boxes as Weex has them")
struct FlexLayoutTests {
  @Test("elements are columns whose items are as wide as they are")
  func columns() {
    var boxes = Boxes()
    boxes.add("a", "height: 100")
    boxes.add("b", "width: 200; height: 50")
    #expect(boxes.frames("body", "a", "b") == ["0 0 750 1334", "0 0 750 100", "0 100 200 50"])
  }

  @Test("a size has its paddings and borders in it")
  func borderBox() {
    var boxes = Boxes()
    boxes.add("a", "width: 200; height: 100; padding: 20; borderWidth: 5")
    boxes.add("b", "flex: 1", to: "a")
    boxes.add("c", "width: 10; height: 10; padding: 20")
    #expect(boxes.frames("a", "b", "c") == ["0 0 200 100", "25 25 150 50", "0 100 40 40"])
  }

  @Test("items keep their size where there is no room")
  func noShrinking() {
    var boxes = Boxes()
    boxes.add("row", "flexDirection: row; width: 300; height: 20")
    boxes.add("a", "width: 200", to: "row")
    boxes.add("b", "width: 200", to: "row")
    boxes.add("shrinks", "flexDirection: row; width: 300; height: 20")
    boxes.add("c", "width: 200; flexShrink: 1", to: "shrinks")
    boxes.add("d", "width: 200", to: "shrinks")
    #expect(boxes.frames("a", "b", "c", "d") == ["0 0 200 20", "200 0 200 20", "0 0 100 20", "100 0 200 20"])
  }

  @Test(
    "`flex` is a share of what is left, whatever the element's size; 0 is no share",
    arguments: [
      ("flex: 1; width: 500", "flex: 3", "0 0 75 20", "75 0 225 20"),
      ("flex: 1; minWidth: 200", "flex: 3", "0 0 200 20", "200 0 100 20"),
      ("flex: 0; width: 100", "flex: 1", "0 0 100 20", "100 0 200 20"),
      ("flex: 0.25", "flex: 0.25", "0 0 75 20", "75 0 75 20"),
      ("flexGrow: 1; width: 100", "flexGrow: 1; width: 50", "0 0 175 20", "175 0 125 20"),
      ("flex: 1 1 100px", "flex: 1 1 50px", "0 0 175 20", "175 0 125 20"),
      ("flex: what", "flex: 1", "0 0 0 20", "0 0 300 20"),
    ])
  func flex(_ a: String, _ b: String, _ first: String, _ second: String) {
    var boxes = Boxes()
    boxes.add("row", "flexDirection: row; width: 300; height: 20")
    boxes.add("a", a, to: "row")
    boxes.add("b", b, to: "row")
    #expect(boxes.frames("a", "b") == [first, second])
  }

  @Test("`flex` in a column that is as high as its items leaves them as they are")
  func flexWithoutHeight() {
    var boxes = Boxes()
    boxes.add("a")
    boxes.add("b", "flex: 1", to: "a")
    boxes.add("c", "height: 80", to: "b")
    #expect(boxes.frames("a", "b") == ["0 0 750 80", "0 0 750 80"])
  }

  @Test("a height counts beside `flex` where there is no height to share")
  func flexWithHeight() {
    var boxes = Boxes()
    boxes.add("a")
    boxes.add("b", "flex: 1; height: 30", to: "a")
    boxes.add("c", "height: 80", to: "b")
    #expect(boxes.frames("a", "b", "c") == ["0 0 750 30", "0 0 750 30", "0 0 750 80"])
  }

  @Test("an element that is not stretched is as wide as its items; a text is no wider than the element around it")
  func widths() {
    var boxes = Boxes()
    boxes.add("a", "width: 300; alignItems: center")
    boxes.add("b", "flexDirection: row", to: "a")
    boxes.add("c", "width: 400; height: 10", to: "b")
    boxes.add(
      "d", "fontSize: 20; lineHeight: 30", type: "text", ["value": .text("0123456789 0123456789 0123456789")], to: "a")
    #expect(boxes.frames("b", "d") == ["-50 0 400 10", "0 10 300 60"])
  }

  @Test(
    "a text that wraps takes the room it has, and others are as wide as they are",
    arguments: [
      ("0123456789 0123456789", "alignItems: center", "0 0 200 60"),
      ("0123456789", "alignItems: center", "50 0 100 30"),
      ("0123456789\n012", "alignItems: center", "50 0 100 60"),
      ("0123456789 0123456789", "flexDirection: row", "0 0 200 60"),
      ("012345678901234567890", "alignItems: flex-end", "0 0 200 60"),
      ("01234567890123456789", "alignItems: flex-end", "0 0 200 30"),
      ("0123456789 0123456789", "flexDirection: row; paddingRight: 50", "0 0 150 60"),
    ])
  func wrapping(_ text: String, _ style: String, _ frame: String) {
    var boxes = Boxes()
    boxes.add("a", "width: 200; \(style)")
    boxes.add("b", "fontSize: 20; lineHeight: 30", type: "text", ["value": .text(text)], to: "a")
    #expect(boxes.frames("b") == [frame])
    boxes.tree.setStyle(Boxes.style("fontSize: 20; lineHeight: 30; maxWidth: 90; padding: 10"), of: "b")
    #expect(boxes.tree.update() == ["a", "b"])
    #expect(boxes.tree.box("b")?.frame.width == 90)
  }

  @Test("margins do not collapse")
  func margins() {
    var boxes = Boxes()
    boxes.add("a", "height: 10; margin: 30")
    boxes.add("b", "height: 10; marginTop: 20; margin: 5")
    #expect(boxes.frames("a", "b") == ["30 30 690 10", "5 90 740 10"])
  }

  @Test(
    "a border in one word takes room only with a kind of line, as in CSS",
    arguments: [
      ("1px solid #ccc", "1 1 748 5"), ("#000 2px dashed", "2 2 746 5"), ("1px #333333", "0 0 750 5"),
      ("#eee", "0 0 750 5"), ("1px hidden red", "0 0 750 5"), ("none", "0 0 750 5"),
    ])
  func borderLines(_ border: String, _ frame: String) {
    var boxes = Boxes()
    boxes.add("a", "border: \(border)")
    boxes.add("b", "height: 5", to: "a")
    #expect(boxes.frames("b") == [frame])
  }

  @Test("a side's property counts before that of all sides, in any order")
  func sides() {
    for _ in 0..<20 {
      var boxes = Boxes()
      boxes.add("a", "padding: 10; paddingLeft: 30; borderWidth: 1; borderTopWidth: 4; border-left-width: 0")
      boxes.add("b", "height: 5", to: "a")
      #expect(boxes.frames("b") == ["30 14 709 5"])
    }
  }

  @Test(
    "units: a design of 750 is as wide as the screen, and a `wx` is a point of the screen",
    arguments: [
      ("375", "375"), ("375px", "375"), ("10wx", "20"), ("50%", "375"), ("12.5px", "12.5"), ("1e2", "100"),
      (" 12", "12"), ("+7", "7"), (".5", "0.5"), ("12em", "0"), ("auto", "0"), ("-5", "0"), ("", "0"),
      ("1e999", "10000000"),
    ])
  func units(_ value: String, _ width: String) {
    var boxes = Boxes()
    boxes.add("row", "flexDirection: row")
    boxes.add("a", "height: 1; width: \(value)", to: "row")
    #expect(boxes.frames("a") == ["0 0 \(width) 1"])
  }

  @Test("another width of the design, and another screen")
  func windows() {
    var boxes = Boxes(LayoutWindow(points: LayoutSize(width: 320, height: 480), viewPortWidth: 640))
    boxes.add("a", "height: 50wx; width: 320")
    #expect(boxes.frames("body", "a") == ["0 0 640 960", "0 0 320 100"])
  }

  @Test(
    "a screen without a finite size is the standard one",
    arguments: [
      [375, 667, .infinity], [375, 667, .nan], [.leastNormalMagnitude, 667, 750], [.nan, 667, 750],
      [375, .infinity, 750],
    ] as [[Double]])
  func noWindow(_ numbers: [Double]) {
    let points = LayoutSize(width: numbers[0], height: numbers[1])
    #expect(LayoutWindow(points: points, viewPortWidth: numbers[2]) == LayoutWindow())
  }

  @Test("lines are packed at the beginning, and a single one fills the element")
  func lines() {
    var boxes = Boxes()
    boxes.add("one", "flexDirection: row; flexWrap: wrap; height: 100")
    boxes.add("a", "width: 50", to: "one")
    boxes.add("two", "flexDirection: row; flexWrap: wrap; height: 100; width: 80")
    boxes.add("b", "width: 50; height: 10", to: "two")
    boxes.add("c", "width: 50; height: 20", to: "two")
    #expect(boxes.frames("a", "b", "c") == ["0 0 50 100", "0 0 50 10", "0 10 50 20"])
  }

  @Test("an absolute element is in its parent; a fixed one on the screen")
  func positions() {
    var boxes = Boxes()
    boxes.add("a", "marginTop: 100; marginLeft: 50; width: 300; height: 200; borderWidth: 10")
    boxes.add("absolute", "position: absolute; right: 5; bottom: 5; width: 20; height: 20", to: "a")
    boxes.add("between", "position: absolute; left: 10; right: 20; top: 30; height: 5", to: "a")
    boxes.add("fixed", "position: fixed; width: 60; height: 60", to: "a")
    boxes.add("below", "position: fixed; left: 0; right: 0; bottom: 0; height: 90", to: "a")
    #expect(boxes.frames("absolute", "between") == ["265 165 20 20", "20 40 250 5"])
    #expect(boxes.pages("absolute", "fixed", "below") == ["315 265 20 20", "0 0 60 60", "0 1244 750 90"])
    #expect(boxes.tree.box("fixed")?.isFixed == true)
  }

  @Test("rows and columns begin at the right if they are told to")
  func rightToLeft() {
    var boxes = Boxes()
    boxes.add("row", "direction: rtl; flexDirection: row; width: 300; height: 20")
    boxes.add("a", "width: 100", to: "row")
    boxes.add("column", "direction: rtl; width: 300")
    boxes.add("b", "width: 100; height: 5", to: "column")
    boxes.add("not", "direction: ltr; flexDirection: row; height: 5", to: "column")
    boxes.add("c", "width: 10", to: "not")
    #expect(boxes.frames("a", "b", "c") == ["200 0 100 20", "200 0 100 5", "0 0 10 5"])
  }

  @Test("mirrored: a page that begins at the right is a page that begins at the left in a mirror", arguments: 0..<60)
  func mirrored(_ seed: Int) {
    // What names a side is a side of its own.
    let sides = ["left", "Left", "right", "Right"]
    let styles = RandomTree.usual.filter { style in !sides.contains { style.0.contains($0) } }
    var window = LayoutWindow()
    window.isRightToLeft = true
    var random = RandomTree(seed: seed, styles: styles, window: window)
    random.grow(to: 60)
    random.tree.update()
    var left = random.made()
    left.window.isRightToLeft = false
    left.update()
    for ref in random.refs {
      guard let one = random.tree.box(ref), let other = left.box(ref), let parent = random.elements[ref]?.parent,
        let outer = left.box(parent), random.elements[parent]?.type != "slider"
      else { continue }
      // A fixed element without sides is at the corner of the screen, and one that is not laid out nowhere.
      if one.isFixed || one.frame.width == 0 { continue }
      #expect(abs(one.frame.width - other.frame.width) < 1e-6)
      #expect(abs(one.frame.x - (outer.frame.width - other.frame.maxX)) < 1e-6, "\(ref)")
    }
  }

  @Test("boxes are finite, whatever the styles say", arguments: 0..<100)
  func hostile(_ seed: Int) {
    var random = RandomTree(seed: seed, isHostile: true)
    random.grow(to: 80)
    for _ in 0..<3 {
      random.tree.update()
      for ref in random.refs {
        guard let box = random.tree.box(ref) else { continue }
        #expect(box.isFinite, "\(ref) \(box)")
      }
      _ = random.tree.visibleBoxes()
      for _ in 0..<20 { random.change() }
    }
  }

  @Test("a text of `nan` is no number; one of `inf` is a large one", arguments: [" nan", "nan ", " nanpx", " NAN"])
  func notNumbers(_ text: String) {
    var boxes = Boxes()
    boxes.add("a", "height: 10; zIndex:\(text); lines:\(text)")
    boxes.tree.setStyle(["height": .number(10), "zIndex": .text(text), "width": .text(text)], of: "a")
    boxes.add("field", "lineHeight: 10; padding: 0", type: "textarea", ["rows": .text(text)])
    boxes.add("slider", "height: 10", type: "slider", ["index": .text(text)])
    boxes.add("page", to: "slider")
    #expect(boxes.frames("a", "field", "slider") == ["0 0 750 10", "0 10 750 20", "0 30 750 10"])
    #expect(boxes.tree.box("a")?.zIndex == 0)
    #expect(boxes.tree.box("slider")?.scrollOffset == .zero)
    boxes.tree.setStyle(["height": .number(10), "zIndex": .text(" inf")], of: "a")
    #expect(boxes.tree.box("a")?.zIndex == 1_000_000)
  }

  @Test("a tree of 10,000 levels is laid out, in any kind of nesting", arguments: 0..<4)
  func deep(_ kind: Int) {
    let styles = [
      "padding: 1", "flexDirection: row; padding: 1%", "flexDirection: row; flexWrap: wrap; alignItems: center",
      "flex: 1; width: 99.9%; height: 99.9%; minWidth: 10%",
    ]
    var boxes = Boxes()
    var parent = "body"
    for level in 0..<10_100 {
      boxes.add("\(level)", styles[kind], to: parent)
      parent = "\(level)"
    }
    boxes.add("text", type: "text", ["value": .text("deep")], to: "5000")
    boxes.tree.update()
    for level in stride(from: 0, to: 10_100, by: 101) {
      #expect(boxes.tree.box("\(level)")?.isFinite == true)
    }
    #expect(boxes.tree.box("10050")?.pageFrame == .zero)
    boxes.tree.setStyle(["height": .number(7)], of: "9000")
    boxes.tree.update()
    #expect(boxes.tree.box("text")?.isFinite == true)
  }

  @Test(
    "what is measured in each of many ways is measured a bounded number of times", .timeLimit(.minutes(1)),
    arguments: [0, 5_000])
  func bounded(_ children: Int) {
    var boxes = Boxes()
    var parent = "body"
    for level in 0..<200 {
      for side in 0..<2 {
        boxes.add(
          "\(level)-\(side)",
          "flexDirection: \(level % 2 == 0 ? "row" : "column"); flexShrink: 1; padding: 0.\(side)%; "
            + "alignItems: \(level % 3 == 0 ? "center" : "stretch"); flexWrap: \(level % 5 == 0 ? "wrap" : "nowrap")",
          to: parent)
      }
      parent = "\(level)-\(level % 2)"
    }
    if children > 0 {
      // Going over them is work, though none of them is measured.
      boxes.add("many", to: parent)
      for number in 0..<children { boxes.add("\(number)", "width: 10; height: 10", to: "many") }
    }
    boxes.add(
      "text", type: "text", ["value": .text("some words to be broken")], to: children > 0 ? "many" : parent)
    let counting = CountingMeasurer()
    boxes.tree.measurer = counting
    boxes.tree.update()
    #expect(counting.count.withLock { $0 } < 10_000)
    #expect(boxes.tree.box("text")?.isFinite == true)
  }
  @Test("each round in which the items of a line grow counts to the work of a layout, which has a bound")
  func rounds() {
    var boxes = Boxes()
    boxes.add("row", "flexDirection: row; width: 1048576; height: 10")
    // After each round one more item is as large as it may be.
    var (factor, former, share, excess) = (524_288.0, 0.0, 1.0, 0.5)
    for number in 0..<16 {
      boxes.add(
        "\(number)", "flexGrow: \(factor); maxWidth: \(factor * (number == 0 ? 0.5 : former + 0.01))", to: "row")
      (former, share, excess, factor) = (share, share + excess, excess - 0.01, factor / 2)
    }
    for number in 0..<1_000 { boxes.add("small \(number)", "flexGrow: 0.001", to: "row") }
    let budget = 1_000_000
    let spent = boxes.tree.nodes.withUnsafeMutableBufferPointer { nodes -> Int in
      guard let first = nodes.baseAddress else { return 0 }
      var layout = FlexLayout(
        window: LayoutWindow(), measurer: FixedAdvances(), columns: [:], budget: budget, number: 1, nodes: first,
        texts: nil)
      layout.run(body: 0, fixed: [], depth: 2, otherThread: nil)
      return budget - layout.budget
    }
    #expect((10_000..<50_000).contains(spent), "\(spent)")
  }

  @Test("a long text is measured a few times, however many widths it is asked for", .timeLimit(.minutes(1)))
  func longText() {
    var boxes = Boxes()
    var parent = "body"
    for level in 0..<40 {
      boxes.add(
        "\(level)",
        "flexDirection: \(level % 2 == 0 ? "row" : "column"); flexShrink: 1; padding: 0.\(level % 9)%; alignItems: center",
        to: parent)
      boxes.add("beside \(level)", "width: 10; height: 10", to: parent)
      parent = "\(level)"
    }
    let value = String(repeating: "some words to be broken ", count: 50_000)
    boxes.add("text", type: "text", ["value": .text(value)], to: parent)
    let counting = CountingMeasurer()
    boxes.tree.measurer = counting
    for round in 1...3 {
      boxes.tree.setStyle(["padding": .number(Double(round))], of: "1")
      boxes.tree.update()
      #expect(counting.count.withLock { $0 } <= 10 * round)
      #expect(boxes.tree.box("text")?.isFinite == true)
    }
  }

  @Test(
    "a long text is read as a length in a time linear in it", .timeLimit(.minutes(1)),
    arguments: ["1 ", " ", "e", "row ", "-", "1"])
  func longValues(_ part: String) {
    let text = String(repeating: part, count: 5_000_000)
    var boxes = Boxes()
    for name in ["width", "padding", "flex", "flexFlow", "border", "aspectRatio", "zIndex", "fontSize", "fontFamily"] {
      boxes.tree.add(name, type: "text", style: [name: .text(text)], attributes: ["value": .text("a")], to: "body")
    }
    boxes.tree.update()
    #expect(boxes.tree.box("fontSize")?.isFinite == true)
  }
}
