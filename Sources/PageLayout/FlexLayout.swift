#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// One layout of a tree: CSS Flexible Box Layout, level 1, with the rules in which Weex differs.
///
/// An element is asked for its size under a constraint any number of times, and laid out once the size is known. Answers are
/// kept by the elements until they are forgotten. The work of one layout is bounded: when a tree asks for too much of it,
/// the last answer stands for the ones to come.
struct FlexLayout {
  let window: LayoutWindow
  let measurer: any TextMeasuring
  let columns: [Int32: Columns]
  /// The number of elements that may be gone over to measure others and themselves; then what is known is taken.
  var budget: Int
  /// The number of characters that may still be measured by the measurer; then texts are measured without fonts.
  private var characters = LayoutTree.characterLimit
  /// The elements whose box changed, parents first.
  private(set) var changed: [Int32] = []
  /// The number of the layout, which no layout before it had.
  private let number: UInt32

  private let nodes: UnsafeMutablePointer<Node>
  private let texts: UnsafeMutablePointer<TextEntry>?
  /// The elements whose children may have been placed anew, parents first.
  private var touched: [Int32] = []
  /// Elements with more elements than this above them are not laid out.
  private var depthLimit = Int32(LayoutTree.depthLimit)

  /// - Parameters:
  ///   - number: a number that no layout of these elements had before.
  ///   - nodes: the elements, which name each other by their places in it; nothing else uses them meanwhile.
  ///   - texts: the texts, likewise.
  init(
    window: LayoutWindow, measurer: any TextMeasuring, columns: [Int32: Columns], budget: Int, number: UInt32,
    nodes: UnsafeMutablePointer<Node>, texts: UnsafeMutablePointer<TextEntry>?
  ) {
    self.window = window
    self.measurer = measurer
    self.columns = columns
    self.budget = budget
    self.number = number
    self.nodes = nodes
    self.texts = texts
  }

  // MARK: The tree

  /// The number of elements above one up to which a stack of 512 KiB suffices.
  private static let shallow = 48
  /// More than the bytes of stack that a level takes: 6 KiB were measured without optimisation.
  private static let frameSize = 12 << 10

  /// Lays out the body, then what is fixed.
  ///
  /// - Parameters:
  ///   - fixed: the elements with `position: fixed`, the outer ones first.
  ///   - depth: the largest number of elements above one.
  ///   - otherThread: called when another thread goes on.
  mutating func run(body: Int, fixed: [Int32], depth: Int, otherThread: (@Sendable () -> Void)?) {
    if depth <= Self.shallow {
      run(body, fixed)
      return
    }
    // A deep tree has a stack of its own.
    let work = DeepWork(layout: self, body: body, fixed: fixed, begins: otherThread)
    let stack = (min(depth, LayoutTree.depthLimit) + 200) * Self.frameSize
    if work.run(stack: stack) {
      self = work.layout
      otherThread?()
    } else {
      depthLimit = Int32(Self.shallow)
      run(body, fixed)
    }
  }

  fileprivate mutating func run(_ body: Int, _ fixed: [Int32]) {
    var constraint = Constraint()
    constraint.outerWidth = window.width.bounded
    constraint.outerHeight = window.height.bounded
    let style = nodes[body].style
    let width = style.width.resolved(constraint.outerWidth)
    let height = style.height.resolved(constraint.outerHeight)
    // Without a size of its own the body is as large as the screen (`RenderPage::SetDefaultHeightAndWidthIntoRootRender`).
    constraint.width = bounded(body, row: true, width.isNaN ? constraint.outerWidth : width, constraint)
    constraint.height = bounded(body, row: false, height.isNaN ? constraint.outerHeight : height, constraint)
    (constraint.widthMode, constraint.heightMode) = (.exact, .exact)
    nodes[body].isRightToLeft = style.direction == .inherit ? window.isRightToLeft : style.direction == .rightToLeft
    nodes[body].isRemoved = style.isRemoved
    nodes[body].x = style.margin.left.orZero(constraint.outerWidth)
    nodes[body].y = style.margin.top.orZero(constraint.outerWidth)
    if !style.isRemoved { layOut(body, constraint) }
    for place in fixed {
      let index = Int(place)
      guard nodes[index].depth <= depthLimit else { continue }
      let parent = nodes[index].parent
      let isRightToLeft = parent >= 0 ? nodes[Int(parent)].isRightToLeft : window.isRightToLeft
      nodes[index].isRemoved = nodes[index].style.isRemoved || isGone(parent)
      if nodes[index].isRemoved { continue }
      layOutAbsolute(
        index, area: LayoutRect(x: 0, y: 0, width: window.width.bounded, height: window.height.bounded),
        isRightToLeft: isRightToLeft, at: .zero)
    }
    name(Int32(body))
    for place in touched {
      var next = nodes[Int(place)].first
      while next >= 0 {
        if !nodes[Int(next)].isFixed { name(next) }
        next = nodes[Int(next)].next
      }
    }
    for place in fixed { name(place) }
  }

  /// Returns `true` if an element or one around it is left out. No element is asked twice.
  private mutating func isGone(_ place: Int32) -> Bool {
    var path: [Int32] = []
    var next = place
    var isGone = false
    while next >= 0 {
      if nodes[Int(next)].checked == number {
        isGone = nodes[Int(next)].isGone
        break
      }
      path.append(next)
      // Of a fixed element, which was laid out before, it is known.
      next = nodes[Int(next)].isFixed ? -1 : nodes[Int(next)].parent
    }
    for place in path.reversed() {
      isGone = isGone || nodes[Int(place)].isRemoved
      nodes[Int(place)].checked = number
      nodes[Int(place)].isGone = isGone
    }
    return isGone
  }

  private mutating func name(_ place: Int32) {
    let node = nodes + Int(place)
    let now = (
      x: node.pointee.x, y: node.pointee.y, width: node.pointee.isRemoved ? 0 : node.pointee.width,
      height: node.pointee.isRemoved ? 0 : node.pointee.height, contentWidth: node.pointee.contentWidth,
      contentHeight: node.pointee.contentHeight
    )
    if now != node.pointee.named {
      node.pointee.named = now
      changed.append(place)
    }
  }

  // MARK: Sizes

  /// A size within the element's smallest and largest one, and no smaller than its padding and borders.
  private func bounded(_ index: Int, row: Bool, _ size: Double, _ outer: Constraint) -> Double {
    let node = nodes + index
    var size = size
    let isFree = row ? outer.isFreeWidth : outer.isFreeHeight
    let (most, least, whole) =
      row
      ? (node.pointee.style.maxWidth, node.pointee.style.minWidth, outer.outerWidth)
      : (node.pointee.style.maxHeight, node.pointee.style.minHeight, outer.outerHeight)
    if !most.isNone, !isFree {
      let length = most.resolved(whole)
      if length >= 0 { size = min(size, length) }
    }
    if !least.isNone, !isFree {
      let length = least.resolved(whole)
      if length >= 0 { size = max(size, length) }
    }
    if node.pointee.style.hasPadding {
      let insets = insets(index, outer.outerWidth)
      size = max(size, row ? insets.left + insets.right : insets.top + insets.bottom)
    }
    return size.bounded
  }

  /// Paddings and borders.
  @inline(__always)
  private func insets(_ index: Int, _ outerWidth: Double) -> LayoutInsets {
    var insets = LayoutInsets()
    let node = nodes + index
    guard node.pointee.style.hasPadding else { return insets }
    insets.left = node.pointee.style.padding.left.orZero(outerWidth) + node.pointee.style.border.left.orZero(0)
    insets.top = node.pointee.style.padding.top.orZero(outerWidth) + node.pointee.style.border.top.orZero(0)
    insets.right = node.pointee.style.padding.right.orZero(outerWidth) + node.pointee.style.border.right.orZero(0)
    insets.bottom = node.pointee.style.padding.bottom.orZero(outerWidth) + node.pointee.style.border.bottom.orZero(0)
    return insets
  }

