import Foundation
import HTTPTransport
import PageLayout
import ScriptEngine

extension PageInstance {
  /// The places of the page's elements, with the cells of each `recycle-list`, in units of the design.
  ///
  /// Elements are laid out when they are asked for first; after that a change lays out what it touches. A copy that is kept
  /// stays as it is. It is PageKit's own layout, also with a handler for `layout`; so are ``layoutChanges`` and the places
  /// that ``tap(x:y:)`` looks at.
  ///
  ///     let layout = await page.layout
  ///     if let price = await page.tree.first(.id("price")), let box = layout.box(price.ref) { print(box.pageFrame) }
  ///     for box in layout.visibleBoxes() { print(box.type, box.pageFrame) }
  ///     print(layout.element(at: LayoutPoint(x: 375, y: 100)) ?? "nothing")
  public var layout: LayoutTree {
    updateLayout()
    return elementLayout?.boxes ?? LayoutTree(window: layoutWindow, measurer: measurer)
  }

  /// The boxes of all elements, and then the boxes that have changed, as often as the reader asks for them.
  ///
  ///     for await change in await page.layoutChanges {
  ///       for box in change.boxes { print(box.ref, box.pageFrame) }
  ///       for ref in change.removed { print(ref, "is gone") }
  ///     }
  ///
  /// A slow reader gets the changes since its last one together. The stream ends when the page is destroyed.
  public var layoutChanges: AsyncStream<LayoutChange> {
    isLayoutFollowed = true
    let reader = LayoutReader(self, layoutFeed.listen(first: ()))
    return AsyncStream { await reader.next() }
  }

  /// Taps the page at a place, as a user does: the event `click` goes to the element that is seen there, as each `transform`
  /// has it, or to the nearest around it that listens, with the element's place without a `transform` as `position`. In an `embed` the page that it shows is tapped, and this
  /// one if nothing listens there.
  ///
  ///     try await page.tap(x: 375, y: 100)
  ///
  /// - Parameters:
  ///   - x: the distance from the page's left edge in units of the design, of which it is 750 wide unless it says otherwise.
  ///   - y: the distance from the page's top edge.
  /// - Throws: ``ClickError`` if there is no element, or if none listens; ``ScriptError/closed`` if the page has no script;
  ///   ``EventError`` if the element is gone by then.
  public func tap(x: Double, y: Double) async throws {
    let layout = layout
    guard let (ref, place) = layout.hit(at: LayoutPoint(x: x, y: y)) else { throw ClickError.nothingAt(x: x, y: y) }
    var refusal: ClickError?
    if let page = embedded[ref], let frame = layout.box(ref)?.pageFrame {
      let scale = page.unitsPerUnitAround
      do {
        return try await page.tap(x: (place.x - frame.x) * scale, y: (place.y - frame.y) * scale)
      } catch let error as ClickError {
        // Its views are within those of this page, and do not keep a touch from them that they do not listen to.
        refusal = error
      }
    }
    let target: String
    do {
      target = try expandedTree.tree.clicked(.ref(ref)).ref
    } catch {
      throw refusal ?? error
    }
    var event: ScriptValue = [:]
    if let frame = layout.box(target)?.pageFrame {
      event = [
        "position": [
          "x": .number(frame.x), "y": .number(frame.y), "width": .number(frame.width), "height": .number(frame.height),
        ]
      ]
    }
    try await fireEvent(target, "click", event)
  }
}

/// The elements of a page whose boxes have changed.
public struct LayoutChange: Hashable, Sendable {
  /// The boxes that are new or have changed, parents first.
  public let boxes: [LayoutBox]
  /// The refs of the elements that are gone.
  public let removed: [String]
}

/// Compares the boxes of a page with those that a reader has got.
@PageActor private final class LayoutReader {
  private weak var page: PageInstance?
  private let wakes: AsyncStream<Void>
  private var known: [String: LayoutBox] = [:]

