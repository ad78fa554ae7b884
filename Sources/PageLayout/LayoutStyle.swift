/// A length of a style, parsed.
struct Length: Equatable {
  enum Unit: UInt8 { case none, auto, units, percent }

  var value: Float = 0
  var unit = Unit.none

  static let none = Length()
  static let auto = Length(value: 0, unit: .auto)
  static let zero = Length(value: 0, unit: .units)

  /// Larger numbers are cut: sums and shares of lengths stay finite.
  static let limit: Float = 1e7

  @inline(__always) var isNone: Bool { unit == .none }
  @inline(__always) var isAuto: Bool { unit == .auto }
  @inline(__always) var isPercent: Bool { unit == .percent }

  /// The length in units; not a number if there is none, or for a share of an unknown length.
  @inline(__always) func resolved(_ whole: Double) -> Double {
    switch unit {
    case .units: Double(value)
    case .percent: min(max(whole * Double(value) / 100, -1e9), 1e9)
    case .none, .auto: .nan
    }
  }

  /// The length in units; 0 if there is none.
  @inline(__always) func orZero(_ whole: Double) -> Double {
    if unit == .none { return 0 }
    let length = resolved(whole)
    return length.isNaN ? 0 : length
  }
}

/// Lengths of four sides.
struct Sides: Equatable {
  var left = Length.none
  var top = Length.none
  var right = Length.none
  var bottom = Length.none

  var hasNone: Bool { left.isNone && top.isNone && right.isNone && bottom.isNone }
  var hasPercent: Bool { left.isPercent || top.isPercent || right.isPercent || bottom.isPercent }
  var hasAuto: Bool { left.isAuto || top.isAuto || right.isAuto || bottom.isAuto }
}

/// The part of a style that layout reads. The initial values are those of Weex (`WXCoreCSSStyle` of the SDK's core): a column whose
/// items are stretched and keep their size.
struct Style: Equatable {
  enum Direction: UInt8 { case inherit, leftToRight, rightToLeft }
  enum FlexDirection: UInt8 { case column, columnReverse, row, rowReverse }
  enum Wrap: UInt8 { case none, wrap, reverse }
  enum Justify: UInt8 { case start, end, center, spaceBetween, spaceAround, spaceEvenly }
  enum Align: UInt8 { case auto, start, end, center, stretch }
  /// `packed` is what the SDK does, which has no `alignContent`: lines from the start, and a single one fills the element.
  enum AlignContent: UInt8 { case packed, start, end, center, stretch, spaceBetween, spaceAround, spaceEvenly }
  enum Position: UInt8 { case relative, absolute, fixed, sticky }
  enum Overflow: UInt8 { case visible, hidden, scroll }

  var direction = Direction.inherit
  var flexDirection = FlexDirection.column
  var wrap = Wrap.none
  var justify = Justify.start
  var alignItems = Align.stretch
  var alignSelf = Align.auto
  var alignContent = AlignContent.packed
  var position = Position.relative
  var overflow = Overflow.visible
  var isRemoved = false
  var isHidden = false
  /// `true` if `flex` or `flexGrow` is set: a scroller takes no share of its own then.
  var hasFlex = false
  var hasPadding = false
  var hasMargin = false
  /// `true` if there is a `transform`, of which only where it is drawn depends.
  var hasTransform = false
  /// `true` if the size depends on that of the element around it, other than by what it is told to be.
  var readsOuterWidth = false
  var readsOuterHeight = false
  var grow: Float = 0
  var shrink: Float = 0
  var aspectRatio: Float = 0
  var zIndex: Int32 = 0
  var basis = Length.auto
  var width = Length.none
  var height = Length.none
  var minWidth = Length.none
  var minHeight = Length.none
  var maxWidth = Length.none
  var maxHeight = Length.none
  var rowGap = Length.none
  var columnGap = Length.none
  var offsets = Sides()
  var margin = Sides()
  var padding = Sides()
  var border = Sides()

  init() {}