  /// The constraint without what the element does not read, so that it is the same more often.
  @inline(__always)
  private func reduced(_ index: Int, _ constraint: Constraint) -> Constraint {
    var constraint = constraint
    if !nodes[index].style.readsOuterWidth { constraint.outerWidth = .nan }
    if !nodes[index].style.readsOuterHeight { constraint.outerHeight = .nan }
    return constraint
  }

  /// The size of an element under a constraint. Nothing of its box changes.
  private mutating func measured(_ index: Int, _ constraint: Constraint) -> LayoutSize {
    if constraint.widthMode == .exact, constraint.heightMode == .exact {
      return LayoutSize(width: constraint.width, height: constraint.height)
    }
    let constraint = reduced(index, constraint)
    if let size = nodes[index].size(constraint) { return size }
    if budget <= 0 || nodes[index].depth >= depthLimit {
      let last = nodes[index].known.0
      return nodes[index].knownCount > 0
        ? LayoutSize(width: last.width, height: last.height)
        : LayoutSize(
          width: constraint.widthMode == .exact ? constraint.width : 0,
          height: constraint.heightMode == .exact ? constraint.height : 0)
    }
    let size = place(index, constraint, performs: false)
    nodes[index].keep(size, constraint)
    return size
  }

  /// Gives an element a size and places what is in it.
  private mutating func layOut(_ index: Int, _ constraint: Constraint) {
    let node = nodes + index
    node.pointee.outerWidth = constraint.outerWidth
    let constraint = reduced(index, constraint)
    if node.pointee.isLaidOut, node.pointee.laidOut.matches(constraint) { return }
    let size = place(index, constraint, performs: true)
    node.pointee.width = size.width
    node.pointee.height = size.height
    node.pointee.isLaidOut = true
    node.pointee.laidOut = constraint
  }

  /// Measures an element, or lays it out as well.
  private mutating func place(_ index: Int, _ constraint: Constraint, performs: Bool) -> LayoutSize {
    budget -= 1 + Int(nodes[index].count)
    let node = nodes + index
    if node.pointee.depth >= depthLimit {
      if performs { hideChildren(index) }
      return leaf(index, constraint, content: .zero, performs: performs)
    }
    switch node.pointee.kind {
    case .text, .richtext, .span, .input, .textarea:
      if performs { hideChildren(index) }
      return text(index, constraint, performs: performs)
    case .toggle:
      if performs { hideChildren(index) }
      return leaf(index, constraint, content: .zero, performs: performs)
    case .indicator:
      if performs { hideChildren(index) }
      return leaf(index, constraint, content: dots(index), performs: performs)
    case .slider: return slider(index, constraint, performs: performs)
    case .waterfall: return waterfall(index, constraint, performs: performs)
    default:
      if node.pointee.first < 0 { return leaf(index, constraint, content: .zero, performs: performs) }
      return container(index, constraint, performs: performs)
    }
  }

  private mutating func hideChildren(_ index: Int) {
    var next = nodes[index].first
    while next >= 0 {
      if !nodes[Int(next)].isFixed { nodes[Int(next)].isRemoved = true }
      next = nodes[Int(next)].next
    }
    if nodes[index].first >= 0 { touched.append(Int32(index)) }
  }

  /// An element whose content has a size of its own.
  private mutating func leaf(
    _ index: Int, _ constraint: Constraint, content: LayoutSize, performs: Bool
  ) -> LayoutSize {
    let insets = insets(index, constraint.outerWidth)
    let size = LayoutSize(
      width: constraint.widthMode == .exact
        ? constraint.width
        : bounded(index, row: true, content.width + insets.left + insets.right, constraint),
      height: constraint.heightMode == .exact
        ? constraint.height
        : bounded(index, row: false, content.height + insets.top + insets.bottom, constraint))
    if performs {
      let node = nodes + index
      node.pointee.contentWidth = size.width
      node.pointee.contentHeight = size.height
      (node.pointee.inkLeft, node.pointee.inkTop) = (0, 0)
      (node.pointee.inkRight, node.pointee.inkBottom) = (size.width, size.height)
    }
    return size
  }

  private mutating func text(_ index: Int, _ constraint: Constraint, performs: Bool) -> LayoutSize {
    if nodes[index].text >= 0, let entry = texts?.advanced(by: Int(nodes[index].text)) {
      entry.pointee.setDirection(nodes[index].isRightToLeft)
    }
    if constraint.widthMode == .exact, constraint.heightMode == .exact {
      return leaf(index, constraint, content: .zero, performs: performs)
    }
    let insets = insets(index, constraint.outerWidth)
    let sides = insets.left + insets.right
    let available = constraint.width.isNaN ? Double.infinity : max(0, constraint.width - sides)
    var content: LayoutSize
    if constraint.widthMode == .atMost {
      content = lines(index, .infinity)
      // A text that wraps takes the room that it has (`getTextWidth` of Android's SDK, CSS Sizing 3 §5.1).
      if content.width > available { content = LayoutSize(width: available, height: lines(index, available).height) }
    } else {
      content = lines(index, available)
    }
    switch nodes[index].kind {
    case .input: content.height = max(content.height, 60 - insets.top - insets.bottom)
    case .textarea: content.height *= Double(nodes[index].number)
    default: break
    }
    return leaf(index, constraint, content: content, performs: performs)
  }

  /// The size of a text in a width. That of a field does not depend on what is in it.
  private mutating func lines(_ index: Int, _ width: Double) -> LayoutSize {
    guard let entry = nodes[index].text >= 0 ? texts?.advanced(by: Int(nodes[index].text)) : nil else { return .zero }
    let isField = nodes[index].kind == .input || nodes[index].kind == .textarea
    if !isField, entry.pointee.text.isEmpty { return .zero }
    let width = isField ? Double.infinity : width
    if let size = entry.pointee.size(width: width) ?? entry.pointee.sizeInstead(in: number) { return size }
    let measured: LayoutSize
    if isField {
      measured = measurer.size(of: LayoutText("M", style: entry.pointee.text.style), width: width)
    } else if characters > 0 {
      // Each part takes a time of its own, as long as that of some letters.
      characters -= entry.pointee.text.spans.reduce(0) { $0 + $1.text.utf8.count + 16 }
      measured = measurer.size(of: entry.pointee.text, width: width)
    } else {
      measured = FixedAdvances().size(of: entry.pointee.text, width: width)
    }
    let size = LayoutSize(width: isField ? 0 : measured.width.bounded, height: measured.height.bounded)
    entry.pointee.keep(size, width: width)
    return size
  }

  /// One dot for each page of the slider around it, which has counted them.
  private func dots(_ index: Int) -> LayoutSize {
    let parent = nodes[index].parent
    guard parent >= 0, nodes[Int(parent)].kind == .slider else { return .zero }
    let count = Double(min(nodes[index].number, 50))
    return LayoutSize(width: count * 12 + max(0, count - 1) * 10, height: 12)
  }

  // MARK: Flexible boxes

  /// A row or a column of items within an element, before its lines are placed.
  private struct Line {
    var first: Int32 = -1
    /// The item after the last one; −1 at the end.
    var end: Int32 = -1
    var count = 0
    /// The sum of the items' sizes and margins, and of the gaps.
    var used = 0.0
    var cross = 0.0
  }