  init(_ page: PageInstance, _ wakes: AsyncStream<Void>) { (self.page, self.wakes) = (page, wakes) }

  func next() async -> LayoutChange? {
    var wakes = wakes.makeAsyncIterator()
    while await wakes.next() != nil {
      guard let layout = page?.layout else { return nil }
      var refs: [String] = []
      var waiting = layout.root.map { [$0] } ?? []
      while let ref = waiting.popLast() {
        refs.append(ref)
        waiting += layout.children(of: ref).reversed()
      }
      let present = layout.boxes(of: refs)
      let boxes = refs.compactMap { ref in present[ref].flatMap { known[ref] == $0 ? nil : $0 } }
      let removed = known.keys.filter { present[$0] == nil }.sorted()
      known = present
      if !boxes.isEmpty || !removed.isEmpty { return LayoutChange(boxes: boxes, removed: removed) }
    }
    return nil
  }
}

// MARK: - Keeping it up to date

extension PageInstance {
  /// Lays out what has changed; the first time, all elements.
  func updateLayout() {
    if elementLayout == nil {
      // An app that lays pages out fires the events that follow from places itself.
      elementLayout = ElementLayout(
        window: layoutWindow, measurer: measurer, firesEvents: registry.handlers.layout == nil)
      elementLayout?.observeThreads(observer(of: .elements))
    } else if embedder != nil {
      renewLayoutWindow()
    }
    let hasChanged = working {
      elementLayout?.update(tree) {
        _ = expandedTree
        return expansion?.tree
      }
    }
    guard hasChanged == true else { return }
    if isLayoutFollowed { layoutFeed.send(()) }
    for page in embedded.values where page.elementLayout != nil { page.followLayout() }
  }

  /// Does work on the page's elements, while all other pages wait: so whoever watches the process knows whose work it is.
  func working<Result>(_ body: () throws -> Result) rethrows -> Result {
    let observer = environment.frameworks.observer
    observer?(id, .elements, .begin)
    defer { observer?(id, .elements, .end) }
    return try body()
  }

  /// Hears of work for the page; `nil` if nothing listens.
  func observer(of work: PageWork) -> (@Sendable (PageWork.Moment) -> Void)? {
    guard let observer = environment.frameworks.observer else { return nil }
    return { [id] moment in observer(id, work, moment) }
  }

  /// Takes over another viewport, or another size of the element that the page is embedded in.
  func renewLayoutWindow() {
    guard elementLayout != nil else { return }
    // The page around this one may be laid out for it.
    let window = layoutWindow
    elementLayout?.setWindow(window)
  }

  /// Lays out what has changed, if something waits for it, and fires the events that elements are due.
  ///
  /// It is called at the end of each entry of the script, and after changes that do not come from an entry.
  func followLayout() {
    guard rerun == nil else { return }
    let isDue = !slides.isEmpty || !overdueEvents.isEmpty
    guard listensToLayout || isLayoutFollowed || isDue || elementLayout?.hasScrolled == true else { return }
    if isLayoutFollowed, layoutFeed.listenerCount > 0 { updateLayout() }
    guard hasRendered, layoutTask == nil else { return }
    // The page around this one, which is laid out before it, may call this for it.
    if followsPlaces { updateLayout() }
    guard layoutTask == nil, case let due = dueLayoutEvents(), !due.isEmpty else { return }
    let key = UUID()
    layoutTask = key
    let task = Task { @PageActor [weak self] in
      defer {
        self?.calls[key] = nil
        if self?.layoutTask == key { self?.layoutTask = nil }
      }
      var due = due
      for round in 1...Self.layoutRounds {
        for event in due {
          guard let self, !Task.isCancelled else { return }
          try? await send(event.type, to: event.ref, event.details, changes: event.changes, target: event.target)
        }
        guard let self, !Task.isCancelled else { return }
        // What is due after the last round stays due.
        if round == Self.layoutRounds, let type = nextLayoutEvent() {
          return report(
            ScriptException(
              message: "events such as \(type) follow each other without end: the page waits for another event"))
        }
        due = dueLayoutEvents()
        if due.isEmpty { return }
      }
    }
    // Waited for as other calls are.
    calls[key] = (task, false)
  }

