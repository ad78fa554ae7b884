/// The elements of a page with their boxes. A value: it does no I/O and knows no clock.
///
/// It takes the changes that the page's element tree takes, and lays out when it is asked to, only what the changes touch:
///
///     var layout = LayoutTree(window: LayoutWindow())
///     layout.createBody("_root", type: "div")
///     layout.add("1", type: "text", style: ["fontSize": .number(48)], attributes: ["value": .text("Hello")], to: "_root")
///     layout.update()
///     print(layout.box("1")?.pageFrame as Any)
///
/// A page has one, as `page.layout`, which is a copy to be read. An app can make more, to lay out what is not on a page or to
/// ask what a change would do to a copy.
///
/// Boxes are finite whatever the styles say. Time and memory grow linearly with the number of elements: a layout that asks for
/// too much, as elements or long texts may that are measured in many ways each, takes the last answers for those to come,
/// and its boxes may then not be the ones that the rules give. Changes that do not fit the tree are ignored: an unknown ref, a ref that
/// exists, a second body, a move into itself. Places are those among siblings: one below 0 is 0, one beyond the last is the
/// end.
public struct LayoutTree: Sendable {
  /// Elements with more elements than this above them are not laid out: their boxes are empty.
  public static let depthLimit = 10_000
  /// The number of bytes of text that ``measurer`` measures in one ``update()``, where each text, and each part of one,
  /// counts as 16 bytes more. Texts beyond are measured by ``FixedAdvances``, and keep these sizes until they change: a page
  /// with more must not have others wait for seconds.
  public static let characterLimit = 1_000_000

  /// The screen. A change lays out all.
  public var window: LayoutWindow {
    didSet {
      guard window != oldValue else { return }
      if window.unitsPerPoint != oldValue.unitsPerPoint { readStylesAgain() }
      markAll()
    }
  }
  /// The measurer of texts. A change measures all texts again.
  public var measurer: any TextMeasuring {
    get { currentMeasurer }
    set {
      currentMeasurer = newValue
      for index in texts.indices { texts[index].forget() }
      markAll()
    }
  }
  private var currentMeasurer: any TextMeasuring

  /// Called on the thread on which a deep tree is laid out, before that, and on the one of ``update()`` when it goes on.
  package var otherThread: (@Sendable () -> Void)?

  var nodes: [Node] = []
  private var names: [(ref: String, type: String)] = []
  private var places: [String: Int32] = [:]
  private var free: [Int32] = []
  private var order = ChildOrder()
  var texts: [TextEntry] = []
  private var freeTexts: [Int32] = []
  private var columns: [Int32: Columns] = [:]
  /// Styles are kept only of what their units or their text may be read from again.
  private var styles: [Int32: [String: LayoutValue]] = [:]
  /// The attributes of waterfalls whose columns are in points.
  private var pointAttributes: [Int32: [String: LayoutValue]] = [:]
  /// The changes of the elements that have a `transform`.
  private var transforms: [Int32: LayoutTransform] = [:]
  private var fixed: Set<Int32> = []
  private var body: Int32 = -1
  /// The numbers of elements by the number of elements above them, as of the last time that this was noted; the last is not 0.
  private var levels: [Int32] = []
  private var generation: UInt32 = 1
  private var isDirty = false
  private var removed: [String] = []

  /// A tree without elements.
  ///
  /// - Parameters:
  ///   - window: the screen.
  ///   - measurer: measures the texts; without one characters have fixed widths.
  public init(window: LayoutWindow = LayoutWindow(), measurer: any TextMeasuring = FixedAdvances()) {
    self.window = window
    currentMeasurer = measurer
  }

  /// Puts a measurer around the present one that says the same, such as one that counts. No text is measured again.
  package mutating func wrapMeasurer(_ wrap: (any TextMeasuring) -> any TextMeasuring) {
    currentMeasurer = wrap(currentMeasurer)
  }

  // MARK: Changes

  /// Makes the body, which is as large as the screen unless its style says otherwise. Ignored if there is one.
  ///
  /// - Parameters:
  ///   - ref: the id of the element.
  ///   - type: the component.
  ///   - style: the style, as the script wrote it.
  ///   - attributes: the attributes, as the script wrote them.
  public mutating func createBody(
    _ ref: String, type: String, style: [String: LayoutValue] = [:], attributes: [String: LayoutValue] = [:]
  ) {
    guard body < 0, places[ref] == nil else { return }
    body = insert(ref, type, style, attributes)
    mark(body)
  }

  /// Adds an element without children. Ignored if there is no such parent, or the ref exists.
  ///
  /// - Parameters:
  ///   - ref: the id of the element.
  ///   - type: the component, such as `text`; an unknown one is a `div`.
  ///   - style: the style, as the script wrote it.
  ///   - attributes: the attributes, as the script wrote them.
  ///   - parent: the ref of the parent.
  ///   - index: the place among the parent's children; `nil` for the end.
  public mutating func add(
    _ ref: String, type: String, style: [String: LayoutValue] = [:], attributes: [String: LayoutValue] = [:],
    to parent: String, at index: Int? = nil
  ) {
    guard let above = places[parent], places[ref] == nil else { return }
    let place = insert(ref, type, style, attributes)
    attach(place, to: above, at: index)
    placeBelow(place)
    mark(place)
  }

