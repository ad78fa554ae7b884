import Foundation

/// What something costs as it grows.
struct Curve {
  /// The file of its plot, without the extension.
  let name: String
  let title: String
  /// What grows.
  let unit: String
  private(set) var points: [(size: Int, seconds: Samples)] = []

  init(_ name: String, _ title: String, unit: String) { (self.name, self.title, self.unit) = (name, title, unit) }

  mutating func add(_ size: Int, _ seconds: Samples) { points.append((size, seconds)) }

  /// The exponent of the growth between the two largest sizes: 1 if twice the size costs twice the time.
  var slope: Double? {
    guard let last = points.last, let former = points.dropLast().last, former.seconds.median > 0 else { return nil }
    return log(last.seconds.median / former.seconds.median) / log(Double(last.size) / Double(former.size))
  }

  func print() {
    var table = Table(title, "time", "each")
    for point in points {
      table.add("\(point.size) \(unit)", point.seconds.text, Figures.time(point.seconds.median / Double(point.size)))
    }
    table.add("slope at the end", slope.map { String(format: "%.2f", $0) } ?? "", "")
    table.print()
    Swift.print()
  }
}