  /// The number of times in a row that events which follow from the layout may change it so that others follow.
  private static let layoutRounds = 100

  /// An event that an element is due. Its target is that of the time when it became due: for a cell that takes the list with
  /// its cells, which the events before it may change.
  struct LayoutEvent {
    let ref: String
    let type: String
    let details: ScriptValue
    let changes: ScriptValue
    let target: EventTarget
  }

  /// `true` if events follow from places. An app that lays pages out fires these events itself.
  private var followsPlaces: Bool {
    registry.handlers.layout == nil && (listensToLayout || elementLayout?.hasScrolled == true)
  }

  private func dueLayoutEvents() -> [LayoutEvent] {
    let slides = registry.handlers.layout == nil ? slides : []
    self.slides = []
    // The script has set the index itself.
    var due = overdueEvents
    overdueEvents = []
    due += slides.map { slide in
      LayoutEvent(
        ref: slide.ref, type: "change", details: ["index": slide.index], changes: [:],
        target: eventTarget(slide.ref, "change"))
    }
    guard followsPlaces else { return due }
    updateLayout()
    due += (elementLayout?.dueEvents(in: tree) ?? []).map { event in
      LayoutEvent(
        ref: event.ref, type: event.type, details: event.details, changes: .undefined,
        target: eventTarget(event.ref, event.type))
    }
    return due
  }

  /// Takes over an event that the recorded run has fired on an element: it is not due again.
  func takeOver(_ type: String, on ref: String, _ event: ScriptValue) {
    if type == "scroll" { _ = noteFired(type, on: ref, event) }
    overdueEvents = dueLayoutEvents()
    if let index = overdueEvents.firstIndex(where: { $0.target.ref == ref && $0.type == type }) {
      overdueEvents.remove(at: index)
    }
  }

  /// The type of the event that is due next, which stays due; `nil` if none is.
  private func nextLayoutEvent() -> String? {
    if !slides.isEmpty, registry.handlers.layout == nil { return "change" }
    guard followsPlaces else { return nil }
    updateLayout()
    var layout = elementLayout
    return layout?.dueEvents(in: tree).first?.type
  }

  /// Notes that an element listens to events which nothing but the layout, or a slider, fires.
  func noteListening(to events: Set<String>, _ type: String) {
    if !listensToLayout { listensToLayout = !events.isDisjoint(with: ElementLayout.watchedEvents) }
    if !listensToSlides {
      listensToSlides = events.contains("change") && ElementTree.Element.sliderTypes.contains(type)
    }
  }

  /// Notes the sliders that commands of the script, which are not applied yet, put on another page: a device fires `change`
  /// then. Of several places the last one counts, also of those that no event has told yet.
  func noteSlides(_ commands: [RenderCommand]) {
    guard listensToSlides, registry.handlers.layout == nil else { return }
    var places: [String: Double] = [:]
    var order: [String] = []
    for command in commands {
      guard case .updateAttributes(let ref, let changes) = command, let index = changes["index"],
        let element = tree[ref],
        ElementTree.Element.sliderTypes.contains(element.type), element.events.contains("change"),
        let place = index.units(LayoutWindow())
      else { continue }
      if places.updateValue(place, forKey: ref) == nil { order.append(ref) }
    }
    guard !order.isEmpty else { return }
    slides.removeAll { places[$0.ref] != nil || tree[$0.ref] == nil }
    for ref in order {
      guard let place = places[ref], place != tree[ref]?.attributes["index"]?.units(LayoutWindow()) ?? 0 else {
        continue
      }
      slides.append((ref, .number(place)))
    }
  }

