import PageLayout

/// Numbers that are the same in each run.
struct Dice {
  private var state: UInt64

  init(_ seed: Int) { state = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func roll(_ sides: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state >> 11) % max(1, sides)
  }

  mutating func pick<Value>(_ values: [Value]) -> Value { values[roll(values.count)] }
}

/// A tree that is described twice: by changes, and as it is after them.
struct RandomTree {
  struct Element {
    var ref: String
    var type: String
    var style: [String: LayoutValue] = [:]
    var attributes: [String: LayoutValue] = [:]
    var children: [String] = []
    var parent: String?
  }

  var dice: Dice
  var elements: [String: Element] = [:]
  /// All refs but the body's, in the order in which they came.
  var refs: [String] = []
  var tree: LayoutTree
  var styles: [(String, [LayoutValue])]
  private let isHostile: Bool
  private var next = 0

  static let types = [
    "div", "div", "div", "div", "text", "text", "image", "scroller", "list", "cell", "header", "waterfall", "slider",
    "indicator", "refresh", "switch", "input", "textarea", "richtext", "span", "web", "a",
  ]

  static let lengths: [LayoutValue] = [
    .number(0), .number(10), .number(33.3), .number(120), .text("50%"), .text("100%"), .text("20px"), .text("15wx"),
    .text("auto"), .number(750),
  ]

  /// Styles of pages.
  static let usual: [(String, [LayoutValue])] = {
    var result: [(String, [LayoutValue])] = []
    for name in ["width", "height", "minWidth", "minHeight", "maxWidth", "maxHeight", "flexBasis"] {
      result.append((name, lengths))
    }
    for name in ["margin", "padding", "border"] {
      for side in ["", "Left", "Top", "Right", "Bottom"] {
        result.append((name + side + (name == "border" ? "Width" : ""), lengths + [.number(-5)]))
      }
    }
    for name in ["left", "top", "right", "bottom"] { result.append((name, lengths + [.number(-20)])) }
    func texts(_ name: String, _ values: String) {
      result.append((name, values.split(separator: " ").map { .text(String($0)) }))
    }
    texts("flexDirection", "row column row-reverse column-reverse row row")
    texts("flexWrap", "nowrap wrap wrap-reverse")
    texts("justifyContent", "flex-start flex-end center space-between space-around space-evenly")
    texts("alignItems", "stretch flex-start flex-end center")
    texts("alignSelf", "auto stretch flex-start flex-end center")
    texts("alignContent", "stretch flex-start flex-end center space-between space-around")
    texts("position", "relative absolute fixed sticky relative relative")
    texts("overflow", "visible hidden scroll")
    texts("display", "flex flex flex none")
    result.append(("flex", [.number(0), .number(1), .number(2), .number(0.3), .text("1 1 auto")]))
    result.append(("flexShrink", [.number(0), .number(1)]))
    result.append(("gap", [.number(5), .text("10%")]))
    result.append(("aspectRatio", [.number(1), .text("16/9")]))
    result.append(("zIndex", [.number(3), .number(-1)]))
    result.append(("fontSize", [.number(20), .number(64)]))
    result.append(("lines", [.number(1), .number(3)]))
    return result
  }()

  /// Values that mean harm.
  static let harm: [LayoutValue] = [
    .number(.nan), .number(.infinity), .number(-.infinity), .text("1e308px"), .text("-1e308px"), .text("NaN"),
    .text("inf"), .text(" nan"), .text(" nanpx"), .text("nan "), .text(" inf"), .text(" -inf"), .text(" 1e999"),
    .text("1e308%"), .text("-50%"), .number(-1e300), .text("99999999999999999999"), .text(""), .text("%"), .text("px"),
    .text("x"), .number(.leastNonzeroMagnitude), .text("0/0"), .text("1/1e-300"),
  ]

  /// Styles that mean harm.
  static let hostile: [(String, [LayoutValue])] = usual.map { name, values in (name, values + harm) }

  /// - Parameter isHostile: `true` for styles and attributes that mean harm.
  init(
    seed: Int, styles: [(String, [LayoutValue])] = RandomTree.usual, isHostile: Bool = false,
    window: LayoutWindow = LayoutWindow()
  ) {
    dice = Dice(seed)
    self.styles = isHostile ? Self.hostile : styles
    self.isHostile = isHostile
    tree = LayoutTree(window: window)
    elements["body"] = Element(ref: "body", type: "div")
    tree.createBody("body", type: "div")
  }

  mutating func grow(to count: Int) { while refs.count < count { add() } }

  /// Makes one change of any kind.
  mutating func change() {
    switch dice.roll(10) {
    case 0, 1: add()
    case 2: remove()
    case 3: move()
    case 4, 5: setAttributes()
    default: setStyle()
    }
  }