  /// Moves an element and all below it. Ignored for the body, and for a parent in the element.
  ///
  /// - Parameters:
  ///   - ref: the ref of the element.
  ///   - parent: the ref of its parent to be.
  ///   - index: the place among the parent's children while the element is still at its old place; `nil` for the end.
  public mutating func move(_ ref: String, to parent: String, at index: Int? = nil) {
    guard let place = places[ref], let above = places[parent], place != body else { return }
    var next = above
    while next >= 0 {
      if next == place { return }
      next = nodes[Int(next)].parent
    }
    var index = index
    let former = nodes[Int(place)].parent
    if former == above, let wanted = index, position(of: place) < wanted { index = wanted - 1 }
    detach(place)
    markParents(former)
    attach(place, to: above, at: index)
    placeBelow(place)
    renewBelow(place)
    mark(place)
    markParents(above)
  }

  /// Removes an element and all below it. The body stays.
  public mutating func remove(_ ref: String) {
    guard let place = places[ref], place != body else { return }
    let above = nodes[Int(place)].parent
    detach(place)
    forEach(below: place) { tree, node in tree.release(node) }
    markParents(above)
  }

  /// Sets the whole style of an element, in the place of its former one.
  public mutating func setStyle(_ style: [String: LayoutValue], of ref: String) {
    guard let place = places[ref] else { return }
    setStyle(style, at: place)
  }

  /// Sets the whole attributes of an element, in the place of its former ones.
  public mutating func setAttributes(_ attributes: [String: LayoutValue], of ref: String) {
    guard let place = places[ref] else { return }
    if read(attributes, at: place) { mark(place) }
  }

  /// Sets the size of a picture in pixels, one of which is a unit; `nil` if it is not known. On devices a picture has the size
  /// that its style says, and none without; only one in a `richtext` has that of the file.
  public mutating func setPictureSize(_ size: LayoutSize?, of ref: String) {
    guard let place = places[ref] else { return }
    let size = size.map { LayoutSize(width: $0.width.bounded, height: $0.height.bounded) }
    guard pictures[place] != size else { return }
    pictures[place] = size
    mark(place)
  }

  private var pictures: [Int32: LayoutSize] = [:]

  /// Scrolls a scroller to a place, as far as its content reaches. The boxes of its content move on the page; nothing is laid
  /// out again.
  public mutating func scroll(_ ref: String, to offset: LayoutPoint) {
    guard let place = places[ref], offset.x.isFinite, offset.y.isFinite else { return }
    nodes[Int(place)].scrollX = offset.x
    nodes[Int(place)].scrollY = offset.y
  }

  // MARK: Results

  /// `true` if a change waits for ``update()``.
  public var needsUpdate: Bool { isDirty || !removed.isEmpty }

  /// Lays out what changed.
  ///
  /// - Returns: the refs of the elements whose frame in their parent or content size changed, parents first, and of those that
  ///   are gone.
  @discardableResult
  public mutating func update() -> [String] {
    var changed = removed
    removed = []
    guard isDirty, body >= 0 else { return changed }
    isDirty = false
    renewWaiting()
    generation &+= 1
    buildTexts()
    let roots = fixed.sorted { (nodes[Int($0)].depth, $0) < (nodes[Int($1)].depth, $1) }
    let places = nodes.withUnsafeMutableBufferPointer { nodes in
      texts.withUnsafeMutableBufferPointer { texts -> [Int32] in
        guard let first = nodes.baseAddress else { return [] }
        var layout = FlexLayout(
          window: window, measurer: currentMeasurer, columns: columns, budget: 64 * nodes.count + 10_000,
          number: generation,
          nodes: first,
          texts: texts.baseAddress)
        layout.run(body: Int(body), fixed: roots, depth: levels.count - 1, otherThread: otherThread)
        return layout.changed
      }
    }
    for place in places { changed.append(names[Int(place)].ref) }
    return changed
  }

  /// The ref of the body.
  public var root: String? { body < 0 ? nil : names[Int(body)].ref }

  /// The number of elements.
  public var count: Int { places.count }

  /// The refs of an element's children, in order.
  public func children(of ref: String) -> [String] {
    guard let place = places[ref] else { return [] }
    var result: [String] = []
    var next = nodes[Int(place)].first
    while next >= 0 {
      result.append(names[Int(next)].ref)
      next = nodes[Int(next)].next
    }
    return result
  }

  /// The box of an element as of the last ``update()``; `nil` if there is no such element. It takes as long as there are
  /// elements around it: ask for many with ``boxes(of:)``.
  public func box(_ ref: String) -> LayoutBox? {
    var known: [Int32: Spot] = [:]
    return places[ref].map { box($0, &known, keepsAll: false) }
  }

  /// The boxes of several elements as of the last ``update()``, by their refs. Each element around them is gone over once,
  /// however many are asked for: all boxes of a page take a time linear in the number of its elements.
  ///
  /// - Parameter refs: the refs; those of no element are left out.
  public func boxes(of refs: some Sequence<String>) -> [String: LayoutBox] {
    var known: [Int32: Spot] = [:]
    var result: [String: LayoutBox] = [:]
    for ref in refs {
      if let place = places[ref], result[ref] == nil { result[ref] = box(place, &known, keepsAll: true) }
    }
    return result
  }