  /// The room within an element for its items.
  private struct Room {
    /// The inner size; not a number where there is no bound.
    var width: Double
    var height: Double
    var widthMode: Constraint.Mode
    var heightMode: Constraint.Mode
    /// The length that shares of items are shares of; not a number if it follows from the items.
    var outer = Constraint()

    func length(row: Bool) -> Double { row ? width : height }
    func mode(row: Bool) -> Constraint.Mode { row ? widthMode : heightMode }
    func whole(row: Bool) -> Double { row ? outer.outerWidth : outer.outerHeight }
  }

  private func isItem(_ index: Int) -> Bool {
    !nodes[index].isRemoved && nodes[index].style.position != .absolute && !nodes[index].isFixed
  }

  /// `true` if an element scrolls in the direction: what is in it takes what room it likes.
  private func scrolls(_ index: Int, row: Bool) -> Bool {
    switch nodes[index].kind {
    case .scroller, .list: nodes[index].isAcross == row
    default: false
    }
  }

  /// Sets what items inherit, and which are left out.
  @inline(__always)
  private mutating func prepare(_ index: Int, _ isRightToLeft: Bool) {
    let node = nodes + index
    switch node.pointee.style.direction {
    case .inherit: node.pointee.isRightToLeft = isRightToLeft
    case .leftToRight: node.pointee.isRightToLeft = false
    case .rightToLeft: node.pointee.isRightToLeft = true
    }
    node.pointee.isRemoved =
      node.pointee.style.isRemoved || (node.pointee.kind == .refresh && !node.pointee.isShown)
  }

  private func alignment(_ index: Int, in parent: Int) -> Style.Align {
    let own = nodes[index].style.alignSelf
    return own == .auto ? nodes[parent].style.alignItems : own
  }

  @inline(__always)
  private mutating func resolveMargins(_ index: Int, _ outerWidth: Double) {
    let node = nodes + index
    if node.pointee.style.hasMargin {
      node.pointee.marginLeft = node.pointee.style.margin.left.orZero(outerWidth)
      node.pointee.marginTop = node.pointee.style.margin.top.orZero(outerWidth)
      node.pointee.marginRight = node.pointee.style.margin.right.orZero(outerWidth)
      node.pointee.marginBottom = node.pointee.style.margin.bottom.orZero(outerWidth)
    } else {
      (node.pointee.marginLeft, node.pointee.marginTop) = (0, 0)
      (node.pointee.marginRight, node.pointee.marginBottom) = (0, 0)
    }
  }

  private func margins(_ index: Int, row: Bool) -> Double {
    row ? nodes[index].marginLeft + nodes[index].marginRight : nodes[index].marginTop + nodes[index].marginBottom
  }

  private func hasAutoMargin(_ index: Int, row: Bool) -> Bool {
    let margin = nodes[index].style.margin
    return row ? margin.left.isAuto || margin.right.isAuto : margin.top.isAuto || margin.bottom.isAuto
  }

  private mutating func container(_ index: Int, _ constraint: Constraint, performs: Bool) -> LayoutSize {
    let style = nodes + index
    let insets = insets(index, constraint.outerWidth)
    let (insetWidth, insetHeight) = (insets.left + insets.right, insets.top + insets.bottom)
    let isScroller = style.pointee.kind == .scroller || style.pointee.kind == .list
    let row =
      isScroller
      ? style.pointee.isAcross
      : style.pointee.style.flexDirection == .row || style.pointee.style.flexDirection == .rowReverse
    let isReversed =
      !isScroller
      && (style.pointee.style.flexDirection == .rowReverse || style.pointee.style.flexDirection == .columnReverse)
    let isRightToLeft = style.pointee.isRightToLeft
    let wraps = style.pointee.style.wrap != .none && !isScroller
    let mainReversed = row ? isReversed != isRightToLeft : isReversed
    let crossReversed = (!row && isRightToLeft) != (style.pointee.style.wrap == .reverse && wraps)

    var room = Room(
      width: constraint.width - insetWidth, height: constraint.height - insetHeight, widthMode: constraint.widthMode,
      heightMode: constraint.heightMode)
    if !room.width.isNaN { room.width = max(0, room.width) }
    if !room.height.isNaN { room.height = max(0, room.height) }
    if room.widthMode == .exact { room.outer.outerWidth = room.width }
    if room.heightMode == .exact, !constraint.heightFollows { room.outer.outerHeight = room.height }
    if isScroller {
      if row { (room.width, room.widthMode) = (.nan, .open) } else { (room.height, room.heightMode) = (.nan, .open) }
    }
    let gapMain = max(
      0, (row ? style.pointee.style.columnGap : style.pointee.style.rowGap).orZero(room.whole(row: row)))
    let gapCross = max(
      0, (row ? style.pointee.style.rowGap : style.pointee.style.columnGap).orZero(room.whole(row: !row)))

    // 1. What each item would like to be.
    var hasAbsolute = false
    var next = style.pointee.first
    while next >= 0 {
      let child = Int(next)
      prepare(child, isRightToLeft)
      if !nodes[child].isRemoved, !nodes[child].isFixed {
        if nodes[child].style.position == .absolute {
          hasAbsolute = true
        } else {
          resolveMargins(child, room.outer.outerWidth)
          nodes[child].hasCross = false
          nodes[child].basis = basis(child, in: index, row: row, room: room, wraps: wraps)
        }
      }
      next = nodes[child].next
    }

    // A line ends where the element would, if it were as large as it may be.
    var limit = room.length(row: row)
    if wraps, limit.isNaN {
      limit =
        (row ? style.pointee.style.maxWidth : style.pointee.style.maxHeight)
        .resolved(row ? constraint.outerWidth : constraint.outerHeight) - (row ? insetWidth : insetHeight)
    }

    // 2. Lines, and in them the sizes that items get.
    var line = Line()
    var lines: [Line] = []
    var widest = 0.0
    var crossSum = 0.0
    var lineCount = 0
    next = style.pointee.first
    repeat {
      line = Line()
      line.first = next
      var bases = 0.0
      while next >= 0 {
        let child = Int(next)
        if isItem(child) {
          let size = bounded(child, row: row, nodes[child].basis, room.outer) + margins(child, row: row)
          let gap = line.count > 0 ? gapMain : 0
          if wraps, line.count > 0, bases + gap + size > limit { break }
          bases += gap + size
          line.count += 1
        }
        next = nodes[child].next
      }
      line.end = next
      resolveFlexible(
        &line, index, row: row, room: room, bases: bases, gap: gapMain, constraint: constraint,
        insets: row ? insetWidth : insetHeight)
      measureCross(&line, index, row: row, room: room, gap: gapMain, wraps: wraps)
      widest = max(widest, line.used)
      crossSum += line.cross + (lineCount > 0 ? gapCross : 0)
      lineCount += 1
      if wraps { lines.append(line) }
    } while next >= 0

    // 3. The size of the element.
    let insetMain = row ? insetWidth : insetHeight
    let insetCross = row ? insetHeight : insetWidth
    let told = row ? (constraint.width, constraint.height) : (constraint.height, constraint.width)
    let modes = row ? (constraint.widthMode, constraint.heightMode) : (constraint.heightMode, constraint.widthMode)
    var main: Double
    if modes.0 == .exact {
      main = max(told.0, insetMain)
    } else {
      main = bounded(index, row: row, widest + insetMain, constraint)
      if modes.0 == .atMost, style.pointee.isScroller { main = max(min(main, told.0), insetMain) }
      // Lines that wrapped are as wide as what they had.
      if modes.0 == .atMost, wraps, lineCount > 1 {
        main = max(min(told.0, bounded(index, row: row, told.0, constraint)), main)
      }
    }
    var cross: Double
    if modes.1 == .exact {
      cross = max(told.1, insetCross)
    } else {
      cross = bounded(index, row: !row, crossSum + insetCross, constraint)
      if modes.1 == .atMost, style.pointee.isScroller { cross = max(min(cross, told.1), insetCross) }
    }
    let size = row ? LayoutSize(width: main, height: cross) : LayoutSize(width: cross, height: main)
    guard performs else { return size }

    // 4. The places of lines and items.
    touched.append(Int32(index))
    let finalMain = isScroller ? widest : max(0, main - insetMain)
    let finalCross = max(0, cross - insetCross)
    if !wraps {
      line.cross = finalCross
    } else if style.pointee.style.alignContent == .packed, lines.count == 1 {
      lines[0].cross = finalCross
    }
    var stretch = 0.0
    var offset = 0.0
    var between = gapCross
    if wraps, style.pointee.style.alignContent != .packed {
      let rest = finalCross - crossSum
      let count = Double(lines.count)
      switch style.pointee.style.alignContent {
      case .end: offset = rest
      case .center: offset = rest / 2
      case .stretch: stretch = max(0, rest / count)
      case .spaceBetween: between += count > 1 ? max(0, rest) / (count - 1) : 0
      case .spaceAround:
        offset = max(0, rest) / count / 2
        between += max(0, rest) / count
      case .spaceEvenly:
        offset = max(0, rest) / (count + 1)
        between += max(0, rest) / (count + 1)
      case .packed, .start: break
      }
    }
    let axes = Axes(
      row: row, mainReversed: mainReversed, crossReversed: crossReversed, main: main, cross: cross,
      mainStart: row ? (mainReversed ? insets.right : insets.left) : (mainReversed ? insets.bottom : insets.top),
      crossStart: row ? (crossReversed ? insets.bottom : insets.top) : (crossReversed ? insets.right : insets.left),
      innerMain: finalMain, innerCross: finalCross, room: room)
    if wraps {
      for var line in lines {
        line.cross += stretch
        placeLine(line, index, axes: axes, at: offset, innerMain: finalMain, gap: gapMain)
        offset += line.cross + between
      }
    } else {
      placeLine(line, index, axes: axes, at: 0, innerMain: finalMain, gap: gapMain)
    }
    if hasAbsolute { placeAbsolutes(index, size: size, axes: axes) }
    finish(index, size: size, insets: insets)
    return size
  }

