import Foundation

/// Shows one download on a terminal, in a line that is redrawn.
struct TransferDisplay {
  private let terminal: Terminal
  private var lines: DrawnLines
  private let name: String
  private let total: Int64?
  private let resumedAt: Int64
  private let began = ContinuousClock.now
  private var drawn: ContinuousClock.Instant?

  private static let interval: Duration = .milliseconds(80)

  /// - Parameters:
  ///   - total: the size in bytes; `nil` if it is unknown.
  ///   - resumedAt: bytes received earlier, which do not count for the rate.
  init(_ terminal: Terminal, name: String, total: Int64?, resumedAt: Int64 = 0) {
    self.terminal = terminal
    self.resumedAt = resumedAt
    lines = DrawnLines(terminal)
    self.name = name
    self.total = total
  }

  mutating func show(_ bytes: Int64) {
    let now = ContinuousClock.now
    guard terminal.isTerminal, drawn.map({ now - $0 >= Self.interval }) ?? true else { return }
    drawn = now
    let rate = Self.rate(bytes: bytes, resumedAt: resumedAt, seconds: (now - began) / .seconds(1))
    lines.draw([Self.line(name: name, bytes: bytes, total: total, rate: rate, width: lines.width)])
  }

  mutating func end() {
    lines.erase()
    drawn = nil
  }

  /// Bytes per second, without those received earlier.
  static func rate(bytes: Int64, resumedAt: Int64, seconds: Double) -> Double {
    seconds > 0 ? Double(max(0, bytes - resumedAt)) / seconds : 0
  }

  /// - Parameter rate: bytes per second.
  static func line(name: String, bytes: Int64, total: Int64?, rate: Double, width: Int) -> String {
    let nameWidth = min(Formatting.columns(name), max(8, width / 4))
    let figures = Formatting.progress(bytes: bytes, total: total, rate: rate, width: width - nameWidth - 1)
    let room = min(30, width - nameWidth - Formatting.columns(figures) - 2)
    let bar =
      total.map { $0 > 0 && room >= 8 ? Formatting.bar(Double(bytes) / Double($0), width: room) + " " : "" } ?? ""
    return Formatting.clipped("\(Formatting.fitted(name, nameWidth)) \(bar)\(figures)", width)
  }
}
