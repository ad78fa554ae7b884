import PageLayout
import ScriptEngine

/// The boxes of a page's elements, and the events that elements are due because of where they are. A pure value.
///
/// It takes the commands that change the elements, so that a change lays out what it touches. A page with the cells of a
/// `recycle-list` is compared with what it was.
struct ElementLayout: Sendable {
  /// An event of an element.
  struct Event: Hashable, Sendable {
    let ref: String
    let type: String
    let details: ScriptValue
  }

  /// A scroller whose listeners have not been told that it was scrolled.
  private struct Scroll: Sendable {
    let ref: String
    /// How far it was scrolled before.
    let start: LayoutPoint
    /// `true` if the script gets the event `scroll` from whoever scrolls.
    var isTold: Bool
    /// `true` if a device would take its time to scroll.
    var isAnimated: Bool
  }

  /// The boxes as of the last update.
  private(set) var boxes: LayoutTree
  private var isBuilt = false
  /// `true` if elements may be due events.
  private var hasNews = true
  /// The elements that `boxes` has, if there are cells among them; `nil` without cells.
  private var cells: ElementTree?
  private var mayHaveCells = false
  /// The elements that listen to `appear` or `disappear`, in the order in which they began to.
  private var listeners: [String] = []
  private var listening: Set<String> = []
  /// Those of them that are in the window.
  private var present: Set<String> = []
  /// Those whose events the app fires.
  private var firedByApp: Set<String> = []
  /// The types of the events that the others were due last.
  private var lastTypes: [String: String] = [:]
  private var scrolls: [Scroll] = []
  /// Their places in `scrolls`, by the refs of the scrollers.
  private var scrollPlaces: [String: Int] = [:]
  /// How far scrollers were scrolled at their last event `scroll`; none for the beginning.
  private var toldOffsets: [String: LayoutPoint] = [:]
  /// The extents that the contents of scrollers had when these were told `loadmore`.
  private var loadedExtents: [String: Double] = [:]

  /// The types of events that elements are due without a scroll.
  static let watchedEvents: Set<String> = ["appear", "disappear"]

  /// - Parameter firesEvents: `false` if elements are due no events.
  init(window: LayoutWindow, measurer: any TextMeasuring, firesEvents: Bool = true) {
    boxes = LayoutTree(window: window, measurer: measurer)
    self.firesEvents = firesEvents
  }

  private let firesEvents: Bool

  /// `true` if listeners have not been told that a scroller was scrolled.
  var hasScrolled: Bool { !scrolls.isEmpty }

  // MARK: Following the elements

  /// Takes over commands that have changed the elements.
  ///
  /// - Parameter elements: the elements after all of the commands.
  mutating func follow(_ commands: [RenderCommand], in elements: ElementTree) {
    // Before the first update there is nothing to change, and cells are compared at the next one.
    guard isBuilt, cells == nil else { return }
    // Each is read as a whole once, however often it was changed.
    var (styled, told): (Set<String>, Set<String>) = ([], [])
    for command in commands {
      switch command {
      case .createBody(let body): add(body, to: nil, at: nil)
      case .addElement(let parent, let element, let index): add(element, to: parent, at: index)
      case .removeElement(let ref): boxes.remove(ref)
      case .moveElement(let ref, let parent, let index): boxes.move(ref, to: parent, at: index)
      case .updateAttributes(let ref, _): told.insert(ref)
      case .updateStyle(let ref, _): styled.insert(ref)
      case .addEvent(let ref, let type): if Self.watchedEvents.contains(type) { listen(ref) }
      case .removeEvent, .createFinish, .updateFinish, .refreshFinish: break
      }
    }
    for ref in told {
      if let element = elements[ref] { boxes.setAttributes(element.attributes.layoutValues, of: ref) }
    }
    for ref in styled {
      if let element = elements[ref] { boxes.setStyle(element.style.layoutValues, of: ref) }
    }
  }