  /// - Parameter unitsPerPoint: the units of a `wx`.
  init(_ values: [String: LayoutValue], unitsPerPoint: Double) {
    guard !values.isEmpty else { return }
    var reader = StyleReader(unitsPerPoint: unitsPerPoint)
    for (name, value) in values {
      guard let property = StyleReader.properties[name] else { continue }
      reader.read(property, value)
    }
    self = reader.finished()
  }
}

/// Reads a style. Unknown properties and values are left out, as in the SDK.
struct StyleReader {
  enum Property: UInt8 {
    case direction, flexDirection, wrap, flexFlow, justify, alignItems, alignSelf, alignContent, position, overflow,
      display
    case visibility, transform, flex, grow, shrink, basis, aspectRatio, zIndex
    case width, height, minWidth, minHeight, maxWidth, maxHeight, gap, rowGap, columnGap
    case left, top, right, bottom
    case margin, marginLeft, marginTop, marginRight, marginBottom
    case padding, paddingLeft, paddingTop, paddingRight, paddingBottom
    case border, borderLeft, borderTop, borderRight, borderBottom
    case borderWidth, borderLeftWidth, borderTopWidth, borderRightWidth, borderBottomWidth
  }

  /// The properties by their names, which scripts write in either way.
  static let properties: [String: Property] = {
    let names: [String: Property] = [
      "direction": .direction, "flexDirection": .flexDirection, "flexWrap": .wrap, "flexFlow": .flexFlow,
      "justifyContent": .justify, "alignItems": .alignItems, "alignSelf": .alignSelf, "alignContent": .alignContent,
      "position": .position, "overflow": .overflow, "display": .display, "visibility": .visibility,
      "transform": .transform, "flex": .flex,
      "flexGrow": .grow, "flexShrink": .shrink, "flexBasis": .basis, "aspectRatio": .aspectRatio, "zIndex": .zIndex,
      "width": .width, "height": .height, "minWidth": .minWidth, "minHeight": .minHeight, "maxWidth": .maxWidth,
      "maxHeight": .maxHeight, "gap": .gap, "rowGap": .rowGap, "columnGap": .columnGap, "left": .left, "top": .top,
      "right": .right, "bottom": .bottom, "margin": .margin, "marginLeft": .marginLeft, "marginTop": .marginTop,
      "marginRight": .marginRight, "marginBottom": .marginBottom, "padding": .padding, "paddingLeft": .paddingLeft,
      "paddingTop": .paddingTop, "paddingRight": .paddingRight, "paddingBottom": .paddingBottom, "border": .border,
      "borderLeft": .borderLeft, "borderTop": .borderTop, "borderRight": .borderRight, "borderBottom": .borderBottom,
      "borderWidth": .borderWidth, "borderLeftWidth": .borderLeftWidth, "borderTopWidth": .borderTopWidth,
      "borderRightWidth": .borderRightWidth, "borderBottomWidth": .borderBottomWidth,
    ]
    var result = names
    for (name, property) in names { result[kebab(name)] = property }
    return result
  }()

  /// `flexWrap` → `flex-wrap`
  static func kebab(_ name: String) -> String {
    var result = ""
    for character in name {
      if character.isUppercase { result += "-" }
      result += character.lowercased()
    }
    return result
  }

  private let unitsPerPoint: Double
  private var style = Style()
  // A property of one side counts before that of all, in whatever order they come.
  private var margin = Sides()
  private var padding = Sides()
  private var border = Sides()
  private var borderSides = Sides()
  private var gap = (row: Length.none, column: Length.none)
  private var flex: (grow: Float, shrink: Float?, basis: Length)?
  private var factors: (grow: Float?, shrink: Float?, basis: Length?)

  init(unitsPerPoint: Double) { self.unitsPerPoint = unitsPerPoint }

