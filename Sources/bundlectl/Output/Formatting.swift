import Foundation

enum Formatting {
  /// `812 B`, `5.2 KB`, `62 MB`: decimal units, as disks and networks have them.
  static func bytes(_ count: Int64) -> String {
    var value = Double(count)
    if value < 1000 { return "\(count) B" }
    for unit in ["KB", "MB", "GB"] {
      value /= 1000
      if value < 10 { return String(format: "%.1f %@", value, unit) }
      if value < 999.5 { return String(format: "%.0f %@", value, unit) }
    }
    return String(format: "%.1f TB", value / 1000)
  }

  static func seconds(_ seconds: Double) -> String {
    seconds < 10 ? String(format: "%.2f s", seconds) : String(format: "%.0f s", seconds)
  }

  static func count(_ number: Int, _ noun: String) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
  }

  /// Cut or filled to the width, counted in characters.
  static func fitted(_ text: String, _ width: Int) -> String {
    guard width > 0 else { return "" }
    if text.count <= width { return text + String(repeating: " ", count: width - text.count) }
    return "…" + text.suffix(width - 1)
  }

  static func bar(_ fraction: Double, width: Int) -> String {
    let filled = Int((min(max(fraction, 0), 1) * Double(width)).rounded(.down))
    return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
  }
}
