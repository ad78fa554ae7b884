import Foundation

/// A drawing of a curve, both axes logarithmic.
struct Plot {
  private static let (width, height, margin) = (480.0, 280.0, 56.0)

  let curve: Curve

  /// The drawing as SVG; `nil` for a curve without points.
  var svg: String? {
    let sizes = curve.points.map { log10(max(Double($0.size), 1)) }
    let times = curve.points.map { log10(max($0.costs.median, 1e-7)) }
    guard let left = sizes.min(), let right = sizes.max(), let least = times.min(), let most = times.max() else {
      return nil
    }
    let (bottom, top) = (floor(least), max(ceil(most), floor(least) + 1))
    func x(_ value: Double) -> Double {
      Self.margin + (value - left) / max(right - left, 0.1) * (Self.width - 2 * Self.margin)
    }
    func y(_ value: Double) -> Double {
      Self.height - Self.margin - (value - bottom) / (top - bottom) * (Self.height - 2 * Self.margin)
    }
    var lines = [
      """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(Int(Self.width))" height="\(Int(Self.height))" \
      viewBox="-12 0 \(Int(Self.width)) \(Int(Self.height))" font-family="sans-serif" font-size="11">
      """, #"<rect x="-12" width="100%" height="100%" fill="white"/>"#,
      Self.text("\(curve.title), by \(curve.unit)", Self.width / 2, 24, "middle"),
    ]
    for power in Int(bottom)...Int(top) {
      let place = y(Double(power))
      lines.append(
        """
        <line x1="\(Self.margin)" y1="\(Self.round(place))" x2="\(Self.width - Self.margin)" \
        y2="\(Self.round(place))" stroke="lightgrey"/>
        """)
      lines.append(Self.text(curve.format(pow(10, Double(power))), Self.margin - 6, place + 4, "end"))
    }
    for (size, point) in zip(sizes, curve.points) {
      lines.append(Self.text("\(point.size)", x(size), Self.height - Self.margin + 18, "middle"))
    }
    let places = zip(sizes, times).map { (Self.round(x($0)), Self.round(y($1))) }
    let path = places.map { "\($0.0),\($0.1)" }.joined(separator: " ")
    lines.append(#"<polyline points="\#(path)" fill="none" stroke="steelblue" stroke-width="2"/>"#)
    lines += places.map { #"<circle cx="\#($0.0)" cy="\#($0.1)" r="3" fill="steelblue"/>"# }
    return lines.joined(separator: "\n") + "\n</svg>\n"
  }

  private static func text(_ string: String, _ x: Double, _ y: Double, _ anchor: String) -> String {
    #"<text x="\#(round(x))" y="\#(round(y))" text-anchor="\#(anchor)">\#(string)</text>"#
  }

  private static func round(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}