  /// The boxes of all elements that can be seen in a part of the page, in the order in which they are drawn: parents before
  /// children, by `zIndex` among siblings, fixed ones last. An element with a `transform`, or in one that has it, is seen
  /// where that puts it; its box is as without.
  ///
  /// - Parameter area: the part, in units; `nil` for the window.
  public func visibleBoxes(in area: LayoutRect? = nil) -> [LayoutBox] {
    var result: [LayoutBox] = []
    let area = area ?? LayoutRect(x: 0, y: 0, width: window.width, height: window.height)
    walk(in: area) { node, origin, isVisible, _ in
      let box = box(node, at: origin, isVisible: isVisible, isRemoved: false)
      if box.isVisible { result.append(box) }
    }
    return result
  }

  /// The element that is drawn last at a place, as each `transform` has it; `nil` if there is none.
  public func element(at point: LayoutPoint) -> String? { hit(at: point)?.ref }

  /// The element that is drawn last at a place, and the place as it would be without each `transform`: that in the
  /// coordinates of boxes. `nil` if there is none.
  package func hit(at point: LayoutPoint) -> (ref: String, point: LayoutPoint)? {
    var result: (node: Int32, point: LayoutPoint)?
    let area = LayoutRect(x: point.x, y: point.y, width: 1e-6, height: 1e-6)
    walk(in: area, at: point) { node, origin, isVisible, point in
      let item = nodes[Int(node)]
      let frame = LayoutRect(x: origin.x, y: origin.y, width: item.width, height: item.height)
      if isVisible, frame.contains(x: point.x, y: point.y) { result = (node, point) }
    }
    return result.map { (names[Int($0.node)].ref, $0.point) }
  }

  /// The text of a `text`, `richtext`, `input` or `textarea` as it is measured, to be drawn in its box; `nil` for others. A
  /// `richtext` in another has an empty one, as its parts belong to the outer one.
  public func text(of ref: String) -> LayoutText? {
    guard let place = places[ref], nodes[Int(place)].text >= 0 else { return nil }
    return texts[Int(nodes[Int(place)].text)].text
  }

  // MARK: Places on the page

  /// The place of an element on the page, with the facts that its children need.
  private struct Spot {
    var origin = LayoutPoint.zero
    /// The scroller around it; −1 for none.
    var scroller: Int32 = -1
    var scrollerY = 0.0
    var isVisible = true
    var isRemoved = false
  }

  /// - Parameters:
  ///   - known: the elements that were gone over.
  ///   - keepsAll: `true` to add those that are gone over now.
  private func box(_ place: Int32, _ known: inout [Int32: Spot], keepsAll: Bool) -> LayoutBox {
    // The elements from this one up to the body, or up to one that is known.
    var path: [Int32] = []
    var next = place
    var above: Spot?
    while next >= 0 {
      if keepsAll {
        above = known[next]
        if above != nil { break }
      }
      path.append(next)
      next = nodes[Int(next)].parent
    }
    var spot = above ?? Spot()
    for node in path.reversed() {
      spot = self.spot(of: node, in: spot)
      if keepsAll { known[node] = spot }
    }
    return box(place, at: spot.origin, isVisible: spot.isVisible, isRemoved: spot.isRemoved)
  }

  /// The place of an element in its parent; that of the body is a spot of its own.
  private func spot(of place: Int32, in above: Spot) -> Spot {
    let item = nodes[Int(place)]
    var spot = above
    spot.isVisible = above.isVisible && !item.style.isHidden
    spot.isRemoved = above.isRemoved || item.isRemoved || item.depth > Self.depthLimit
    if spot.isRemoved { return Spot(isVisible: false, isRemoved: true) }
    if item.isFixed || item.parent < 0 {
      (spot.origin, spot.scroller) = (LayoutPoint(x: item.x, y: item.y), -1)
      return spot
    }
    if nodes[Int(item.parent)].isScroller {
      (spot.scroller, spot.scrollerY) = (item.parent, above.origin.y)
      if !liesOver(place, item.parent) {
        let scrolled = scrollOffset(item.parent)
        spot.origin.x -= scrolled.x
        spot.origin.y -= scrolled.y
      }
    }
    spot.origin.x += item.x
    spot.origin.y += item.y
    if spot.scroller >= 0 { spot.origin.y += stuck(place, at: spot.origin.y, in: (spot.scroller, spot.scrollerY)) }
    return spot
  }

