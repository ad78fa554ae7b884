import Foundation
import PageLayout

/// A colour; each part from 0 to 1.
package struct Color: Hashable, Sendable {
  package var red: Double
  package var green: Double
  package var blue: Double
  package var alpha = 1.0

  static let black = Color(red: 0, green: 0, blue: 0)
  static let clear = Color(red: 0, green: 0, blue: 0, alpha: 0)

  init(red: Double, green: Double, blue: Double, alpha: Double = 1) {
    (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
  }

  /// - Parameter number: red, green and blue as bytes.
  init(_ number: UInt32, alpha: Double = 1) {
    self.init(
      red: Double(number >> 16 & 255) / 255, green: Double(number >> 8 & 255) / 255, blue: Double(number & 255) / 255,
      alpha: alpha)
  }

  /// CSS Color 4: `#rgb`, `#rgba`, `#rrggbb`, `#rrggbbaa`, `rgb()`, `hsl()` and names; `nil` for other texts.
  package init?(_ text: some StringProtocol) {
    let text = String(text.prefix(100)).trimmed.lowercased()
    if text.hasPrefix("#") {
      self.init(digits: text.dropFirst())
    } else if let function = CSSFunction(text) {
      self.init(function)
    } else if text == "transparent" {
      self = .clear
    } else if let number = Self.names[text] {
      self.init(number)
    } else {
      return nil
    }
  }

  private init?(digits: Substring) {
    // The conversion takes a sign too.
    guard digits.allSatisfy({ $0.isASCII && $0.isHexDigit }), let number = UInt32(digits, radix: 16) else { return nil }
    switch digits.utf8.count {
    case 3, 4:
      let parts = digits.compactMap { $0.hexDigitValue.map { Double($0) / 15 } }
      self.init(red: parts[0], green: parts[1], blue: parts[2], alpha: parts.count == 4 ? parts[3] : 1)
    case 6: self.init(number)
    case 8: self.init(number >> 8, alpha: Double(number & 255) / 255)
    default: return nil
    }
  }

  private init?(_ function: CSSFunction) {
    // `rgb(0 0 0 / 50%)` is the same as `rgb(0, 0, 0, 0.5)`.
    let words = function.arguments.flatMap { $0.split { " /".contains($0) } }
    guard words.count == 3 || words.count == 4 else { return nil }
    func value(_ index: Int, of whole: Double) -> Double? {
      let word = words[index]
      let number = word.hasSuffix("%") ? Double(word.dropLast()).map { $0 / 100 * whole } : Double(word)
      return number.flatMap { $0.isFinite ? $0 : nil }
    }
    guard let alpha = words.count == 4 ? value(3, of: 1) : 1 else { return nil }
    func clamped(_ value: Double) -> Double { min(max(value, 0), 1) }
    switch function.name {
    case "rgb", "rgba":
      guard let red = value(0, of: 255), let green = value(1, of: 255), let blue = value(2, of: 255) else { return nil }
      self.init(
        red: clamped(red / 255), green: clamped(green / 255), blue: clamped(blue / 255), alpha: clamped(alpha))
    case "hsl", "hsla":
      guard let hue = Double(words[0].hasSuffix("deg") ? words[0].dropLast(3) : words[0]), hue.isFinite,
        let saturation = value(1, of: 1), let lightness = value(2, of: 1)
      else { return nil }
      // CSS Color 4 §7.1.
      func part(_ offset: Double) -> Double {
        let place = (offset + hue / 30).truncatingRemainder(dividingBy: 12)
        let turn = place < 0 ? place + 12 : place
        let spread = clamped(saturation) * min(clamped(lightness), 1 - clamped(lightness))
        return clamped(lightness) - spread * max(-1, min(turn - 3, 9 - turn, 1))
      }
      self.init(red: part(0), green: part(8), blue: part(4), alpha: clamped(alpha))
    default: return nil
    }
  }

  /// CSS Color 4 §6.1.
  private static let names: [String: UInt32] = {
    let text = """
      aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4 black 000000 \
      blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue 5f9ea0 chartreuse 7fff00 \
      chocolate d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff darkblue 00008b \
      darkcyan 008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9 darkkhaki bdb76b \
      darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred 8b0000 darksalmon e9967a \
      darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f darkturquoise 00ced1 \
      darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969 dodgerblue 1e90ff \
      firebrick b22222 floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc ghostwhite f8f8ff \
      gold ffd700 goldenrod daa520 gray 808080 green 008000 greenyellow adff2f grey 808080 honeydew f0fff0 \
      hotpink ff69b4 indianred cd5c5c indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa lavenderblush fff0f5 \
      lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6 lightcoral f08080 lightcyan e0ffff \
      lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 lightpink ffb6c1 \
      lightsalmon ffa07a lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 lightslategrey 778899 \
      lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6 magenta ff00ff maroon 800000 \
      mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3 mediumpurple 9370db mediumseagreen 3cb371 \
      mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc mediumvioletred c71585 \
      midnightblue 191970 mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080 \
      oldlace fdf5e6 olive 808000 olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa \
      palegreen 98fb98 paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru cd853f \
      pink ffc0cb plum dda0dd powderblue b0e0e6 purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f \
      royalblue 4169e1 saddlebrown 8b4513 salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna a0522d \
      silver c0c0c0 skyblue 87ceeb slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa springgreen 00ff7f \
      steelblue 4682b4 tan d2b48c teal 008080 thistle d8bfd8 tomato ff6347 turquoise 40e0d0 violet ee82ee wheat f5deb3 \
      white ffffff whitesmoke f5f5f5 yellow ffff00 yellowgreen 9acd32
      """
    let words = text.split(separator: " ")
    var names: [String: UInt32] = [:]
    for index in stride(from: 0, to: words.count - 1, by: 2) {
      names[String(words[index])] = UInt32(words[index + 1], radix: 16)
    }
    return names
  }()
}

extension StringProtocol {
  fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}

/// The properties of an element's style that are drawn, beside its box. Numbers are units of the design.
struct ElementPaint: Equatable {
  /// A linear gradient, CSS Images 3 §3.1.
  struct Gradient: Equatable {
    /// The direction, clockwise from upwards, in radians; or the corner that it ends in, by the signs of x and y.
    enum Direction: Equatable {
      case angle(Double)
      case corner(x: Double, y: Double)
    }

    var direction = Direction.angle(.pi)
    /// The places are shares of the gradient's line.
    var stops: [(place: Double, color: Color)] = []

    static func == (first: Gradient, second: Gradient) -> Bool {
      first.direction == second.direction && first.stops.elementsEqual(second.stops) { $0 == $1 }
    }
  }

  struct Shadow: Equatable {
    var x = 0.0
    var y = 0.0
    var blur = 0.0
    var spread = 0.0
    var color = Color.black
    var isInset = false
  }

  struct Border: Equatable {
    enum Line { case solid, dashed, dotted }

    var color = Color.black
    var line = Line.solid
  }

  /// A number of units, or a share of a side.
  typealias Length = LayoutTransform.Length

  var background: Color?
  var gradient: Gradient?
  var opacity = 1.0
  /// Of the top, right, bottom and left.
  var borders = [Border](repeating: Border(), count: 4)
  /// Of the top left, top right, bottom right and bottom left.
  var radii = [Length](repeating: .units(0), count: 4)
  var shadows: [Shadow] = []
  var transform = LayoutTransform()
  /// The text's colour.
  var color: Color?
  var isUnderlined = false
  var isStruck = false

  var isRounded: Bool { radii.contains { $0 != .units(0) } }

  static func == (first: ElementPaint, second: ElementPaint) -> Bool {
    first.background == second.background && first.gradient == second.gradient && first.opacity == second.opacity
      && first.borders == second.borders && first.radii == second.radii && first.shadows == second.shadows
      && first.transform == second.transform && first.color == second.color
      && first.isUnderlined == second.isUnderlined && first.isStruck == second.isStruck
  }

  /// - Parameters:
  ///   - style: the element's style, by names as the script wrote them. A value that is none is as if it were not there.
  ///   - unitsPerPoint: the units of a `wx`.
  init(_ style: [String: LayoutValue] = [:], unitsPerPoint: Double = 2) {
    guard !style.isEmpty else { return }
    let reader = StyleReader(style: style, unitsPerPoint: unitsPerPoint)
    readBackground(reader)
    readBorders(reader)
    if let value = reader.number("opacity") { opacity = min(max(value, 0), 1) }
    if let text = reader.text("boxShadow") { shadows = reader.shadows(text) }
    transform = LayoutTransform(
      reader.text("transform"), origin: reader.text("transformOrigin"), unitsPerPoint: unitsPerPoint)
    color = reader.text("color").flatMap { Color($0) }
    if let text = reader.text("textDecoration") ?? reader.text("textDecorationLine") {
      isUnderlined = text.contains("underline")
      isStruck = text.contains("line-through")
    }
  }

  private mutating func readBackground(_ reader: StyleReader) {
    for name in ["background", "backgroundColor", "backgroundImage"] {
      guard let text = reader.text(name) else { continue }
      if text.contains("linear-gradient") {
        gradient = reader.gradient(text)
      } else if let color = Color(text) {
        background = color
      }
    }
  }

  private mutating func readBorders(_ reader: StyleReader) {
    let sides = ["Top", "Right", "Bottom", "Left"]
    for name in ["border"] + sides.map({ "border\($0)" }) {
      guard let text = reader.text(name) else { continue }
      for word in CSSFunction.split(text, at: " ") {
        for index in sides.indices where name == "border" || name.hasSuffix(sides[index]) {
          if let color = Color(word) { borders[index].color = color }
          if let line = Self.line(word) { borders[index].line = line }
        }
      }
    }
    let (color, line) = (
      reader.text("borderColor").flatMap { Color($0) }, reader.text("borderStyle").flatMap(Self.line)
    )
    for index in borders.indices {
      if let own = reader.text("border\(sides[index])Color").flatMap({ Color($0) }) ?? color {
        borders[index].color = own
      }
      if let own = reader.text("border\(sides[index])Style").flatMap(Self.line) ?? line { borders[index].line = own }
    }
    if let text = reader.text("borderRadius") {
      // CSS Backgrounds 3 §4.1; a second radius of a corner, behind a slash, is not read.
      let values = text.prefix { $0 != "/" }.split(separator: " ").compactMap { reader.length(String($0)) }
      if let first = values.first {
        let second = values.count > 1 ? values[1] : first
        let third = values.count > 2 ? values[2] : first
        radii = [first, second, third, values.count > 3 ? values[3] : second]
      }
    }
    for (index, corner) in ["TopLeft", "TopRight", "BottomRight", "BottomLeft"].enumerated() {
      if let radius = reader.text("border\(corner)Radius").flatMap(reader.length) { radii[index] = radius }
    }
  }

  private static func line(_ text: String) -> Border.Line? {
    switch text.lowercased() {
    case "solid": .solid
    case "dashed": .dashed
    case "dotted": .dotted
    default: nil
    }
  }
}

/// Reads the values of a style.
struct StyleReader {
  private let style: [String: LayoutValue]
  private let unitsPerPoint: Double

  init(style: [String: LayoutValue], unitsPerPoint: Double) {
    self.unitsPerPoint = unitsPerPoint
    // Scripts write names in either way.
    guard style.keys.contains(where: { $0.utf8.contains(UInt8(ascii: "-")) }) else {
      self.style = style
      return
    }
    self.style = Dictionary(style.map { (Self.camel($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  private static func camel(_ name: String) -> String {
    let words = name.split(separator: "-")
    return words.dropFirst().reduce(into: words.first.map(String.init) ?? "") {
      $0 += $1.prefix(1).uppercased() + $1.dropFirst()
    }
  }

  /// The text of a value, at most 2,000 bytes; `nil` for an empty one.
  func text(_ name: String) -> String? {
    guard let value = style[name] else { return nil }
    switch value {
    case .number(let number): return number.isFinite ? String(number) : nil
    case .text(let text): return text.isEmpty || text.utf8.count > 2_000 ? nil : text
    }
  }

  func number(_ name: String) -> Double? {
    if case .number(let number)? = style[name] { return number.isFinite ? number : nil }
    return text(name).flatMap { Double($0.trimmed) }.flatMap { $0.isFinite ? $0 : nil }
  }

  func length(_ text: String) -> ElementPaint.Length? {
    ElementPaint.Length(text, unitsPerPoint: unitsPerPoint)
  }

  private func units(_ text: String) -> Double? {
    if case .units(let value)? = length(text) { return value }
    return nil
  }

  func shadows(_ text: String) -> [ElementPaint.Shadow] {
    CSSFunction.split(text, at: ",").prefix(8).compactMap { text in
      var shadow = ElementPaint.Shadow()
      var lengths: [Double] = []
      for word in CSSFunction.split(text, at: " ") {
        if word.lowercased() == "inset" {
          shadow.isInset = true
        } else if let value = units(word) {
          lengths.append(value)
        } else if let color = Color(word) {
          shadow.color = color
        } else {
          return nil
        }
      }
      guard lengths.count >= 2 else { return nil }
      (shadow.x, shadow.y) = (lengths[0], lengths[1])
      if lengths.count > 2 { shadow.blur = min(max(lengths[2], 0), 500) }
      if lengths.count > 3 { shadow.spread = lengths[3] }
      return shadow
    }
  }

  func gradient(_ text: String) -> ElementPaint.Gradient? {
    guard let function = CSSFunction(text.trimmed), function.name == "linear-gradient" else { return nil }
    var gradient = ElementPaint.Gradient()
    var arguments = function.arguments[...]
    if let first = arguments.first?.lowercased() {
      if first.hasPrefix("to") {
        // The SDK writes `to bottomright` too.
        let (x, y) = (
          first.contains("right") ? 1.0 : first.contains("left") ? -1 : 0,
          first.contains("bottom") ? 1.0 : first.contains("top") ? -1 : 0
        )
        gradient.direction = x != 0 && y != 0 ? .corner(x: x, y: y) : .angle(x != 0 ? x * .pi / 2 : y < 0 ? 0 : .pi)
        arguments = arguments.dropFirst()
      } else if Color(first.prefix { $0 != " " }) == nil, CSSFunction(first) == nil,
        let angle = LayoutTransform.angle(first)
      {
        gradient.direction = .angle(angle)
        arguments = arguments.dropFirst()
      }
    }
    var stops: [(place: Double?, color: Color)] = []
    for argument in arguments.prefix(32) {
      let words = CSSFunction.split(argument, at: " ")
      guard let color = words.first.flatMap({ Color($0) }) else { return nil }
      guard words.count > 1 else {
        stops.append((nil, color))
        continue
      }
      for word in words.dropFirst().prefix(2) {
        guard case .share(let place)? = length(word) else { return nil }
        stops.append((place, color))
      }
    }
    guard !stops.isEmpty else { return nil }
    if stops.count == 1 { stops.append(stops[0]) }
    gradient.stops = Self.placed(stops)
    return gradient
  }

  /// CSS Images 3 §3.4.3: stops without places are spread, and no stop is before one that comes earlier.
  private static func placed(_ stops: [(place: Double?, color: Color)]) -> [(place: Double, color: Color)] {
    var places = stops.map(\.place)
    places[0] = places[0] ?? 0
    places[places.count - 1] = places[places.count - 1] ?? 1
    var highest = -Double.infinity
    for index in places.indices {
      guard let place = places[index] else { continue }
      highest = max(highest, place)
      places[index] = highest
    }
    var last = 0
    for index in places.indices.dropFirst() {
      guard let end = places[index], let start = places[last] else { continue }
      for between in (last + 1)..<max(index, last + 1) {
        places[between] = start + (end - start) * Double(between - last) / Double(index - last)
      }
      last = index
    }
    return zip(places, stops).map { ($0 ?? 0, $1.color) }
  }
}