  /// Notes the sliders that an entry has made and that begin on another page than their first: a device fires `change` for
  /// these too, whether the script made them so or set the index after it (`layoutDidFinish` and `updateAttributes` of
  /// `WXCycleSliderComponent`). An index that is none of their pages is the first.
  func noteNewSlides() {
    let made = newSliders
    newSliders = []
    guard registry.handlers.layout == nil else { return }
    for ref in made {
      guard let slider = tree[ref], slider.events.contains("change"),
        let place = slider.attributes["index"]?.units(LayoutWindow()), place >= 1,
        place < Double(slider.children.count { tree[$0]?.type != "indicator" })
      else { continue }
      slides.append((ref, .number(place)))
    }
  }

  // MARK: Scrolling

  /// Brings an element to the beginning of the scroller around it, at once.
  ///
  /// - Parameters:
  ///   - options: `{offset, animated}`: how much further the content is scrolled, and whether it would take its time on a
  ///     device, which fires `scrollend` after it.
  ///   - isAnimated: what counts without `animated`.
  func scroll(to ref: String, _ options: ScriptValue, isAnimated: Bool = true) {
    scrollTarget = ref
    // An app that lays pages out scrolls them too.
    guard registry.handlers.layout == nil, shownTree(with: ref).hasScroller(around: ref) else { return }
    updateLayout()
    let further = options["offset"].units(layoutWindow) ?? 0
    guard let target = elementLayout?.offset(for: ref, further: further, in: tree) else { return }
    let isAnimated = options["animated"].isNothing ? isAnimated : !options["animated"].isOff
    guard elementLayout?.scroll(target.scroller, to: target.offset, isAnimated: isAnimated) == true else { return }
    tellScrolled()
    followLayout()
  }

  /// Takes over an event that the app fires, which may say that the user has scrolled: by the `contentOffset` of the event
  /// `scroll`, which is negative as in the SDK.
  ///
  /// - Returns: `true` if the layout has fired the same event last, so that the element is not due it again.
  func noteFired(_ type: String, on ref: String, _ event: ScriptValue) -> Bool {
    guard registry.handlers.layout == nil else { return false }
    switch type {
    case "scroll":
      guard let offset = event["contentOffset"].object, tree[ref]?.isScroller == true else { return false }
      updateLayout()
      let window = layoutWindow
      var place = elementLayout?.boxes.box(ref)?.scrollOffset ?? .zero
      if let x = offset["x"]?.units(window) { place.x = 0 - x }
      if let y = offset["y"]?.units(window) { place.y = 0 - y }
      if elementLayout?.scroll(ref, to: place, isTold: true) == true { tellScrolled() }
      return false
    case "appear", "disappear", "loadmore":
      // It counts for the content of this moment, so that the page is laid out now, be it for the first time.
      guard shownTree(with: ref)[ref]?.events.contains(type) == true else { return false }
      updateLayout()
      return elementLayout?.noteFired(type, on: ref, in: tree) == true
    default: return false
    }
  }

  private func tellScrolled() {
    if isLayoutFollowed { layoutFeed.send(()) }
  }

  /// The elements, with cells if the ref may be one of a cell.
  private func shownTree(with ref: String) -> ElementTree { tree[ref] == nil ? expandedTree.tree : tree }

  // MARK: Places

  /// The answer of `dom.getComponentRect`.
  ///
  /// - Parameter ref: an element's ref, or `viewport` for the whole page.
  func rect(of ref: String) async -> ScriptValue {
    func refused(_ reason: String) -> ScriptValue { ["result": false, "errMsg": .string(reason)] }
    let handler = registry.handlers.layout
    var rect: LayoutRect?
    if ref == "viewport" {
      rect = await handler?.viewport(of: self)
      if rect == nil, deviceRect != nil || roomInEmbedder != nil {
        let window = layoutWindow
        rect = LayoutRect(x: 0, y: 0, width: window.width, height: window.height)
      }
    } else {
      guard tree[ref] != nil || expandedTree.tree[ref] != nil else { return refused("there is no element \(ref)") }
      if let handler {
        rect = await handler.rect(of: ref, in: self)
      } else {
        updateLayout()
        await useFonts()
        updateLayout()
        rect = elementLayout?.boxes.box(ref)?.pageFrame
      }
    }
    guard let rect else { return refused("\(ref) has no place on the page") }
    return ["result": true, "size": rect.scriptValue]
  }