  /// Goes over the elements of an area in the order in which they are drawn.
  ///
  /// - Parameters:
  ///   - point: a place that is looked for.
  ///   - visit: takes the element, the place of its border box on the page, whether it is shown, and the place that is looked
  ///     for, as it would be without each `transform`.
  private func walk(
    in area: LayoutRect, at point: LayoutPoint = .zero, _ visit: (Int32, LayoutPoint, Bool, LayoutPoint) -> Void
  ) {
    guard body >= 0 else { return }
    struct Entry {
      var node: Int32
      var origin: LayoutPoint
      /// The area within all that clips, and the place that is looked for, without the changes of the elements around.
      var clip: LayoutRect
      var point: LayoutPoint
      /// `false` if an element around it clips all of the area.
      var isInside = true
      var scroller: Int32
      var scrollerY: Double
      var isVisible: Bool
    }
    let changed = aroundTransforms
    var waiting = [
      Entry(node: body, origin: .zero, clip: area, point: point, scroller: -1, scrollerY: 0, isVisible: true)
    ]
    var above: [Entry] = []
    while true {
      guard var entry = waiting.popLast() else {
        // What is fixed comes last, in the order of the page.
        guard !above.isEmpty else { return }
        waiting = above.reversed()
        above = []
        continue
      }
      let item = nodes[Int(entry.node)]
      if item.isRemoved || item.depth > Self.depthLimit { continue }
      var x = item.x
      var y = item.y
      if !item.isFixed {
        x += entry.origin.x
        y += entry.origin.y
        if entry.scroller >= 0 { y += stuck(entry.node, at: y, in: (entry.scroller, entry.scrollerY)) }
      }
      entry.isVisible = entry.isVisible && !item.style.isHidden
      let ink = LayoutRect(
        x: x + item.inkLeft, y: y + item.inkTop, width: item.inkRight - item.inkLeft,
        height: item.inkBottom - item.inkTop)
      let origin = LayoutPoint(x: x, y: y)
      let frame = LayoutRect(x: x, y: y, width: item.width, height: item.height)
      if !transforms.isEmpty, let transform = transforms[entry.node] {
        if let inverse = transform.matrix(in: frame).inverse {
          (entry.clip, entry.point) = (inverse.bounds(of: entry.clip), inverse.place(of: entry.point))
        } else {
          entry.isInside = false
        }
      }
      let isSeen = entry.isInside && ink.intersects(entry.clip)
      if isSeen, frame.intersects(entry.clip) { visit(entry.node, origin, entry.isVisible, entry.point) }
      // What is fixed is not bound to what is around it, and what a transform moves is not in the ink.
      guard
        isSeen || (!fixed.isEmpty && item.hasFixed)
          || (entry.isInside && !changed.isEmpty && changed.contains(entry.node))
      else { continue }
      var inner = Entry(
        node: -1, origin: origin, clip: item.clips ? entry.clip.intersection(frame) : entry.clip, point: entry.point,
        isInside: entry.isInside && (!item.clips || frame.intersects(entry.clip)), scroller: entry.scroller,
        scrollerY: entry.scrollerY, isVisible: entry.isVisible)
      var scrolledOrigin = origin
      if item.isScroller {
        let scrolled = scrollOffset(entry.node)
        inner.scroller = entry.node
        inner.scrollerY = y
        scrolledOrigin.x -= scrolled.x
        scrolledOrigin.y -= scrolled.y
      }
      let begin = waiting.count
      var hasOrder = false
      var next = item.last
      while next >= 0 {
        let child = nodes[Int(next)]
        inner.node = next
        inner.origin = liesOver(next, entry.node) ? origin : scrolledOrigin
        if child.isFixed {
          above.append(
            Entry(
              node: next, origin: .zero, clip: area, point: point, scroller: -1, scrollerY: 0,
              isVisible: entry.isVisible))
        } else {
          if child.style.zIndex != 0 || child.isSticky { hasOrder = true }
          waiting.append(inner)
        }
        next = child.previous
      }
      if hasOrder {
        let ordered = waiting[begin...].enumerated().sorted { one, other in
          let (a, b) = (nodes[Int(one.element.node)], nodes[Int(other.element.node)])
          let order = (a.style.zIndex, a.isSticky ? 1 : 0)
          let otherOrder = (b.style.zIndex, b.isSticky ? 1 : 0)
          return order == otherOrder ? one.offset < other.offset : order > otherOrder
        }
        waiting.replaceSubrange(begin..., with: ordered.map(\.element))
      }
    }
  }

  /// The elements that have a `transform`, and all around them.
  private var aroundTransforms: Set<Int32> {
    var found: Set<Int32> = []
    for place in transforms.keys {
      var next = place
      while next >= 0, found.insert(next).inserted { next = nodes[Int(next)].parent }
    }
    return found
  }

  /// `true` for what lies over the pages of a slider, and does not move with them.
  private func liesOver(_ child: Int32, _ parent: Int32) -> Bool {
    nodes[Int(parent)].kind == .slider
      && (nodes[Int(child)].kind == .indicator || nodes[Int(child)].style.position == .absolute)
  }

