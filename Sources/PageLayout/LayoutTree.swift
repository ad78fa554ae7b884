/// A width and a height in units of the design.
public struct LayoutSize: Hashable, Sendable {
  public var width: Double
  public var height: Double

  public init(width: Double, height: Double) { (self.width, self.height) = (width, height) }

  public static let zero = LayoutSize(width: 0, height: 0)
}

/// A place and a size in units of the design; `y` grows downwards.
public struct LayoutRect: Hashable, Sendable {
  public var x: Double
  public var y: Double
  public var width: Double
  public var height: Double

  public init(x: Double, y: Double, width: Double, height: Double) {
    (self.x, self.y, self.width, self.height) = (x, y, width, height)
  }

  public static let zero = LayoutRect(x: 0, y: 0, width: 0, height: 0)

  public var maxX: Double { x + width }
  public var maxY: Double { y + height }
  public var size: LayoutSize { LayoutSize(width: width, height: height) }

  public func intersects(_ other: LayoutRect) -> Bool {
    x < other.maxX && other.x < maxX && y < other.maxY && other.y < maxY
  }

  public func contains(x: Double, y: Double) -> Bool { self.x <= x && x < maxX && self.y <= y && y < maxY }
}

/// Four numbers for the sides of a box, in units.
public struct LayoutInsets: Hashable, Sendable {
  public var top = 0.0
  public var right = 0.0
  public var bottom = 0.0
  public var left = 0.0

  public init() {}
}

/// The screen that a page is laid out for.
public struct LayoutWindow: Hashable, Sendable {
  /// The width in units: the design's width, `viewPortWidth`; 750 unless the page says otherwise.
  public var width = 750.0
  /// The height in units.
  public var height = 1334.0
  /// The units of a `wx`, which is a point of the screen: `width` by the screen's width in points.
  public var unitsPerPoint = 2.0
  /// `true` if elements without a `direction` around them begin at the right.
  public var isRightToLeft = false

  public init() {}

  /// - Parameters:
  ///   - points: the screen's size in points.
  ///   - viewPortWidth: the design's width, which is as wide as the screen.
  public init(points: LayoutSize, viewPortWidth: Double = 750) {
    guard points.width > 0, points.width.isFinite, points.height.isFinite, viewPortWidth > 0 else { return }
    width = viewPortWidth
    unitsPerPoint = viewPortWidth / points.width
    height = max(0, points.height) * unitsPerPoint
  }
}

/// A value of a style or an attribute.
public enum LayoutValue: Hashable, Sendable {
  case number(Double)
  case text(String)
}

/// Where an element is.
public struct LayoutBox: Hashable, Sendable {
  public var ref: String
  /// The component, such as `text`.
  public var type: String
  /// The border box in the parent's border box, as if nothing were scrolled.
  public var frame: LayoutRect
  /// The border box on the page: with the scroll offsets of all elements around it, and sticky elements where they stick.
  public var pageFrame: LayoutRect
  /// The widths of the borders.
  public var border: LayoutInsets
  /// The paddings. A text's lines begin within `border` and `padding`.
  public var padding: LayoutInsets
  /// What a scroller scrolls: the extent of its children, with its padding, and no smaller than its frame. For others the
  /// extent of what is in them, which may be larger than the frame.
  public var contentSize: LayoutSize
  /// How far a scroller is scrolled; 0 for others.
  public var scrollOffset: LayoutPoint
  /// `true` if what is outside the frame is not shown: scrollers, and `overflow: hidden`.
  public var clips: Bool
  /// `false` for elements with `visibility: hidden`, `display: none` or without a size, and all in them.
  public var isVisible: Bool
  /// `zIndex`; kept for the drawer, as layout does not depend on it.
  public var zIndex: Int
  /// `true` for `position: fixed`: the page frame does not depend on scrolling, and the element is drawn above others.
  public var isFixed: Bool
}

/// A place in units of the design.
public struct LayoutPoint: Hashable, Sendable {
  public var x: Double
  public var y: Double

  public init(x: Double, y: Double) { (self.x, self.y) = (x, y) }

  public static let zero = LayoutPoint(x: 0, y: 0)
}

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
/// Boxes are finite whatever the styles say. Elements below ``depthLimit`` have no size.
public struct LayoutTree: Sendable {
  /// Elements with more elements than this above them are not laid out: their boxes are empty.
  public static let depthLimit = 10_000

  /// The screen. A change lays out all.
  public var window: LayoutWindow
  /// The measurer of texts. A change measures all texts again.
  public var measurer: any TextMeasuring

  public init(window: LayoutWindow = LayoutWindow(), measurer: any TextMeasuring = FixedAdvances()) {
    self.window = window
    self.measurer = measurer
  }

  // MARK: Changes. Each is ignored if it does not fit the tree: an unknown ref, a ref that exists, a second body.

  public mutating func createBody(
    _ ref: String, type: String, style: [String: LayoutValue] = [:], attributes: [String: LayoutValue] = [:]
  ) {}

  /// - Parameter index: the place among the children; `nil` for the end.
  public mutating func add(
    _ ref: String, type: String, style: [String: LayoutValue] = [:], attributes: [String: LayoutValue] = [:],
    to parent: String, at index: Int? = nil
  ) {}

  /// Moves an element and all below it. `index` counts the children while the element is still at its old place.
  public mutating func move(_ ref: String, to parent: String, at index: Int? = nil) {}

  /// Removes an element and all below it.
  public mutating func remove(_ ref: String) {}

  /// Sets the whole style of an element, in the place of its former one.
  public mutating func setStyle(_ style: [String: LayoutValue], of ref: String) {}

  /// Sets the whole attributes of an element, in the place of its former ones.
  public mutating func setAttributes(_ attributes: [String: LayoutValue], of ref: String) {}

  /// Sets the size of a picture in pixels, one of which is a unit; `nil` if it is not known.
  public mutating func setPictureSize(_ size: LayoutSize?, of ref: String) {}

  /// Scrolls a scroller to a place, as far as its content reaches. The boxes of its content move on the page; nothing is laid
  /// out again.
  public mutating func scroll(_ ref: String, to offset: LayoutPoint) {}

  // MARK: Results

  /// `true` if a change waits for ``update()``.
  public var needsUpdate: Bool { false }

  /// Lays out what changed.
  ///
  /// - Returns: the refs of the elements whose frame in their parent, content size or existence changed, parents first.
  @discardableResult
  public mutating func update() -> [String] { [] }

  /// The ref of the body.
  public var root: String? { nil }

  /// The number of elements.
  public var count: Int { 0 }

  /// The refs of an element's children, in order.
  public func children(of ref: String) -> [String] { [] }

  /// The box of an element as of the last ``update()``; `nil` if there is no such element.
  public func box(_ ref: String) -> LayoutBox? { nil }

  /// The boxes of all elements that can be seen in a part of the page, in the order in which they are drawn: parents before
  /// children, by `zIndex` among siblings, fixed ones last.
  ///
  /// - Parameter area: the part, in units; `nil` for the window.
  public func visibleBoxes(in area: LayoutRect? = nil) -> [LayoutBox] { [] }

  /// The element that is drawn last at a place; `nil` if there is none.
  public func element(at point: LayoutPoint) -> String? { nil }

  /// The text of a `text`, `richtext`, `input` or `textarea` as it is measured, to be drawn in its box; `nil` for others.
  public func text(of ref: String) -> LayoutText? { nil }
}