  func finished() -> Style {
    var style = style
    style.margin = Self.merged(style.margin, margin)
    style.padding = Self.merged(style.padding, padding)
    style.border = Self.merged(style.border, Self.merged(borderSides, border))
    if style.rowGap.isNone { style.rowGap = gap.row }
    if style.columnGap.isNone { style.columnGap = gap.column }
    if let flex {
      style.hasFlex = true
      style.grow = flex.grow
      if let shrink = flex.shrink { style.shrink = shrink }
      style.basis = flex.basis
    }
    if let grow = factors.grow { (style.grow, style.hasFlex) = (grow, true) }
    if let shrink = factors.shrink { style.shrink = shrink }
    if let basis = factors.basis { style.basis = basis }
    style.hasPadding = !(style.padding.hasNone && style.border.hasNone)
    style.hasMargin = !style.margin.hasNone
    style.readsOuterWidth = style.padding.hasPercent || style.minWidth.isPercent || style.maxWidth.isPercent
    style.readsOuterHeight = style.minHeight.isPercent || style.maxHeight.isPercent
    return style
  }

  private static func merged(_ sides: Sides, _ all: Sides) -> Sides {
    var sides = sides
    if sides.left.isNone { sides.left = all.left }
    if sides.top.isNone { sides.top = all.top }
    if sides.right.isNone { sides.right = all.right }
    if sides.bottom.isNone { sides.bottom = all.bottom }
    return sides
  }

  mutating func read(_ property: Property, _ value: LayoutValue) {
    switch property {
    case .width: style.width = size(value)
    case .height: style.height = size(value)
    case .minWidth: style.minWidth = size(value)
    case .minHeight: style.minHeight = size(value)
    case .maxWidth: style.maxWidth = size(value)
    case .maxHeight: style.maxHeight = size(value)
    case .left: style.offsets.left = offset(value)
    case .top: style.offsets.top = offset(value)
    case .right: style.offsets.right = offset(value)
    case .bottom: style.offsets.bottom = offset(value)
    case .margin: margin = sides(value)
    case .marginLeft: style.margin.left = length(value)
    case .marginTop: style.margin.top = length(value)
    case .marginRight: style.margin.right = length(value)
    case .marginBottom: style.margin.bottom = length(value)
    case .padding: padding = positive(sides(value))
    case .paddingLeft: style.padding.left = positive(length(value))
    case .paddingTop: style.padding.top = positive(length(value))
    case .paddingRight: style.padding.right = positive(length(value))
    case .paddingBottom: style.padding.bottom = positive(length(value))
    case .border: border = Self.allSides(lineWidth(value))
    case .borderLeft: borderSides.left = lineWidth(value)
    case .borderTop: borderSides.top = lineWidth(value)
    case .borderRight: borderSides.right = lineWidth(value)
    case .borderBottom: borderSides.bottom = lineWidth(value)
    case .borderWidth: border = width(sides(value))
    case .borderLeftWidth: style.border.left = width(length(value))
    case .borderTopWidth: style.border.top = width(length(value))
    case .borderRightWidth: style.border.right = width(length(value))
    case .borderBottomWidth: style.border.bottom = width(length(value))
    case .transform: style.hasTransform = true
    case .gap:
      let parts = parts(value)
      gap.row = parts.first.map { positive(length($0)) } ?? .none
      gap.column = parts.count > 1 ? positive(length(parts[1])) : gap.row
    case .rowGap: style.rowGap = positive(length(value))
    case .columnGap: style.columnGap = positive(length(value))
    case .flex: readFlex(value)
    case .grow: factors.grow = number(value).map { max(0, $0) }
    case .shrink: factors.shrink = number(value).map { max(0, $0) }
    case .basis: factors.basis = basis(value)
    case .aspectRatio: style.aspectRatio = ratio(value)
    case .zIndex: style.zIndex = Int32(Double(number(value) ?? 0), within: -1_000_000...1_000_000)
    default: readKeyword(property, value)
    }
  }