  private func box(_ place: Int32, at origin: LayoutPoint, isVisible: Bool, isRemoved: Bool) -> LayoutBox {
    let node = nodes[Int(place)]
    var border = LayoutInsets()
    var padding = LayoutInsets()
    if node.style.hasPadding, !isRemoved {
      border.left = node.style.border.left.orZero(0)
      border.top = node.style.border.top.orZero(0)
      border.right = node.style.border.right.orZero(0)
      border.bottom = node.style.border.bottom.orZero(0)
      padding.left = node.style.padding.left.orZero(node.outerWidth)
      padding.top = node.style.padding.top.orZero(node.outerWidth)
      padding.right = node.style.padding.right.orZero(node.outerWidth)
      padding.bottom = node.style.padding.bottom.orZero(node.outerWidth)
    }
    let frame =
      isRemoved ? .zero : LayoutRect(x: node.x, y: node.y, width: node.width, height: node.height)
    return LayoutBox(
      ref: names[Int(place)].ref, type: names[Int(place)].type, frame: frame,
      pageFrame: isRemoved
        ? .zero : LayoutRect(x: origin.x, y: origin.y, width: node.width, height: node.height),
      border: border, padding: padding,
      contentSize: isRemoved ? .zero : LayoutSize(width: node.contentWidth, height: node.contentHeight),
      scrollOffset: node.isScroller && !isRemoved ? scrollOffset(place) : .zero, clips: node.clips,
      isVisible: isVisible && !isRemoved && node.width > 0 && node.height > 0, zIndex: Int(node.style.zIndex),
      isFixed: node.isFixed)
  }

  /// How far an element is scrolled, as far as its content reaches. In a row that begins at the right, it is 0 or less.
  private func scrollOffset(_ place: Int32) -> LayoutPoint {
    let node = nodes[Int(place)]
    let reach = LayoutSize(
      width: max(0, node.contentWidth - node.width), height: max(0, node.contentHeight - node.height))
    if node.kind == .slider {
      let x = node.scrollX.isNaN ? Double(node.number) * node.width : node.scrollX
      return LayoutPoint(x: min(max(0, x), reach.width), y: 0)
    }
    let x = node.scrollX.isNaN ? 0 : node.scrollX
    let y = node.scrollY.isNaN ? 0 : node.scrollY
    return LayoutPoint(
      x: node.isRightToLeft ? max(min(0, x), -reach.width) : min(max(0, x), reach.width),
      y: min(max(0, y), reach.height))
  }

  /// How far a sticky element is moved so that it stays in its scroller.
  ///
  /// - Parameter y: its place on the page if it did not stick.
  private func stuck(_ place: Int32, at y: Double, in scroller: (node: Int32, y: Double)?) -> Double {
    let node = nodes[Int(place)]
    guard node.isSticky, let scroller else { return 0 }
    let edge = scroller.y + node.style.offsets.top.orZero(nodes[Int(scroller.node)].height)
    var shift = max(0, edge - y)
    // It does not leave what it is in (`WXScrollerComponent.adjustSticky`).
    if shift > 0, node.parent >= 0, node.parent != scroller.node {
      shift = min(shift, max(0, nodes[Int(node.parent)].height - node.y - node.height))
    }
    guard shift > 0, node.kind == .header, node.parent == scroller.node else { return shift }
    // The next header of a list pushes it away (WXMultiColumnLayout, UITableView).
    var next = node.next
    while next >= 0, nodes[Int(next)].kind != .header { next = nodes[Int(next)].next }
    if next >= 0 { shift = min(shift, max(0, nodes[Int(next)].y - node.y - node.height)) }
    return shift
  }

  // MARK: Elements

  private mutating func insert(
    _ ref: String, _ type: String, _ style: [String: LayoutValue], _ attributes: [String: LayoutValue]
  ) -> Int32 {
    let place: Int32
    if let last = free.popLast() {
      place = last
      nodes[Int(place)] = Node()
      names[Int(place)] = (ref, type)
    } else {
      place = Int32(nodes.count)
      nodes.append(Node())
      names.append((ref, type))
    }
    places[ref] = place
    enter(0)
    let kind = Kind(type)
    nodes[Int(place)].kind = kind
    nodes[Int(place)].clips = kind.scrolls
    nodes[Int(place)].isScroller = kind.scrolls
    nodes[Int(place)].isSticky = kind == .header
    nodes[Int(place)].isAcross = type == "hlist"
    setStyle(style, at: place)
    _ = read(attributes, at: place)
    return place
  }

  private mutating func release(_ place: Int32) {
    let node = nodes[Int(place)]
    // Only what was named before is missed: no more is kept than there were elements.
    if node.named.width >= 0 { removed.append(names[Int(place)].ref) }
    places[names[Int(place)].ref] = nil
    names[Int(place)] = ("", "")
    if node.text >= 0 {
      texts[Int(node.text)] = TextEntry()
      freeTexts.append(node.text)
    }
    if node.isFixed { fixed.remove(place) }
    columns[place] = nil
    pointAttributes[place] = nil
    styles[place] = nil
    pictures[place] = nil
    if !transforms.isEmpty { transforms[place] = nil }
    order.removeTree(of: place)
    leave(node.depth)
    nodes[Int(place)].waitsBelow = false
    free.append(place)
  }

  private mutating func attach(_ place: Int32, to above: Int32, at index: Int?) {
    let next = index.map { child(at: max(0, $0), of: above) } ?? -1
    let previous = next >= 0 ? nodes[Int(next)].previous : nodes[Int(above)].last
    nodes[Int(place)].parent = above
    nodes[Int(place)].next = next
    nodes[Int(place)].previous = previous
    if previous >= 0 { nodes[Int(previous)].next = place } else { nodes[Int(above)].first = place }
    if next >= 0 { nodes[Int(next)].previous = place } else { nodes[Int(above)].last = place }
    nodes[Int(above)].count += 1
    order.insert(place, between: previous, and: next, in: above)
    if nodes[Int(place)].hasFixed { noteFixed(above) }
  }