  private func outerContext(_ width: Double, _ height: Double) -> Constraint {
    var constraint = Constraint()
    constraint.outerWidth = width
    constraint.outerHeight = height
    return constraint
  }

  /// The size of an item in the main axis before it grows or shrinks.
  private mutating func basis(_ child: Int, in parent: Int, row: Bool, room: Room, wraps: Bool) -> Double {
    let node = nodes + child
    let insets = insets(child, room.outer.outerWidth)
    let least = row ? insets.left + insets.right : insets.top + insets.bottom
    let isExact = room.mode(row: row) == .exact
    // A scroller without a size takes what is left.
    if node.pointee.kind.fills, !node.pointee.style.hasFlex, isExact, node.pointee.style.basis.isAuto,
      (node.pointee.isAcross && node.pointee.kind == .list ? node.pointee.style.width : node.pointee.style.height)
        .isNone
    {
      return least
    }
    // `flex: 1` in a scroller has no share to begin from.
    let isShare = node.pointee.style.basis.unit == .percent && scrolls(parent, row: row)
    let told = isShare ? .nan : node.pointee.style.basis.resolved(room.whole(row: row))
    if !told.isNaN, isExact || !row { return max(told, least) }
    let own = (row ? node.pointee.style.width : node.pointee.style.height).resolved(room.whole(row: row))
    if !own.isNaN { return max(own, least) }
    var constraint = itemConstraint(child, in: parent, row: row, room: room, wraps: wraps)
    var size = measured(child, constraint)
    if !row, constraint.widthMode == .atMost {
      // The height is that in the width that the item gets.
      constraint.width = bounded(child, row: true, size.width, room.outer)
      constraint.widthMode = .exact
      size.height = measured(child, constraint).height
      node.pointee.cross = constraint.width
      node.pointee.hasCross = true
    }
    var length = row ? size.width : size.height
    // In a row that is as wide as its items, an item is as wide as its content, within what it may become of its basis.
    if !told.isNaN {
      if node.pointee.style.grow == 0 { length = min(length, told) }
      if node.pointee.style.shrink == 0 { length = max(length, told) }
    }
    return max(length, least)
  }

  /// The constraint under which an item is asked for the size it would like.
  private func itemConstraint(_ child: Int, in parent: Int, row: Bool, room: Room, wraps: Bool) -> Constraint {
    let node = nodes + child
    var constraint = room.outer
    let width = node.pointee.style.width.resolved(room.outer.outerWidth)
    let height = node.pointee.style.height.resolved(room.outer.outerHeight)
    let crossStretches =
      alignment(child, in: parent) == .stretch && !wraps && !hasAutoMargin(child, row: !row)
    if !width.isNaN {
      constraint.width = bounded(child, row: true, width, constraint)
      constraint.widthMode = .exact
    } else if !room.width.isNaN, !row || node.pointee.kind.isText {
      // In a row a text is no wider than the row; others are as wide as their content.
      constraint.width = max(0, room.width - margins(child, row: true))
      let most = node.pointee.style.maxWidth.resolved(room.outer.outerWidth)
      if !row, crossStretches, room.widthMode == .exact {
        constraint.width = bounded(child, row: true, constraint.width, constraint)
        constraint.widthMode = .exact
      } else {
        if most >= 0 { constraint.width = min(constraint.width, most) }
        constraint.widthMode = .atMost
      }
    } else {
      let most = node.pointee.style.maxWidth.resolved(room.outer.outerWidth)
      if most >= 0 { (constraint.width, constraint.widthMode) = (most, .atMost) }
    }
    if !height.isNaN {
      constraint.height = bounded(child, row: false, height, constraint)
      constraint.heightMode = .exact
    } else if row, crossStretches, room.heightMode == .exact {
      constraint.height = bounded(child, row: false, max(0, room.height - margins(child, row: false)), constraint)
      constraint.heightMode = .exact
    }
    let ratio = Double(node.pointee.style.aspectRatio)
    if ratio > 0 {
      if row, constraint.heightMode == .exact, width.isNaN {
        constraint.width = bounded(child, row: true, constraint.height * ratio, constraint)
        constraint.widthMode = .exact
      } else if !row, constraint.widthMode == .exact, height.isNaN {
        constraint.height = bounded(child, row: false, constraint.width / ratio, constraint)
        constraint.heightMode = .exact
      }
    }
    // What an item would like to be does not heed its bounds in the main axis: CSS Flexible Box Layout §9.2.
    if row {
      constraint.isFreeWidth =
        constraint.widthMode != .exact && !(node.pointee.style.minWidth.isNone && node.pointee.style.maxWidth.isNone)
    } else {
      constraint.isFreeHeight =
        constraint.heightMode != .exact && !(node.pointee.style.minHeight.isNone && node.pointee.style.maxHeight.isNone)
    }
    return constraint
  }