  /// The window that the page is laid out for. An embedded page has the room of its element, for which the page around it is
  /// laid out.
  var layoutWindow: LayoutWindow {
    var window = deviceWindow
    if let room = roomInEmbedder { (window.width, window.height) = (room.width, room.height) }
    return window
  }

  /// The window of a page that is not embedded: as ``deviceRect``, or 750 by 1,334 for a device without a size.
  var deviceWindow: LayoutWindow {
    var window = LayoutWindow()
    if let device = deviceRect {
      (window.width, window.height) = (device.width, device.height)
      let environment = configuration.environment
      if let width = environment["deviceWidth"].size {
        window.unitsPerPoint = device.width / (width / (environment["scale"].size ?? 1))
      }
    }
    return window
  }

  /// The size of the element that the page is embedded in, in the page's own units; `nil` if it has none.
  private var roomInEmbedder: LayoutSize? {
    guard let frame = embedder?.layout.box(embedderRef)?.frame, frame.width > 0, frame.height > 0 else { return nil }
    let scale = unitsPerUnitAround
    return LayoutSize(width: frame.width * scale, height: frame.height * scale)
  }

  /// The number of the page's units in one of the page that it is embedded in. Both designs are as wide as the screen.
  var unitsPerUnitAround: Double {
    guard let own = deviceRect?.width, let around = embedder?.deviceRect?.width else { return 1 }
    return own / around
  }

  /// The size of the device of `WXEnvironment` in the units of the page's design: 750 wide, or as wide as
  /// `meta.setViewport` says: 1 to 1,000,000.
  private var deviceRect: LayoutRect? {
    let environment = configuration.environment
    guard let deviceWidth = environment["deviceWidth"].size, let deviceHeight = environment["deviceHeight"].size
    else { return nil }
    let scale = environment["scale"].size ?? 1
    let wanted = viewport["width"]
    let width =
      switch wanted.string {
      case "device-width": deviceWidth / scale
      case "device-height": deviceHeight / scale
      default: wanted.size ?? 750
      }
    // One that cairo can scale to the device.
    let bounded = min(max(width, 1), 1_000_000)
    return LayoutRect(x: 0, y: 0, width: bounded, height: bounded / deviceWidth * deviceHeight)
  }
}

extension LayoutRect {
  fileprivate var scriptValue: ScriptValue {
    [
      "width": .number(width), "height": .number(height), "left": .number(x), "right": .number(maxX),
      "top": .number(y), "bottom": .number(maxY),
    ]
  }
}

extension ElementTree {
  /// Returns `true` if an element is in a scroller.
  fileprivate func hasScroller(around ref: String) -> Bool {
    var next = self[ref]?.parent.flatMap { self[$0] }
    while let element = next, !element.isScroller { next = element.parent.flatMap { self[$0] } }
    return next != nil
  }
}

extension ElementTree.Element {
  static let sliderTypes: Set<String> = ["slider", "cycleslider", "slider-neighbor"]
}

extension ScriptValue {
  /// `true` for values that the SDKs read as `false`.
  fileprivate var isOff: Bool {
    self == .bool(false) || number == 0 || string.map { ["", "0", "false", "no"].contains($0.lowercased()) } == true
  }

  /// A number above 0, also one that is written as text; `nil` for other values.
  fileprivate var size: Double? {
    (number ?? string.flatMap { Double($0) }).flatMap { $0 > 0 && $0.isFinite ? $0 : nil }
  }
}