  /// Notes what follows from the elements around one.
  private mutating func placeBelow(_ place: Int32) {
    let above = Int(nodes[Int(place)].parent)
    let (former, depth) = (nodes[Int(place)].depth, nodes[above].depth + 1)
    nodes[Int(place)].isInRichText = nodes[above].isInRichText || nodes[above].kind == .richtext
    guard depth != former else { return }
    nodes[Int(place)].depth = depth
    enter(depth)
    leave(former)
  }

  private mutating func enter(_ depth: Int32) {
    while levels.count <= Int(depth) { levels.append(0) }
    levels[Int(depth)] += 1
  }

  private mutating func leave(_ depth: Int32) {
    levels[Int(depth)] -= 1
    while levels.last == 0 { levels.removeLast() }
  }

  private mutating func detach(_ place: Int32) {
    let (above, previous, next) = (
      nodes[Int(place)].parent, nodes[Int(place)].previous, nodes[Int(place)].next
    )
    order.remove(place, from: above)
    if previous >= 0 { nodes[Int(previous)].next = next } else { nodes[Int(above)].first = next }
    if next >= 0 { nodes[Int(next)].previous = previous } else { nodes[Int(above)].last = previous }
    nodes[Int(above)].count -= 1
    nodes[Int(place)].parent = -1
    nodes[Int(place)].previous = -1
    nodes[Int(place)].next = -1
  }

  /// The number of siblings that are gone over to find a place, before the parent has an order.
  private static let nearSiblings = 64

  /// The child at a place; −1 beyond the last.
  private mutating func child(at index: Int, of above: Int32) -> Int32 {
    let count = Int(nodes[Int(above)].count)
    guard index < count else { return -1 }
    if min(index, count - 1 - index) > Self.nearSiblings {
      buildOrder(above)
      return order.child(at: index, of: above) ?? -1
    }
    let isNearFirst = index <= count / 2
    var next = isNearFirst ? nodes[Int(above)].first : nodes[Int(above)].last
    for _ in 0..<(isNearFirst ? index : count - 1 - index) {
      next = isNearFirst ? nodes[Int(next)].next : nodes[Int(next)].previous
    }
    return next
  }

  /// The place of an element among its siblings.
  private mutating func position(of place: Int32) -> Int {
    let above = nodes[Int(place)].parent
    var (before, after) = (place, place)
    for distance in 0...Self.nearSiblings {
      before = nodes[Int(before)].previous
      if before < 0 { return distance }
      after = nodes[Int(after)].next
      if after < 0 { return Int(nodes[Int(above)].count) - 1 - distance }
    }
    buildOrder(above)
    return order.position(of: place, in: above)
  }

  /// Makes the order of an element's children, if it has none.
  private mutating func buildOrder(_ above: Int32) {
    guard !order.has(above) else { return }
    var children: [Int32] = []
    var next = nodes[Int(above)].first
    while next >= 0 {
      children.append(next)
      next = nodes[Int(next)].next
    }
    order.build(above, children)
  }

  /// Notes for all elements around one that there is something fixed in them.
  private mutating func noteFixed(_ place: Int32) {
    var next = place
    while next >= 0, !nodes[Int(next)].hasFixed {
      nodes[Int(next)].hasFixed = true
      next = nodes[Int(next)].parent
    }
  }

  /// Goes over an element and all below it. The element may be released meanwhile.
  private mutating func forEach(below place: Int32, _ body: (inout LayoutTree, Int32) -> Void) {
    var waiting = [place]
    while let next = waiting.popLast() {
      var child = nodes[Int(next)].first
      while child >= 0 {
        waiting.append(child)
        child = nodes[Int(child)].next
      }
      body(&self, next)
    }
  }

  private mutating func setStyle(_ values: [String: LayoutValue], at place: Int32) {
    var style = Style(values, unitsPerPoint: window.unitsPerPoint)
    let index = Int(place)
    let former = nodes[index].style
    let kind = nodes[index].kind
    setTransform(style.hasTransform ? values : [:], at: place)
    if kind == .toggle {
      // `WXSwitchComponent` gives itself the size of a UISwitch in points.
      if style.width.isNone { style.width = StyleReader.units(51 * window.unitsPerPoint) }
      if style.height.isNone { style.height = StyleReader.units(31 * window.unitsPerPoint) }
    }
    // What is in an `a` within a `richtext` has its font, in both SDKs (`RichTextNode.updateSpans`, `WXRichText.mm`).
    let hasFont = kind.isText || names[index].type == "a"
    if hasFont || kind == .toggle || values.contains(where: { $0.value.isInPoints }) {
      styles[place] = values
    } else if styles[place] != nil {
      styles[place] = nil
    }
    if kind.isText { needText(place) }
    if kind.isText || (hasFont && nodes[index].isInRichText) { mark(place) }
    guard style != former else { return }
    nodes[index].style = style
    nodes[index].isFixed = style.position == .fixed
    nodes[index].isSticky = style.position == .sticky || kind == .header
    if nodes[index].isFixed {
      fixed.insert(place)
      noteFixed(place)
    } else if former.position == .fixed {
      fixed.remove(place)
    }
    nodes[index].clips = kind.scrolls || style.overflow != .visible
    nodes[index].isScroller = kind.scrolls || style.overflow == .scroll
    if style.direction != former.direction {
      renewBelow(place)
    }
    mark(place)
  }

