/// The components that layout tells apart.
enum Kind: UInt8 {
  case box, text, richtext, span, image, scroller, list, waterfall, slider, indicator, refresh, header, toggle, input
  case textarea

  init(_ type: String) {
    self =
      switch type {
      case "text": .text
      case "richtext": .richtext
      case "span": .span
      case "image", "img": .image
      case "scroller": .scroller
      case "list", "recycle-list", "recycler", "vlist", "hlist", "simplelist": .list
      case "waterfall": .waterfall
      case "slider", "cycleslider", "slider-neighbor": .slider
      case "indicator": .indicator
      case "refresh", "loading": .refresh
      case "header": .header
      case "switch": .toggle
      case "input": .input
      case "textarea": .textarea
      default: .box
      }
  }

  var isText: Bool { self == .text || self == .richtext || self == .span || self == .input || self == .textarea }
  var scrolls: Bool { self == .scroller || self == .list || self == .waterfall || self == .slider }
  /// Takes a share of what is left unless it has a size (`RenderScroller::GetDefaultStyle`, `RenderList::GetDefaultStyle`).
  var fills: Bool { self == .scroller || self == .list || self == .waterfall }
}

/// The columns of a waterfall.
struct Columns: Equatable {
  /// The attributes that are read.
  static let names: Set<String> = {
    let names = ["columnCount", "columnWidth", "columnGap", "leftGap", "rightGap"]
    return Set(names + names.map(StyleReader.kebab))
  }()

  var count = 0.0
  var width = 0.0
  var gap = 32.0
  var leftGap = 0.0
  var rightGap = 0.0

  init() {}

  init(_ attributes: [String: LayoutValue], unitsPerPoint: Double) {
    func number(_ name: String) -> Double? {
      guard let value = attributes[name] ?? attributes[StyleReader.kebab(name)] else { return nil }
      let length = StyleReader.length(value, unitsPerPoint: unitsPerPoint)
      return length.unit == .units && length.value > 0 ? Double(length.value) : nil
    }
    count = min((number("columnCount") ?? 0).rounded(.down), 100)
    width = number("columnWidth") ?? 0
    switch attributes["columnGap"] ?? attributes["column-gap"] {
    case nil, .text("normal"), .text(""): break
    default: gap = number("columnGap") ?? 0
    }
    leftGap = number("leftGap") ?? 0
    rightGap = number("rightGap") ?? 0
  }

  /// The number and width of the columns in a width, by the SDK's rules (`RenderList::PreCalculateCellWidth`).
  func resolved(in available: Double) -> (count: Int, width: Double) {
    let inner = available - leftGap - rightGap
    func whole(_ count: Double) -> Int { Int(Int32(count, within: 1...100)) }
    func fit(_ space: Double) -> Double { max(1, ((space + gap) / (width + gap)).rounded(.down)) }
    switch (count > 0, width > 0) {
    case (false, false): return (1, max(0, available))
    case (true, false): return (whole(count), max(0, (inner - (count - 1) * gap) / count))
    case (false, true):
      let count = min(fit(available), 100)
      return (whole(count), max(0, (inner + gap) / count - gap))
    case (true, true):
      let count = min(fit(inner), count)
      return (whole(count), max(0, (inner + gap) / count - gap))
    }
  }
}

/// A text and what a measurer said of it.
struct TextEntry {
  var value = ""
  var text = LayoutText(spans: [])
  private var known: (one: Known?, two: Known?, three: Known?)

  private struct Known {
    var width: Double
    var size: LayoutSize
  }

  /// The layout that measured it last, and how often.
  private var measured: (number: UInt32, count: Int) = (0, 0)

  init() {}

  /// Counts a measurement, and returns the last size in its place when a layout measured the text many times: so a layout
  /// goes over a text 8 times and, all in all, over a million characters more.
  mutating func sizeInstead(in layout: UInt32) -> LayoutSize? {
    if measured.number != layout { measured = (layout, 0) }
    measured.count += 1
    guard measured.count > 8, let last = known.one?.size else { return nil }
    let length = text.spans.reduce(1) { $0 + 1 + $1.text.utf8.count }
    return measured.count > 8 + 1_000_000 / length ? last : nil
  }

  mutating func setDirection(_ isRightToLeft: Bool) {
    guard text.style.isRightToLeft != isRightToLeft else { return }
    text.style.isRightToLeft = isRightToLeft
    for index in text.spans.indices { text.spans[index].style.isRightToLeft = isRightToLeft }
    forget()
  }

  mutating func forget() { known = (nil, nil, nil) }

  /// A text that is laid out in a width has the same lines in every width between that of its widest line and this one.
  func size(width: Double) -> LayoutSize? {
    if let one = known.one, one.width == width || (one.size.width <= width && width <= one.width) { return one.size }
    if let two = known.two, two.width == width || (two.size.width <= width && width <= two.width) { return two.size }
    if let three = known.three, three.width == width || (three.size.width <= width && width <= three.width) {
      return three.size
    }
    return nil
  }

  mutating func keep(_ size: LayoutSize, width: Double) {
    known = (Known(width: width, size: size), known.one, known.two)
  }
}