  private mutating func readKeyword(_ property: Property, _ value: LayoutValue) {
    guard case .text(let text) = value else { return }
    switch property {
    case .direction:
      style.direction = text == "rtl" ? .rightToLeft : text == "ltr" ? .leftToRight : .inherit
    case .flexDirection: style.flexDirection = Self.flexDirection(text) ?? .column
    case .wrap: style.wrap = Self.wrap(text) ?? .none
    case .flexFlow:
      for case .text(let part) in parts(value) {
        if let direction = Self.flexDirection(part) { style.flexDirection = direction }
        if let wrap = Self.wrap(part) { style.wrap = wrap }
      }
    case .justify:
      style.justify =
        switch text {
        case "flex-end", "end": .end
        case "center": .center
        case "space-between": .spaceBetween
        case "space-around": .spaceAround
        case "space-evenly": .spaceEvenly
        default: .start
        }
    case .alignItems: style.alignItems = Self.align(text) ?? .stretch
    case .alignSelf: style.alignSelf = Self.align(text) ?? .auto
    case .alignContent:
      style.alignContent =
        switch text {
        case "flex-start", "start": .start
        case "flex-end", "end": .end
        case "center": .center
        case "stretch", "normal": .stretch
        case "space-between": .spaceBetween
        case "space-around": .spaceAround
        case "space-evenly": .spaceEvenly
        default: .packed
        }
    case .position:
      style.position =
        switch text {
        case "absolute": .absolute
        case "fixed": .fixed
        case "sticky": .sticky
        default: .relative
        }
    case .overflow:
      style.overflow =
        switch text {
        case "hidden": .hidden
        case "scroll", "auto": .scroll
        default: .visible
        }
    case .display: style.isRemoved = text == "none"
    case .visibility: style.isHidden = text == "hidden"
    default: break
    }
  }

  private static func flexDirection(_ text: String) -> Style.FlexDirection? {
    switch text {
    case "row": .row
    case "row-reverse": .rowReverse
    case "column": .column
    case "column-reverse": .columnReverse
    default: nil
    }
  }

  private static func wrap(_ text: String) -> Style.Wrap? {
    switch text {
    case "nowrap": Style.Wrap.none
    case "wrap": .wrap
    case "wrap-reverse": .reverse
    default: nil
    }
  }

  private static func align(_ text: String) -> Style.Align? {
    switch text {
    case "flex-start", "start": .start
    case "flex-end", "end": .end
    case "center": .center
    case "stretch": .stretch
    default: nil
    }
  }

  /// The SDK knows `flex` as one number: a share of what is left, whatever the size of the element; 0 is no share
  /// (`RenderObject::ApplyStyle`). More than one value is read as CSS does.
  private mutating func readFlex(_ value: LayoutValue) {
    let parts = parts(value)
    switch parts.count {
    case 1:
      if let grow = number(parts[0]) {
        flex = (max(0, grow), nil, grow > 0 ? Length(value: 0, unit: .percent) : .auto)
      } else if parts[0] == .text("auto") {
        flex = (1, 1, .auto)
      } else if parts[0] == .text("none") {
        flex = (0, 0, .auto)
      }
    case 2...3:
      guard let grow = number(parts[0]).map({ max(0, $0) }) else { return }
      if let shrink = number(parts[1]) {
        flex = (grow, max(0, shrink), parts.count > 2 ? basis(parts[2]) : Length(value: 0, unit: .percent))
      } else {
        flex = (grow, nil, basis(parts[1]))
      }
    default: break
    }
  }

  // MARK: Values

  private func parts(_ value: LayoutValue) -> [LayoutValue] {
    guard case .text(let text) = value, text.utf8.contains(32) else { return [value] }
    return text.split(separator: " ", maxSplits: 4).prefix(4).map { .text(String($0)) }
  }

  private func sides(_ value: LayoutValue) -> Sides {
    let parts = parts(value).map(length)
    switch parts.count {
    case 1: return Self.allSides(parts[0])
    case 2: return Sides(left: parts[1], top: parts[0], right: parts[1], bottom: parts[0])
    case 3: return Sides(left: parts[1], top: parts[0], right: parts[1], bottom: parts[2])
    case 4: return Sides(left: parts[3], top: parts[0], right: parts[1], bottom: parts[2])
    default: return Sides()
    }
  }

  private static func allSides(_ length: Length) -> Sides {
    Sides(left: length, top: length, right: length, bottom: length)
  }