  private mutating func setTransform(_ values: [String: LayoutValue], at place: Int32) {
    guard !values.isEmpty else {
      if !transforms.isEmpty { transforms[place] = nil }
      return
    }
    func text(_ value: LayoutValue?) -> String? {
      guard case .text(let text)? = value, text.utf8.count <= 2_000 else { return nil }
      return text
    }
    let transform = text(values["transform"]).map {
      LayoutTransform(
        $0, origin: text(values["transformOrigin"] ?? values["transform-origin"]), unitsPerPoint: window.unitsPerPoint)
    }
    if let transform, !transform.isEmpty {
      transforms[place] = transform
    } else if !transforms.isEmpty {
      transforms[place] = nil
    }
  }

  /// Reads what layout needs of an element's attributes.
  ///
  /// - Returns: `true` if something changed.
  private mutating func read(_ attributes: [String: LayoutValue], at place: Int32) -> Bool {
    let index = Int(place)
    let kind = nodes[index].kind
    switch kind {
    case .text, .span, .input, .textarea:
      var value = attributes["value"]?.plainText ?? ""
      if value.isEmpty, kind == .input || kind == .textarea {
        value = attributes["placeholder"]?.plainText ?? ""
      }
      let rows = Int32(attributes["rows"]?.double ?? 2, within: 1...1_000)
      let entry = textEntry(place)
      guard texts[entry].value != value || nodes[index].number != rows else { return false }
      texts[entry].value = value
      nodes[index].number = rows
      needText(place)
      return true
    case .richtext:
      _ = textEntry(place)
      needText(place)
      return false
    case .scroller, .list:
      let isAcross = attributes["scrollDirection"]?.plainText == "horizontal" || names[index].type == "hlist"
      guard nodes[index].isAcross != isAcross else { return false }
      nodes[index].isAcross = isAcross
      return true
    case .waterfall:
      let inPoints = Columns.names.contains { attributes[$0]?.isInPoints == true }
      pointAttributes[place] = inPoints ? attributes.filter { Columns.names.contains($0.key) } : nil
      let read = Columns(attributes, unitsPerPoint: window.unitsPerPoint)
      guard columns[place] != read else { return false }
      columns[place] = read
      return true
    case .slider:
      let shown = Int32(attributes["index"]?.double ?? 0, within: 0...1_000_000)
      guard nodes[index].number != shown else { return false }
      nodes[index].number = shown
      nodes[index].scrollX = .nan
      return false
    case .refresh:
      let isShown = attributes["display"]?.plainText == "show"
      guard nodes[index].isShown != isShown else { return false }
      nodes[index].isShown = isShown
      return true
    default: return false
    }
  }

  private mutating func textEntry(_ place: Int32) -> Int {
    if nodes[Int(place)].text < 0 {
      if let entry = freeTexts.popLast() {
        nodes[Int(place)].text = entry
      } else {
        nodes[Int(place)].text = Int32(texts.count)
        texts.append(TextEntry())
      }
    }
    return Int(nodes[Int(place)].text)
  }

  private mutating func readStylesAgain() {
    for (place, values) in styles { setStyle(values, at: place) }
    for (place, attributes) in pointAttributes { _ = read(attributes, at: place) }
  }

  // MARK: What waits

  private var waitingTexts: [Int32] = []

  /// Forgets what is known of an element, and of those around it.
  private mutating func mark(_ place: Int32) {
    guard place >= 0 else { return }
    nodes[Int(place)].forget(generation)
    if nodes[Int(place)].kind == .richtext { needText(place) }
    markParents(nodes[Int(place)].parent)
  }

  private mutating func markParents(_ place: Int32) {
    isDirty = true
    var next = place
    // Around an element that was forgotten since the last layout all are, and the text of a rich text is waited for.
    while next >= 0, nodes[Int(next)].forgotten != generation {
      nodes[Int(next)].forget(generation)
      if nodes[Int(next)].kind == .richtext { needText(next) }
      next = nodes[Int(next)].parent
    }
  }

  private mutating func markAll() {
    isDirty = true
    for index in nodes.indices {
      renew(Int32(index))
    }
  }

  /// Forgets what is known of an element, whose text may be another.
  private mutating func renew(_ place: Int32) {
    nodes[Int(place)].forget(generation)
    if nodes[Int(place)].kind.isText { needText(place) }
  }

  /// The elements of which all that is in them is another than it was; `nil` if they are too many to be listed.
  private var waitingBelow: [Int32]? = []

