/// A width and a height in units of the design.
public struct LayoutSize: Hashable, Sendable {
  /// The width in units.
  public var width: Double
  /// The height in units.
  public var height: Double

  /// Makes a size.
  ///
  /// - Parameters:
  ///   - width: the width in units.
  ///   - height: the height in units.
  public init(width: Double, height: Double) { (self.width, self.height) = (width, height) }

  /// No width and no height.
  public static let zero = LayoutSize(width: 0, height: 0)
}

/// A place and a size in units of the design; `y` grows downwards.
public struct LayoutRect: Hashable, Sendable {
  /// The left edge.
  public var x: Double
  /// The top edge.
  public var y: Double
  /// The width, at least 0.
  public var width: Double
  /// The height, at least 0.
  public var height: Double

  /// Makes a rectangle.
  ///
  /// - Parameters:
  ///   - x: the left edge.
  ///   - y: the top edge.
  ///   - width: the width, at least 0.
  ///   - height: the height, at least 0.
  public init(x: Double, y: Double, width: Double, height: Double) {
    (self.x, self.y, self.width, self.height) = (x, y, width, height)
  }

  /// A place without a size.
  public static let zero = LayoutRect(x: 0, y: 0, width: 0, height: 0)

  /// The right edge.
  public var maxX: Double { x + width }
  /// The bottom edge.
  public var maxY: Double { y + height }
  /// The size.
  public var size: LayoutSize { LayoutSize(width: width, height: height) }

  /// Returns `true` if the rectangles have an area in common; edges that touch are none.
  public func intersects(_ other: LayoutRect) -> Bool {
    x < other.maxX && other.x < maxX && y < other.maxY && other.y < maxY
  }

  /// Returns `true` for a place in the rectangle; the right and bottom edges are not in it.
  public func contains(x: Double, y: Double) -> Bool { self.x <= x && x < maxX && self.y <= y && y < maxY }
}

/// Numbers for the four sides of a box, in units.
public struct LayoutInsets: Hashable, Sendable {
  /// The top side.
  public var top = 0.0
  /// The right side.
  public var right = 0.0
  /// The bottom side.
  public var bottom = 0.0
  /// The left side.
  public var left = 0.0

  /// Four zeros.
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

  /// A screen of 375 by 667 points.
  public init() {}

  /// A screen of a size in points. The standard one stays if a number is not finite, a width is not above 0, or a result
  /// would not be finite.
  ///
  /// - Parameters:
  ///   - points: the screen's size in points. A height below 0 is 0.
  ///   - viewPortWidth: the design's width in units, which is as wide as the screen.
  public init(points: LayoutSize, viewPortWidth: Double = 750) {
    let (unitsPerPoint, height) = (viewPortWidth / points.width, max(0, points.height) * (viewPortWidth / points.width))
    guard points.width > 0, points.width.isFinite, points.height.isFinite, viewPortWidth > 0, viewPortWidth.isFinite,
      unitsPerPoint.isFinite, height.isFinite
    else { return }
    (width, self.height, self.unitsPerPoint) = (viewPortWidth, height, unitsPerPoint)
  }
}

/// A value of a style or an attribute, as a script wrote it. Values that a property cannot have are left out, as in the SDKs.
public enum LayoutValue: Hashable, Sendable {
  /// A number; a length is in units. NaN counts as no value at all.
  case number(Double)
  /// A text: a keyword, or a number with `px`, `wx` (points) or `%` or without.
  case text(String)
}

/// The place of an element.
public struct LayoutBox: Hashable, Sendable {
  /// The ref of the element.
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
  /// The size of the content. Of a scroller it is the extent of its children, with its padding, and no smaller than its
  /// frame; of others the extent of all that is in them, which may be larger than the frame.
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
  /// The distance to the right.
  public var x: Double
  /// The distance downwards.
  public var y: Double

  /// Makes a point.
  ///
  /// - Parameters:
  ///   - x: the distance to the right.
  ///   - y: the distance downwards.
  public init(x: Double, y: Double) { (self.x, self.y) = (x, y) }

  /// The top left corner.
  public static let zero = LayoutPoint(x: 0, y: 0)
}