  private mutating func randomStyle() -> [String: LayoutValue] {
    var style: [String: LayoutValue] = [:]
    for _ in 0..<dice.roll(6) {
      let (name, values) = dice.pick(styles)
      style[name] = dice.pick(values)
    }
    return style
  }

  private mutating func randomAttributes() -> [String: LayoutValue] {
    let words = "a few words that are broken into lines if they have to be 長い文章も"
    var attributes: [String: LayoutValue] = ["value": .text(String(words.prefix(dice.roll(words.count + 1))))]
    if dice.roll(4) == 0 { attributes["scrollDirection"] = .text("horizontal") }
    if dice.roll(4) == 0 { attributes["columnCount"] = .number(Double(dice.roll(5))) }
    if dice.roll(4) == 0 { attributes["columnGap"] = .number(10) }
    if dice.roll(4) == 0 { attributes["index"] = .number(Double(dice.roll(5))) }
    if dice.roll(4) == 0 { attributes["display"] = .text(dice.roll(2) == 0 ? "show" : "hide") }
    if isHostile {
      for name in ["rows", "index", "columnCount", "columnWidth", "columnGap", "leftGap", "value"]
      where dice.roll(4) == 0 {
        attributes[name] = dice.pick(Self.harm)
      }
    }
    return attributes
  }

  private mutating func add() {
    let parent = refs.isEmpty || dice.roll(8) == 0 ? "body" : dice.pick(refs)
    var element = Element(ref: "e\(next)", type: dice.pick(Self.types), parent: parent)
    next += 1
    element.style = randomStyle()
    element.attributes = randomAttributes()
    let count = elements[parent]?.children.count ?? 0
    let index = dice.roll(3) == 0 ? dice.roll(count + 1) : count
    elements[element.ref] = element
    elements[parent]?.children.insert(element.ref, at: index)
    refs.append(element.ref)
    tree.add(
      element.ref, type: element.type, style: element.style, attributes: element.attributes, to: parent,
      at: index == count ? nil : index)
  }

  private mutating func remove() {
    guard refs.count > 20 else { return }
    let ref = dice.pick(refs)
    guard let element = elements[ref], let parent = element.parent else { return }
    elements[parent]?.children.removeAll { $0 == ref }
    var gone: Set<String> = []
    var waiting = [ref]
    while let next = waiting.popLast() {
      gone.insert(next)
      waiting += elements[next]?.children ?? []
      elements[next] = nil
    }
    refs.removeAll { gone.contains($0) }
    tree.remove(ref)
  }

  private mutating func move() {
    guard !refs.isEmpty else { return }
    let ref = dice.pick(refs)
    let target = dice.pick(refs + ["body"])
    var above: String? = target
    while let at = above {
      if at == ref { return }
      above = elements[at]?.parent
    }
    guard let former = elements[ref]?.parent else { return }
    // The index counts the children while the element is still at its old place.
    let index = dice.roll((elements[target]?.children.count ?? 0) + 1)
    let old = former == target ? elements[former]?.children.firstIndex(of: ref) : nil
    elements[former]?.children.removeAll { $0 == ref }
    let place = old.map { $0 < index ? index - 1 : index } ?? index
    let count = elements[target]?.children.count ?? 0
    elements[target]?.children.insert(ref, at: min(place, count))
    elements[ref]?.parent = target
    tree.move(ref, to: target, at: index)
  }

  private mutating func setStyle() {
    guard !refs.isEmpty else { return }
    let ref = dice.pick(refs)
    let style = randomStyle()
    elements[ref]?.style = style
    tree.setStyle(style, of: ref)
  }

  private mutating func setAttributes() {
    guard !refs.isEmpty else { return }
    let ref = dice.pick(refs)
    let attributes = randomAttributes()
    elements[ref]?.attributes = attributes
    tree.setAttributes(attributes, of: ref)
  }

  /// The same elements in a tree that knows no changes.
  func made() -> LayoutTree {
    var tree = LayoutTree(window: tree.window)
    tree.createBody("body", type: "div")
    var waiting = elements["body"]?.children.reversed() ?? []
    while let ref = waiting.popLast() {
      guard let element = elements[ref], let parent = element.parent else { continue }
      tree.add(ref, type: element.type, style: element.style, attributes: element.attributes, to: parent)
      waiting += element.children.reversed()
    }
    return tree
  }
}

extension LayoutBox {
  var isFinite: Bool {
    [
      frame.x, frame.y, frame.width, frame.height, pageFrame.x, pageFrame.y, pageFrame.width, pageFrame.height,
      contentSize.width, contentSize.height, scrollOffset.x, scrollOffset.y, padding.left, padding.top, padding.right,
      padding.bottom, border.left, border.top, border.right, border.bottom,
    ].allSatisfy { $0.isFinite } && frame.width >= 0 && frame.height >= 0
  }
}