/// The sizes between which an element is laid out: a length or not a number if there is none, and its meaning.
struct Constraint: Equatable {
  enum Mode: UInt8 { case exact, atMost, open }

  var width = Double.nan
  var height = Double.nan
  var widthMode = Mode.open
  var heightMode = Mode.open
  /// The inner size of the element around it, for shares.
  var outerWidth = Double.nan
  var outerHeight = Double.nan
  /// `true` if an exact height follows from what is in the element: shares of it are no lengths.
  var heightFollows = false
  /// `true` if the element's smallest and largest width do not count.
  var isFreeWidth = false
  /// `true` if the element's smallest and largest height do not count.
  var isFreeHeight = false

  @inline(__always) static func same(_ a: Double, _ b: Double) -> Bool { a == b || (a.isNaN && b.isNaN) }

  @inline(__always) func matches(_ other: Constraint) -> Bool {
    widthMode == other.widthMode && heightMode == other.heightMode && heightFollows == other.heightFollows
      && isFreeWidth == other.isFreeWidth
      && isFreeHeight == other.isFreeHeight
      && Self.same(width, other.width)
      && Self.same(height, other.height) && Self.same(outerWidth, other.outerWidth)
      && Self.same(outerHeight, other.outerHeight)
  }
}

/// An element: its style, its neighbours by their places, its box, and what is known of its size.
struct Node {
  var style = Style()
  var kind = Kind.box
  var isAcross = false
  var isShown = false
  var isFixed = false
  var isSticky = false
  var hasFixed = false
  var clips = false
  var isScroller = false
  var needsText = false
  /// `true` if it and all below it are renewed at the next layout.
  var waitsBelow = false
  var isRightToLeft = false
  /// `true` if there is a `richtext` around it.
  var isInRichText = false
  /// `true` if it was left out of the last layout.
  var isRemoved = false
  /// `true` if it or one around it was left out of the layout of `checked`.
  var isGone = false
  /// The layout in which `isGone` was set for something fixed.
  var checked: UInt32 = 0
  /// `true` if the box belongs to `laidOut`.
  var isLaidOut = false
  var parent: Int32 = -1
  var first: Int32 = -1
  var last: Int32 = -1
  var previous: Int32 = -1
  var next: Int32 = -1
  var count: Int32 = 0
  var depth: Int32 = 0
  /// Its place among the texts; −1 for none.
  var text: Int32 = -1
  /// The rows of a `textarea`; the page that a `slider` shows; the pages that an `indicator` has dots for.
  var number: Int32 = 0
  /// When it was last forgotten.
  var forgotten: UInt32 = 0
  var knownCount: UInt8 = 0
  var knownNext: UInt8 = 0

  // The box.
  var x = 0.0
  var y = 0.0
  var width = 0.0
  var height = 0.0
  var contentWidth = 0.0
  var contentHeight = 0.0
  /// The extent of what is drawn, from the border box's corner.
  var inkLeft = 0.0
  var inkTop = 0.0
  var inkRight = 0.0
  var inkBottom = 0.0
  var outerWidth = 0.0
  var scrollX = Double.nan
  var scrollY = Double.nan
  /// The box when it was last named as changed.
  var named = (x: 0.0, y: 0.0, width: -1.0, height: 0.0, contentWidth: 0.0, contentHeight: 0.0)

  // What the element around it keeps while it places its children.
  var marginLeft = 0.0
  var marginTop = 0.0
  var marginRight = 0.0
  var marginBottom = 0.0
  var basis = 0.0
  var target = 0.0
  var cross = 0.0
  var isFrozen = false
  /// `true` if the size in the cross axis was measured with that in the main axis.
  var hasCross = false
  var isStretched = false

  var laidOut = Constraint()
  var known: (Known, Known, Known, Known) = (Known(), Known(), Known(), Known())

  struct Known {
    var constraint = Constraint()
    var width = 0.0
    var height = 0.0
  }

  init() {}

  mutating func forget(_ generation: UInt32) {
    forgotten = generation
    forgetSizes()
  }

  mutating func forgetSizes() {
    knownCount = 0
    knownNext = 0
    isLaidOut = false
  }

  func size(_ constraint: Constraint) -> LayoutSize? {
    if knownCount > 0, known.0.constraint.matches(constraint) {
      return LayoutSize(width: known.0.width, height: known.0.height)
    }
    if knownCount > 1, known.1.constraint.matches(constraint) {
      return LayoutSize(width: known.1.width, height: known.1.height)
    }
    if knownCount > 2, known.2.constraint.matches(constraint) {
      return LayoutSize(width: known.2.width, height: known.2.height)
    }
    if knownCount > 3, known.3.constraint.matches(constraint) {
      return LayoutSize(width: known.3.width, height: known.3.height)
    }
    return nil
  }

  mutating func keep(_ size: LayoutSize, _ constraint: Constraint) {
    let entry = Known(constraint: constraint, width: size.width, height: size.height)
    switch knownNext {
    case 0: known.0 = entry
    case 1: known.1 = entry
    case 2: known.2 = entry
    default: known.3 = entry
    }
    knownNext = (knownNext + 1) & 3
    knownCount = min(4, knownCount + 1)
  }
}