  /// Grows or shrinks the items of a line: CSS Flexible Box Layout §9.7.
  private mutating func resolveFlexible(
    _ line: inout Line, _ index: Int, row: Bool, room: Room, bases: Double, gap: Double, constraint: Constraint,
    insets: Double
  ) {
    var growth = 0.0
    var shrinkage = 0.0
    var next = line.first
    while next != line.end {
      let child = Int(next)
      if isItem(child) {
        nodes[child].target = bounded(child, row: row, nodes[child].basis, room.outer)
        growth += grow(child)
        shrinkage += Double(nodes[child].style.shrink)
      }
      next = nodes[child].next
    }
    var length = room.length(row: row)
    if room.mode(row: row) != .exact {
      // The element is as large as its items, within its bounds.
      let node = nodes + index
      let least = (row ? node.pointee.style.minWidth : node.pointee.style.minHeight)
        .resolved(row ? constraint.outerWidth : constraint.outerHeight)
      let most = (row ? node.pointee.style.maxWidth : node.pointee.style.maxHeight)
        .resolved(row ? constraint.outerWidth : constraint.outerHeight)
      length = bases
      let isFree = row ? constraint.isFreeWidth : constraint.isFreeHeight
      if most >= 0, !isFree, bases > most - insets { length = max(0, most - insets) }
      if least >= 0, !isFree, bases < least - insets { length = max(0, least - insets) }
      if room.mode(row: row) == .atMost, shrinkage > 0 { length = min(length, room.length(row: row)) }
      if scrolls(index, row: row) { length = bases }
    }
    let rest = length - bases
    guard rest.isFinite, rest != 0, rest > 0 ? growth > 0 : shrinkage > 0 else { return }
    flex(&line, row: row, room: length, rest: rest, gap: gap, outer: room.outer)
  }

  @inline(__always)
  private func grow(_ child: Int) -> Double {
    let node = nodes + child
    if node.pointee.kind.fills, !node.pointee.style.hasFlex {
      let size =
        node.pointee.isAcross && node.pointee.kind == .list ? node.pointee.style.width : node.pointee.style.height
      return size.isNone ? 1 : 0
    }
    return Double(node.pointee.style.grow)
  }

  private mutating func flex(
    _ line: inout Line, row: Bool, room: Double, rest: Double, gap: Double, outer: Constraint
  ) {
    let grows = rest > 0
    let gaps = gap * Double(max(0, line.count - 1))
    var next = line.first
    while next != line.end {
      let child = Int(next)
      if isItem(child) {
        let factor = grows ? grow(child) : Double(nodes[child].style.shrink)
        let target = nodes[child].target
        nodes[child].isFrozen =
          factor == 0 || (grows ? nodes[child].basis > target : nodes[child].basis < target)
      }
      next = nodes[child].next
    }
    var initial: Double?
    // Each round freezes an item; a line that needs many is left as it is then.
    for round in 0..<32 {
      budget -= line.count
      var free = room - gaps
      var factors = 0.0
      var weights = 0.0
      next = line.first
      while next != line.end {
        let child = Int(next)
        if isItem(child) {
          free -= margins(child, row: row) + (nodes[child].isFrozen ? nodes[child].target : nodes[child].basis)
          if !nodes[child].isFrozen {
            let factor = grows ? grow(child) : Double(nodes[child].style.shrink)
            factors += factor
            weights += grows ? factor : factor * nodes[child].basis
          }
        }
        next = nodes[child].next
      }
      guard factors > 0, weights > 0 else { return }
      let whole = initial ?? free
      initial = whole
      if factors < 1, abs(whole * factors) < abs(free) { free = whole * factors }
      if grows ? free < 0 : free > 0 { free = 0 }
      var violation = 0.0
      next = line.first
      while next != line.end {
        let child = Int(next)
        if isItem(child), !nodes[child].isFrozen {
          let factor = grows ? grow(child) : Double(nodes[child].style.shrink) * nodes[child].basis
          let wanted = max(0, nodes[child].basis + free * (factor / weights))
          nodes[child].target = bounded(child, row: row, wanted, outer)
          nodes[child].cross = nodes[child].target - wanted
          violation += nodes[child].cross
        }
        next = nodes[child].next
      }
      var isSettled = true
      next = line.first
      while next != line.end {
        let child = Int(next)
        if isItem(child), !nodes[child].isFrozen {
          let own = nodes[child].cross
          if violation == 0 || round == 31 || (violation > 0 ? own > 0 : own < 0) {
            nodes[child].isFrozen = true
          } else {
            isSettled = false
          }
        }
        next = nodes[child].next
      }
      if isSettled { return }
    }
  }

  /// The sizes of a line's items in the cross axis, and the line's.
  private mutating func measureCross(
    _ line: inout Line, _ index: Int, row: Bool, room: Room, gap: Double, wraps: Bool
  ) {
    let innerCross = room.length(row: !row)
    let follows = heightFollows(row: row, room)
    var next = line.first
    while next != line.end {
      let child = Int(next)
      let node = nodes + child
      next = node.pointee.next
      guard isItem(child) else { continue }
      var told = room.outer
      let own = (row ? node.pointee.style.height : node.pointee.style.width).resolved(
        room.whole(row: !row))
      let ratio = Double(node.pointee.style.aspectRatio)
      var length = Double.nan
      var mode = Constraint.Mode.open
      node.pointee.isStretched = false
      let stretches = alignment(child, in: index) == .stretch && !hasAutoMargin(child, row: !row)
      if !own.isNaN {
        length = bounded(child, row: !row, own, told)
        mode = .exact
      } else if stretches, !wraps, room.mode(row: !row) == .exact {
        length = bounded(child, row: !row, max(0, innerCross - margins(child, row: !row)), told)
        mode = .exact
      } else if ratio > 0 {
        length = bounded(child, row: !row, row ? node.pointee.target / ratio : node.pointee.target * ratio, told)
        mode = .exact
      } else {
        node.pointee.isStretched = stretches
        if !row, !innerCross.isNaN {
          length = max(0, innerCross - margins(child, row: true))
          mode = .atMost
        }
        let most = (row ? node.pointee.style.maxHeight : node.pointee.style.maxWidth).resolved(room.whole(row: !row))
        if !row, most >= 0, !(length <= most) { (length, mode) = (most, .atMost) }
      }
      if mode == .exact {
        node.pointee.cross = length
      } else if node.pointee.hasCross, node.pointee.target == node.pointee.basis {
        // It was measured with its height.
      } else {
        if row {
          (told.width, told.widthMode) = (node.pointee.target, .exact)
          (told.height, told.heightMode) = (length, mode)
        } else {
          (told.height, told.heightMode) = (node.pointee.target, .exact)
          told.heightFollows = follows && hasNoHeight(child, room)
          (told.width, told.widthMode) = (length, mode)
        }
        let size = measured(child, told)
        node.pointee.cross = bounded(child, row: !row, row ? size.height : size.width, told)
      }
      line.used += node.pointee.target + margins(child, row: row)
      line.cross = max(line.cross, node.pointee.cross + margins(child, row: !row))
    }
    line.used += gap * Double(max(0, line.count - 1))
  }

  /// The axes of an element, and where its content begins.
  private struct Axes {
    var row: Bool
    var mainReversed: Bool
    var crossReversed: Bool
    /// The sizes of the border box.
    var main: Double
    var cross: Double
    var mainStart: Double
    var crossStart: Double
    var innerMain: Double
    var innerCross: Double
    var room: Room
  }

  /// `true` if the heights of items without one follow from what is in them, so that nothing in them can be a share of it.
  private func heightFollows(row: Bool, _ room: Room) -> Bool {
    row || room.heightMode != .exact || room.outer.outerHeight.isNaN
  }

  private func hasNoHeight(_ child: Int, _ room: Room) -> Bool {
    let node = nodes + child
    return node.pointee.style.aspectRatio == 0 && node.pointee.style.height.resolved(room.outer.outerHeight).isNaN
      && (node.pointee.style.basis.isAuto || node.pointee.style.basis.resolved(room.outer.outerHeight).isNaN)
  }