  mutating func setPictureSize(_ image: ImageState?, of ref: String) {
    boxes.setPictureSize(image?.layoutSize, of: ref)
  }

  /// - Parameter observer: hears when another thread goes on with a layout; `nil` for nothing.
  mutating func observeThreads(_ observer: (@Sendable (PageWork.Moment) -> Void)?) {
    boxes.otherThread = nil
    if let observer { boxes.otherThread = { observer(.otherThread) } }
  }

  mutating func setWindow(_ window: LayoutWindow) { boxes.window = window }

  /// Has all texts measured, also by the measurer that they have, if it has other fonts by now.
  mutating func setMeasurer(_ measurer: any TextMeasuring) { boxes.measurer = measurer }

  /// Puts a measurer around the present one that says the same.
  mutating func wrapMeasurer(_ wrap: (any TextMeasuring) -> any TextMeasuring) { boxes.wrapMeasurer(wrap) }

  /// Takes over that an element listens to one of ``watchedEvents``.
  private mutating func listen(_ ref: String) {
    guard firesEvents, listening.insert(ref).inserted else { return }
    listeners.append(ref)
    hasNews = true
  }

  /// Lays out what has changed; the first time, all elements.
  ///
  /// - Parameters:
  ///   - elements: the page's elements.
  ///   - expanded: returns them with the cells of each `recycle-list`; `nil` without cells.
  /// - Returns: `true` if a box has changed.
  mutating func update(_ elements: ElementTree, expanded: () -> ElementTree?) -> Bool {
    if !isBuilt {
      isBuilt = true
      build(elements)
    }
    if mayHaveCells {
      let shown = expanded()
      switch (cells, shown) {
      case (nil, nil): break
      case (nil, let shown?): build(shown)
      case (_?, nil): build(elements)
      case (let former?, let shown?): compare(former, shown)
      }
      cells = shown
    }
    guard !boxes.update().isEmpty else { return false }
    hasNews = true
    return true
  }

  /// Begins anew with all elements. Scrollers stay where they are.
  private mutating func build(_ elements: ElementTree) {
    let former = boxes
    boxes = LayoutTree(window: former.window, measurer: former.measurer)
    boxes.otherThread = former.otherThread
    guard let root = elements.root else { return }
    for element in elements.preorder(from: root) {
      add(element, at: nil)
      if element.isScroller, let offset = former.box(element.ref)?.scrollOffset, offset != .zero {
        boxes.scroll(element.ref, to: offset)
      }
    }
  }

  /// Applies the difference of two trees, in which the same elements have the same refs.
  private mutating func compare(_ old: ElementTree, _ new: ElementTree) {
    guard old != new else { return }
    guard let root = new.root, old.root == root else { return build(new) }
    let elements = new.preorder(from: root)
    // An element that has another parent may have been below one that has gone.
    let hasMoved = elements.contains { element in
      old[element.ref].map { $0.parent != element.parent || $0.type != element.type } ?? false
    }
    guard !hasMoved else { return build(new) }
    for ref in old.elements.keys where new[ref] == nil { boxes.remove(ref) }
    for element in elements {
      let former = old[element.ref]
      if let former {
        if former.style != element.style { boxes.setStyle(element.style.layoutValues, of: element.ref) }
        if former.attributes != element.attributes {
          boxes.setAttributes(element.attributes.layoutValues, of: element.ref)
        }
        if former.image != element.image { setPictureSize(element.image, of: element.ref) }
        if !element.events.isDisjoint(with: Self.watchedEvents) { listen(element.ref) }
      }
      guard former?.children != element.children else { continue }
      let kept = former?.children.filter { new[$0] != nil } ?? []
      for (index, ref) in Self.displaced(from: kept, to: element.children) {
        if old[ref] != nil {
          boxes.move(ref, to: element.ref, at: index)
        } else if let child = new[ref] {
          add(child, at: index)
        }
      }
    }
  }

