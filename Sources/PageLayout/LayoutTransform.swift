#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// How an element and all in it are moved, turned and stretched when they are drawn: `transform`, around `transformOrigin`.
/// Boxes do not depend on it.
package struct LayoutTransform: Hashable, Sendable {
  /// A number of units, or a share of a side.
  package enum Length: Hashable, Sendable {
    case units(Double)
    case share(Double)

    /// - Parameters:
    ///   - text: a number of units, of pixels, which are units, or of `wx`, or a share in percent.
    ///   - unitsPerPoint: the units of a `wx`.
    package init?(_ text: String, unitsPerPoint: Double) {
      let text = text.trimmed.lowercased()
      func number(_ count: Int) -> Double? {
        Double(text.dropLast(count)).flatMap { $0.isFinite && abs($0) <= 1e6 ? $0 : nil }
      }
      let length: Length? =
        if text.hasSuffix("%") {
          number(1).map { .share($0 / 100) }
        } else if text.hasSuffix("px") {
          number(2).map { .units($0) }
        } else if text.hasSuffix("wx") {
          number(2).map { .units($0 * unitsPerPoint) }
        } else {
          number(0).map { .units($0) }
        }
      guard let length else { return nil }
      self = length
    }

    package func value(of side: Double) -> Double {
      switch self {
      case .units(let value): value
      case .share(let share): share * side
      }
    }
  }

  /// A function of `transform`.
  package enum Change: Hashable, Sendable {
    case translate(x: Length, y: Length)
    case scale(x: Double, y: Double)
    /// Clockwise, in radians.
    case rotate(Double)
    case skew(x: Double, y: Double)
    case matrix([Double])
  }

  /// The last one is made first.
  package var changes: [Change] = []
  /// The place that keeps its place, from the left edge.
  package var originX = Length.share(0.5)
  /// The place that keeps its place, from the top edge.
  package var originY = Length.share(0.5)

  /// - Parameters:
  ///   - text: the value of `transform`; `nil` for none. Unknown functions are left out.
  ///   - origin: the value of `transformOrigin`; `nil` for the middle.
  ///   - unitsPerPoint: the units of a `wx`.
  package init(_ text: String? = nil, origin: String? = nil, unitsPerPoint: Double = 2) {
    if let text { changes = CSSFunction.list(text).compactMap { Change($0, unitsPerPoint: unitsPerPoint) } }
    guard let origin else { return }
    for (index, word) in origin.lowercased().split(separator: " ").prefix(2).enumerated() {
      switch word {
      case "left": originX = .share(0)
      case "right": originX = .share(1)
      case "top": originY = .share(0)
      case "bottom": originY = .share(1)
      case "center": break
      default:
        guard let length = Length(String(word), unitsPerPoint: unitsPerPoint) else { continue }
        if index == 0 { originX = length } else { originY = length }
      }
    }
  }

  /// `true` if everything stays where it is.
  package var isEmpty: Bool { changes.isEmpty }

  /// The changes of an element with a border box.
  package func matrix(in frame: LayoutRect) -> LayoutMatrix {
    let (x, y) = (frame.x + originX.value(of: frame.width), frame.y + originY.value(of: frame.height))
    var whole = LayoutMatrix(x0: x, y0: y)
    for change in changes {
      switch change {
      case .translate(let x, let y):
        whole.append(LayoutMatrix(x0: x.value(of: frame.width), y0: y.value(of: frame.height)))
      case .scale(let x, let y): whole.append(LayoutMatrix(xx: x, yy: y))
      case .rotate(let angle):
        whole.append(LayoutMatrix(xx: cos(angle), yx: sin(angle), xy: -sin(angle), yy: cos(angle)))
      case .skew(let x, let y): whole.append(LayoutMatrix(yx: tan(y), xy: tan(x)))
      case .matrix(let numbers):
        whole.append(
          LayoutMatrix(
            xx: numbers[0], yx: numbers[1], xy: numbers[2], yy: numbers[3], x0: numbers[4], y0: numbers[5]))
      }
    }
    whole.append(LayoutMatrix(x0: -x, y0: -y))
    return whole
  }

  /// An angle such as `90deg` in radians; `nil` for other texts.
  package static func angle(_ text: String) -> Double? {
    let text = text.trimmed.lowercased()
    for (unit, factor) in [("deg", Double.pi / 180), ("grad", Double.pi / 200), ("rad", 1), ("turn", 2 * Double.pi)]
    where text.hasSuffix(unit) {
      return Double(text.dropLast(unit.count)).flatMap { $0.isFinite ? $0 * factor : nil }
    }
    return Double(text).flatMap { $0.isFinite ? $0 * .pi / 180 : nil }
  }
}