  /// Places the items of a line and lays them out.
  private mutating func placeLine(
    _ line: Line, _ index: Int, axes: Axes, at lineStart: Double, innerMain: Double, gap: Double
  ) {
    let row = axes.row
    var rest = innerMain - line.used
    var autoMargins = 0
    var next = line.first
    while next != line.end {
      let child = Int(next)
      if isItem(child), nodes[child].style.hasMargin, nodes[child].style.margin.hasAuto {
        let margin = nodes[child].style.margin
        let (start, end) = row ? (margin.left, margin.right) : (margin.top, margin.bottom)
        autoMargins += (start.isAuto ? 1 : 0) + (end.isAuto ? 1 : 0)
      }
      next = nodes[child].next
    }
    let follows = heightFollows(row: row, axes.room)
    var position = axes.mainStart
    var between = gap
    let autoMargin = autoMargins > 0 ? max(0, rest) / Double(autoMargins) : 0
    if autoMargins > 0, rest > 0 { rest = 0 }
    if autoMargins == 0 || rest < 0 {
      let count = Double(line.count)
      switch nodes[index].style.justify {
      case .start: break
      case .end: position += rest
      case .center: position += rest / 2
      case .spaceBetween: if rest > 0, count > 1 { between += rest / (count - 1) }
      case .spaceAround:
        if rest > 0 {
          between += rest / count
          position += rest / count / 2
        }
      case .spaceEvenly:
        if rest > 0 {
          between += rest / (count + 1)
          position += rest / (count + 1)
        }
      }
    }
    next = line.first
    while next != line.end {
      let child = Int(next)
      let node = nodes + child
      next = node.pointee.next
      guard isItem(child) else { continue }
      let margin = node.pointee.style.margin
      var (mainBefore, mainAfter) =
        row
        ? (node.pointee.marginLeft, node.pointee.marginRight) : (node.pointee.marginTop, node.pointee.marginBottom)
      var (crossBefore, crossAfter) =
        row
        ? (node.pointee.marginTop, node.pointee.marginBottom) : (node.pointee.marginLeft, node.pointee.marginRight)
      var (autoMain, autoCross) =
        row
        ? ((margin.left.isAuto, margin.right.isAuto), (margin.top.isAuto, margin.bottom.isAuto))
        : ((margin.top.isAuto, margin.bottom.isAuto), (margin.left.isAuto, margin.right.isAuto))
      if axes.mainReversed {
        swap(&mainBefore, &mainAfter)
        autoMain = (autoMain.1, autoMain.0)
      }
      if axes.crossReversed {
        swap(&crossBefore, &crossAfter)
        autoCross = (autoCross.1, autoCross.0)
      }
      if autoMain.0 { mainBefore += autoMargin }
      if autoMain.1 { mainAfter += autoMargin }

      var told = axes.room.outer
      var cross = node.pointee.cross
      if node.pointee.isStretched {
        cross = bounded(child, row: !row, max(0, line.cross - crossBefore - crossAfter), told)
      }
      if row {
        (told.width, told.height) = (node.pointee.target, cross)
      } else {
        (told.width, told.height) = (cross, node.pointee.target)
      }
      (told.widthMode, told.heightMode) = (.exact, .exact)
      // A stretched item has the height that its line gives it.
      let isStretched = row && alignment(child, in: index) == .stretch && !autoCross.0 && !autoCross.1
      told.heightFollows = follows && !isStretched && hasNoHeight(child, axes.room)
      layOut(child, told)

      let free = line.cross - cross - crossBefore - crossAfter
      var crossPosition = axes.crossStart + lineStart + crossBefore
      if autoCross.0 || autoCross.1 {
        if free > 0 { crossPosition += autoCross.0 ? (autoCross.1 ? free / 2 : free) : 0 }
      } else {
        switch alignment(child, in: index) {
        case .center: crossPosition += free / 2
        case .end: crossPosition += free
        case .auto, .start, .stretch: break
        }
      }
      set(child, main: position + mainBefore, cross: crossPosition, axes: axes)
      position += mainBefore + node.pointee.target + mainAfter + between
    }
  }

  /// Places an item by its distance from where the axes begin, and moves it as `position: relative` says.
  private mutating func set(_ child: Int, main: Double, cross: Double, axes: Axes) {
    let node = nodes + child
    let (mainSize, crossSize) =
      axes.row
      ? (node.pointee.width, node.pointee.height) : (node.pointee.height, node.pointee.width)
    let mainPlace = axes.mainReversed ? axes.main - main - mainSize : main
    let crossPlace = axes.crossReversed ? axes.cross - cross - crossSize : cross
    (node.pointee.x, node.pointee.y) = axes.row ? (mainPlace, crossPlace) : (crossPlace, mainPlace)
    guard node.pointee.style.position == .relative else { return }
    let offsets = node.pointee.style.offsets
    if offsets.hasNone { return }
    let left = offsets.left.resolved(axes.room.outer.outerWidth)
    let right = offsets.right.resolved(axes.room.outer.outerWidth)
    let top = offsets.top.resolved(axes.room.outer.outerHeight)
    let bottom = offsets.bottom.resolved(axes.room.outer.outerHeight)
    if nodes[Int(node.pointee.parent)].isRightToLeft, !right.isNaN {
      node.pointee.x -= right
    } else {
      node.pointee.x += left.isNaN ? (right.isNaN ? 0 : -right) : left
    }
    node.pointee.y += top.isNaN ? (bottom.isNaN ? 0 : -bottom) : top
  }

  // MARK: Absolute boxes

  private mutating func placeAbsolutes(_ index: Int, size: LayoutSize, axes: Axes) {
    let border = nodes[index].style.border
    let (left, top) = (border.left.orZero(0), border.top.orZero(0))
    let area = LayoutRect(
      x: left, y: top, width: max(0, size.width - left - border.right.orZero(0)),
      height: max(0, size.height - top - border.bottom.orZero(0)))
    var next = nodes[index].first
    while next >= 0 {
      let child = Int(next)
      next = nodes[child].next
      guard nodes[child].style.position == .absolute, !nodes[child].isRemoved else { continue }
      resolveMargins(child, area.width)
      layOutAbsolute(
        child, area: area, isRightToLeft: nodes[index].isRightToLeft, at: nil, parent: index, axes: axes)
    }
  }