  /// The children that are new or not where they were, with their places. When each is put in its place in this order, those
  /// before it are in theirs. It takes a time linear in the number of children.
  ///
  /// - Parameter former: the children as they were, without those that are gone.
  static func displaced<Ref: Hashable>(from former: [Ref], to children: [Ref]) -> [(index: Int, ref: Ref)] {
    var result: [(index: Int, ref: Ref)] = []
    // Those of the former children that were put elsewhere.
    var moved: Set<Ref> = []
    var next = 0
    for (index, ref) in children.enumerated() {
      while next < former.count, moved.remove(former[next]) != nil { next += 1 }
      if next < former.count, former[next] == ref {
        next += 1
      } else {
        moved.insert(ref)
        result.append((index, ref))
      }
    }
    return result
  }

  /// Adds an element and all below it, parents first, without recursion.
  private mutating func add(_ description: ElementDescription, to parent: String?, at index: Int?) {
    var waiting = [(description, parent: parent, index: index)]
    while let (next, parent, index) = waiting.popLast() {
      add(next.ref, next.type, next.style, next.attributes, next.events, to: parent, at: index)
      for child in next.children.reversed() { waiting.append((child, parent: next.ref, index: nil)) }
    }
  }

  private mutating func add(_ element: ElementTree.Element, at index: Int?) {
    add(
      element.ref, element.type, element.style, element.attributes, element.events, to: element.parent, at: index)
    if let size = element.image?.layoutSize { boxes.setPictureSize(size, of: element.ref) }
  }

  private mutating func add(
    _ ref: String, _ type: String, _ style: [String: ScriptValue], _ attributes: [String: ScriptValue],
    _ events: Set<String>, to parent: String?, at index: Int?
  ) {
    if type == "recycle-list" { mayHaveCells = true }
    if !events.isDisjoint(with: Self.watchedEvents) { listen(ref) }
    let (style, attributes) = (style.layoutValues, attributes.layoutValues)
    if let parent {
      boxes.add(ref, type: type, style: style, attributes: attributes, to: parent, at: index)
    } else {
      boxes.createBody(ref, type: type, style: style, attributes: attributes)
    }
  }

  // MARK: Scrolling

  /// Scrolls a scroller, as far as its content reaches.
  ///
  /// - Parameters:
  ///   - isTold: `true` if the script gets the event `scroll` from whoever scrolls.
  ///   - isAnimated: `true` if a device would take its time.
  /// - Returns: `true` if its content has moved.
  @discardableResult
  mutating func scroll(
    _ ref: String, to offset: LayoutPoint, isTold: Bool = false, isAnimated: Bool = false
  ) -> Bool {
    guard let start = boxes.box(ref)?.scrollOffset else { return false }
    boxes.scroll(ref, to: offset)
    guard let reached = boxes.box(ref)?.scrollOffset else { return false }
    // Content that is added later does not move what is shown.
    boxes.scroll(ref, to: reached)
    guard reached != start || isTold else { return false }
    hasNews = true
    if let index = scrollPlaces[ref] {
      (scrolls[index].isTold, scrolls[index].isAnimated) = (isTold, isAnimated)
    } else {
      scrollPlaces[ref] = scrolls.count
      scrolls.append(Scroll(ref: ref, start: start, isTold: isTold, isAnimated: isAnimated))
    }
    return reached != start
  }