  private func positive(_ length: Length) -> Length {
    length.isAuto || length.value < 0 ? .none : length
  }

  private func positive(_ sides: Sides) -> Sides {
    Sides(
      left: positive(sides.left), top: positive(sides.top), right: positive(sides.right),
      bottom: positive(sides.bottom))
  }

  private func width(_ length: Length) -> Length { length.isPercent ? .none : positive(length) }

  private func width(_ sides: Sides) -> Sides {
    Sides(left: width(sides.left), top: width(sides.top), right: width(sides.right), bottom: width(sides.bottom))
  }

  /// The kinds of lines that a border can have: CSS Backgrounds 3 §3.2.
  private static let lines: Set<String> = [
    "solid", "dashed", "dotted", "double", "groove", "ridge", "inset", "outset",
  ]

  /// The width of `1px solid #ccc`. Without a kind of line there is no border.
  private func lineWidth(_ value: LayoutValue) -> Length {
    let parts = parts(value)
    let hasLine = parts.contains {
      if case .text(let word) = $0 { Self.lines.contains(word.lowercased()) } else { false }
    }
    guard hasLine else { return .zero }
    return parts.lazy.map(length).first { $0.unit == .units }.map(width) ?? .none
  }

  private func size(_ value: LayoutValue) -> Length {
    let length = length(value)
    return length.isAuto || length.value < 0 ? .none : length
  }

  private func offset(_ value: LayoutValue) -> Length {
    let length = length(value)
    return length.isAuto ? .none : length
  }

  private func basis(_ value: LayoutValue) -> Length {
    let length = length(value)
    return length.isNone || length.value < 0 ? .auto : length
  }

  private func ratio(_ value: LayoutValue) -> Float {
    var ratio: Float?
    if case .text(let text) = value, let slash = text.firstIndex(of: "/") {
      let (width, height) = (text[..<slash], text[text.index(after: slash)...])
      if let width = Self.number(width.utf8), let height = Self.number(height.utf8), height > 0 {
        ratio = Float(width / height)
      }
    } else {
      ratio = number(value)
    }
    guard let ratio, ratio.isFinite, ratio > 0 else { return 0 }
    return min(max(ratio, 1e-4), 1e4)
  }

  /// A number without a unit.
  private func number(_ value: LayoutValue) -> Float? {
    switch value {
    case .number(let number): number.isNaN ? nil : Float(min(max(number, -1e6), 1e6))
    case .text(let text): Self.number(text.utf8).map { Float(min(max($0, -1e6), 1e6)) }
    }
  }

  /// A length: a number, with `px`, `wx` or `%` or without.
  private func length(_ value: LayoutValue) -> Length { Self.length(value, unitsPerPoint: unitsPerPoint) }

  static func length(_ value: LayoutValue, unitsPerPoint: Double) -> Length {
    switch value {
    case .number(let number): return units(number)
    case .text(let text):
      let bytes = text.utf8
      guard let last = bytes.last else { return .none }
      switch last {
      case UInt8(ascii: "%"):
        guard let number = number(bytes.dropLast()) else { return .none }
        return Length(value: Float(min(max(number, -1e6), 1e6)), unit: .percent)
      case UInt8(ascii: "x"), UInt8(ascii: "X"):
        guard let number = number(bytes.dropLast(2)) else { return .none }
        switch bytes.dropLast().last {
        case UInt8(ascii: "p"), UInt8(ascii: "P"): return units(number)
        case UInt8(ascii: "w"), UInt8(ascii: "W"): return units(number * unitsPerPoint)
        default: return .none
        }
      case UInt8(ascii: "o"): return text == "auto" ? .auto : .none
      default: return number(bytes).map(units) ?? .none
      }
    }
  }

  static func units(_ number: Double) -> Length {
    number.isNaN ? .none : Length(value: min(max(Float(number), -Length.limit), Length.limit), unit: .units)
  }