  /// Lays out an element that takes no room.
  ///
  /// - Parameters:
  ///   - area: what its offsets count from.
  ///   - point: where it is without offsets; `nil` for where it would be as the only item of its parent.
  private mutating func layOutAbsolute(
    _ child: Int, area: LayoutRect, isRightToLeft: Bool, at point: LayoutPoint?, parent: Int = 0, axes: Axes? = nil
  ) {
    let node = nodes + child
    prepare(child, isRightToLeft)
    resolveMargins(child, area.width)
    let style = node.pointee.style
    let left = style.offsets.left.resolved(area.width)
    let right = style.offsets.right.resolved(area.width)
    let top = style.offsets.top.resolved(area.height)
    let bottom = style.offsets.bottom.resolved(area.height)
    var told = outerContext(area.width, area.height)
    var width = style.width.resolved(area.width)
    var height = style.height.resolved(area.height)
    let ratio = Double(style.aspectRatio)
    let (marginWidth, marginHeight) = (margins(child, row: true), margins(child, row: false))
    if width.isNaN, !left.isNaN, !right.isNaN, !(ratio > 0 && !height.isNaN) {
      width = max(0, area.width - left - right - marginWidth)
    }
    if height.isNaN, !top.isNaN, !bottom.isNaN, !(ratio > 0 && !width.isNaN) {
      height = max(0, area.height - top - bottom - marginHeight)
    }
    if !width.isNaN { width = bounded(child, row: true, width, told) }
    if !height.isNaN { height = bounded(child, row: false, height, told) }
    told.heightFollows = height.isNaN && ratio == 0
    if ratio > 0 {
      if width.isNaN, !height.isNaN {
        width = bounded(child, row: true, height * ratio, told)
      } else if height.isNaN, !width.isNaN {
        height = bounded(child, row: false, width / ratio, told)
      }
    }
    if width.isNaN || height.isNaN {
      if width.isNaN {
        let used = (left.isNaN ? 0 : left) + (right.isNaN ? 0 : right)
        told.width = max(0, area.width - used - marginWidth)
        let most = style.maxWidth.resolved(area.width)
        if most >= 0 { told.width = min(told.width, most) }
        told.widthMode = .atMost
      } else {
        (told.width, told.widthMode) = (width, .exact)
      }
      if !height.isNaN { (told.height, told.heightMode) = (height, .exact) }
      var size = measured(child, told)
      if width.isNaN {
        width = bounded(child, row: true, size.width, told)
        if height.isNaN {
          (told.width, told.widthMode) = (width, .exact)
          size = measured(child, told)
        }
      }
      if height.isNaN { height = bounded(child, row: false, size.height, told) }
      if ratio > 0, style.width.isNone, style.height.isNone {
        // The bounds of the height are bounds of the width.
        let (least, most) = (style.minHeight.resolved(area.height), style.maxHeight.resolved(area.height))
        if most >= 0 { width = min(width, most * ratio) }
        if least >= 0 { width = max(width, least * ratio) }
        width = bounded(child, row: true, width, told)
        height = bounded(child, row: false, width / ratio, told)
      }
    }
    (told.width, told.height) = (width, height)
    (told.widthMode, told.heightMode) = (.exact, .exact)
    layOut(child, told)

    let margin = style.margin
    // The place along one axis, from the area's beginning; not a number without offsets.
    func place(
      _ start: Double, _ end: Double, _ size: Double, _ whole: Double, _ before: Double, _ after: Double,
      _ autoBefore: Bool, _ autoAfter: Bool, prefersEnd: Bool
    ) -> Double {
      if !start.isNaN, !end.isNaN, autoBefore || autoAfter {
        let free = whole - start - end - size - before - after
        if free > 0 { return start + before + (autoBefore ? (autoAfter ? free / 2 : free) : 0) }
      }
      if !start.isNaN, end.isNaN || !prefersEnd { return start + before }
      if !end.isNaN { return whole - end - size - after }
      return .nan
    }
    let x = place(
      left, right, width, area.width, node.pointee.marginLeft, node.pointee.marginRight, margin.left.isAuto,
      margin.right.isAuto, prefersEnd: isRightToLeft)
    let y = place(
      top, bottom, height, area.height, node.pointee.marginTop, node.pointee.marginBottom, margin.top.isAuto,
      margin.bottom.isAuto, prefersEnd: false)
    node.pointee.x = area.x + x
    node.pointee.y = area.y + y
    if x.isNaN || y.isNaN {
      let free = point.map { (node.pointee.marginLeft + $0.x, node.pointee.marginTop + $0.y) }
      let place = free ?? axes.map { staticPlace(child, in: parent, axes: $0) } ?? (0, 0)
      if x.isNaN { node.pointee.x = place.0 }
      if y.isNaN { node.pointee.y = place.1 }
    }
  }

  /// The place of an element as the only item of its parent: CSS Flexible Box Layout §4.1.
  private func staticPlace(_ child: Int, in parent: Int, axes: Axes) -> (Double, Double) {
    let node = nodes + child
    let row = axes.row
    let (mainSize, crossSize) =
      row ? (node.pointee.width, node.pointee.height) : (node.pointee.height, node.pointee.width)
    let mainFree = axes.innerMain - mainSize - margins(child, row: row)
    let crossFree = axes.innerCross - crossSize - margins(child, row: !row)
    var (mainBefore, crossBefore) =
      row
      ? (node.pointee.marginLeft, node.pointee.marginTop) : (node.pointee.marginTop, node.pointee.marginLeft)
    if axes.mainReversed { mainBefore = row ? node.pointee.marginRight : node.pointee.marginBottom }
    if axes.crossReversed { crossBefore = row ? node.pointee.marginBottom : node.pointee.marginRight }
    var main = axes.mainStart + mainBefore
    switch nodes[parent].style.justify {
    case .start, .spaceBetween: break
    case .end: main += mainFree
    case .center, .spaceAround, .spaceEvenly: main += mainFree / 2
    }
    var cross = axes.crossStart + crossBefore
    switch alignment(child, in: parent) {
    case .auto, .start, .stretch: break
    case .end: cross += crossFree
    case .center: cross += crossFree / 2
    }
    if axes.mainReversed { main = axes.main - main - mainSize }
    if axes.crossReversed { cross = axes.cross - cross - crossSize }
    return row ? (main, cross) : (cross, main)
  }

  /// The extent of what an element has in it.
  private mutating func finish(_ index: Int, size: LayoutSize, insets: LayoutInsets) {
    let node = nodes + index
    var (left, top, right, bottom) = (0.0, 0.0, size.width, size.height)
    var (farRight, farBottom, farLeft) = (0.0, 0.0, size.width)
    var next = node.pointee.first
    while next >= 0 {
      let child = nodes + Int(next)
      next = child.pointee.next
      if child.pointee.isRemoved || child.pointee.isFixed { continue }
      let (x, y) = (child.pointee.x, child.pointee.y)
      left = min(left, x + child.pointee.inkLeft)
      top = min(top, y + child.pointee.inkTop)
      right = max(right, x + child.pointee.inkRight)
      bottom = max(bottom, y + child.pointee.inkBottom)
      let isItem = child.pointee.style.position != .absolute
      farRight = max(farRight, x + child.pointee.width + (isItem ? child.pointee.marginRight + insets.right : 0))
      farBottom = max(farBottom, y + child.pointee.height + (isItem ? child.pointee.marginBottom + insets.bottom : 0))
      farLeft = min(farLeft, x - (isItem ? child.pointee.marginLeft + insets.left : 0))
    }
    if node.pointee.clips {
      (node.pointee.inkLeft, node.pointee.inkTop) = (0, 0)
      (node.pointee.inkRight, node.pointee.inkBottom) = (size.width, size.height)
    } else {
      (node.pointee.inkLeft, node.pointee.inkTop) = (left, top)
      (node.pointee.inkRight, node.pointee.inkBottom) = (right, bottom)
    }
    if node.pointee.isScroller {
      node.pointee.contentWidth = max(size.width, node.pointee.isRightToLeft ? size.width - farLeft : farRight)
      node.pointee.contentHeight = max(size.height, farBottom)
    } else {
      node.pointee.contentWidth = right
      node.pointee.contentHeight = bottom
    }
  }

  // MARK: Components with rules of their own