extension LayoutTransform.Change {
  fileprivate init?(_ function: CSSFunction, unitsPerPoint: Double) {
    let arguments = function.arguments
    func length(_ index: Int) -> LayoutTransform.Length {
      guard arguments.indices.contains(index) else { return .units(0) }
      return LayoutTransform.Length(arguments[index], unitsPerPoint: unitsPerPoint) ?? .units(0)
    }
    func number(_ index: Int) -> Double? {
      arguments.indices.contains(index)
        ? Double(arguments[index]).flatMap { $0.isFinite && abs($0) <= 1e6 ? $0 : nil } : nil
    }
    func angle(_ index: Int) -> Double {
      arguments.indices.contains(index) ? LayoutTransform.angle(arguments[index]) ?? 0 : 0
    }
    switch function.name {
    case "translate", "translate3d": self = .translate(x: length(0), y: length(1))
    case "translatex": self = .translate(x: length(0), y: .units(0))
    case "translatey": self = .translate(x: .units(0), y: length(0))
    case "scale", "scale3d": self = .scale(x: number(0) ?? 1, y: number(1) ?? number(0) ?? 1)
    case "scalex": self = .scale(x: number(0) ?? 1, y: 1)
    case "scaley": self = .scale(x: 1, y: number(0) ?? 1)
    case "rotate", "rotatez": self = .rotate(angle(0))
    // Without perspective, a turn out of the plane is a narrower picture.
    case "rotatex": self = .scale(x: 1, y: cos(angle(0)))
    case "rotatey": self = .scale(x: cos(angle(0)), y: 1)
    case "skew": self = .skew(x: angle(0), y: angle(1))
    case "skewx": self = .skew(x: angle(0), y: 0)
    case "skewy": self = .skew(x: 0, y: angle(0))
    case "matrix":
      let numbers = (0..<6).compactMap { number($0) }
      guard numbers.count == 6 else { return nil }
      self = .matrix(numbers)
    default: return nil
    }
  }
}

/// A change of coordinates: x becomes `xx * x + xy * y + x0`, and y `yx * x + yy * y + y0`.
package struct LayoutMatrix: Hashable, Sendable {
  package var xx: Double
  package var yx: Double
  package var xy: Double
  package var yy: Double
  package var x0: Double
  package var y0: Double

  /// Changes nothing without other numbers.
  package init(
    xx: Double = 1, yx: Double = 0, xy: Double = 0, yy: Double = 1, x0: Double = 0, y0: Double = 0
  ) { (self.xx, self.yx, self.xy, self.yy, self.x0, self.y0) = (xx, yx, xy, yy, x0, y0) }

  /// Puts a change before this one.
  package mutating func append(_ first: LayoutMatrix) {
    self = LayoutMatrix(
      xx: xx * first.xx + xy * first.yx, yx: yx * first.xx + yy * first.yx, xy: xx * first.xy + xy * first.yy,
      yy: yx * first.xy + yy * first.yy, x0: xx * first.x0 + xy * first.y0 + x0,
      y0: yx * first.x0 + yy * first.y0 + y0)
  }

  /// The length of the longest vector that one of length 1 becomes: the larger singular value.
  package var stretch: Double {
    let (across, down) = (xx * xx + yx * yx, xy * xy + yy * yy)
    let both = xx * xy + yx * yy
    return ((across + down + hypot(across - down, 2 * both)) / 2).squareRoot()
  }

  /// `nil` if everything falls onto a line, or far beyond a page.
  package var inverse: LayoutMatrix? {
    let determinant = xx * yy - xy * yx
    guard [xx, yx, xy, yy, x0, y0].allSatisfy({ $0.isFinite && abs($0) < 1e9 }), abs(determinant) > 1e-9 else {
      return nil
    }
    return LayoutMatrix(
      xx: yy / determinant, yx: -yx / determinant, xy: -xy / determinant, yy: xx / determinant,
      x0: (xy * y0 - yy * x0) / determinant, y0: (yx * x0 - xx * y0) / determinant)
  }

  /// The place to which the change of coordinates moves a place.
  package func place(of point: LayoutPoint) -> LayoutPoint {
    LayoutPoint(x: xx * point.x + xy * point.y + x0, y: yx * point.x + yy * point.y + y0)
  }

  /// The smallest rectangle around a changed one.
  package func bounds(of rect: LayoutRect) -> LayoutRect {
    let corners = [(rect.x, rect.y), (rect.maxX, rect.y), (rect.x, rect.maxY), (rect.maxX, rect.maxY)].map {
      place(of: LayoutPoint(x: $0.0, y: $0.1))
    }
    let (left, right) = (corners.map(\.x).min() ?? 0, corners.map(\.x).max() ?? 0)
    let (top, bottom) = (corners.map(\.y).min() ?? 0, corners.map(\.y).max() ?? 0)
    guard left.isFinite, right.isFinite, top.isFinite, bottom.isFinite else { return .zero }
    return LayoutRect(x: left, y: top, width: right - left, height: bottom - top)
  }
}

/// A function of a style's value, such as `rgb(0, 0, 0)`.
package struct CSSFunction {
  /// In lower case.
  package let name: String
  /// The texts between commas, without the spaces around them.
  package let arguments: [String]

  /// - Parameter text: a function and nothing else.
  package init?(_ text: some StringProtocol) {
    guard let open = text.firstIndex(of: "("), text.hasSuffix(")") else { return nil }
    name = text[..<open].trimmed.lowercased()
    guard !name.isEmpty, !name.contains(" ") else { return nil }
    arguments = Self.split(text[text.index(after: open)...].dropLast(), at: ",")
  }

  /// Splits a text where a separator stands outside of parentheses. The first 2,000 characters count.
  package static func split(_ text: some StringProtocol, at separator: Character) -> [String] {
    var parts: [String] = []
    var part = ""
    var depth = 0
    for character in text.prefix(2_000) {
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      if character == separator, depth == 0 {
        parts.append(part.trimmed)
        part = ""
      } else {
        part.append(character)
      }
    }
    return (parts + [part.trimmed]).filter { !$0.isEmpty }
  }

  /// The functions of a list, such as that of `transform`; at most 20.
  package static func list(_ text: String) -> [CSSFunction] {
    let text = text.trimmed
    return split(text.replacing(") ", with: "),"), at: ",").prefix(20).compactMap {
      CSSFunction($0)
    }
  }
}

extension StringProtocol {
  /// The text without the spaces and line ends around it.
  fileprivate var trimmed: String {
    guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace }) else {
      return ""
    }
    return String(self[first...last])
  }
}