  /// The offset that brings an element to the beginning of the scroller around it, which may be more than the content
  /// allows; `nil` if no scroller is around it.
  ///
  /// - Parameter further: how much further the content is scrolled.
  func offset(
    for ref: String, further: Double, in elements: ElementTree
  ) -> (scroller: String, offset: LayoutPoint)? {
    let elements = cells ?? elements
    // Up to the scroller.
    var path: [ElementTree.Element] = []
    var next = elements[ref]
    while let element = next {
      path.append(element)
      if path.count > 1, element.isScroller { break }
      next = element.parent.flatMap { elements[$0] }
    }
    let boxes = boxes.boxes(of: path.map(\.ref))
    guard let box = boxes[ref], path.count > 1, let scroller = path.popLast(), scroller.isScroller,
      let outer = boxes[scroller.ref]
    else { return nil }
    // Where it would be if it did not stick.
    var place = LayoutPoint.zero
    for element in path {
      guard let inner = boxes[element.ref], !inner.isFixed else { return nil }
      place.x += inner.frame.x
      place.y += inner.frame.y
    }
    guard scroller.scrollsAcross else {
      return (scroller.ref, LayoutPoint(x: outer.scrollOffset.x, y: place.y + further))
    }
    let x =
      elements.direction(of: scroller.ref) == "rtl"
      ? place.x + box.frame.width - outer.frame.width - further : place.x + further
    return (scroller.ref, LayoutPoint(x: x, y: outer.scrollOffset.y))
  }

  /// Takes over an event that the app fires by itself, so that its element does not get it twice.
  ///
  /// - Returns: `true` if it is the event that the element was due last.
  mutating func noteFired(_ type: String, on ref: String, in elements: ElementTree) -> Bool {
    switch type {
    case "appear", "disappear":
      guard listening.contains(ref) else { return false }
      firedByApp.insert(ref)
      return lastTypes.removeValue(forKey: ref) == type
    case "loadmore":
      if let element = (cells ?? elements)[ref], let box = boxes.box(ref) {
        loadedExtents[ref] = element.extent(in: box)
      }
    default: break
    }
    return false
  }

  /// Lets a scroller be told `loadmore` again for the same content.
  mutating func resetLoadmore(of ref: String) { loadedExtents[ref] = nil }

  // MARK: Events

  /// The events that elements are due since the last call, in the order of iOS's SDK: `loadmore`, `appear` and
  /// `disappear`, `scroll` (`scrollViewDidScroll` in `WXScrollerComponent.mm`), and `scrollend`.
  mutating func dueEvents(in elements: ElementTree) -> [Event] {
    guard hasNews else { return [] }
    hasNews = false
    let elements = cells ?? elements
    let scrolls = scrolls
    (self.scrolls, scrollPlaces) = ([], [:])
    loadedExtents = loadedExtents.filter { elements[$0.key] != nil }
    toldOffsets = toldOffsets.filter { elements[$0.key] != nil }
    var events: [Event] = []
    var directions: [String: String] = [:]
    for scroll in scrolls {
      guard let element = elements[scroll.ref], let box = boxes.box(scroll.ref) else { continue }
      let isAcross = element.scrollsAcross
      let moved =
        isAcross
        ? abs(box.scrollOffset.x) - abs(scroll.start.x) : box.scrollOffset.y - scroll.start.y
      if moved != 0 {
        directions[scroll.ref] = isAcross ? (moved > 0 ? "left" : "right") : (moved > 0 ? "up" : "down")
      }
      if moved >= 0, isDueToLoadMore(element, box) {
        events.append(Event(ref: scroll.ref, type: "loadmore", details: [:]))
      }
    }
    events += appearances(in: elements, directions)
    for scroll in scrolls {
      guard let element = elements[scroll.ref], let box = boxes.box(scroll.ref) else { continue }
      if isDueToTell(scroll, element, box) {
        events.append(Event(ref: scroll.ref, type: "scroll", details: box.scroll))
      }
      // `scrollViewDidEndScrollingAnimation`
      if scroll.isAnimated, box.scrollOffset != scroll.start, element.events.contains("scrollend") {
        events.append(Event(ref: scroll.ref, type: "scrollend", details: box.scroll))
      }
    }
    return events
  }