  /// The pages of a slider are side by side, each as large as the slider (`WXCycleSliderComponent`).
  private mutating func slider(_ index: Int, _ constraint: Constraint, performs: Bool) -> LayoutSize {
    let node = nodes + index
    let insets = insets(index, constraint.outerWidth)
    var told = Constraint()
    told.outerWidth = constraint.width - insets.left - insets.right
    told.outerHeight = constraint.height - insets.top - insets.bottom
    if !told.outerWidth.isNaN { (told.width, told.widthMode) = (max(0, told.outerWidth), constraint.widthMode) }
    var content = LayoutSize.zero
    var pages: Int32 = 0
    var next = node.pointee.first
    while next >= 0 {
      let child = Int(next)
      prepare(child, node.pointee.isRightToLeft)
      if nodes[child].kind != .indicator { pages += 1 }
      if isItem(child), nodes[child].kind != .indicator,
        constraint.widthMode != .exact || constraint.heightMode != .exact
      {
        var own = told
        let (width, height) = (
          nodes[child].style.width.resolved(told.outerWidth), nodes[child].style.height.resolved(told.outerHeight)
        )
        if !width.isNaN { (own.width, own.widthMode) = (width.bounded, .exact) }
        if !height.isNaN { (own.height, own.heightMode) = (height.bounded, .exact) }
        let size = measured(child, own)
        content.width = max(content.width, bounded(child, row: true, size.width, told))
        content.height = max(content.height, bounded(child, row: false, size.height, told))
      }
      next = nodes[child].next
    }
    let size = leaf(index, constraint, content: content, performs: performs)
    guard performs else { return size }
    touched.append(Int32(index))
    told.outerWidth = max(0, size.width - insets.left - insets.right)
    told.outerHeight = max(0, size.height - insets.top - insets.bottom)
    (told.width, told.height) = (told.outerWidth, told.outerHeight)
    (told.widthMode, told.heightMode) = (.exact, .exact)
    let axes = Axes(
      row: node.pointee.style.flexDirection == .row, mainReversed: false, crossReversed: false,
      main: node.pointee.style.flexDirection == .row ? size.width : size.height,
      cross: node.pointee.style.flexDirection == .row ? size.height : size.width, mainStart: 0, crossStart: 0,
      innerMain: node.pointee.style.flexDirection == .row ? told.outerWidth : told.outerHeight,
      innerCross: node.pointee.style.flexDirection == .row ? told.outerHeight : told.outerWidth,
      room: Room(width: told.width, height: told.height, widthMode: .exact, heightMode: .exact, outer: told))
    var count = 0.0
    next = node.pointee.first
    while next >= 0 {
      let child = Int(next)
      next = nodes[child].next
      if nodes[child].kind == .indicator, nodes[child].number != pages {
        // One dot for each page.
        nodes[child].number = pages
        nodes[child].forgetSizes()
      }
      guard !nodes[child].isRemoved, !nodes[child].isFixed else { continue }
      if nodes[child].style.position == .absolute || nodes[child].kind == .indicator {
        layOutAbsolute(
          child, area: LayoutRect(x: 0, y: 0, width: size.width, height: size.height),
          isRightToLeft: node.pointee.isRightToLeft, at: nil, parent: index, axes: axes)
        // What lies over the pages does not move with them.
        continue
      }
      layOut(child, told)
      nodes[child].x = insets.left + count * size.width
      nodes[child].y = insets.top
      count += 1
    }
    node.pointee.contentWidth = max(1, count) * size.width
    node.pointee.contentHeight = size.height
    return size
  }

  /// Cells in columns, each below the shortest one (`WXMultiColumnLayout`); others are as wide as all columns.
  private mutating func waterfall(_ index: Int, _ constraint: Constraint, performs: Bool) -> LayoutSize {
    let node = nodes + index
    let insets = insets(index, constraint.outerWidth)
    let setting = columns[Int32(index)] ?? Columns()
    let isOpen = constraint.width.isNaN
    let available = isOpen ? 0 : max(0, constraint.width - insets.left - insets.right)
    let (count, width) = setting.resolved(in: available)
    var heights = [Double](repeating: 0, count: max(1, count))
    let outer = outerContext(available, .nan)
    var next = node.pointee.first
    while next >= 0 {
      let child = Int(next)
      next = nodes[child].next
      prepare(child, node.pointee.isRightToLeft)
      guard isItem(child) else { continue }
      resolveMargins(child, available)
      let isCell = nodes[child].kind == .box && nodes[child].style.position != .sticky
      let own = nodes[child].style.width.resolved(available)
      var told = outer
      let column = isCell ? width : available
      told.width = bounded(
        child, row: true, isCell || own.isNaN ? max(0, column - margins(child, row: true)) : own, outer)
      told.widthMode = .exact
      let height = nodes[child].style.height.resolved(.nan)
      if !height.isNaN { (told.height, told.heightMode) = (bounded(child, row: false, height, outer), .exact) }
      let size = measured(child, told)
      let tall = bounded(child, row: false, size.height, outer)
      var place = 0
      if isCell {
        for (number, height) in heights.enumerated() where height < heights[place] { place = number }
      } else {
        let lowest = heights.max() ?? 0
        for number in heights.indices { heights[number] = lowest }
      }
      if performs {
        told.heightFollows = height.isNaN
        (told.height, told.heightMode) = (tall, .exact)
        layOut(child, told)
        let x = isCell ? setting.leftGap + Double(place) * (width + setting.gap) : 0
        let left = insets.left + x + nodes[child].marginLeft
        nodes[child].x =
          node.pointee.isRightToLeft
          ? constraint.width - insets.right - x - nodes[child].marginRight - told.width : left
        nodes[child].y = insets.top + heights[place] + nodes[child].marginTop
      }
      let end = heights[place] + tall + margins(child, row: false)
      if isCell { heights[place] = end } else { for number in heights.indices { heights[number] = end } }
    }
    let content = LayoutSize(width: isOpen ? 0 : available, height: heights.max() ?? 0)
    let size = leaf(index, constraint, content: content, performs: performs)
    guard performs else { return size }
    touched.append(Int32(index))
    let axes = Axes(
      row: false, mainReversed: false, crossReversed: node.pointee.isRightToLeft, main: size.height, cross: size.width,
      mainStart: insets.top, crossStart: node.pointee.isRightToLeft ? insets.right : insets.left,
      innerMain: max(0, size.height - insets.top - insets.bottom), innerCross: available,
      room: Room(width: available, height: .nan, widthMode: .exact, heightMode: .open, outer: outer))
    placeAbsolutes(index, size: size, axes: axes)
    finish(index, size: size, insets: insets)
    return size
  }
}

/// A layout on a thread with a stack for its depth.
private final class DeepWork {
  var layout: FlexLayout
  private let body: Int
  private let fixed: [Int32]
  private let begins: (@Sendable () -> Void)?

  /// - Parameter begins: called on the thread before the layout.
  init(layout: FlexLayout, body: Int, fixed: [Int32], begins: (@Sendable () -> Void)?) {
    self.layout = layout
    self.body = body
    self.fixed = fixed
    self.begins = begins
  }

  /// - Parameter stack: the size of the stack in bytes.
  /// - Returns: `false` if there is no thread to be had.
  func run(stack: Int) -> Bool {
    var attributes = pthread_attr_t()
    guard pthread_attr_init(&attributes) == 0 else { return false }
    defer { pthread_attr_destroy(&attributes) }
    guard pthread_attr_setstacksize(&attributes, stack) == 0 else { return false }
    let work = Unmanaged.passUnretained(self).toOpaque()
    #if canImport(Darwin)
      var thread: pthread_t?
      let code = pthread_create(&thread, &attributes, { runDeep($0) }, work)
      guard code == 0, let thread else { return false }
    #else
      var thread = pthread_t()
      let code = pthread_create(&thread, &attributes, { $0.map { runDeep($0) } ?? nil }, work)
      guard code == 0 else { return false }
    #endif
    pthread_join(thread, nil)
    return true
  }

  fileprivate func work() {
    begins?()
    layout.run(body, fixed)
  }
}

private func runDeep(_ work: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
  Unmanaged<DeepWork>.fromOpaque(work).takeUnretainedValue().work()
  return nil
}