  /// Reads a decimal number; whole ones, which most are, without going through text. It may be infinite, and is never NaN.
  static func number(_ bytes: some BidirectionalCollection<UInt8>) -> Double? {
    var value = 0.0
    var digits = 0
    var isNegative = false
    var scale = 0.0
    for (offset, byte) in bytes.enumerated() {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        value = value * 10 + Double(byte - UInt8(ascii: "0"))
        digits += 1
        scale *= 10
      case UInt8(ascii: "-") where offset == 0: isNegative = true
      case UInt8(ascii: "+") where offset == 0: break
      case UInt8(ascii: ".") where scale == 0: scale = 1
      case UInt8(ascii: " "), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "-"), UInt8(ascii: "+"):
        // Not split: a long text of spaces would give many parts.
        let space = UInt8(ascii: " ")
        guard let first = bytes.firstIndex(where: { $0 != space }), let last = bytes.lastIndex(where: { $0 != space })
        else { return nil }
        let trimmed = bytes[first...last]
        guard !trimmed.contains(space) else { return nil }
        return Double(String(decoding: trimmed, as: UTF8.self)).flatMap { $0.isNaN ? nil : $0 }
      default: return nil
      }
      if digits > 15 {
        return Double(String(decoding: bytes, as: UTF8.self)).flatMap { $0.isNaN ? nil : $0 }
      }
    }
    guard digits > 0 else { return nil }
    let number = scale > 1 ? value / scale : value
    return isNegative ? -number : number
  }
}

extension Int32 {
  /// The whole part of a number, within bounds; 0 for NaN.
  init(_ number: Double, within bounds: ClosedRange<Int32>) {
    self = number.isNaN ? 0 : Int32(Swift.min(Swift.max(number, Double(Self.min)), Double(Self.max)))
    self = Swift.min(Swift.max(self, bounds.lowerBound), bounds.upperBound)
  }
}

extension TextStyle {
  /// Reads the properties of a text. Unknown ones are left out.
  init(_ values: [String: LayoutValue], unitsPerPoint: Double, isRightToLeft: Bool, above: TextStyle = TextStyle()) {
    self = above
    self.isRightToLeft = isRightToLeft
    for (name, value) in values { read(name, value, unitsPerPoint) }
  }

  private mutating func read(_ name: String, _ value: LayoutValue, _ unitsPerPoint: Double) {
    func units() -> Double? {
      let length = StyleReader.length(value, unitsPerPoint: unitsPerPoint)
      return length.unit == .units ? Double(length.value) : nil
    }
    let text: String? = if case .text(let text) = value { text } else { nil }
    switch name {
    case "fontSize", "font-size": if let size = units(), size >= 0 { fontSize = min(size, 10_000) }
    case "fontFamily", "font-family": fontFamily = text.flatMap { $0.isEmpty ? nil : String($0.prefix(1_000)) }
    case "fontWeight", "font-weight":
      switch value {
      case .text("bold"): fontWeight = 700
      case .text("normal"): fontWeight = 400
      default: if let weight = units() { fontWeight = Int(Int32(weight, within: 100...900)) }
      }
    case "fontStyle", "font-style": isItalic = text == "italic" || text == "oblique"
    case "lineHeight", "line-height": if let height = units(), height > 0 { lineHeight = min(height, 10_000) }
    case "letterSpacing", "letter-spacing": if let space = units() { letterSpacing = min(max(space, -1_000), 1_000) }
    case "lines": if let count = units(), count >= 1 { lines = Int(Int32(count, within: 1...1_000_000)) }
    case "textAlign", "text-align":
      switch text {
      case "left": alignment = .left
      case "right": alignment = .right
      case "center": alignment = .center
      case "justify": alignment = .justify
      case "end": alignment = .end
      default: alignment = .start
      }
    case "textOverflow", "text-overflow": overflow = text == "clip" ? .clip : .ellipsis
    case "wordWrap", "word-wrap", "overflowWrap": if text == "anywhere" { wordBreak = .anywhere }
    case "wordBreak", "word-break": if text == "break-all" { wordBreak = .anywhere }
    default: break
    }
  }
}