  /// Decides whether a scroller's listener is told of a scroll: if it is by `offsetAccuracy` from what it was told last.
  private mutating func isDueToTell(_ scroll: Scroll, _ element: ElementTree.Element, _ box: LayoutBox) -> Bool {
    guard element.events.contains("scroll") else { return false }
    let (offset, last) = (box.scrollOffset, toldOffsets[scroll.ref] ?? .zero)
    let distance = element.scrollsAcross ? offset.x - last.x : offset.y - last.y
    let accuracy = element.attributes["offsetAccuracy"]?.units(boxes.window) ?? 0
    // A hundredth of a unit is less than a pixel.
    guard scroll.isTold || abs(distance) >= accuracy - 0.01 else { return false }
    toldOffsets[scroll.ref] = offset
    return !scroll.isTold
  }

  private mutating func isDueToLoadMore(_ element: ElementTree.Element, _ box: LayoutBox) -> Bool {
    guard element.events.contains("loadmore") else { return false }
    let limit = element.attributes["loadmoreoffset"]?.units(boxes.window) ?? 0
    let extent = element.extent(in: box)
    let end = element.scrollsAcross ? box.frame.width + abs(box.scrollOffset.x) : box.frame.height + box.scrollOffset.y
    // A hundredth of a unit is less than a pixel.
    guard limit >= 0, extent - end <= limit + 0.01, loadedExtents[element.ref] != extent else { return false }
    loadedExtents[element.ref] = extent
    return true
  }

  /// The part of the page in which the contents of a scroller are seen, and the direction in which they have moved.
  private struct Opening {
    var area: LayoutRect
    var direction: String?

    func shows(_ box: LayoutBox) -> Bool {
      // An element without a place is not shown.
      guard box.pageFrame != .zero, area.width > 0, area.height > 0 else { return false }
      func overlaps(_ start: Double, _ end: Double, _ first: Double, _ last: Double) -> Bool {
        start == end ? first <= start && start <= last : start < last && first < end
      }
      let frame = box.pageFrame
      return overlaps(frame.x, frame.maxX, area.x, area.maxX) && overlaps(frame.y, frame.maxY, area.y, area.maxY)
    }
  }

  /// The events of elements that have come into the window or have left it. Only elements in scrollers have them, as on
  /// devices.
  ///
  /// Each element around a listener is looked up once.
  private mutating func appearances(in elements: ElementTree, _ directions: [String: String]) -> [Event] {
    var gone: Set<String> = []
    var watched: [(element: ElementTree.Element, scroller: String)] = []
    var scrollers = Scrollers()
    for ref in listeners {
      guard let element = elements[ref], !element.events.isDisjoint(with: Self.watchedEvents) else {
        gone.insert(ref)
        continue
      }
      if let scroller = scrollers.nearest(around: element, in: elements) { watched.append((element, scroller)) }
    }
    let boxes = boxes.boxes(of: watched.map(\.element.ref) + scrollers.found.map(\.ref))
    let openings = openings(of: scrollers, boxes, directions)
    var events: [Event] = []
    for (element, scroller) in watched {
      let ref = element.ref
      guard let opening = openings[scroller], let box = boxes[ref] else { continue }
      let isPresent = opening.shows(box)
      guard isPresent != present.contains(ref), !firedByApp.contains(ref) else { continue }
      if isPresent { present.insert(ref) } else { present.remove(ref) }
      let type = isPresent ? "appear" : "disappear"
      let isHeard = element.events.contains(type)
      lastTypes[ref] = isHeard ? type : nil
      guard isHeard else { continue }
      events.append(
        Event(ref: ref, type: type, details: opening.direction.map { ["direction": .string($0)] } ?? [:]))
    }
    if !gone.isEmpty {
      listeners.removeAll { gone.contains($0) }
      listening.subtract(gone)
      present.subtract(gone)
      firedByApp.subtract(gone)
      for ref in gone { lastTypes[ref] = nil }
    }
    return events
  }

  /// The scrollers around elements.
  private struct Scrollers {
    /// Outer ones before inner ones, each with the nearest around it.
    private(set) var found: [(ref: String, outer: String?)] = []
    /// The nearest around the children of elements that were gone over; `nil` where there is none.
    private var nearest: [String: String?] = [:]

