import Foundation

/// What something costs as it grows.
struct Curve {
  /// The file of its plot, without the extension.
  let name: String
  let title: String
  /// What grows.
  let unit: String
  /// `true` if the costs are those of one of many: then they are not divided by the size.
  let isOfOne: Bool
  /// Writes a cost.
  let format: (Double) -> String
  private(set) var points: [(size: Int, costs: Samples)] = []

  init(
    _ name: String, _ title: String, unit: String, isOfOne: Bool = false,
    format: @escaping (Double) -> String = Figures.time
  ) {
    (self.name, self.title, self.unit, self.isOfOne, self.format) = (name, title, unit, isOfOne, format)
  }

  mutating func add(_ size: Int, _ costs: Samples) { points.append((size, costs)) }

  /// The exponent of the growth between the two largest sizes: 1 if twice the size costs twice as much.
  var slope: Double? {
    guard let last = points.last, let former = points.dropLast().last, former.costs.median > 0, former.size > 0 else {
      return nil
    }
    return log(last.costs.median / former.costs.median) / log(Double(last.size) / Double(former.size))
  }

  func print() {
    var table = Table(title, isOfOne ? "one" : "all", isOfOne ? "" : "each")
    for point in points {
      table.add(
        "\(point.size) \(unit)", point.costs.text(format),
        isOfOne ? "" : format(point.costs.median / Double(point.size)))
    }
    table.add("slope at the end", slope.map { String(format: "%.2f", $0) } ?? "", "")
    table.print()
    Swift.print()
  }
}
