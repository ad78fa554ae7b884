import CLinux
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

  /// Cut or filled to so many columns.
  static func fitted(_ text: String, _ width: Int) -> String {
    let missing = width - columns(text)
    if missing >= 0 { return text + String(repeating: " ", count: missing) }
    // The end of a path tells more than its beginning.
    var kept: [Character] = []
    var room = width - 1
    for character in text.reversed() {
      room -= columns(String(character))
      guard room >= 0 else { break }
      kept.append(character)
    }
    return width > 0 ? "…" + String(kept.reversed()) + String(repeating: " ", count: max(0, room)) : ""
  }

  /// Cut at its end to so many columns.
  static func clipped(_ text: String, _ width: Int) -> String {
    var room = width
    return String(
      text.prefix { character in
        room -= columns(String(character))
        return room >= 0
      })
  }

  /// How many columns a terminal gives the text.
  static func columns(_ text: String) -> Int {
    text.unicodeScalars.reduce(0) { $0 + max(0, Int(wcwidth(wchar_t($1.value)))) }
  }

  static func bar(_ fraction: Double, width: Int) -> String {
    let filled = Int((min(max(fraction, 0), 1) * Double(width)).rounded(.down))
    return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
  }
}