    /// The nearest scroller around an element; `nil` if there is none.
    mutating func nearest(around element: ElementTree.Element, in elements: ElementTree) -> String? {
      // The elements around it, the innermost first, up to one that is known.
      var path: [ElementTree.Element] = []
      var scroller: String?
      var next = element.parent.flatMap { elements[$0] }
      while let above = next {
        if let known = nearest[above.ref] {
          scroller = known
          break
        }
        path.append(above)
        next = above.parent.flatMap { elements[$0] }
      }
      for above in path.reversed() {
        if above.isScroller {
          found.append((above.ref, scroller))
          scroller = above.ref
        }
        nearest[above.ref] = .some(scroller)
      }
      return scroller
    }
  }

  /// The openings of scrollers, by their refs.
  private func openings(
    of scrollers: Scrollers, _ boxes: [String: LayoutBox], _ directions: [String: String]
  ) -> [String: Opening] {
    let window = self.boxes.window
    var openings: [String: Opening] = [:]
    for (ref, outer) in scrollers.found {
      let around =
        outer.flatMap { openings[$0] }
        ?? Opening(area: LayoutRect(x: 0, y: 0, width: window.width, height: window.height))
      let frame = boxes[ref]?.pageFrame ?? .zero
      let (x, y) = (max(around.area.x, frame.x), max(around.area.y, frame.y))
      let area = LayoutRect(
        x: x, y: y, width: min(around.area.maxX, frame.maxX) - x, height: min(around.area.maxY, frame.maxY) - y)
      openings[ref] = Opening(area: area, direction: directions[ref] ?? around.direction)
    }
    return openings
  }
}

extension LayoutBox {
  /// The details of the event `scroll`. The offset is that of the content, which moves up as the user scrolls down.
  fileprivate var scroll: ScriptValue {
    [
      "contentSize": ["width": .number(contentSize.width), "height": .number(contentSize.height)],
      "contentOffset": ["x": .number(0 - scrollOffset.x), "y": .number(0 - scrollOffset.y)], "isDragging": false,
    ]
  }
}

extension ElementTree.Element {
  /// `true` if the component scrolls its children.
  var isScroller: Bool { ScreenLayout.scrollerTypes.contains(type) || type == "hlist" }

  /// `true` if a scroller scrolls horizontally.
  var scrollsAcross: Bool { type == "hlist" || attributes["scrollDirection"]?.plainText == "horizontal" }

  /// The length of a scroller's content in the direction in which it scrolls.
  fileprivate func extent(in box: LayoutBox) -> Double {
    scrollsAcross ? box.contentSize.width : box.contentSize.height
  }
}

extension ImageState {
  /// The size of a picture that has come.
  fileprivate var layoutSize: LayoutSize? {
    guard case .loaded(_, _, let size?, _) = self else { return nil }
    return LayoutSize(width: Double(size.width), height: Double(size.height))
  }
}

extension ScriptValue {
  /// A length as units of the design: a number, `20px` or `10wx`; `nil` for other values.
  func units(_ window: LayoutWindow) -> Double? {
    guard let text = string else { return number.flatMap { $0.isFinite ? $0 : nil } }
    let isPoints = text.hasSuffix("wx")
    let length = Double(isPoints || text.hasSuffix("px") ? String(text.dropLast(2)) : text)
    return length.flatMap { $0.isFinite ? (isPoints ? $0 * window.unitsPerPoint : $0) : nil }
  }

  /// A value that is neither a number nor a text is an empty text, which no property has.
  fileprivate var layoutValue: LayoutValue {
    switch self {
    case .number(let number): .number(number)
    case .string(let text): .text(text)
    case .bool(let isTrue): .text(isTrue ? "true" : "false")
    case .undefined, .null, .array, .object, .data: .text("")
    }
  }
}

extension [String: ScriptValue] {
  // The table stays as it is: no name is hashed again.
  var layoutValues: [String: LayoutValue] { mapValues(\.layoutValue) }
}