  /// Renews an element and all below it: at the next layout, so that many changes around many elements are one.
  private mutating func renewBelow(_ place: Int32) {
    renew(place)
    guard nodes[Int(place)].first >= 0, !nodes[Int(place)].waitsBelow else { return }
    nodes[Int(place)].waitsBelow = true
    if let count = waitingBelow?.count, count < 8 { waitingBelow?.append(place) } else { waitingBelow = nil }
  }

  private mutating func renewWaiting() {
    if let few = waitingBelow {
      for place in few where nodes[Int(place)].waitsBelow {
        forEach(below: place) { tree, node in tree.renewPlace(node) }
      }
    } else {
      // Parents come first.
      forEach(below: body) { tree, node in
        let item = tree.nodes[Int(node)]
        guard item.waitsBelow else { return }
        var next = item.first
        while next >= 0 {
          tree.nodes[Int(next)].waitsBelow = true
          next = tree.nodes[Int(next)].next
        }
        tree.renewPlace(node)
      }
    }
    waitingBelow = []
  }

  private mutating func renewPlace(_ place: Int32) {
    nodes[Int(place)].waitsBelow = false
    if place != body { placeBelow(place) }
    renew(place)
  }

  private mutating func needText(_ place: Int32) {
    guard !nodes[Int(place)].needsText else { return }
    nodes[Int(place)].needsText = true
    // Elements that came and went left their places.
    if waitingTexts.count > 2 * nodes.count + 100 {
      waitingTexts = nodes.indices.lazy.map(Int32.init).filter { nodes[Int($0)].needsText }
    } else {
      waitingTexts.append(place)
    }
  }

  private mutating func buildTexts() {
    for place in waitingTexts where nodes[Int(place)].needsText && places[names[Int(place)].ref] == place {
      nodes[Int(place)].needsText = false
      guard nodes[Int(place)].text >= 0 else { continue }
      // A rich text in another is a part of its text.
      let isPart = nodes[Int(place)].isInRichText && nodes[Int(place)].kind == .richtext
      let text = isPart ? LayoutText(spans: []) : builtText(place)
      let entry = Int(nodes[Int(place)].text)
      if texts[entry].text != text {
        texts[entry].text = text
        texts[entry].forget()
      }
    }
    waitingTexts = []
  }

  private func builtText(_ place: Int32) -> LayoutText {
    let node = nodes[Int(place)]
    // Layout sets another direction if it comes to it.
    let isRightToLeft = node.isRightToLeft
    func style(_ place: Int32, above: TextStyle = TextStyle()) -> TextStyle {
      TextStyle(
        styles[place] ?? [:], unitsPerPoint: window.unitsPerPoint, isRightToLeft: isRightToLeft, above: above)
    }
    let own = style(place)
    guard node.kind == .richtext else {
      let value = texts[Int(node.text)].value
      return LayoutText(
        spans: [LayoutText.Span(text: value, style: own, ref: names[Int(place)].ref)], style: own)
    }
    var spans: [LayoutText.Span] = []
    var waiting = [(node.first, own)]
    while let (next, above) = waiting.popLast() {
      guard next >= 0 else { continue }
      let item = nodes[Int(next)]
      waiting.append((item.next, above))
      let style = style(next, above: above)
      switch item.kind {
      case .image:
        let natural = pictures[next] ?? .zero
        let (width, height) = (item.style.width.resolved(0), item.style.height.resolved(0))
        spans.append(
          LayoutText.Span(
            text: "", style: style,
            picture: LayoutSize(
              width: width.isNaN ? natural.width : width, height: height.isNaN ? natural.height : height),
            ref: names[Int(next)].ref))
      default:
        if item.text >= 0, !texts[Int(item.text)].value.isEmpty {
          spans.append(
            LayoutText.Span(text: texts[Int(item.text)].value, style: style, ref: names[Int(next)].ref))
        }
        waiting.append((item.first, style))
      }
    }
    return LayoutText(spans: spans, style: own)
  }
}

extension LayoutValue {
  fileprivate var isInPoints: Bool {
    guard case .text(let text) = self else { return false }
    var last: UInt8 = 0
    for byte in text.utf8 {
      // In either case, and anywhere, as in `10wx 20px`.
      if byte | 0x20 == UInt8(ascii: "x"), last | 0x20 == UInt8(ascii: "w") { return true }
      last = byte
    }
    return false
  }

  fileprivate var plainText: String {
    switch self {
    case .text(let text): text
    case .number(let number):
      number.rounded() == number && abs(number) < 1e15 ? String(Int64(number)) : String(number)
    }
  }

  var double: Double? {
    switch self {
    case .text(let text): StyleReader.number(text.utf8)
    case .number(let number): number.isNaN ? nil : number
    }
  }
}

extension Double {
  /// A length from outside: finite, at least 0.
  var bounded: Double { isNaN ? 0 : Swift.min(Swift.max(0, self), 1e9) }
}

extension LayoutRect {
  fileprivate func intersection(_ other: LayoutRect) -> LayoutRect {
    let (left, top) = (max(x, other.x), max(y, other.y))
    return LayoutRect(
      x: left, y: top, width: max(0, min(maxX, other.maxX) - left), height: max(0, min(maxY, other.maxY) - top))
  }
}
