import CLinux
import Foundation

enum Formatting {
  /// `812 B`, `5.2 KB`, `62 MB`: a KB is 1,024 bytes, as in sizes that options take and on the dashboard.
  static func bytes(_ count: Int64) -> String {
    var value = Double(count)
    if value < 1024 { return "\(count) B" }
    for unit in ["KB", "MB", "GB"] {
      value /= 1024
      if value < 9.95 { return String(format: "%.1f %@", value, unit) }
      if value < 1023.5 { return String(format: "%.0f %@", value, unit) }
    }
    return String(format: "%.1f TB", value / 1024)
  }

  static func seconds(_ seconds: Double) -> String {
    // Without a format: the first one takes 0.2 ms of each command.
    guard seconds >= 0, seconds < 1e9 else { return String(format: seconds < 10 ? "%.2f s" : "%.0f s", seconds) }
    if seconds >= 10 { return "\(Int(seconds.rounded(.toNearestOrEven))) s" }
    let hundredths = Int((seconds * 100).rounded(.toNearestOrEven))
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) s"
  }

  static func count(_ number: Int, _ noun: String) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
  }

  /// The text cut or padded to a number of columns.
  static func fitted(_ text: String, _ width: Int) -> String {
    let missing = width - columns(text)
    if missing >= 0 { return text + String(repeating: " ", count: missing) }
    // The end of a path is more significant than its beginning.
    var kept: [Character] = []
    var room = width - 1
    for character in text.reversed() {
      room -= columns(String(character))
      guard room >= 0 else { break }
      kept.append(character)
    }
    return width > 0 ? "…" + String(kept.reversed()) + String(repeating: " ", count: max(0, room)) : ""
  }

  /// The text cut at its end to a number of columns.
  static func clipped(_ text: String, _ width: Int) -> String {
    var room = width
    return String(
      text.prefix { character in
        room -= columns(String(character))
        return room >= 0
      })
  }

  /// The width of the text in columns of a terminal.
  static func columns(_ text: String) -> Int { text.reduce(0) { $0 + columns($1) } }

  /// The width of a character is that of its widest code point; an emoji has two columns.
  private static func columns(_ character: Character) -> Int {
    let scalars = character.unicodeScalars
    let emojiMark: Unicode.Scalar = "\u{FE0F}"
    if scalars.count > 1, scalars.contains(emojiMark) || scalars.allSatisfy({ regionalIndicators.contains($0) }) {
      return 2
    }
    return scalars.reduce(0) { max($0, Int(wcwidth(wchar_t($1.value)))) }
  }

  /// Two regional indicators are a flag.
  private static let regionalIndicators: ClosedRange<Unicode.Scalar> = "\u{1F1E6}"..."\u{1F1FF}"

  /// The text padded at its beginning to a number of columns.
  static func rightAligned(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - columns(text))) + text
  }

  /// `5.2 MB of 62 MB  1.1 MB/s  52 s left`, without unknown parts.
  ///
  /// - Parameters:
  ///   - rate: bytes a second.
  ///   - width: columns. If they do not suffice, the rate is omitted first, then the received bytes.
  static func progress(bytes: Int64, total: Int64?, rate: Double, width: Int = .max) -> String {
    let here = total.map { "\(Self.bytes(bytes)) of \(Self.bytes($0))" } ?? Self.bytes(bytes)
    let speed = rate >= 1 ? "\(Self.bytes(Int64(rate)))/s" : nil
    let left = total.flatMap { rate >= 1 && bytes < $0 ? "\(remaining(Double($0 - bytes) / rate)) left" : nil }
    let choices = [[here, speed, left], [here, left], [left ?? here]]
      .map { $0.compactMap(\.self).joined(separator: "  ") }
    return choices.first { columns($0) <= width } ?? clipped(choices[2], max(0, width))
  }

  /// `52 s`, `3 min 20 s`, `2 h 5 min`.
  static func remaining(_ seconds: Double) -> String {
    let whole = Int(min(max(seconds.rounded(.up), 1), 359_999))
    if whole < 60 { return "\(whole) s" }
    if whole < 3_600 { return "\(whole / 60) min \(whole % 60) s" }
    return "\(whole / 3_600) h \(whole % 3_600 / 60) min"
  }

  static func bar(_ fraction: Double, width: Int) -> String {
    let filled = Int((min(max(fraction, 0), 1) * Double(width)).rounded(.down))
    return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
  }
}
